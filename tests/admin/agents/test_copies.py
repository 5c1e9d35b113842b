import pytest

from evals_app.admin.agents.copies import copy_agent, copy_case, copy_suite
from evals_app.models import Assertion, Case, Suite
from fixtures_app.ground.words import free_name
from tests.authored import a_case, write_case, write_suite
from tests.runs.suites import make_agent


@pytest.mark.parametrize(
    ("wanted", "taken", "name"),
    [
        ("a", [], "a copy"),
        ("a", ["a copy"], "a copy 2"),
        ("a", ["a copy", "a copy 2"], "a copy 3"),
        ("abcdefgh", [], "abcde copy"),
    ],
)
def test_a_copy_gets_an_unused_name(wanted: str, taken: list[str], name: str) -> None:
    assert free_name(wanted, taken, length=10) == name


@pytest.mark.django_db
def test_a_copy_of_a_case_shares_nothing_with_it() -> None:
    case = write_case()

    copied = copy_case(case)
    copied.turns.all().delete()

    assert case.turns.count() == 1
    assert Assertion.objects.count() == 1


@pytest.mark.django_db
def test_a_copy_keeps_a_check_of_a_kind_that_no_longer_exists() -> None:
    suite = write_suite([a_case()])
    Assertion.objects.update(type="telepathy")

    copied = copy_suite(suite)

    assert Assertion.objects.filter(turn__case__suite=copied).get().type == "telepathy"
    assert (Suite.objects.count(), Case.objects.count()) == (2, 2)


@pytest.mark.django_db
def test_a_copy_of_a_suite_with_the_longest_slug_can_be_read() -> None:
    suite = write_suite(slug="a" * 94 + "-" + "b" * 5)

    copied = copy_suite(suite)

    assert copied.slug == "a" * 94 + "-copy"
    assert copied.to_spec().slug == copied.slug


@pytest.mark.django_db
def test_a_copy_of_an_archived_suite_is_in_use_and_was_imported_from_nowhere() -> None:
    suite = write_suite(slug="old")
    Suite.objects.filter(pk=suite.pk).update(source="/evals/old.suite.yaml")
    Suite.objects.archive()
    suite.refresh_from_db()

    copied = copy_suite(suite)

    assert (copied.archived_at, copied.source) == (None, "")


@pytest.mark.django_db
def test_a_copy_of_an_agent_is_another_one_with_the_same_rules() -> None:
    agent = make_agent()

    copied = copy_agent(agent)

    assert (copied.name, copied.slug) == ("Echo copy", "echo-copy")
    assert copied.connection["rules"] == agent.connection["rules"]
