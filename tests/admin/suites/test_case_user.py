"""The user's side of a case, in its form."""

from typing import Any

import pytest
from django.test import Client

from evals_app.formats.importing import Imported, Located
from evals_app.formats.reading.problems import FormatError
from evals_app.library.importing.adding import with_cases_added
from evals_app.models import Case
from tests.admin.case_pages import page_of
from tests.admin.suites.test_suite_cases import act
from tests.authored import CONTAINS, a_case, client_who_may, write_case, write_suite

pytestmark = pytest.mark.django_db
USER = {
    "goal": "Get the money back for order A-1042.",
    "facts": ["I paid 49.90 EUR.", "My name is Kim."],
    "manner": "impatient",
    "max_turns": 5,
    "model": "scripted/user",
}


def simulated(name: str = "Refund") -> dict[str, Any]:
    return a_case(name, simulated_user=USER, final_assertions=[CONTAINS])


def test_saving_a_simulated_case_as_it_is_changes_nothing(admin_client: Client) -> None:
    write_suite([simulated()])

    saved = page_of(admin_client, Case.objects.get()).post()

    assert saved.is_saved, saved.problems
    assert Case.objects.get().to_spec().model_dump(mode="json")["simulated_user"] == USER


def test_a_model_plays_the_user_of_a_case_that_was_written(admin_client: Client) -> None:
    page = page_of(admin_client, write_case(final_assertions=[CONTAINS]))
    page.set(user_side="simulated", user_goal="A refund", user_max_turns="4")

    saved = page.post(user_facts=["I am Kim.", ""])

    assert saved.is_saved, saved.problems
    assert Case.objects.get().simulated_user == {
        "goal": "A refund",
        "facts": ["I am Kim."],
        "max_turns": 4,
    }


def test_a_case_replays_and_is_written_again(admin_client: Client) -> None:
    case = write_case()

    assert page_of(admin_client, case).post(user_side="replay").is_saved
    assert Case.objects.get().replay

    # What is typed for a model stays out while none plays the user.
    assert page_of(admin_client, case).post(user_side="written", user_goal="x").is_saved
    assert (Case.objects.get().replay, Case.objects.get().simulated_user) == (False, {})


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"user_goal": ""}, "Goal"),
        ({"user_max_turns": "1"}, "At most"),
        ({"user_max_turns": "99"}, "At most"),
        ({"user_model": "nobody"}, "Model"),
        ({"trials": "2"}, "Trials"),
        ({"final_assertions__0__DELETE": "on"}, "whole conversation"),
    ],
)
def test_what_a_simulated_user_lacks_is_said_at_its_field(
    admin_client: Client, changes: dict[str, str], word: str
) -> None:
    write_suite([simulated()])

    refused = page_of(admin_client, Case.objects.get()).post(**changes)

    assert not refused.is_saved
    assert any(word in problem for problem in refused.problems), refused.problems


def test_turns_must_leave_room_for_the_user(admin_client: Client) -> None:
    write_suite([simulated()])
    page = page_of(admin_client, Case.objects.get())
    for _ in range(4):
        page.turn()

    refused = page.post()

    assert not refused.is_saved
    assert "at most 5" in refused.html


def test_simulated_and_written_cases_need_suites_of_their_own(admin_client: Client) -> None:
    write_suite([a_case("a", final_assertions=[CONTAINS]), a_case("b")])
    page = page_of(admin_client, Case.objects.get(name="a"))

    refused = page.post(user_side="simulated", user_goal="A refund")

    assert not refused.is_saved
    assert "suite of their own" in refused.html


def test_who_may_only_look_sees_who_plays_the_user() -> None:
    write_suite([simulated()])
    client = client_who_may("view_case", "view_suite")

    page = page_of(client, Case.objects.get())

    assert "impatient" in page.html


@pytest.mark.parametrize("do", ["move", "copy"])
def test_cases_with_a_simulated_user_do_not_go_to_written_ones(
    admin_client: Client, do: str
) -> None:
    suite = write_suite([simulated()])
    written, empty = write_suite([a_case()], slug="written"), write_suite(slug="empty")

    act(admin_client, suite, do, "Refund", into=written.pk)
    act(admin_client, written, do, "Where is it", into=suite.pk)

    assert [case.name for case in Case.objects.filter(suite=written)] == ["Where is it"]
    assert [case.name for case in Case.objects.filter(suite=suite)] == ["Refund"]

    act(admin_client, suite, do, "Refund", into=empty.pk)

    assert bool(empty.cases.get().simulated_user)


def test_written_cases_of_a_file_are_not_added_to_simulated_ones() -> None:
    write_suite([simulated()])
    written = write_suite([a_case()], slug="written").to_spec()
    imported = Imported(suites=[Located(written, "cases.csv", 1)])

    with pytest.raises(FormatError, match="suite of their own"):
        with_cases_added(imported, "refunds")
