"""What people delete can be restored: nothing is lost, and nothing of it is seen in between."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.serializers import serialize

from evals_app.engine.basics.errors import CannotError
from evals_app.library.deleting.restoring import delete_for_good, restore_deleted, with_needed
from evals_app.library.deleting.written import (
    InUseError,
    delete_case,
    delete_cases,
    delete_written,
)
from evals_app.models import (
    AcceptedFailure,
    Activity,
    Agent,
    Assertion,
    Case,
    DeletedObject,
    DeletedPart,
    DueRun,
    MailWish,
    Run,
    Schedule,
    ShipDecision,
    Suite,
    TopicReadiness,
    Turn,
    Webhook,
)
from fixtures_app.library import save_fixture
from fixtures_app.models import Entity, EntityType, Fixture
from fixtures_app.spec import FixtureSpec
from tests.authored import CONTAINS, a_case, write_suite
from tests.makers import make_run

pytestmark = pytest.mark.django_db

DEPOT = {
    "name": "Depot",
    "slug": "depot",
    "entity_types": [{"slug": "parcel", "schema": {}}],
    "entities": [
        {"ref": "a", "type": "parcel", "data": {"kg": 14}},
        {"ref": "b", "type": "parcel", "data": {}},
    ],
    "relations": [{"type": "before", "from": "a", "to": "b"}],
    "chunks": [{"id": "hours", "text": "From 9 to 18."}],
}


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def suite(ann: User) -> Suite:
    """Write a suite with everything that can hang on it."""
    save_fixture(FixtureSpec.model_validate(DEPOT))
    files = [{"name": "a.txt", "media_type": "text/plain", "sha256": "0" * 64, "size": 1}]
    suite = write_suite(
        [a_case("First", tags=["smoke"]), a_case("Second", final_assertions=[CONTAINS])],
        fixtures=["depot"],
        assertions=[CONTAINS],
    )
    Turn.objects.filter(case__name="First").update(files=files)
    run = make_run({"First": ["passed"], "Second": ["failed"]}, suite=suite)
    Suite.objects.filter(pk=suite.pk).update(baseline=run, imported_digest="d", source="a.yaml")
    ShipDecision.objects.create(
        suite=suite, run=run, run_number=run.pk, shipped=True, answered="", by=ann, by_name="Ann"
    )
    AcceptedFailure.objects.create(
        suite=suite, run_number=run.pk, case="Second", reason="Known", by=ann, by_name="Ann"
    )
    schedule = Schedule.objects.create(name="Nightly", owner=ann)
    schedule.suites.add(suite)
    due = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)
    DueRun.objects.create(schedule=schedule, suite=suite, due_at=due, state="started", run=run)
    MailWish.objects.create(person=ann, suite=suite)
    Webhook.objects.create(name="Team", url="https://example.org/in").suites.add(suite)
    suite.refresh_from_db()
    return suite


_LEFT_OUT = {Activity, DeletedObject, DeletedPart}


def stored() -> dict[str, str]:
    """Return every row of our tables, apart from what is kept of deleted objects, and of acts."""
    ours = [*apps.get_app_config("evals_app").get_models(include_auto_created=True)]
    ours += apps.get_app_config("fixtures_app").get_models(include_auto_created=True)
    models: list[Any] = [model for model in ours if model not in _LEFT_OUT]
    return {
        str(model): serialize("json", model._base_manager.order_by("pk"))  # noqa: SLF001
        for model in models
    }


def history(row: Any) -> Iterator[str]:
    entries = LogEntry.objects.filter(object_id=str(row.pk)).order_by("pk")
    for entry in entries.filter(content_type__model=type(row).__name__.lower()):
        yield f"{entry.user.username}: {entry.change_message}"


def test_a_restored_suite_is_as_it_was_with_its_runs_and_decisions(suite: Suite, ann: User) -> None:
    before = stored()

    entry = delete_written(suite, by=ann)

    assert entry is not None
    assert (Suite.objects.count(), Case.with_staged.count(), Assertion.objects.count()) == (0, 0, 0)
    assert Run.objects.get().suite is None
    assert (entry.name, entry.about, entry.by_name) == (
        "Refunds",
        "Suite with 2 cases and 1 run",
        "ann",
    )
    assert not Webhook.objects.get().is_enabled  # else it would be told about all suites

    restore_deleted(entry, by=ann)

    assert stored() == before
    assert not DeletedObject.objects.exists()
    assert list(history(suite)) == ["ann: Deleted.", "ann: Restored."]


def test_a_restored_case_is_as_it_was_and_its_suite_knows_who_deleted_it(
    suite: Suite, ann: User
) -> None:
    before = stored()
    case = suite.cases.get(name="First")

    entry = delete_case(case, by=ann)

    assert [case.name for case in suite.cases.all()] == ["Second"]
    assert (entry.name, entry.about) == ("First", "Case of “Refunds”")
    assert list(history(suite)) == ["ann: Deleted: 1 case (First)."]
    restore_deleted(entry, by=ann)
    assert stored() == before
    assert list(history(suite))[1:] == ["ann: Restored: 1 case (First)."]


def test_cases_that_were_deleted_together_come_back_together(suite: Suite, ann: User) -> None:
    before = stored()
    keys = list(suite.cases.values_list("pk", flat=True))

    entry = delete_cases(suite, keys, by=ann)

    assert (entry.name, entry.about) == ("2 cases", "Of “Refunds”: First, Second")
    assert restore_deleted(entry, by=ann).name == "2 cases"
    assert stored() == before


@pytest.mark.parametrize("slug", ["agent", "fixture"])
def test_agents_and_test_data_come_back_as_they_were(slug: str, suite: Suite, ann: User) -> None:
    TopicReadiness.objects.create(
        agent=suite.agent, topic="smoke", state="ready", by=ann, by_name="Ann"
    )
    row: Any = suite.agent if slug == "agent" else Fixture.objects.get()
    with pytest.raises(InUseError):
        delete_written(row, by=ann)
    suite.delete()
    before = stored()

    entry = delete_written(row, by=ann)

    assert entry is not None
    assert not type(row).objects.exists()
    assert not Entity.objects.exists() or slug == "agent"
    restore_deleted(entry, by=ann)
    assert stored() == before


def test_an_entity_type_in_use_stays_and_an_unused_one_comes_back(suite: Suite, ann: User) -> None:
    parcel = EntityType.objects.get()
    with pytest.raises(InUseError, match="depot"):
        delete_written(parcel, by=ann)
    suite.delete()
    before = stored()
    fixture = delete_written(Fixture.objects.get(), by=ann)
    kind = delete_written(parcel, by=ann)
    assert fixture is not None
    assert kind is not None

    chain = with_needed(fixture)

    assert chain == [kind, fixture]
    for entry in chain:
        restore_deleted(entry, by=ann)
    assert stored() == before


def test_a_case_whose_suite_was_deleted_too_comes_back_with_it(suite: Suite, ann: User) -> None:
    before = stored()
    case = delete_case(suite.cases.get(name="First"), by=ann)
    whole = delete_written(suite, by=ann)
    assert whole is not None

    with pytest.raises(CannotError, match="could not be restored without it"):
        delete_for_good(whole, by=ann)
    chain = with_needed(case)

    assert chain == [whole, case]
    for entry in chain:
        restore_deleted(entry, by=ann)
    assert stored() == before


def test_what_needs_something_that_is_gone_for_good_is_not_restored(
    suite: Suite, ann: User
) -> None:
    case = delete_case(suite.cases.get(name="First"), by=ann)
    suite.delete()

    with pytest.raises(CannotError, match="its suite was deleted for good"):
        with_needed(case)


def test_a_name_that_was_taken_since_stays_with_whoever_took_it(suite: Suite, ann: User) -> None:
    entry = delete_case(suite.cases.get(name="First"), by=ann)
    new = Case.objects.create(suite=suite, name="First")
    old_slug = delete_written(suite, by=ann)
    write_suite([a_case()])  # an import, for example
    assert old_slug is not None

    restored = restore_deleted(old_slug, by=ann)
    again = restore_deleted(entry, by=ann)

    assert restored.renamed == ["Refunds (restored)"]
    assert again.renamed == ["First (restored)"]
    assert {suite.slug: suite.pk for suite in Suite.objects.all()}["refunds-restored"] == suite.pk
    assert suite.cases.get(name="First").pk == new.pk


def test_what_is_gone_meanwhile_does_not_stop_the_rest(suite: Suite, ann: User) -> None:
    entry = delete_written(suite, by=ann)
    Schedule.objects.all().delete()
    Run.all_runs.update(baseline=None)
    ShipDecision.objects.all().delete()
    Run.all_runs.all().delete()
    assert entry is not None

    restore_deleted(entry, by=ann)

    suite.refresh_from_db()
    assert (suite.baseline, suite.schedules.count(), suite.ship_decisions.count()) == (None, 0, 1)


def test_two_people_restore_the_same_case_once(suite: Suite, ann: User) -> None:
    entry = delete_case(suite.cases.get(name="First"), by=ann)
    same = DeletedObject.objects.get()
    restore_deleted(entry, by=ann)

    with pytest.raises(CannotError, match="in the meantime"):
        restore_deleted(same, by=ann)
    with pytest.raises(CannotError, match="in the meantime"):
        delete_for_good(same, by=ann)


def test_what_is_deleted_for_good_leaves_an_entry_at_its_suite(suite: Suite, ann: User) -> None:
    entry = delete_case(suite.cases.get(name="First"), by=ann)

    delete_for_good(entry, by=ann)

    assert not DeletedObject.objects.exists()
    assert list(history(suite))[-1] == "ann: Deleted for good: First."


def test_an_agent_is_not_restored_under_the_address_of_another(ann: User) -> None:
    suite = write_suite()
    agent = suite.agent
    suite.delete()
    entry = delete_written(agent, by=ann)
    Agent.objects.create(name="Shop", slug="shop")
    assert entry is not None

    restore_deleted(entry, by=ann)

    slugs = Agent.objects.order_by("slug").values_list("slug", "name")
    assert list(slugs) == [("shop", "Shop"), ("shop-restored", "Shop (restored)")]
