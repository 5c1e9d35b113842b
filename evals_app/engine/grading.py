"""Grade a trial: every assertion of every turn, the final ones, and the limits."""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from evals_app.engine.aids import Aids
from evals_app.engine.errors import NO_JUDGE, CodeError, JudgeError, ProviderError
from evals_app.engine.graders import AidedGrader, JudgedGrader, PlainGrader
from evals_app.engine.graders.base import Need
from evals_app.engine.graders.calls import unreported_calls
from evals_app.engine.graders.effort import (
    failed_by_agent,
    unanswered_turn,
    unknown_cost,
    unknown_usage,
)
from evals_app.engine.inventory import NOTHING_KNOWN, Inventory
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.statistics import at_least
from evals_app.engine.suite import AssertionSpec, CaseSpec, LimitsSpec, SuiteSpec, TurnSpec
from evals_app.engine.trial import (
    Cause,
    Failure,
    Grade,
    GradedAssertion,
    GradeStatus,
    Trial,
    TurnRecord,
    View,
)

# Gives what an assertion may ask for; the key tells the assertions of an execution apart.
AidsFor = Callable[[AssertionSpec, str], Aids]
NO_AIDS = Aids()

_LACKS: dict[Need, str] = {
    "expected": "This turn has no expected text to compare with.",
    "context": "This turn has no context to compare with.",
}


async def grade_trial(
    trial: Trial,
    *,
    case: CaseSpec,
    suite: SuiteSpec,
    aids_for: AidsFor,
    inventory: Inventory = NOTHING_KNOWN,
) -> tuple[GradedAssertion, ...]:
    """Grade everything, in the order of the conversation; judges are asked side by side.

    A check that names what is not in the `inventory` says nothing about the agent.
    """
    placed: list[tuple[int | None, int, AssertionSpec]] = []
    for t, turn in enumerate(case.turns, 1):
        placed += [(t, p, assertion) for p, assertion in enumerate(suite.assertions_for(turn))]
    final = [each for each in case.final_assertions if each.enabled]
    final += [suite.rubric_check] if suite.rubric_check else []
    placed += [(None, p, assertion) for p, assertion in enumerate(final)]
    grades = await asyncio.gather(
        *(
            _grade(
                assertion,
                trial=trial,
                case=case,
                turn=turn,
                aids_for=aids_for,
                inventory=inventory,
                key=f"{trial.case}/{trial.number}/{turn or 'final'}.{position}",
            )
            for turn, position, assertion in placed
        )
    )
    graded = [
        GradedAssertion(
            type=assertion.type,
            label=assertion.label,
            family=assertion.grader.family,
            turn=turn,
            position=position,
            weight=assertion.counted_weight,
            threshold=assertion.threshold,
            grade=_with_doubt(assertion, grade),
            decides=suite.decides(assertion),
            fail_on_error=assertion.fail_on_error,
            is_rubric=assertion is suite.rubric_check,
        )
        for (turn, position, assertion), grade in zip(placed, grades, strict=True)
    ]
    graded = [_with_share(each) if each.is_rubric else each for each in graded]
    return (*graded, *grade_limits(trial, case.limits))


async def _grade(
    assertion: AssertionSpec,
    *,
    trial: Trial,
    case: CaseSpec,
    turn: int | None,
    aids_for: AidsFor,
    inventory: Inventory,
    key: str,
) -> Grade:
    given = None if turn is None else case.turns[turn - 1]
    if need := assertion.lacks(given):
        return Grade.not_applicable(_LACKS[need])
    if (unanswered := _unanswered(trial, turn)) is not None:
        return unanswered
    for _, problem in inventory.problems(assertion.grader.mentions()):
        return Grade(None, None, problem, GradeStatus.ERROR, Cause.CASE)
    view = _view(assertion, trial=trial, turn=turn, given=given)
    try:
        grade = await _graded_by_kind(assertion, view, aids_for=aids_for, key=key)
    except JudgeError as exc:
        return Grade.ungraded(Cause.JUDGE, str(exc), **exc.details).but(calls=exc.calls)
    except ProviderError as exc:
        reason = f"The judge could not be reached. {exc}"
        return Grade.ungraded(Cause.PROVIDER, reason).but(calls=exc.calls)
    except CodeError as exc:
        return Grade(None, None, str(exc), GradeStatus.ERROR, Cause.CASE)
    except MemoryError:
        message = "This check took more memory than a worker may have."
        return Grade(None, None, message, GradeStatus.ERROR, Cause.HARNESS)
    except Exception as exc:  # noqa: BLE001 - a broken grader is a result, never a lost run
        message = f"This check broke: {type(exc).__name__}: {exc}"
        return Grade(None, None, message, GradeStatus.ERROR, Cause.HARNESS)
    threshold = assertion.threshold
    if threshold is None:
        threshold = assertion.grader.usual_threshold
    graded = _settled(_with_dropped(_in_range(grade)), threshold)
    return _with_suspicion(_with_threshold(graded, threshold))


async def _graded_by_kind(
    assertion: AssertionSpec, view: View, *, aids_for: AidsFor, key: str
) -> Grade:
    """Grade what is in sight, with the aids that this kind of grader takes."""
    grader = assertion.grader
    if isinstance(grader, PlainGrader):
        return grader.grade(view)
    aids = aids_for(assertion, key)
    if aids is NO_AIDS and view.trial.failure is not None:
        return _ungraded_by(view.trial.failure)
    if isinstance(grader, AidedGrader):
        return await grader.grade_with(view, aids)
    if not isinstance(grader, JudgedGrader):
        message = f"{assertion.type} can neither grade nor judge."
        raise TypeError(message)  # a mistake of ours, reported like any other
    if aids.judge is not None:
        return await grader.judge(view, aids.judge, key=key, threshold=assertion.threshold)
    if view.trial.failure is not None:
        return _ungraded_by(view.trial.failure)
    return Grade.ungraded(Cause.JUDGE, NO_JUDGE)


def _ungraded_by(failure: Failure) -> Grade:
    return Grade.ungraded(failure.cause, f"Not graded. {failure.message}")


def _unanswered(trial: Trial, turn: int | None) -> Grade | None:
    """Grade what the agent never answered: failed by the agent, ungraded by anything else.

    The end of a conversation is the answer to its last message.
    """
    if trial.failure is not None and (turn is None or turn >= _first_broken(trial)):
        return _ungraded_by(trial.failure)
    if turn is None and trial.ended_early:
        reason = "The conversation ended early."
    elif turn is not None and turn > len(trial.turns):
        reason = f"Turn {turn} did not run: the conversation ended early."
    elif (error := trial.turns[(turn or len(trial.turns)) - 1].error) is not None:
        reason = error
    else:
        return None
    return failed_by_agent(reason).but(score=0.0)


def _first_broken(trial: Trial) -> int:
    """Give the turn that a failure broke off, or the one that did not begin because of it."""
    held = len(trial.turns)
    return held if held and trial.turns[-1].error is not None else held + 1


def _view(
    assertion: AssertionSpec, *, trial: Trial, turn: int | None, given: TurnSpec | None
) -> View:
    record: TurnRecord | None = None if turn is None else trial.turns[turn - 1]
    whole_text = assertion.scope == "conversation"
    if given is None:
        last = trial.turns[-1] if assertion.scope == "turn" else None
        return View(trial, last, whole_text=whole_text)
    # What comes later must not count for a turn.
    so_far = replace(trial, turns=trial.turns[:turn]) if whole_text else trial
    return View(
        so_far,
        None if whole_text else record,
        given.expected,
        whole_text=whole_text,
        context=tuple(given.context) or None,
        retrieval_context=_as_tuple(given.retrieval_context),
        config=given.config,
    )


def _as_tuple(texts: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if texts is None else tuple(texts)


def _in_range(grade: Grade) -> Grade:
    if grade.score is None or 0.0 <= grade.score <= 1.0:
        return grade
    if math.isnan(grade.score):
        message = "This check broke: its score is not a number."
        return Grade(None, None, message, GradeStatus.ERROR, Cause.HARNESS)
    return grade.but(score=min(1.0, max(0.0, grade.score)))


def _with_doubt(assertion: AssertionSpec, grade: Grade) -> Grade:
    """Say of a check that cannot fail why it decides nothing."""
    if not grade.passed or (problem := assertion.cannot_fail()) is None:
        return grade
    return grade.but(reason=f"{grade.reason} This decides nothing: {problem}")


def _with_share(rubric: GradedAssertion) -> GradedAssertion:
    """Say that the weight of the suite's rubric is no weight among others."""
    details = rubric.grade.details | {"share": rubric.weight}
    return replace(rubric, grade=rubric.grade.but(details=details))


def _with_dropped(grade: Grade) -> Grade:
    """Say which settings the judges' models did not accept."""
    dropped = sorted({name for call in grade.calls for name in call.dropped})
    return grade.but(details=grade.details | {"dropped": dropped}) if dropped else grade


def _settled(grade: Grade, threshold: float | None) -> Grade:
    """Decide a score of which the judge left a part open: only if it does not depend on that part."""
    if grade.score is None or grade.highest is None:
        return grade
    lowest, highest = grade.score, grade.highest
    between = f"between {lowest:.2f} and {highest:.2f}"
    graded = grade.but(highest=None, details=grade.details | {"range": [lowest, highest]})
    if threshold is None or at_least(lowest, threshold) != at_least(highest, threshold):
        needs = "" if threshold is None else f"; {threshold:.4g} is needed"
        reason = f"{grade.reason} So the score may be anything {between}{needs}."
        return graded.but(score=None, status=GradeStatus.UNGRADED, cause=Cause.JUDGE, reason=reason)
    is_enough = "enough" if at_least(lowest, threshold) else "too little"
    reason = f"{grade.reason} That changes nothing: the score is {between}, {is_enough} either way."
    return graded.but(reason=reason)


SUSPICION = "The conversation may contain text meant for the judge: read it before you trust this."


def _with_suspicion(grade: Grade) -> Grade:
    """Say that a favourable grade may have been talked into."""
    if (
        "injection" not in grade.details.get("flags", ())
        or not grade.score
        or grade.passed is False
    ):
        return grade
    return grade.but(reason=f"{grade.reason} {SUSPICION}")


def _with_threshold(grade: Grade, threshold: float | None) -> Grade:
    """Decide by the score what the check itself leaves open, and begin the reason with it."""
    if grade.passed is not None or grade.score is None:
        return grade
    if threshold is None:
        return grade.but(reason=f"{grade.score:.2f}: {grade.reason}")
    passed = at_least(grade.score, threshold)
    return grade.but(
        passed=passed,
        cause=grade.cause if passed else Cause.ASSERTION,
        reason=f"{_compared(grade.score, threshold)}: {grade.reason}",
    )


_MOST_PLACES = 6


def _compared(score: float, threshold: float) -> str:
    """Write a score beside the one it needs: what is below it never reads like it."""
    is_below = not at_least(score, threshold)
    places = 2
    while places < _MOST_PLACES and (
        (is_below and f"{score:.{places}f}" >= f"{threshold:.{places}f}")
        or round(threshold, places) != threshold
    ):
        places += 1
    return f"{score:.{places}f}, needs {threshold:.{places}f}"


LIMIT_LABELS = {
    "max_prompt_tokens": "Prompt tokens",
    "max_response_tokens": "Response tokens",
    "max_time_ms": "Time (ms)",
    "max_cost_usd": "Cost",
    "max_tool_calls": "Tool calls",
}
_LIMIT_REASONS = {
    "max_prompt_tokens": "The prompts took {actual} tokens; {limit} {are} allowed.",
    "max_response_tokens": "The replies took {actual} tokens; {limit} {are} allowed.",
    "max_time_ms": "The replies took {actual} ms; {limit} ms {are} allowed.",
    "max_cost_usd": "The replies cost {actual}; {limit} is allowed.",
    "max_tool_calls": "The agent made {actual} tool calls; {limit} {are} allowed.",
}


def limit_actuals(trial: Trial) -> dict[str, float | Decimal | None]:
    """Measure what limits bound, whether or not they are set; None where it is unknown."""
    return {
        "max_prompt_tokens": trial.usage.prompt_tokens,
        "max_response_tokens": trial.usage.response_tokens,
        "max_time_ms": trial.time_ms,
        "max_cost_usd": trial.cost_usd,
        "max_tool_calls": len(trial.tool_calls) if trial.reports_calls else None,
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
        else:
            grade = _limit_grade(trial, name, actual=actual, limit=limit)
        grade = grade.but(details=details)
        graded.append(GradedAssertion(name, label, "limit", None, position, 1.0, None, grade))
    return graded


def _limit_grade(
    trial: Trial, name: str, *, actual: float | Decimal | None, limit: float | Decimal
) -> Grade:
    failed = unanswered_turn(trial.turns)
    is_unknown = name == "max_time_ms" or (name == "max_tool_calls" and actual is None)
    if failed is not None and is_unknown:
        return failed
    if actual is None:
        if name == "max_tool_calls":
            return unreported_calls()
        if name == "max_cost_usd":
            return unknown_cost(trial.turns)
        return unknown_usage(trial.turns, LIMIT_LABELS[name])
    are = "is" if limit == 1 else "are"
    reason = _LIMIT_REASONS[name].format(actual=_written(actual), limit=_written(limit), are=are)
    is_kept = actual <= limit
    return Grade(None, is_kept, reason, cause=None if is_kept else Cause.LIMIT)


def _plain(value: float | Decimal | None) -> float | None:
    return float(value) if isinstance(value, Decimal) else value


def _written(value: float | Decimal) -> str:
    if isinstance(value, Decimal):
        # To the last digit: what is a little above a limit must not read like it.
        return usd_text(value, is_exact=True)
    # Rounded up, lest 100.2 is said to be above 100 and shown as 100.
    return f"{math.ceil(value):,}"
