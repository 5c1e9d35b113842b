"""The spans on the page of an execution."""

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.admin.conversation.span_lines import MAX_LINES, spans_context
from evals_app.engine.running.spans import AgentSpan
from evals_app.runs.ground.traces import open_trace, receive
from tests.makers import make_execution, make_run, make_trial

pytestmark = pytest.mark.django_db

TRACE, TURN = "f" * 32, "a" * 16


def test_spans_are_a_tree_in_their_order_and_late_ones_are_counted(admin_client: Client) -> None:
    trial = make_trial()
    turn = replace(trial.turns[0], span_id=TURN)
    trial = trial.but(trace_id=TRACE, span_count=2, turns=(turn,))
    execution = make_execution(make_run(["passed"]), trial=trial, number=2)
    open_trace(execution.pk, TRACE)
    tool = {"gen_ai.operation.name": "execute_tool"}
    sent = [
        AgentSpan("2" * 16, "1" * 16, "<find>", 25, 75, tool, error="It broke."),
        AgentSpan("1" * 16, TURN, "agent", 0, 100, {}),
        AgentSpan("3" * 16, "1" * 16, "answer", 80, 100, {}),
    ]
    receive([(TRACE, span) for span in sent])

    context = spans_context(trial)
    page = admin_client.get(reverse("admin:evals_app_execution_change", args=[execution.pk]))

    lines = [(line.name, line.depth, line.start, line.width) for line in context["spans"]]
    assert lines == [
        ("agent", 0, "0.00", "100.00"),
        ("<find>", 1, "25.00", "50.00"),
        ("answer", 1, "80.00", "20.00"),
    ]
    assert (context["late_spans"], context["more_spans"]) == (1, 0)
    assert "&lt;find&gt;" in page.content.decode()


def test_of_many_spans_the_first_are_shown() -> None:
    trial = make_trial().but(trace_id=TRACE, span_count=0)
    execution = make_execution(make_run(["passed"]), trial=trial, number=2)
    open_trace(execution.pk, TRACE)
    receive([(TRACE, AgentSpan(f"{n:016}", "", "work", n, n, {})) for n in range(MAX_LINES + 3)])

    context = spans_context(trial)

    assert (len(context["spans"]), context["more_spans"]) == (MAX_LINES, 3)


def test_agents_that_send_none_have_no_box() -> None:
    assert spans_context(make_trial()) == {}
    assert spans_context(None) == {}
