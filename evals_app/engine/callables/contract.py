"""What a grader of the operator gets and returns."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

_ROUNDING = 1e-9  # 0.1 + 0.2 + 0.7 is a little more than 1


@dataclass(frozen=True)
class ToolInvocation:
    """A call of a tool. `bytes` is the size of its result, written as JSON.

    `duration_ms` is None if the agent does not report it.
    """

    name: str
    args: dict[str, Any]
    result: Any = None
    bytes: int = 0
    duration_ms: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class GraderContext:
    """A turn, or at the end the whole conversation, as a grader sees it.

    `turn_index` counts from 0; None is the whole conversation, whose `turn_input` is the last
    message. `reports_calls` False: `tool_invocations` may be incomplete, because the agent
    does not report it. `retrieval_context` None: nothing was looked up. `turn_config` is the case's
    `config`. `world_before` and `world_after` are `{"entities": [...], "relations": [...]}`
    before and after what the grader sees; None if there is no world to compare.
    """

    turn_input: str
    agent_response: str
    ground_truth: str | None
    tool_invocations: tuple[ToolInvocation, ...]
    retrieval_context: tuple[str, ...] | None
    turn_index: int | None
    test_case_name: str | None
    turn_config: dict[str, Any] = field(default_factory=dict)
    world_before: dict[str, Any] | None = None
    world_after: dict[str, Any] | None = None
    reports_calls: bool = True


@dataclass(frozen=True)
class GraderResult:
    """The result of a grader. `passed` None leaves it to the threshold, 0.5 if none is set."""

    score: float
    passed: bool | None = None
    reason: str | None = None
    details: dict[str, object] | None = None


def context_from(written: Mapping[str, Any]) -> GraderContext:
    """Read a context from JSON."""
    chunks = written["retrieval_context"]
    return GraderContext(
        **{
            **written,
            "tool_invocations": tuple(ToolInvocation(**c) for c in written["tool_invocations"]),
            "retrieval_context": None if chunks is None else tuple(chunks),
        }
    )


def result_as_json(result: object) -> dict[str, Any]:
    """Write a result as JSON: score, passed, reason, details.

    Any object with a `score` is accepted. A score outside 0 to 1 is refused: on a scale to 100,
    1 would be nearly nothing, and counted as if it were everything.

    Raises:
        TypeError, ValueError: it is not a result; the message says what was expected.
    """
    bare = _plain(result)
    if bare is not None:
        result = GraderResult(score=bare, passed=bare if isinstance(bare, bool) else None)
    if not hasattr(result, "score"):
        raise TypeError(
            f"it returned {result!r:.200}; expected a GraderResult, True, False or a number"
        )
    score = _plain(result.score)
    given = getattr(result, "passed", None)
    passed = _plain(given)
    reason = getattr(result, "reason", None)
    if score is None or not math.isfinite(score):
        raise ValueError(f"score is {result.score!r:.200}; expected a number from 0 to 1")
    if (kept := share_of(score)) is None:
        raise ValueError(
            f"score is {score:.12g}; expected a number from 0 to 1. Scale it in the function; divide a"
            " percentage by 100"
        )
    if given is not None and not isinstance(passed, bool):
        raise TypeError(f"passed is {given!r:.200}; expected True, False or None")
    return {
        "score": kept,
        "passed": passed,
        "reason": None if reason is None else str(reason),
        "details": _json_object(getattr(result, "details", None)),
    }


def share_of(score: float) -> float | None:
    """Return a score from 0 to 1, without what rounding added; None if it is outside."""
    kept = min(1.0, max(0.0, float(score)))
    return kept if abs(kept - score) <= _ROUNDING else None


def _plain(value: object) -> bool | float | None:
    """Return a number or a bool as Python's own; None for anything else."""
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return value
    try:
        return float(value) if isinstance(value, Real | Decimal) else None
    except OverflowError:  # a whole number with hundreds of digits
        return math.inf


def _json_object(details: object) -> dict[str, object]:
    if details is None:
        return {}
    if not isinstance(details, Mapping):
        raise TypeError(f"details is {details!r:.200}; expected a dict")
    try:
        plain: dict[str, object] = json.loads(json.dumps(dict(details), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as exc:
        raise TypeError(f"details cannot be written as JSON: {exc}") from exc
    return plain
