"""Executions as traces: what a collector reads of them."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from evals_app.engine.record.grade import Grade, GradedAssertion
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Cause, Message, ToolCall, Verdict
from evals_app.engine.record.usage import Usage
from evals_app.engine.running.run_gateway import ExecutionJob, Outcome, StoredConversation
from evals_app.engine.running.spans import AgentSpan, Tree, calls_of, usage_of
from evals_app.engine.suites.user_spec import SimulatedUserSpec
from evals_app.engine.verdicts.execution_verdict import Decision
from evals_app.formats.otlp import read_spans
from evals_app.reports.renderers.otlp import SpanSource, request_of, spans_of
from tests.engine.makers import make_case, make_trial, make_turn

TRACE, TURN = "f" * 32, "a" * 16
ENDED = datetime(2026, 5, 1, 9, 30, 10, tzinfo=UTC)
CALLS = (ToolCall("find", {"n": 7}, {"s": 1}, duration_ms=5.0), ToolCall("open", {}, error="No."))
SOURCE = SpanSource(run_id=3, suite="Orders", agent="Shop")
SECRET = "the customer's name"


def an_outcome(*, again: bool = False, **changes: Any) -> Outcome:
    turn = make_turn(
        SECRET,
        span_id=TURN,
        user=SECRET,
        messages=(Message("assistant", "", CALLS), Message("assistant", SECRET)),
        usage=Usage(10, 5, cache_read=4),
        latency_ms=2000.0,
        model="m",
    )
    trial = make_trial(
        turn,
        make_turn(index=2, span_id="b" * 16, error="It broke.", latency_ms=500.0),
        started_at="2026-05-01T09:30:00+00:00",
        trace_id=TRACE,
        **changes,
    )
    judged = JudgeCall(
        "judge", "j-1", "?", "!", usage=Usage(3, 1), provider="acme", asked_model="j"
    )
    grade = Grade.miss(SECRET).but(calls=(judged,))
    graded = [
        GradedAssertion("contains", SECRET, "text", place, 0, 1.0, None, grade)
        for place in (1, None)
    ]
    decision = Decision(Verdict.FAILED, 0.5, Cause.ASSERTION, SECRET)
    job = ExecutionJob(9, make_case(), 1, stored=StoredConversation(trial) if again else None)
    return Outcome(job, trial, tuple(graded), decision)


def exported(
    outcome: Outcome, *, with_content: bool = False
) -> tuple[str, dict[str, AgentSpan], str]:
    """Return the id of the trace, its spans by name as our own reader reads them, and all of it."""
    spans = spans_of(outcome, SOURCE, ended_at=ENDED, with_content=with_content)
    body = json.dumps(request_of(spans))
    read = read_spans(body.encode(), is_json=True)
    ((trace_id,),) = [{trace for trace, _ in read}]
    return trace_id, {span.span_id: span for _, span in read}, body


def events(outcome: Outcome, span: int) -> list[dict[str, Any]]:
    found = spans_of(outcome, SOURCE, ended_at=ENDED, with_content=False)[span]["events"]
    return [{part["key"]: part["value"] for part in event["attributes"]} for event in found]


def test_turns_are_the_spans_that_the_agent_was_sent() -> None:
    trace, spans, _ = exported(an_outcome(), with_content=True)

    assert trace == TRACE
    tree = Tree([span for key, span in spans.items() if key != TURN], [TURN, "b" * 16])
    calls = calls_of(tree.of_turn(TURN), tree)
    assert [(call.name, call.args, call.result) for call in calls] == [
        ("find", {"n": 7}, {"s": 1}),
        ("open", {}, None),
    ]
    assert calls[0].duration_ms == 5.0
    lengths = {
        span.attributes["gen_ai.tool.name"]: span.attributes.get("evalwell.duration")
        for span in spans.values()
        if span.kind == "tool"
    }
    assert lengths == {"find": None, "open": "unknown"}
    assert usage_of([spans[TURN]], tree) == Usage(10, 5, cache_read=4)
    assert spans["b" * 16].error is not None
    assert spans["b" * 16].start_ns == spans[TURN].end_ns


def test_a_simulated_user_is_named() -> None:
    user = SimulatedUserSpec(goal="Get it back.")
    case = make_case(simulated_user=user, final_assertions=[{"type": "contains", "value": "x"}])
    plain = an_outcome(user_model="acme/u")
    simulated = replace(plain, job=replace(plain.job, case=case))

    for outcome, expected in ((simulated, {"boolValue": True}), (plain, None)):
        root = spans_of(outcome, SOURCE, ended_at=ENDED, with_content=False)[0]
        said = {part["key"]: part["value"] for part in root["attributes"]}
        assert said["evalwell.user.model"] == {"stringValue": "acme/u"}
        assert said.get("evalwell.user.is_simulated") == expected


def test_what_the_agent_thought_is_a_part_of_its_own() -> None:
    thinking = make_turn("Bye.", messages=(Message("assistant", "Bye.", reasoning="Done?"),))
    outcome = replace(an_outcome(), trial=make_trial(thinking, trace_id=TRACE))

    spans = spans_of(outcome, SOURCE, ended_at=ENDED, with_content=True)

    (written,) = (
        attribute["value"]["stringValue"]
        for span in spans
        for attribute in span["attributes"]
        if attribute["key"] == "gen_ai.output.messages" and "Bye." in str(attribute)
    )
    assert json.loads(written)[0]["parts"] == [
        {"type": "reasoning", "content": "Done?"},
        {"type": "text", "content": "Bye."},
    ]


def test_the_execution_is_around_all_of_it() -> None:
    _, spans, _ = exported(an_outcome())

    root = next(span for span in spans.values() if not span.parent_id)
    assert root.attributes["test.case.result.status"] == "fail"
    assert root.attributes["evalwell.execution.id"] == 9
    assert {span.parent_id for span in spans.values()} == {"", root.span_id, TURN}
    assert root.duration_ms == 10_000
    assert all(root.start_ns <= s.start_ns and s.end_ns <= root.end_ns for s in spans.values())


def test_grades_are_events_of_their_turn_or_of_the_whole() -> None:
    whole, turn = events(an_outcome(), 0), events(an_outcome(), 1)

    for event in (*whole, *turn):
        assert event["gen_ai.evaluation.name"] == {"stringValue": "contains"}
        assert event["gen_ai.evaluation.score.value"] == {"doubleValue": 0.0}
        assert event["gen_ai.evaluation.score.label"] == {"stringValue": "fail"}
    assert (len(whole), len(turn)) == (1, 1)


@pytest.mark.parametrize("with_content", [False, True])
def test_what_was_said_is_exported_only_on_demand(*, with_content: bool) -> None:
    _, _, body = exported(an_outcome(), with_content=with_content)

    assert (SECRET in body) == with_content


def test_calls_of_an_agent_that_sends_spans_are_not_exported_twice() -> None:
    _, spans, _ = exported(an_outcome(span_count=4))

    assert not [span for span in spans.values() if span.kind == "tool"]


def test_a_conversation_that_is_graded_again_is_not_exported_again() -> None:
    trace, spans, _ = exported(an_outcome(again=True))

    assert trace != TRACE
    assert TURN not in spans
    assert [span.kind for span in spans.values()] == ["other", "model", "model"]
    assert len(events(an_outcome(again=True), 0)) == 2
