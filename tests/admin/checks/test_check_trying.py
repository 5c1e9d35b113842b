"""Trying a check in the editor. Who may: tests/test_permissions.py."""

import json
from typing import Any

import pytest
from django.test import Client

from evals_app.models import Assertion, Case
from tests.authored import client_who_may, write_case
from tests.makers import make_execution, make_run, make_trial

pytestmark = pytest.mark.django_db

ADDRESS = "/admin/evals_app/case/try/"
METEOR = {"c-type": "meteor", "reply": "a"}


def tried(client: Client, **posted: Any) -> str:
    answer = client.post(ADDRESS, {"prefix": "c", "c-enabled": "on"} | posted)
    assert answer.status_code == 200
    return answer.content.decode()


def contains(value: str) -> dict[str, str]:
    return {"c-type": "contains", "c-opt-value": value}


def ran(case: Case, **trial: Any) -> None:
    run = make_run({}, suite=case.suite)
    make_execution(run, case.name, trial=make_trial(**trial))


@pytest.mark.parametrize(
    ("posted", "word"),
    [
        pytest.param(contains("2 pm") | {"reply": "At 2 PM."}, "Passed", id="passed"),
        pytest.param(contains("2 pm") | {"reply": "At <b>3</b> PM."}, "Failed", id="failed"),
        pytest.param(METEOR | {"turn": "1", "expected": "a"}, "Score", id="score"),
        pytest.param({"c-type": "tool_called", "c-opt-value": "x"}, "Ungraded", id="no calls"),
        pytest.param({"c-type": "llm_judge", "c-opt-criteria": "x"}, "Ungraded", id="judge"),
        pytest.param(METEOR, "Ungraded", id="nothing expected"),
        pytest.param({"c-type": "matches", "c-opt-value": "("}, "Pattern", id="invalid option"),
        pytest.param({"c-type": "nonsense"}, "Kind of check", id="invalid kind"),
        pytest.param({}, "Kind of check", id="nothing"),
    ],
)
def test_the_written_check_grades_the_reply_and_nothing_is_stored(
    admin_client: Client, posted: dict[str, str], word: str
) -> None:
    shown = tried(admin_client, **posted)

    assert word in shown
    assert "<b>" not in shown
    assert not Assertion.objects.exists()


def test_a_check_of_a_number_says_what_passes_and_what_each_choice_would_say(
    admin_client: Client,
) -> None:
    number = {"c-type": "numeric", "c-opt-value": "14", "c-opt-extract": "any", "examples": "1"}
    shown = json.loads(tried(admin_client, **number))
    of_reply = json.loads(tried(admin_client, reply="14 of 20 <b>", **number))

    assert "“It weighs 14 kg.” passes, “14” passes, “It weighs 204 kg.” fails" in shown["sentence"]
    assert shown["choices"] == {
        "any": "would pass",
        "last": "would pass",
        "only": "would fail",
        "whole": "would fail",
    }
    assert of_reply["choices"]["last"] == "would fail"
    assert "14 of 20 <b>" in of_reply["sentence"]
    assert json.loads(tried(admin_client, examples="1", **contains("a"))) == {}


def test_a_person_who_tries_too_often_is_shown_when_to_try_again(
    settings: Any, admin_client: Client
) -> None:
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"check_trials": "1/min"}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}
    posted = {"prefix": "c", "c-enabled": "on", "reply": "x", **contains("x")}

    first, second = (admin_client.post(ADDRESS, posted) for _ in range(2))

    assert (first.status_code, second.status_code) == (200, 429)
    assert f"{second.headers['Retry-After']} second" in " ".join(second.content.decode().split())
    assert "Passed" in tried(client_who_may("change_case"), **posted)


def test_checks_of_tools_use_the_last_conversation_that_the_person_may_read(
    admin_client: Client,
) -> None:
    case = write_case()
    ran(case)
    posted = {"c-type": "tool_not_called", "c-opt-value": "x", "case": case.pk, "turn": "1"}

    assert "Passed" in tried(admin_client, **posted)
    assert "Ungraded" in tried(client_who_may("change_case"), **posted)


def test_the_last_reply_of_the_turn_is_given(admin_client: Client) -> None:
    case = write_case()
    ran(case, reply="Old")
    ran(case, reply="New", turns=2)
    address = f"/admin/evals_app/case/{case.pk}/last-reply/"

    assert admin_client.get(f"{address}?turn=2").json()["reply"] == "New"
    assert admin_client.get(address).json()["reply"] == "New"
    for turn in ("3", "x" * 9, "-1"):
        assert admin_client.get(f"{address}?turn={turn}").status_code == 200
    assert admin_client.get(f"{address}?turn=3").json() == {"reply": "", "source": ""}


def test_a_case_that_never_ran_has_no_last_reply(admin_client: Client) -> None:
    case = write_case()

    assert admin_client.get(f"/admin/evals_app/case/{case.pk}/last-reply/").json()["reply"] == ""
