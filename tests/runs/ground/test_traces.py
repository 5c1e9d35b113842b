"""Spans of agents: which are kept, and what a run makes of them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evals_app.engine.running.spans import AgentSpan, ReceivedSpans
from evals_app.models import Assertion, Execution, Run, Trace, TraceSpan, Turn
from evals_app.runs.ground import traces
from evals_app.runs.ground.traces import ACCEPTED_AFTER, open_trace, read_spans, receive
from evals_app.runs.process import retention
from evals_app.runs.work import run_worker
from tests.agent_server import Sent, WebServer
from tests.engine.permitting import permitting
from tests.makers import make_execution, make_run
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def a_span(span_id: str = "1" * 16, **attributes: Any) -> AgentSpan:
    return AgentSpan(span_id, "0" * 16, "work", 1, 2, attributes)


def an_execution(state: str = "running", *, ended: timedelta | None = None) -> Execution:
    execution = make_execution(make_run(["queued"]), state=state, counts=False)
    if ended is not None:
        Execution.objects.filter(pk=execution.pk).update(finished_at=timezone.now() - ended)
    open_trace(execution.pk, TRACE)
    return execution


@pytest.mark.parametrize(
    ("state", "ended", "accepted"),
    [
        ("running", None, True),
        ("passed", timedelta(minutes=1), True),
        ("passed", ACCEPTED_AFTER + timedelta(minutes=1), False),
        ("queued", None, False),
    ],
)
def test_spans_are_kept_during_a_conversation_and_a_while_after_it(
    state: str, ended: timedelta | None, *, accepted: bool
) -> None:
    an_execution(state, ended=ended)

    refused = receive([(TRACE, a_span())])

    assert TraceSpan.objects.exists() == accepted
    assert refused.total() == (not accepted)


def test_spans_of_other_traces_are_counted_and_not_kept() -> None:
    an_execution()

    refused = receive([(TRACE, a_span()), ("f" * 32, a_span()), ("f" * 32, a_span("2" * 16))])

    assert refused.total() == 2
    assert TraceSpan.objects.count() == 1


@pytest.mark.parametrize("span_id", ["", "1" * 18])
def test_a_span_without_a_valid_id_is_counted_and_keeps_no_other_back(span_id: str) -> None:
    an_execution()

    assert receive([(TRACE, a_span(span_id)), (TRACE, a_span())]).total() == 1
    assert TraceSpan.objects.get().span_id == "1" * 16


def test_what_is_sent_twice_is_kept_once() -> None:
    an_execution()

    assert not receive([(TRACE, a_span()), (TRACE, a_span())])
    assert not receive([(TRACE, a_span()), (TRACE, a_span("2" * 16))])

    assert Trace.objects.get().span_count == TraceSpan.objects.count() == 2


@pytest.mark.parametrize("limit", ["MAX_SPANS", "MAX_BYTES"])
def test_more_than_is_stored_is_counted(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(traces, limit, 2 if limit == "MAX_SPANS" else 400)
    an_execution()

    refused = receive([(TRACE, a_span(str(n) * 16, text="x" * 20)) for n in range(1, 5)])

    assert refused.total() == 2
    (received,) = read_spans({TRACE: 0}).values()
    assert (len(received.spans), received.refused) == (2, 2)


def test_only_what_is_new_is_read_and_comes_back_as_it_was() -> None:
    an_execution()
    spans = (a_span(text="N\x00L", n=1), a_span("2" * 16, list=[{"a": None}]))
    receive([(TRACE, span) for span in spans])

    assert read_spans({TRACE: 2, "f" * 32: 0}) == {}
    assert read_spans({TRACE: 1}) == {
        TRACE: ReceivedSpans((a_span(text="N\ufffdL", n=1), spans[1]))
    }


def test_spans_go_with_the_transcript() -> None:
    execution = an_execution("passed", ended=timedelta(minutes=1))
    receive([(TRACE, a_span())])
    Run.objects.filter(pk=execution.run_id).update(
        status="finished", verdict="passed", finished_at=timezone.now() - timedelta(days=1)
    )

    retention.prune_run(execution.run)

    assert not Trace.objects.exists()
    assert not TraceSpan.objects.exists()


@pytest.fixture
def send(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have an agent send spans by REST as soon as its conversation begins."""

    def arrange(*spans: dict[str, Any]) -> None:
        def opening(execution_id: int, trace_id: str) -> None:
            open_trace(execution_id, trace_id)
            body = [
                {"traceId": trace_id, "spanId": f"{n:016}", "name": "work", **span}
                for n, span in enumerate(spans, 1)
            ]
            sent = admin_client.post(
                "/api/otlp/v1/traces",
                {"resourceSpans": [{"scopeSpans": [{"spans": body}]}]},
                content_type="application/json",
            )
            assert (sent.status_code, sent.json()) == (200, {})

        monkeypatch.setattr(run_worker, "open_trace", opening)

    return arrange


def attributes(**values: str) -> list[dict[str, Any]]:
    return [
        {"key": f"gen_ai.{name.replace('__', '.')}", "value": {"stringValue": value}}
        for name, value in values.items()
    ]


FIND = {
    "attributes": attributes(
        operation__name="execute_tool",
        tool__name="orders.find",
        tool__call__arguments='{"number": "7"}',
        tool__call__result='{"state": "sent"}',
    )
}


def ask() -> Execution:
    """Run a case that needs a tool call, with an agent that states none in its reply."""
    with WebServer(lambda _: Sent.text("It ships on Friday.")) as server:
        agent = make_agent(
            "outside",
            driver="http",
            rules=[],
            url=server.url,
            tool_calls_from="spans",
            spans_wait_s=0.01,
        )
        suite = make_suite(["Where is 7"], agent=agent, contains="Friday")
        options = {"value": "orders.find", "args": {"number": "7"}}
        for kind in ("tool_called", "tool_not_called"):
            changed = {"value": "orders.delete"} if kind == "tool_not_called" else options
            Assertion.objects.create(
                turn=Turn.objects.get(), position=1, type=kind, options=changed
            )
        with permitting(hosts=(server.host,)):
            return finished(suite).executions.get()


def test_spans_become_the_tool_calls_of_a_turn(
    send: Callable[..., None], admin_client: Client
) -> None:
    send(FIND)

    execution = ask()

    assert (execution.verdict, execution.tool_calls) == ("passed", 1)
    rest = admin_client.get(f"/api/executions/{execution.pk}/").json()
    assert rest["tool_calls"][0]["result"] == {"state": "sent"}
    assert rest["trace_id"] == Trace.objects.get().pk


def test_without_spans_checks_of_calls_are_not_graded_and_others_are() -> None:
    execution = ask()

    assert (execution.verdict, execution.cause) == ("errored", "case")
    grades = {grade.type: grade for grade in execution.grades.all()}
    assert grades["contains"].passed
    for kind in ("tool_called", "tool_not_called"):
        assert (grades[kind].status, grades[kind].passed) == ("ungraded", None)
        assert "No span" in grades[kind].reason
