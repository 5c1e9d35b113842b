"""What a grader gives back."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from evals_app.engine.callables import GraderContext, GraderResult, ToolInvocation
from evals_app.engine.callables.contract import context_from, result_as_json


def result_of(score: float, **changes: Any) -> dict[str, Any]:
    return {"score": score, "passed": None, "reason": None, "details": {}} | changes


class Half:
    """A number as numpy has it: none of Python's, but it knows the one it means."""

    __module__ = "numpy"

    def item(self) -> float:
        return 0.5


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(True, result_of(1.0, passed=True), id="true"),
        pytest.param(False, result_of(0.0, passed=False), id="false"),
        pytest.param(0.7, result_of(0.7), id="a score"),
        pytest.param(1, result_of(1.0), id="a whole number is a score"),
        pytest.param(Decimal("0.25"), result_of(0.25), id="a decimal"),
        pytest.param(Half(), result_of(0.5), id="a number of numpy's"),
        pytest.param(0.1 + 0.2 + 0.7 + 1e-12, result_of(1.0), id="rounded up beyond 1"),
        pytest.param(-1e-12, result_of(0.0), id="rounded down below 0"),
        pytest.param(GraderResult(0.4), result_of(0.4), id="a result that leaves the verdict open"),
        pytest.param(
            GraderResult(1.0, passed=False, reason="Because.", details={"n": (1, 2)}),
            result_of(1.0, passed=False, reason="Because.", details={"n": [1, 2]}),
            id="a whole result",
        ),
        pytest.param(GraderResult(score=True), result_of(1.0), id="true, as no score decides"),
        pytest.param(SimpleNamespace(score=0.5), result_of(0.5), id="a result of another class"),
    ],
)
def test_results_and_their_short_forms(result: Any, expected: dict[str, Any]) -> None:
    assert result_as_json(result) == expected


@dataclass
class _Other:
    score: Any = 1.0
    passed: Any = None
    details: Any = None


@pytest.mark.parametrize(
    ("result", "message"),
    [
        pytest.param(None, "returned None; expected a GraderResult, True, False or a number"),
        pytest.param("0.7", "returned '0.7'; expected a GraderResult", id="a text"),
        pytest.param({"score": 1}, "returned {'score': 1}; expected", id="a dict"),
        pytest.param(math.nan, "score is nan; expected a number from 0 to 1", id="not a number"),
        pytest.param(GraderResult(math.nan), "score is nan", id="not a number in a result"),
        pytest.param(math.inf, "score is inf; expected a number from 0 to 1", id="infinity"),
        pytest.param(GraderResult(-math.inf), "score is -inf", id="infinity below"),
        pytest.param(10**400, "score is inf", id="beyond any float"),
        pytest.param(20, "score is 20; expected a number from 0 to 1.*divide", id="a percentage"),
        pytest.param(2.0, "score is 2; expected", id="stars"),
        pytest.param(GraderResult(20, reason="Because."), "score is 20", id="of 100, in a result"),
        pytest.param(GraderResult(5, passed=True), "score is 5", id="though it passes"),
        pytest.param(1 + 1e-8, "score is 1.00000001; expected", id="more than rounding"),
        pytest.param(-0.5, "score is -0.5; expected", id="below the scale"),
        pytest.param(_Other(score="good"), "score is 'good'; expected a number", id="a word"),
        (_Other(passed=1), "passed is 1; expected True, False or None"),
        pytest.param(_Other(passed="yes"), "passed is 'yes'", id="yes for True"),
        pytest.param(_Other(details=["a"]), r"details is \['a'\]; expected a dict", id="a list"),
        (_Other(details={"at": object()}), "details cannot be written as JSON"),
        (_Other(details={"at": math.nan}), "details cannot be written as JSON"),
    ],
)
def test_anything_else_is_refused_with_what_was_expected(result: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        result_as_json(result)


def test_a_context_is_read_back_from_json() -> None:
    context = context_from(
        {
            "turn_input": "What was it in 2007?",
            "agent_response": "60.94",
            "ground_truth": "60.94",
            "tool_invocations": [
                {
                    "name": "lookup",
                    "args": {"year": 2007},
                    "result": 60.94,
                    "bytes": 5,
                    "duration_ms": 1.5,
                    "error": None,
                }
            ],
            "retrieval_context": ["In 2007 it was 60.94."],
            "turn_index": 0,
            "test_case_name": "Prices",
            "turn_config": {"turn_program": "60.94"},
            "world_before": None,
            "world_after": {"entities": [], "relations": []},
        }
    )

    assert context.tool_invocations == (
        ToolInvocation("lookup", {"year": 2007}, result=60.94, bytes=5, duration_ms=1.5),
    )
    assert context.retrieval_context == ("In 2007 it was 60.94.",)
    assert context.world_after == {"entities": [], "relations": []}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda context: setattr(context, "turn_input", "other"), id="a field"),
        pytest.param(lambda context: context.tool_invocations.append("x"), id="the calls"),
    ],
)
def test_a_context_cannot_be_changed(change: Callable[[GraderContext], None]) -> None:
    context = GraderContext("q", "a", None, (), None, 0, "Case")

    with pytest.raises(AttributeError):
        change(context)
