"""Grade a trial: every assertion of every turn, the final ones, and the limits."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from evals_app.engine.errors import JudgeError, ProviderError
from evals_app.engine.graders import JudgedGrader, PlainGrader
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.statistics import at_least
from evals_app.engine.suite import AssertionSpec, CaseSpec, LimitsSpec, SuiteSpec
from evals_app.engine.trial import (
    Cause,
    Failure,
    Grade,
    GradedAssertion,
    GradeStatus,
    Judge,
    Trial,
    TurnRecord,
    View,
)

JudgeFor = Callable[[AssertionSpec], Judge | None]


async def grade_trial(
    trial: Trial, *, case: CaseSpec, suite: SuiteSpec, judge_for: JudgeFor
) -> tuple[GradedAssertion, ...]:
    """Grade everything, in the order of the conversation; judges are asked side by side.

    `judge_for` gives the judge of an assertion, None if there is none.
    """
    placed: list[tuple[int | None, int, AssertionSpec, str | None]] = []
    for t, turn in enumerate(case.turns, 1):
        placed += [(t, p, a, turn.expected) for p, a in enumerate(suite.assertions_for(turn))]
    final = [each for each in case.final_assertions if each.enabled]
    placed += [(None, p, assertion, None) for p, assertion in enumerate(final)]
    grades = await asyncio.gather(
        *(
            _grade(
                assertion,
                trial=trial,
                turn=turn,
                expected=expected,
                judge_for=judge_for,
                key=f"{trial.case}/{trial.number}/{turn or 'final'}.{position}",
            )
            for turn, position, assertion, expected in placed
        )
    )
    graded = [
        GradedAssertion(
            type=assertion.type,
            label=assertion.label,
            family=assertion.grader.family,
            turn=turn,
            position=position,
            weight=assertion.weight,
            threshold=assertion.threshold,
            grade=grade,
            decides=assertion.weight > 0 and assertion.grader.decides(assertion.threshold),
            fail_on_error=assertion.fail_on_error,
        )
        for (turn, position, assertion, _), grade in zip(placed, grades, strict=True)
    ]
    return (*graded, *grade_limits(trial, case.limits))


async def _grade(
    assertion: AssertionSpec,
    *,
    trial: Trial,
    turn: int | None,
    expected: str | None,
    judge_for: JudgeFor,
    key: str,
) -> Grade:
    if assertion.lacks_expected and expected is None:
        return Grade.not_applicable("This turn has no expected text to compare with.")
    if (ungraded := _not_held(trial, turn)) is not None:
        return ungraded
    view = _view(assertion, trial=trial, turn=turn, expected=expected)
    grader = assertion.grader
    try:
        if isinstance(grader, JudgedGrader):
            judge = judge_for(assertion)
            if judge is None:
                if trial.failure is not None:
                    return _ungraded_by(trial.failure)
                return Grade.ungraded(Cause.JUDGE, "There is no model to judge with.")
            grade = await grader.judge(view, judge, key=key, threshold=assertion.threshold)
        elif isinstance(grader, PlainGrader):
            grade = grader.grade(view)
        else:
            message = f"{assertion.type} can neither grade nor judge."
            raise TypeError(message)  # noqa: TRY301 - a mistake of ours, reported like any other
    except JudgeError as exc:
        return Grade.ungraded(Cause.JUDGE, str(exc)).but(calls=exc.calls)
    except ProviderError as exc:
        return Grade.ungraded(Cause.PROVIDER, f"The judge could not be reached. {exc}")
    except MemoryError:
        message = "This check took more memory than a worker may have."
        return Grade(None, None, message, GradeStatus.ERROR, Cause.HARNESS)
    except Exception as exc:  # noqa: BLE001 - a broken grader is a result, never a lost run
        message = f"This check broke: {type(exc).__name__}: {exc}"
        return Grade(None, None, message, GradeStatus.ERROR, Cause.HARNESS)
    return _with_threshold(_in_range(grade), assertion.threshold)


def _ungraded_by(failure: Failure) -> Grade:
    return Grade.ungraded(failure.cause, f"Not graded. {failure.message}")


def _not_held(trial: Trial, turn: int | None) -> Grade | None:
    """Grade what the agent never answered: failed by the agent, ungraded by anything else."""
    if trial.failure is not None and (turn is None or turn >= _first_broken(trial)):
        return _ungraded_by(trial.failure)
    if turn is None:
        if not trial.ended_early:
            return None
        reason = "The conversation ended early."
    elif turn > len(trial.turns):
        reason = f"Turn {turn} was not held: the conversation ended early."
    elif (error := trial.turns[turn - 1].error) is not None:
        reason = error
    else:
        return None
    return Grade(0.0, False, reason, cause=Cause.AGENT)  # noqa: FBT003 - score, verdict


def _first_broken(trial: Trial) -> int:
    """Give the turn that a failure broke off, or the one that did not begin because of it."""
    held = len(trial.turns)
    return held if held and trial.turns[-1].error is not None else held + 1


def _view(
    assertion: AssertionSpec, *, trial: Trial, turn: int | None, expected: str | None
) -> View:
    record: TurnRecord | None = None if turn is None else trial.turns[turn - 1]
    if assertion.scope == "conversation" and turn is not None:
        # What comes later must not count for a turn.
        so_far = replace(trial, turns=trial.turns[:turn])
        return View(so_far, None, expected, whole_text=True)
    if assertion.scope == "turn" and turn is None:
        return View(trial, trial.turns[-1], expected)
    return View(trial, record, expected, whole_text=assertion.scope == "conversation")


def _in_range(grade: Grade) -> Grade:
    if grade.score is None or 0.0 <= grade.score <= 1.0:
        return grade
    if math.isnan(grade.score):
        message = "This check broke: its score is not a number."
        return Grade(None, None, message, GradeStatus.ERROR, Cause.HARNESS)
    return grade.but(score=min(1.0, max(0.0, grade.score)))


def _with_threshold(grade: Grade, threshold: float | None) -> Grade:
    if grade.passed is not None or grade.score is None or threshold is None:
        return grade
    if at_least(grade.score, threshold):
        return grade.but(passed=True)
    return grade.but(passed=False, cause=Cause.ASSERTION)


LIMIT_LABELS = {
    "max_prompt_tokens": "Prompt tokens",
    "max_response_tokens": "Response tokens",
    "max_time_ms": "Time (ms)",
    "max_cost_usd": "Cost",
    "max_tool_calls": "Tool calls",
}


def limit_actuals(trial: Trial) -> dict[str, float | Decimal | None]:
    """Measure what limits bound, whether or not they are set; None where it is unknown."""
    return {
        "max_prompt_tokens": trial.usage.prompt_tokens,
        "max_response_tokens": trial.usage.response_tokens,
        "max_time_ms": trial.time_ms,
        "max_cost_usd": trial.cost_usd,
        "max_tool_calls": len(trial.tool_calls),
    }


def grade_limits(trial: Trial, limits: LimitsSpec) -> Sequence[GradedAssertion]:
    """Grade each limit that is set: a verdict without a score."""
    graded = []
    actuals = limit_actuals(trial)
    for position, (name, label) in enumerate(LIMIT_LABELS.items()):
        limit = getattr(limits, name)
        if limit is None:
            continue
        actual = actuals[name]
        details = {"limit": _plain(limit), "actual": _plain(actual)}
        if trial.failure is not None:
            grade = _ungraded_by(trial.failure)
        elif actual is None:
            grade = _unknown_cost(trial) if name == "max_cost_usd" else _unknown_usage(trial, label)
        else:
            reason = f"{label}: {_written(actual)}, the limit is {_written(limit)}."
            is_kept = actual <= limit
            grade = Grade(None, is_kept, reason, cause=None if is_kept else Cause.LIMIT)
        grade = grade.but(details=details)
        graded.append(GradedAssertion(name, label, "limit", None, position, 1.0, None, grade))
    return graded


def _plain(value: float | Decimal | None) -> float | None:
    return float(value) if isinstance(value, Decimal) else value


def _written(value: float | Decimal) -> str:
    if isinstance(value, Decimal):
        # To the last digit: what is a little above a limit must not read like it.
        return usd_text(value, is_exact=True)
    # Rounded up, lest 100.2 is said to be above 100 and shown as 100.
    return f"{math.ceil(value):,}"


def _unknown_cost(trial: Trial) -> Grade:
    for turn in trial.turns:
        if turn.cost_usd is None and None not in {turn.usage.input_uncached, turn.usage.output}:
            model = turn.model or "the agent's model"
            reason = f"Cost: unknown, no price covers what {model} did."
            return Grade.ungraded(Cause.CASE, f"{reason} Enter it on the page of its provider.")
    return _unknown_usage(trial, "Cost")


def _unknown_usage(trial: Trial, label: str) -> Grade:
    silent = [
        turn for turn in trial.turns if None in {turn.usage.input_uncached, turn.usage.output}
    ]
    if all(turn.error for turn in silent):
        # Nobody reports what a call cost that came to nothing; that is the agent's failure.
        reason = f"{label}: unknown. Turn {silent[0].index} failed: {silent[0].error}"
        return Grade(None, False, reason, cause=Cause.AGENT)  # noqa: FBT003 - score, verdict
    return Grade.ungraded(Cause.CASE, f"{label}: the agent reports no usage.")
