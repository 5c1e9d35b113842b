"""What spans say about turns, by the conventions that agents use."""

from typing import Any

import pytest

from evals_app.engine.record.trial import Chunk, Message, ToolCall, Trial
from evals_app.engine.record.usage import Usage
from evals_app.engine.running.spans import (
    AgentSpan,
    ReceivedSpans,
    Tree,
    calls_of,
    is_complete,
    usage_of,
    with_spans,
)
from tests.engine.makers import make_trial, make_turn

TURN, LATER = "a" * 16, "b" * 16
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "asked"}
ASKS = {"gen_ai.response.finish_reasons": ["tool_calls"]}
AGENT = {"gen_ai.operation.name": "invoke_agent"}


def span(
    name: str, attributes: dict[str, Any], *, below: str = "agent", **changes: Any
) -> AgentSpan:
    """Make a span that begins after those that were made before, by its name."""
    fields: dict[str, Any] = {"start_ns": 0, "end_ns": 2_000_000}
    return AgentSpan(name, below, name, attributes=attributes, **(fields | changes))


ROOT = span("agent", AGENT, below=TURN)


def calls(*spans: AgentSpan) -> tuple[ToolCall, ...]:
    tree = Tree([ROOT, *spans], [TURN])
    return calls_of(tree.of_turn(TURN), tree)


def usage(*spans: AgentSpan) -> Usage:
    tree = Tree(spans, [TURN])
    return usage_of(tree.of_turn(TURN), tree)


@pytest.mark.parametrize(
    "attributes",
    [
        TOOL | {"gen_ai.tool.call.arguments": '{"n": 7}', "gen_ai.tool.call.result": '{"s": 1}'},
        TOOL | {"gen_ai.tool.call.arguments": {"n": 7}, "gen_ai.tool.call.result": {"s": 1}},
        pytest.param(
            TOOL | {"tool_arguments": '{"n": 7}', "tool_response": '{"s": 1}'}, id="PydanticAI"
        ),
        pytest.param(
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "find",
                "input.value": '{"n": 7}',
                "output.value": '{"s": 1}',
            },
            id="OpenInference",
        ),
        pytest.param(
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "find",
                "input.value": "{'n': 7}",
                "output.value": '{"type": "tool", "data": {"content": "{\\"s\\": 1}"}}',
            },
            id="OpenInference of LangChain",
        ),
        pytest.param(
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "find",
                "traceloop.entity.input": '{"args": [], "kwargs": {"n": 7}}',
                "traceloop.entity.output": '{"s": 1}',
            },
            id="OpenLLMetry",
        ),
        pytest.param(
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "find",
                "traceloop.entity.input": '{"input_str": "", "tags": [], "inputs": {"n": 7}}',
                "traceloop.entity.output": '{"output": {"lc": 1, "kwargs": {"content": {"s": 1}}},'
                ' "kwargs": {}}',
            },
            id="OpenLLMetry of LangChain",
        ),
    ],
)
def test_every_convention_gives_the_same_call(attributes: dict[str, Any]) -> None:
    assert calls(span("one", attributes)) == (
        ToolCall("find", {"n": 7}, {"s": 1}, duration_ms=2.0),
    )


@pytest.mark.parametrize(
    ("attributes", "args"),
    [
        (TOOL, {}),
        (TOOL | {"gen_ai.tool.call.arguments": ""}, {}),
        (TOOL | {"gen_ai.tool.call.arguments": "[1]"}, {"input": [1]}),
        (TOOL | {"gen_ai.tool.call.arguments": "where"}, {"input": "where"}),
        (TOOL | {"gen_ai.tool.call.arguments": "1042"}, {"input": "1042"}),
        (TOOL | {"gen_ai.tool.call.arguments": "{'a': open('x')}"}, {"input": "{'a': open('x')}"}),
        (TOOL | {"gen_ai.tool.call.arguments": "{'a': {1, 2}}"}, {"input": "{'a': {1, 2}}"}),
        # An argument of that name is not a wrapper.
        (
            TOOL | {"gen_ai.tool.call.arguments": '{"inputs": {"a": 1}, "n": 7}'},
            {"inputs": {"a": 1}, "n": 7},
        ),
    ],
)
def test_arguments_are_an_object_or_become_one(
    attributes: dict[str, Any], args: dict[str, Any]
) -> None:
    (call,) = calls(span("one", attributes))

    assert call.args == args


def test_a_bare_value_gets_its_name_from_what_the_model_asked() -> None:
    place = "llm.output_messages.0.message.tool_calls.0.tool_call"
    model = {
        "openinference.span.kind": "LLM",
        f"{place}.id": "c1",
        f"{place}.function.arguments": '{"number": "1042"}',
    }
    tool = {
        "openinference.span.kind": "TOOL",
        "tool.name": "find",
        "input.value": "1042",
        "output.value": '{"type": "tool", "data": {"content": "No such order.",'
        ' "tool_call_id": "c1", "status": "error"}}',
    }

    (call,) = calls(span("m", model), span("t", tool, start_ns=1))

    assert (call.args, call.result) == ({"number": "1042"}, "No such order.")
    assert call.error == "No such order."


def test_calls_come_in_the_order_in_which_they_began_and_failed_ones_say_why() -> None:
    made = calls(
        span("second", TOOL, start_ns=20, error="It broke."),
        span("first", TOOL | {"gen_ai.tool.name": "open"}, start_ns=10),
    )

    assert [(call.name, call.error) for call in made] == [("open", None), ("find", "It broke.")]


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(span("inner", TOOL, below="one"), id="below itself"),
        span("other", TOOL | {"gen_ai.tool.call.id": "c1"}, start_ns=1),
    ],
)
def test_a_call_that_two_instrumentations_noted_is_one_call(again: AgentSpan) -> None:
    assert len(calls(span("one", TOOL | {"gen_ai.tool.call.id": "c1"}), again)) == 1
    assert len(calls(span("one", TOOL), span("other", TOOL))) == 2


FOUND = {
    "openinference.span.kind": "RETRIEVER",
    "input.value": "returns",
    "retrieval.documents.0.document.id": "r1",
    "retrieval.documents.0.document.content": "30 days.",
    "retrieval.documents.1.document.content": "Books.",
}
CHUNKS = (Chunk("r1", "30 days."), Chunk("2", "Books."))


@pytest.mark.parametrize(
    ("spans", "names"),
    [
        ([span("r", FOUND)], ["retrieved"]),
        ([span("t", TOOL), span("r", FOUND, below="t", start_ns=1)], ["find"]),
        ([span("t", TOOL), span("r", FOUND, start_ns=1)], ["find"]),
        (
            [
                span("t", TOOL | {"gen_ai.tool.name": "search"}),
                span("r", FOUND, below="t", start_ns=1),
                span("u", TOOL, start_ns=2),
            ],
            ["search", "find"],
        ),
    ],
    ids=["alone", "inside a call", "beside a call", "inside the first call"],
)
def test_documents_belong_to_the_call_that_retrieved_them(
    spans: list[AgentSpan], names: list[str]
) -> None:
    made = calls(*spans)

    assert [call.name for call in made] == names
    assert made[0].chunks == CHUNKS
    assert made[0].is_retrieval


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], Usage()),
        (
            [
                span("m", CHAT | {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}),
                span("n", {"openinference.span.kind": "LLM", "llm.token_count.prompt": 1}),
            ],
            Usage(10, None),
        ),
        # The SDK's call inside the framework's, and an agent that reports the sum.
        (
            [
                span("agent", AGENT | {"gen_ai.usage.input_tokens": 9}, below=TURN),
                span("m", CHAT | {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}),
                span(
                    "n",
                    CHAT | {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2},
                    below="m",
                ),
            ],
            Usage(9, 2),
        ),
        (
            [
                span(
                    "agent",
                    AGENT | {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2},
                    below=TURN,
                )
            ],
            Usage(9, 2),
        ),
        (
            [
                span(
                    "m",
                    CHAT
                    | {
                        "gen_ai.usage.input_tokens": 9,
                        "gen_ai.usage.output_tokens": 2,
                        "gen_ai.usage.cache_read.input_tokens": 4,
                    },
                )
            ],
            Usage(5, 2, cache_read=4),
        ),
        ([span("m", CHAT | {"gen_ai.usage.input_tokens": -9})], Usage()),
    ],
    ids=["none", "one unknown", "nested", "of the agent alone", "cached", "impossible"],
)
def test_tokens_are_counted_once(spans: list[AgentSpan], expected: Usage) -> None:
    assert usage(*spans) == expected


def a_trial(*changes: dict[str, Any]) -> Trial:
    """Make a conversation of turns that do not report their calls."""
    usual: dict[str, Any] = {
        "reports_calls": False,
        "usage": Usage(),
        "messages": (Message("assistant", "Hello."),),
    }
    ids = zip((TURN, LATER), changes or ({},), strict=False)
    return make_trial(
        *(
            make_turn(**(usual | {"index": number, "span_id": span_id} | change))
            for number, (span_id, change) in enumerate(ids, 1)
        )
    )


def test_a_turn_gets_calls_tokens_and_model() -> None:
    model = CHAT | {
        "gen_ai.response.model": "answered",
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 2,
    }
    received = ReceivedSpans((ROOT, span("t", TOOL), span("m", model)))

    trial = with_spans(a_trial(), received, waited_s=15)

    (turn,) = trial.turns
    assert is_complete(a_trial(), received)
    assert [call.name for call in turn.tool_calls] == ["find"]
    assert (turn.usage, turn.model, turn.reports_calls) == (Usage(9, 2), "answered", True)
    assert turn.messages[-1].text == "Hello."
    assert trial.span_count == 3


def test_what_the_reply_states_is_not_mixed_with_spans() -> None:
    stated = {
        "reports_calls": True,
        "messages": (Message("assistant", "", (ToolCall("open", {}),)),),
    }

    (turn,) = with_spans(a_trial(stated), ReceivedSpans((ROOT, span("t", TOOL))), waited_s=15).turns

    assert [call.name for call in turn.tool_calls] == ["open"]
    assert "not used" in turn.notes[0]
    assert is_complete(a_trial(stated), ReceivedSpans())


def test_tokens_that_the_reply_states_are_kept() -> None:
    stated = a_trial({"usage": Usage(1, 1), "model": "stated"})

    (turn,) = with_spans(stated, ReceivedSpans((ROOT, span("m", CHAT))), waited_s=15).turns

    assert (turn.usage, turn.model) == (Usage(1, 1), "stated")


@pytest.mark.parametrize(
    ("turns", "spans", "complete"),
    [
        (1, [ROOT], True),
        (1, [], False),
        # Nothing shows that this was the last one.
        (1, [span("t", TOOL, below=TURN)], False),
        (1, [ROOT, span("t", TOOL, below="missing")], False),
        (2, [ROOT], False),
        (2, [ROOT, span("agent2", AGENT, below=LATER)], True),
        (2, [ROOT, span("agent2", AGENT, below=LATER), span("t", TOOL, below="x")], False),
    ],
)
def test_a_turn_is_complete_once_the_span_around_it_has_arrived(
    turns: int, spans: list[AgentSpan], *, complete: bool
) -> None:
    assert is_complete(a_trial(*[{}] * turns), ReceivedSpans(tuple(spans))) == complete


@pytest.mark.parametrize(
    ("turns", "received", "missing"),
    [
        (1, ReceivedSpans(), ["No span"]),
        (1, ReceivedSpans((ROOT,), refused=3), ["3"]),
        # Who notes model calls alone does not note tool calls.
        (1, ReceivedSpans((ROOT, span("m", CHAT | ASKS))), ["asked"]),
        (1, ReceivedSpans((ROOT, span("m", CHAT | ASKS), span("t", TOOL))), [""]),
        # With one turn there is no doubt.
        (1, ReceivedSpans((span("t", TOOL, below="missing"),)), [""]),
        (2, ReceivedSpans((ROOT,)), ["", "No span"]),
        (2, ReceivedSpans((ROOT, span("t", TOOL, below="missing"))), ["parents", "parents"]),
    ],
)
def test_what_did_not_arrive_is_unknown_and_says_so(
    turns: int, received: ReceivedSpans, missing: list[str]
) -> None:
    trial = with_spans(a_trial(*[{}] * turns), received, waited_s=15)

    for turn, why in zip(trial.turns, missing, strict=True):
        assert why in turn.calls_missing
        assert turn.reports_calls == (not why)
        assert bool(turn.calls_missing) == bool(why)


@pytest.mark.parametrize(
    ("spans", "is_noted"),
    [
        pytest.param((ROOT, span("t", TOOL)), False, id="all"),
        pytest.param((ROOT, span("t", TOOL, below="missing")), True, id="no parent"),
        pytest.param((span("t", TOOL, below=TURN),), True, id="no span around the turn"),
    ],
)
def test_what_may_be_missing_is_noted(spans: tuple[AgentSpan, ...], *, is_noted: bool) -> None:
    (turn,) = with_spans(a_trial({}), ReceivedSpans(spans), waited_s=15).turns

    assert any("may be missing" in note for note in turn.notes) == is_noted


def test_a_failed_turn_is_not_waited_for() -> None:
    failed = a_trial({"error": "It broke."})

    assert is_complete(failed, ReceivedSpans())
    assert with_spans(failed, ReceivedSpans(), waited_s=15).turns[0].calls_missing == ""
    assert with_spans(failed, ReceivedSpans((ROOT, span("t", TOOL))), waited_s=15).tool_calls
    # It may still be at work.
    assert not with_spans(failed, ReceivedSpans((span("t", TOOL),)), waited_s=15).tool_calls


@pytest.mark.parametrize("value", [[1], {"a": [1]}, None, 7, "x" * 9999, "[" * 9999])
@pytest.mark.parametrize(
    "name",
    [
        *("gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id"),
        *("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.response.model"),
        *("gen_ai.usage.input_tokens", "gen_ai.response.finish_reasons"),
        *("gen_ai.retrieval.documents", "openinference.span.kind", "llm.request.type"),
    ],
)
@pytest.mark.parametrize("kind", [TOOL, CHAT, {"gen_ai.operation.name": "retrieval"}])
def test_attributes_may_be_anything(kind: dict[str, Any], name: str, value: object) -> None:
    received = ReceivedSpans((ROOT, span("s", kind | {name: value})))

    trial = with_spans(a_trial(), received, waited_s=15)

    assert Trial.from_json(trial.to_json()) == trial


def test_spans_in_a_circle_end() -> None:
    circle = [span("x", TOOL, below="y"), span("y", TOOL, below="x")]

    assert len(Tree(circle, [TURN, LATER]).strays) == 2
    assert len(calls(*circle)) < 2
