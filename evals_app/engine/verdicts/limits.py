"""The hard limits of a case: what each bounds, and their grades."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple

from evals_app.engine.graders.effort import unknown_cost, unknown_time, unknown_usage
from evals_app.engine.graders.kit.base import unanswered_turn
from evals_app.engine.graders.kit.calls import missing_calls, unreported_calls
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.grade import Grade, GradedAssertion
from evals_app.engine.record.trial import Cause, Failure, Trial
from evals_app.engine.suites.case_spec import LimitsSpec


class CaseLimit(NamedTuple):
    """A limit by its key in files; `measure` returns None where the value is unknown.

    `column` of an execution has what was measured. `measured` and `allowed` begin and end the
    reason of its grade.
    """

    key: str
    label: str
    column: str
    measure: Callable[[Trial], float | Decimal | None]
    measured: str
    allowed: str = "{}"


LIMITS = (
    CaseLimit(
        "max_prompt_tokens",
        "Prompt tokens",
        "agent_prompt_tokens",
        lambda trial: trial.usage.prompt_tokens,
        "The prompts took {} tokens",
    ),
    CaseLimit(
        "max_response_tokens",
        "Response tokens",
        "agent_response_tokens",
        lambda trial: trial.usage.response_tokens,
        "The replies took {} tokens",
    ),
    CaseLimit(
        "max_time_ms",
        "Time (ms)",
        "time_ms",
        lambda trial: trial.time_ms,
        "The replies took {} ms",
        "{} ms",
    ),
    CaseLimit(
        "max_cost_usd",
        "Cost",
        "agent_cost_usd",
        lambda trial: trial.cost_usd,
        "The replies cost {}",
    ),
    CaseLimit(
        "max_tool_calls",
        "Tool calls",
        "tool_calls",
        lambda trial: len(trial.tool_calls) if trial.reports_calls else None,
        "The agent made {} tool calls",
    ),
)


def ungraded_by(failure: Failure) -> Grade:
    """Return the grade of a check that a failure kept from being graded."""
    return Grade.without_result(failure.cause, f"Not graded. {failure.message}")


def grade_limits(trial: Trial, limits: LimitsSpec) -> Sequence[GradedAssertion]:
    """Grade each limit that is set: a verdict without a score."""
    graded = []
    for position, limit in enumerate(LIMITS):
        bound = getattr(limits, limit.key)
        if bound is None:
            continue
        actual = limit.measure(trial)
        details = {"limit": _plain(bound), "actual": _plain(actual)}
        if trial.failure is not None:
            grade = ungraded_by(trial.failure)
        else:
            grade = _grade(trial, limit, actual=actual, bound=bound)
        grade = grade.but(details=details)
        graded.append(
            GradedAssertion(limit.key, limit.label, "limit", None, position, 1.0, None, grade)
        )
    return graded


def _grade(
    trial: Trial, limit: CaseLimit, *, actual: float | Decimal | None, bound: float | Decimal
) -> Grade:
    failed = unanswered_turn(trial.turns)
    is_unknown = limit.key == "max_time_ms" or (limit.key == "max_tool_calls" and actual is None)
    if failed is not None and is_unknown:
        return failed
    if actual is None:
        if limit.key == "max_tool_calls":
            missing = [turn.calls_missing for turn in trial.turns if turn.calls_missing]
            return missing_calls(missing[0]) if missing else unreported_calls(trial.turns)
        if limit.key == "max_time_ms":
            return unknown_time(trial.turns)
        if limit.key == "max_cost_usd":
            return unknown_cost(trial.turns)
        return unknown_usage(trial.turns, limit.label)
    measured = limit.measured.format(_value_text(actual))
    reason = f"{measured}; the limit is {limit.allowed.format(_value_text(bound))}."
    is_kept = actual <= bound
    return Grade(None, is_kept, reason, cause=None if is_kept else Cause.LIMIT)


def _plain(value: float | Decimal | None) -> float | None:
    return float(value) if isinstance(value, Decimal) else value


def _value_text(value: float | Decimal) -> str:
    if isinstance(value, Decimal):
        # To the last digit: a value slightly above a limit must not look equal to it.
        return usd_text(value, is_exact=True)
    # Rounded up, so that 100.2 is not shown as 100 where 100 is the limit.
    return f"{math.ceil(value):,}"
