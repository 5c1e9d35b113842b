"""Cases of conversations over REST."""

from typing import Any

import pytest

from evals_app.models import Agent, Case, Execution
from tests.api.clients import make_client
from tests.authored import a_case, write_suite
from tests.library.making.test_case_making import FIND, found, run_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def execution() -> Execution:
    suite = write_suite([a_case()])
    Agent.objects.update(tools=["entity.query", FIND])
    return run_of(suite, found("RF-1"), found("RF-2"))[0]


def address(execution: Execution) -> str:
    return f"/api/executions/{execution.pk}/case/"


def post(execution: Execution, **body: Any) -> Any:
    return make_client().post(address(execution), body, format="json")


def test_the_proposals_are_read(execution: Execution) -> None:
    body = make_client("read").get(address(execution)).json()

    assert (body["suites"], body["is_passed"], body["compared_with"]) == (["refunds"], True, 1)
    assert body["canned_tools"]["is_possible"]
    ticked = [entry["key"] for entry in body["proposals"] if entry["is_ticked"]]
    assert ticked == ["turn-1-call-1", "turn-1-phrase-1"]
    call = body["proposals"][0]
    assert (call["kind"], call["turn"], [part["words"] for part in call["parts"]]) == (
        "call",
        1,
        ["id = A-1"],
    )


def test_the_case_is_made_of_what_is_ticked_or_of_the_given_keys(execution: Execution) -> None:
    first, second = post(execution), post(execution, name="Mine", keys=["turn-1-phrase-1"])

    assert (first.status_code, second.status_code) == (201, 201)
    assert (first.json()["checks"], second.json()["checks"]) == (2, 1)
    answer = second.json()
    case = Case.objects.get(pk=answer["id"])
    assert (answer["name"], answer["suite"], answer["agent"]) == ("Mine", "refunds", "shop")
    assert answer["url"].endswith(f"/admin/evals_app/case/{case.pk}/change/")


def test_tools_answer_as_recorded_if_wished(execution: Execution) -> None:
    first = post(execution, canned_tools=True).json()
    second = post(execution, canned_tools=True, suite=first["suite"]).json()

    assert (first["agent"], first["suite"]) == ("shop-recorded", "refunds-recorded")
    assert (second["agent"], second["suite"]) == ("shop-recorded", "refunds-recorded")


@pytest.mark.parametrize(
    ("body", "status", "keys"),
    [
        pytest.param({"name": "Where is it"}, 422, "name", id="a name that is taken"),
        pytest.param({"suite": "refund"}, 422, "suite", id="no such suite"),
        pytest.param({"suite": "refunds", "canned_tools": True}, 422, "suite", id="not a copy"),
        pytest.param({"keys": ["turn-1-call-9"]}, 400, "keys[0]", id="no such key"),
        pytest.param({"keys": "turn-1-call-1"}, 400, "keys", id="no list"),
        pytest.param({"color": 1}, 400, "color", id="an unknown key"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_key(
    execution: Execution, body: dict[str, Any], status: int, keys: str
) -> None:
    answer = post(execution, **body)

    assert (answer.status_code, answer.json()["errors"][0]["keys"]) == (status, keys)
    assert Case.objects.count() == 1


def test_a_copy_and_a_new_suite_take_rights_of_their_own(execution: Execution) -> None:
    rights = ["evals_app.view_execution", "evals_app.add_case"]
    client = make_client("author", rights)

    refused = client.post(address(execution), {"canned_tools": True}, format="json")

    assert refused.status_code == 403
    assert client.post(address(execution), {}, format="json").status_code == 201


def test_a_conversation_that_is_gone_is_not_found(execution: Execution) -> None:
    execution.transcript.delete()

    assert make_client().get(address(execution)).status_code == 404
    assert post(execution).status_code == 404
