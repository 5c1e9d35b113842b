"""The graders that come with this program."""

from typing import Any

import pytest

from evals_app.engine.callables import GraderContext, GraderResult, ToolInvocation
from evals_app.engine.callables.contract import result_as_json
from evals_app.engine.callables.references import callable_problem
from evals_app.engine.examples import graders
from evals_app.engine.examples.graders import no_call_twice, total_is_kept, turn_program

SUBTRACT = ToolInvocation("subtract", {"a": 60.94, "b": 25.14}, result=35.8)
DIVIDE = ToolInvocation("divide", {"a": 35.8, "b": 25.14}, result=1.42)
SEARCH = ToolInvocation("search", {"query": "2005"}, result=[])


def context_of(*calls: ToolInvocation, **changes: Any) -> GraderContext:
    fields: dict[str, Any] = {
        "turn_input": "And the change?",
        "agent_response": "35.8",
        "ground_truth": "35.8",
        "tool_invocations": calls,
        "retrieval_context": None,
        "turn_index": 2,
        "test_case_name": "Prices",
    }
    return GraderContext(**(fields | changes))


def by_program(program: str, *calls: ToolInvocation) -> GraderResult:
    return turn_program(context_of(*calls, turn_config={"turn_program": program}))


@pytest.mark.parametrize("name", ["turn_program", "no_call_twice", "total_is_kept"])
def test_each_can_be_named_in_a_check(name: str) -> None:
    assert callable_problem(f"{graders.__name__}:{name}", "grader") is None


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        pytest.param("60.94", [], id="nothing to calculate"),
        pytest.param("", [], id="no program"),
        pytest.param("subtract(60.94, 25.14)", [SUBTRACT], id="one step"),
        pytest.param("subtract(60.94, 25.14), divide(#0, 25.14)", [SUBTRACT, DIVIDE], id="two"),
        pytest.param("subtract(60.94, 25.14)", [SEARCH, SUBTRACT, SEARCH], id="among others"),
        pytest.param(
            "subtract(60.94, 25.14)",
            [ToolInvocation("mcp__tools__subtract", {"a": "60.940", "b": "25.14"}, result="35.8")],
            id="texts, and the name of a server in front",
        ),
        pytest.param(
            "divide(5, const_100)",
            [ToolInvocation("calculator.divide", {"a": 5, "b": 100}, result={"result": 0.05})],
            id="a constant, and a result in an object",
        ),
    ],
)
def test_a_program_that_was_calculated_passes(program: str, calls: list[ToolInvocation]) -> None:
    result = by_program(program, *calls)

    assert (result.score, result.passed) == (1.0, True)


@pytest.mark.parametrize(
    ("program", "calls", "score", "reason"),
    [
        pytest.param(
            "subtract(60.94, 25.14)",
            [],
            0.0,
            "Step 1, subtract(60.94, 25.14), was not calculated with a tool.",
            id="in its head",
        ),
        pytest.param(
            "subtract(60.94, 25.14), divide(#0, 25.14)",
            [SUBTRACT],
            0.5,
            "Step 2, divide(35.8, 25.14), was not calculated with a tool.",
            id="half of it",
        ),
        pytest.param("subtract(25.14, 60.94)", [SUBTRACT], 0.0, "Step 1", id="the other way round"),
        pytest.param(
            "subtract(60.94, 25.14), divide(#0, 25.14)",
            [DIVIDE, SUBTRACT],
            0.5,
            "Step 2",
            id="order",
        ),
        pytest.param(
            "subtract(60.94, 25.14)",
            [ToolInvocation("subtract", {"a": 60.94, "b": 25.14}, error="no network")],
            0.0,
            "Step 1",
            id="a call that failed",
        ),
    ],
)
def test_a_program_that_was_not_fails_at_its_first_missing_step(
    program: str, calls: list[ToolInvocation], score: float, reason: str
) -> None:
    result = by_program(program, *calls)

    assert (result.score, result.passed) == (score, False)
    assert result.reason is not None
    assert result.reason.startswith(reason)


@pytest.mark.parametrize(
    ("calls", "score"),
    [
        pytest.param([], 1.0, id="none"),
        pytest.param([SEARCH, SUBTRACT], 1.0, id="different ones"),
        pytest.param([SEARCH, SEARCH], 0.5, id="one twice"),
        pytest.param([SEARCH, ToolInvocation("search", {"query": "2007"})], 1.0, id="other words"),
    ],
)
def test_calls_that_ask_nothing_new_cost_score(calls: list[ToolInvocation], score: float) -> None:
    assert no_call_twice(context_of(*calls)) == score


def world_of(**balances: float) -> dict[str, Any]:
    rows = [{"id": k, "type": "account", "data": {"balance": v}} for k, v in balances.items()]
    return {"entities": [*rows, {"id": "o", "type": "order", "data": {}}], "relations": []}


@pytest.mark.parametrize(
    ("after", "score", "reason"),
    [
        pytest.param({"a": 60, "b": 40}, 1.0, "was 100 and is 100", id="moved"),
        pytest.param({"a": 100, "b": 40}, 0.0, "was 100 and is 140", id="made from nothing"),
        pytest.param({"a": 0.1, "b": 99.9}, 1.0, "was 100 and is 100", id="in pieces"),
    ],
)
def test_a_total_must_stay_as_it_was(after: dict[str, float], score: float, reason: str) -> None:
    result = total_is_kept(
        context_of(
            turn_config={"type": "account", "field": "balance"},
            world_before=world_of(a=100, b=0),
            world_after=world_of(**after),
        )
    )

    written = result_as_json(result)
    assert written["score"] == score
    assert reason in written["reason"]


def test_without_a_world_no_total_is_kept() -> None:
    assert total_is_kept(context_of()) is False
