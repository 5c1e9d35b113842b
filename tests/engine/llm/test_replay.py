"""Calls that were paid for are not made again."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.llm.call import ModelCall, ModelReply, NativeTurn, ToolRequest, UserMessage
from evals_app.engine.llm.replay import ExecutionCalls, fingerprint
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.usage import Usage
from tests.engine.llm.makers import make_call

pytestmark = pytest.mark.anyio

REPLY = ModelReply(
    text="Hello.",
    tool_calls=(ToolRequest("1", "entity.get", {"id": "a"}, '{"id": "a"}'),),
    stop="tool",
    usage=Usage(10, 5, cache_read=3),
    cost_usd=Decimal("0.000012345"),
    latency_ms=120.5,
    attempts=(Attempt("It broke.", 2000.0),),
    model="claude-haiku-5-5",
    sent={"max_output_tokens": 4096},
    native_turn=NativeTurn({"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}),
)


class Model:
    """Answers every call with the same reply, and counts."""

    def __init__(self) -> None:
        self.asked: list[ModelCall] = []

    async def __call__(self, call: ModelCall) -> ModelReply:
        self.asked.append(call)
        return REPLY


async def test_the_same_question_gets_the_reply_of_before() -> None:
    model = Model()
    first = ExecutionCalls(model)
    await first(make_call("one"))

    again = ExecutionCalls(model, paid=first.paid_calls())
    replayed = await again(make_call("one", timeout_s=1.0, tell=print))
    await again(make_call("two"))

    assert replayed == replace(REPLY, is_replayed=True)
    assert len(model.asked) == 2
    assert [call["call"] for call in again.paid_calls()] == [
        fingerprint(make_call("one")),
        fingerprint(make_call("two")),
    ]


async def test_a_question_asked_twice_needs_two_replies() -> None:
    model = Model()
    first = ExecutionCalls(model)
    await first(make_call())

    again = ExecutionCalls(model, paid=first.paid_calls())
    await again(make_call())
    await again(make_call())

    assert len(model.asked) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": (UserMessage("Other."),)},
        {"system": "Be short."},
        {"model": "claude-opus-5"},
        {"temperature": 0.5},
        {"schema": {"type": "object"}},
        {"purpose": "judge"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_another_question_has_another_name(changes: dict[str, Any]) -> None:
    assert fingerprint(make_call()) != fingerprint(make_call(**changes))


def test_what_an_api_is_to_remember_makes_no_other_question() -> None:
    call = make_call("One. Two.")

    marked = replace(call, messages=(UserMessage("One. Two.", shared=4),), cache_key="a1")

    assert fingerprint(marked) == fingerprint(call)
    assert marked.without_marks().messages == call.messages
