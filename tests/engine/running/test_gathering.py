"""How long spans are waited for."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from evals_app.engine.record.trial import Trial
from evals_app.engine.record.usage import Usage
from evals_app.engine.running.gathering import Gatherer
from evals_app.engine.running.spans import AgentSpan, ReceivedSpans
from tests.engine.makers import make_trial, make_turn
from tests.engine.memory_gateway import MemoryGateway, cases_of, make_plan

TURN, TRACE = "a" * 16, "f" * 32
ROOT = AgentSpan("r", TURN, "agent", 0, 9, {"gen_ai.operation.name": "invoke_agent"})
TOOL = AgentSpan(
    "t", "r", "t", 1, 2, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}
)


def a_trial() -> Trial:
    turn = make_turn(reports_calls=False, span_id=TURN, usage=Usage())
    return make_trial(turn, trace_id=TRACE)


def gather(*looks: ReceivedSpans | None, wait_s: float) -> tuple[Trial, int]:
    """Wait for spans that come look by look; also return how often it was looked."""
    gateway: Any = MemoryGateway(make_plan(*cases_of("hello")))
    left: Iterator[ReceivedSpans | None] = iter(looks)
    known: list[Mapping[str, int]] = []

    def look(asked: Mapping[str, int]) -> Mapping[str, ReceivedSpans]:
        known.append(asked)
        news = next(left, None)
        return {} if news is None else {TRACE: news}

    gateway.on_look = look
    with asyncio.Runner() as runner:
        gatherer = Gatherer(gateway, look_every_s=0)
        return runner.run(gatherer.gather(a_trial(), wait_s=wait_s)), len(known)


@pytest.mark.parametrize(
    "looks",
    [
        [ReceivedSpans((ROOT, TOOL))],
        [None, ReceivedSpans((TOOL,)), None, ReceivedSpans((TOOL, ROOT))],
    ],
    ids=["at once", "in two batches"],
)
def test_it_ends_with_the_span_around_the_turn(looks: list[ReceivedSpans | None]) -> None:
    trial, count = gather(*looks, wait_s=3600)

    assert [call.name for call in trial.tool_calls] == ["x"]
    assert (trial.span_count, count) == (2, len(looks))


def test_after_the_time_what_has_arrived_counts() -> None:
    trial, _ = gather(ReceivedSpans((TOOL,)), wait_s=0)

    assert [call.name for call in trial.tool_calls] == ["x"]
    assert trial.reports_calls


def test_nothing_in_time_is_no_empty_list_of_calls() -> None:
    trial, _ = gather(wait_s=0)

    assert not trial.reports_calls
    assert trial.turns[0].calls_missing
