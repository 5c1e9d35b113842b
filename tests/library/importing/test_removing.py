"""Removing the examples: what goes, and what stays because a person needs it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth.models import User

from evals_app.library.deleting.restoring import restore_deleted
from evals_app.library.importing.examples import import_examples
from evals_app.library.importing.file_import import ChangedSinceError
from evals_app.library.importing.removing import example_suites, plan_removal, remove_examples
from evals_app.models import Agent, Assertion, Case, Suite
from fixtures_app.models import EntityType, Fixture
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _loaded(db: None) -> None:
    import_examples()


@pytest.fixture
def person() -> User:
    return User.objects.create_superuser("ada")


def test_all_examples_go_and_leave_a_trace_and_their_runs(person: User) -> None:
    suite = Suite.objects.get(slug="letters")
    run = make_run(["passed"], suite=suite)
    count = sum(model.objects.count() for model in (Suite, Agent, Fixture, EntityType))
    assert example_suites().exists()

    removal = remove_examples(person, version=plan_removal().version)

    assert not removal.kept
    assert not any(model.objects.exists() for model in (Suite, Agent, Fixture, EntityType, Case))
    assert not example_suites().exists()
    run.refresh_from_db()
    assert (run.suite_id, run.suite_slug) == (None, "letters")
    assert LogEntry.objects.filter(user=person, action_flag=DELETION).count() == count


def test_removed_examples_can_be_restored_with_their_runs(person: User) -> None:
    suite = Suite.objects.get(slug="letters")
    run = make_run(["passed"], suite=suite)
    before = {row.slug: row.to_spec() for row in Suite.objects.with_everything()}

    removal = remove_examples(person, version=plan_removal().version)
    for entry in reversed(removal.deleted):
        restore_deleted(entry, by=person)

    assert {row.slug: row.to_spec() for row in Suite.objects.with_everything()} == before
    run.refresh_from_db()
    assert run.suite == suite
    assert plan_removal().rows == removal.rows


def _edits_a_case() -> None:
    Case.objects.filter(suite__slug="customer-support").first().delete()  # type: ignore[union-attr]


def _edits_a_fixture() -> None:
    Fixture.objects.filter(slug="bookshop").update(description="Ours")


def _uses_an_agent() -> None:
    make_suite("mine", agent=Agent.objects.get(slug="support"))


def _uses_a_fixture() -> None:
    make_suite("mine").fixtures.add(Fixture.objects.get(slug="bookshop"))


def _uses_a_judge() -> None:
    make_suite("mine", judge_model="scripted/letter-judge")


def _uses_a_judge_in_a_check() -> None:
    options = {"criteria": "Kind.", "judge_model": "scripted/letter-judge"}
    Assertion.objects.create(suite=make_suite("mine"), type="llm_judge", options=options)


def _writes_an_equal_suite() -> None:
    Suite.objects.filter(slug="letters").update(source="")


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        pytest.param(
            _edits_a_case,
            {"suite customer-support", "agent support", "agent example-judge", "fixture bookshop"},
            id="an edited suite with what it uses",
        ),
        pytest.param(_edits_a_fixture, {"fixture bookshop"}, id="an edited fixture"),
        pytest.param(_uses_an_agent, {"agent support"}, id="an agent"),
        pytest.param(_uses_a_fixture, {"fixture bookshop"}, id="a fixture"),
        pytest.param(_uses_a_judge, {"agent letter-judge"}, id="a judge"),
        pytest.param(_uses_a_judge_in_a_check, {"agent letter-judge"}, id="a judge of a check"),
        (_writes_an_equal_suite, {"suite letters", "agent letter-judge", "agent letter-writer"}),
    ],
)
def test_what_people_need_stays(person: User, change: Callable[[], Any], kept: set[str]) -> None:
    change()

    removal = remove_examples(person, version=plan_removal().version)

    stays = {f"{example.kind} {example.row.slug}" for example in removal.kept}
    own = {f"suite {slug}" for slug in ("customer-support", "letters")} & kept
    assert {name for name in stays if not name.startswith("entity type")} >= kept
    assert {f"suite {suite.slug}" for suite in Suite.objects.exclude(slug="mine")} == own
    assert all(example.why for example in removal.kept)
    for fixture in Fixture.objects.all():
        fixture.to_spec()  # its entity types stay, too


def test_what_changed_since_the_confirmation_is_not_removed(person: User) -> None:
    version = plan_removal().version
    Suite.objects.filter(slug="letters").update(description="Ours")
    count = Suite.objects.count()

    with pytest.raises(ChangedSinceError):
        remove_examples(person, version=version)

    assert Suite.objects.count() == count
