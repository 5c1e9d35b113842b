"""The connected driver: messages wait for a computer, and stored answers count."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any

import pytest

from evals_app.engine.agents.external.connected import CallAnswer, CallState, OfferedCall
from evals_app.engine.record.trial import Cause, Verdict
from evals_app.engine.running import call_desk
from evals_app.engine.specs.agent_spec import AgentSpec, ConnectedAgent
from tests.engine.makers import make_case
from tests.engine.memory_gateway import MemoryGateway, make_plan

pytestmark = pytest.mark.anyio

WAITING = CallState(is_taken=False, is_lost=False, has_computer=True)
TAKEN = CallState(is_taken=True, is_lost=False, has_computer=True)
LOST = CallState(is_taken=False, is_lost=True, has_computer=True)
ALONE = CallState(is_taken=False, is_lost=False, has_computer=False)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_desk.CallDesks.__init__, "__kwdefaults__", {"look_every_s": 0.005})


def laptop(**changes: Any) -> AgentSpec:
    return ConnectedAgent.model_validate(
        {"agent": "Laptop", "slug": "laptop", "driver": "connected"} | changes
    )


def answered(output: str = "Yes, hello.", **changes: Any) -> CallState:
    answer: dict[str, Any] = {"output": output, "error": "", "took_s": 2.0, "ignored_files": False}
    return CallState(
        is_taken=True, is_lost=False, has_computer=True, answer=CallAnswer(**(answer | changes))
    )


def one_after_another(*states: CallState | None) -> Callable[[OfferedCall], CallState | None]:
    """Give the states in turn, and the last one again and again."""
    left: Iterator[CallState | None] = chain(states, repeat(states[-1]))
    return lambda _: next(left)


async def ask(*states: CallState | None, agent: AgentSpec | None = None, **case: Any) -> Any:
    gateway = MemoryGateway(
        make_plan(make_case("Hello", name="one", **case), agent=agent or laptop())
    )
    gateway.on_call = one_after_another(*states)
    await gateway.run()
    return gateway


async def test_a_message_waits_until_a_computer_answers_it() -> None:
    gateway = await ask(None, WAITING, TAKEN, answered(), contains="hello")

    (outcome,) = gateway.outcomes
    (call,) = gateway.calls.values()
    (turn,) = outcome.trial.turns
    assert outcome.decision.verdict is Verdict.PASSED
    assert turn.reply == "Yes, hello."
    assert call.request["input"] == "Hello"
    assert call.request["session_id"] == call.session_id == outcome.trial.trace_id
    assert 1900 < turn.latency_ms < 2500  # what the computer says, not the queue


async def test_calls_and_tokens_are_those_of_other_programs() -> None:
    reply = '{"output": "hello", "tool_calls": [{"name": "look"}], "usage": {"input_tokens": 3, "output_tokens": 4}}'
    (outcome,) = (await ask(answered(reply))).outcomes

    (turn,) = outcome.trial.turns
    assert [call.name for call in turn.tool_calls] == ["look"]
    assert (turn.usage.prompt_tokens, turn.usage.response_tokens) == (3, 4)


async def test_a_program_that_fails_fails_the_turn() -> None:
    (outcome,) = (await ask(answered("", error="my_agent.py ended with exit code 1."))).outcomes

    assert outcome.decision.verdict is Verdict.FAILED
    assert "exit code 1" in outcome.trial.turns[0].error


async def test_the_time_until_a_computer_has_answered_is_not_the_agents() -> None:
    gateway = await ask(*[WAITING] * 10, *[TAKEN] * 10, answered(), turn_timeout_s=0.05)

    (outcome,) = gateway.outcomes
    assert outcome.trial.turns[0].error is None


@pytest.mark.parametrize(
    ("states", "agent", "words"),
    [
        ([ALONE], {}, "evalwell connect laptop"),
        ([TAKEN, LOST], {}, "3 times"),
        ([TAKEN, LOST], {"if_lost": "fail"}, "if_lost"),
    ],
)
async def test_what_is_not_the_agents_fault_is_errored(
    states: list[CallState], agent: dict[str, Any], words: str
) -> None:
    gateway = await ask(*states, agent=laptop(**agent), turn_timeout_s=0.05)

    (outcome,) = gateway.outcomes
    (call,) = gateway.calls.values()
    assert outcome.decision.verdict is Verdict.ERRORED
    assert outcome.trial.failure.cause is Cause.HARNESS
    assert words in outcome.trial.failure.message
    assert call.offers == (1 if agent else 3)
