"""A run against an agent on the network, from start to report."""

from typing import Any

import pytest
from django.test import Client

from evals_app.models import Assertion, GradeResult, ProviderState, Run, Turn
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.permitting import permitting
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db


def answer(asked: Asked) -> Sent:
    """Look an order up, or say that nothing is known of it."""
    number = asked.body["input"].rpartition(" ")[2]
    if number == "crash":
        return Sent.text("The database is away.", status=500)
    return Sent.json(
        {
            "output": f"Order {number} ships on Friday.",
            "tool_calls": [{"name": "orders.find", "args": {"number": number}, "result": {}}],
            "usage": {"input_tokens": 10, "output_tokens": 5},
            "estimated_cost_usd": 0.001,
            "retrieved": [{"id": "policy", "text": "Orders ship on Fridays."}],
        }
    )


def ask(server: WebServer, messages: list[str], **case: Any) -> Run:
    agent = make_agent("outside", driver="http", rules=[], url=server.url)
    suite = make_suite(messages, agent=agent, contains="Friday")
    for turn in Turn.objects.all():
        options = {"value": "orders.find", "args": {"number": {"present": True}}}
        Assertion.objects.create(turn=turn, position=1, type="tool_called", options=options)
    if case:
        suite.cases.update(**case)
    with permitting(hosts=(server.host,)):
        return finished(suite)


def test_an_agent_over_http_is_judged_like_any_other() -> None:
    with WebServer(answer) as server:
        run = ask(server, ["Where is 7", "Where is 8"])

    assert (run.verdict, run.passed, run.is_scripted) == ("passed", 2, False)
    assert run.agent_prompt_tokens == 20
    assert GradeResult.objects.filter(passed=True).count() == 4
    assert sorted(asked.body["case"] for asked in server.asked) == ["case 1", "case 2"]


def test_what_the_agent_does_wrong_is_its_failure_and_not_tried_again() -> None:
    with WebServer(answer) as server:
        run = ask(server, ["Where is crash"])

    execution = run.executions.get()
    assert (run.verdict, execution.verdict, execution.cause) == ("failed", "failed", "agent")
    assert "status 500 Internal Server Error: The database is away." in execution.reason
    assert len(server.asked) == 1


def test_all_processes_share_the_pace_of_an_agent() -> None:
    pace = {"max_concurrency": 1, "requests_per_minute": 60_000}
    with WebServer(answer) as server:
        agent = make_agent("outside", driver="http", rules=[], url=server.url, pace=pace)
        suite = make_suite(["Where is 7", "Where is 8"], agent=agent, contains="Friday")
        with permitting(hosts=(server.host,)):
            run = finished(suite)

    assert (run.verdict, run.passed) == ("passed", 2)
    shared = ProviderState.objects.get(slug="agent:outside")
    assert shared.next_request_at is not None
    assert shared.next_request_at > run.created_at


def test_an_address_that_may_not_be_called_any_more_is_an_error_and_no_failure() -> None:
    with WebServer(answer) as server:
        agent = make_agent("outside", driver="http", rules=[], url=server.url)
        suite = make_suite(["Where is 7"], agent=agent)
        with permitting(hosts=(server.host,)):
            run = start_run(suite)
        work()

    execution = run.executions.get()
    assert (execution.verdict, execution.cause) == ("errored", "harness")
    assert "EVALS_PRIVATE_HOSTS" in execution.reason
    assert server.asked == []


def test_a_conversation_is_found_again_by_its_trace(admin_client: Client) -> None:
    with WebServer(answer) as server:
        run = ask(server, ["Where is 7"])

    trace = server.asked[0].headers["traceparent"].split("-")[1]
    execution = run.executions.get()
    rest = admin_client.get(f"/api/executions/{execution.pk}/").json()
    page = admin_client.get(f"/admin/evals_app/execution/{execution.pk}/change/").content.decode()
    assert rest["trace_id"] == trace
    assert trace in page
    assert rest["tool_calls"][0]["args"] == {"number": "7"}
    assert execution.transcript.trial["trace_id"] == trace
