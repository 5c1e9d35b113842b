import pytest
from rest_framework.test import APIClient

from evals_app.engine.record.trial import Message, ToolCall
from evals_app.reports.answers.run_answers import ExecutionDetails
from tests.api.clients import make_client
from tests.makers import make_execution, make_grade, make_run, make_trial

pytestmark = pytest.mark.django_db

CALL = ToolCall("entity.query", {"type": "order"}, result={"total": 0}, duration_ms=3.5)


@pytest.fixture
def client() -> APIClient:
    return make_client("read")


def test_an_execution_is_shown_whole(client: APIClient) -> None:
    run = make_run(["passed"])
    trial = make_trial(
        turns=2,
        calls=[CALL],
        history=(Message("user", "Hi"),),
        world_changes={"created": []},
        warnings=("The parameter name is not set.",),
    )
    limit = {"limit": 1, "actual": 2}
    execution = make_execution(
        run,
        "Refund",
        state="failed",
        cause="limit",
        trial=trial,
        grades=[
            make_grade(
                2, evidence=[{"quote": "way", "turn": 2, "bears_on": "", "is_verified": True}]
            ),
            make_grade(
                None, family="limit", type="max_tool_calls", score=None, passed=False, details=limit
            ),
        ],
    )

    body = client.get(f"/api/executions/{execution.pk}/").json()

    assert body.keys() == set(ExecutionDetails.KEYS)
    assert (body["case"], body["verdict"], body["cause"]) == ("Refund", "failed", "limit")
    assert [(message["role"], message["turn"]) for message in body["messages"]] == [
        ("user", None),
        *(("user", 1), ("assistant", 1), ("assistant", 1)),
        *(("user", 2), ("assistant", 2), ("assistant", 2)),
    ]
    assert body["tool_calls"][1] == {
        "turn": 2,
        "message": 5,
        "name": "entity.query",
        "args": {"type": "order"},
        "result": {"total": 0},
        "error": None,
        "duration_ms": 3.5,
    }
    assert body["limits"]["max_tool_calls"] == {"limit": 1, "actual": 2, "passed": False}
    assert body["limits"]["max_prompt_tokens"] == {"limit": None, "actual": 240, "passed": None}
    assert [grade["turn"] for grade in body["grades"]] == [2, None]
    # Stored before it was noted who says a quote.
    assert body["grades"][0]["evidence"] == [
        {"quote": "way", "turn": 2, "bears_on": "", "is_verified": True, "speaker": None}
    ]
    assert body["world_changes"] == {"created": []}
    assert body["warnings"] == ["The parameter name is not set."]
    assert body["summary"] == execution.summary != {}


def test_an_execution_that_waits_has_said_nothing(client: APIClient) -> None:
    execution = make_execution(make_run(["queued"]), state="queued")

    body = client.get(f"/api/executions/{execution.pk}/").json()

    assert body.keys() == set(ExecutionDetails.KEYS)
    assert (body["status"], body["verdict"], body["summary"]) == ("queued", None, None)
    assert body["messages"] is body["grades"] is body["turns"] is None
    assert body["duration_ms"] is None
