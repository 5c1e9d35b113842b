"""Grade a trial: every assertion of every turn, the final ones, and the limits."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace

from evals_app.engine.basics.errors import (
    NO_JUDGE,
    CallsMissingError,
    CodeError,
    JudgeError,
    ProviderError,
)
from evals_app.engine.callables.contract import share_of
from evals_app.engine.graders import AidedGrader, JudgedGrader, PlainGrader
from evals_app.engine.graders.kit.base import Need, failed_by_agent, too_long
from evals_app.engine.graders.kit.calls import missing_calls
from evals_app.engine.record.aids import Aids
from evals_app.engine.record.grade import Grade, GradedAssertion, GradeStatus, JudgedCriterionSpec
from evals_app.engine.record.trial import Cause, Trial, TurnRecord
from evals_app.engine.record.view import View
from evals_app.engine.specs.inventory import NOTHING_KNOWN, Inventory
from evals_app.engine.statistics.rates import at_least
from evals_app.engine.statistics.scored_reasons import with_score
from evals_app.engine.statistics.trust import ONLY_INFORMS, JudgeTrust
from evals_app.engine.suites.suite_spec import (
    AssertionSpec,
    CaseSpec,
    PlacedCheck,
    SuiteSpec,
    TurnSpec,
)
from evals_app.engine.verdicts.judged_criteria import digest_of, question_of
from evals_app.engine.verdicts.limits import grade_limits, ungraded_by

# Returns the aids of an assertion; the key identifies the assertion within its execution.
AidsFor = Callable[[AssertionSpec, str], Aids]
NO_AIDS = Aids()
# Returns the criterion and judges of an assertion.
JudgedCriterionOf = Callable[[AssertionSpec], JudgedCriterionSpec | None]

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
    judged_criterion_of: JudgedCriterionOf = lambda _: None,
    trust: JudgeTrust | None = None,
) -> tuple[GradedAssertion, ...]:
    """Grade everything, in the order of the conversation; judges are asked in parallel.

    A check that names something that is not in the `inventory` is an error of the case. With `trust`,
    judges that it does not trust only inform.
    """
    case = case.as_played([turn.user for turn in trial.turns])
    placed = list(suite.placed_checks(case))
    grades = await asyncio.gather(
        *(
            grade_check(
                assertion,
                trial=trial,
                case=case,
                turn=turn,
                aids_for=aids_for,
                inventory=inventory,
                key=key_of(trial, turn, position),
            )
            for turn, _, position, assertion in placed
        )
    )
    limits = grade_limits(trial, case.limits)
    graded = [
        replace(
            in_its_place(suite, check, _with_doubt(check[3], grade)),
            question=question_of(check[3], check[1]),
            judged_criterion=judged_criterion_of(check[3]),
        )
        for check, grade in zip(placed, grades, strict=True)
    ]
    graded = [graded_by(trust, check) for check in graded]
    graded = [_with_share(grade) if grade.is_rubric else grade for grade in graded]
    return (*map(_with_criteria_of_items, graded), *map(_with_question, limits))


def in_its_place(suite: SuiteSpec, placed: PlacedCheck, grade: Grade) -> GradedAssertion:
    """Return the grade of a check as the verdict counts it."""
    turn, _, position, assertion = placed
    return GradedAssertion(
        type=assertion.type,
        label=assertion.label,
        family=assertion.grader.family,
        turn=turn,
        position=position,
        weight=assertion.counted_weight,
        threshold=assertion.threshold,
        grade=grade,
        decides=suite.decides(assertion),
        fail_on_error=assertion.fail_on_error,
        is_rubric=assertion is suite.rubric_check,
    )


def key_of(trial: Trial, turn: int | None, position: int) -> str:
    """Return a key that is unique among the assertions of an execution."""
    return f"{trial.case}/{trial.number}/{turn or 'final'}.{position}"


def graded_by(trust: JudgeTrust | None, check: GradedAssertion) -> GradedAssertion:
    """Return a graded check; if its judge is not trusted, it only informs."""
    if (
        trust is None
        or check.judged_criterion is None
        or not (why := trust.why_not(check.judged_criterion))
    ):
        return check
    details = check.grade.details | {ONLY_INFORMS: why}
    grade = check.grade.but(reason=f"{check.grade.reason} {why}".lstrip(), details=details)
    return replace(check, grade=grade, weight=0.0, decides=False)


async def grade_check(
    assertion: AssertionSpec,
    *,
    trial: Trial,
    case: CaseSpec,
    turn: int | None,
    aids_for: AidsFor,
    key: str,
    inventory: Inventory = NOTHING_KNOWN,
) -> Grade:
    """Grade one assertion of a turn, or of the conversation; errors become grades, too."""
    given = None if turn is None else case.turns[turn - 1]
    if need := assertion.lacks(given):
        return Grade.not_applicable(_LACKS[need])
    if (unanswered := _grade_unanswered(trial, turn)) is not None:
        return unanswered
    for _, problem in inventory.problems(assertion.grader.mentions()):
        return Grade.of_failure(problem, Cause.CASE)
    view = _view(assertion, trial=trial, turn=turn, given=given)
    try:
        grade = await _graded_by_kind(assertion, view, aids_for=aids_for, key=key)
    except JudgeError as exc:
        return Grade.without_result(Cause.JUDGE, str(exc), **exc.details).but(calls=exc.calls)
    except ProviderError as exc:
        reason = f"The judge could not be reached. {exc}"
        return Grade.without_result(Cause.PROVIDER, reason).but(calls=exc.calls)
    except CodeError as exc:
        return Grade.of_failure(str(exc), Cause.CASE)
    except CallsMissingError as exc:
        return missing_calls(str(exc))
    except MemoryError:
        return Grade.of_failure("This check needed more memory than a worker may use.")
    except Exception as exc:  # noqa: BLE001 - a broken grader is a result, never a lost run
        return Grade.of_failure(f"This check failed with an error: {type(exc).__name__}: {exc}")
    threshold = assertion.threshold
    if threshold is None:
        threshold = assertion.grader.usual_threshold
    return _with_suspicion(by_threshold(_with_dropped(_in_range(grade)), threshold))


async def _graded_by_kind(
    assertion: AssertionSpec, view: View, *, aids_for: AidsFor, key: str
) -> Grade:
    """Grade the view, with the aids that this kind of grader takes."""
    grader = assertion.grader
    if isinstance(grader, PlainGrader):
        return grader.grade(view)
    if isinstance(grader, JudgedGrader) and (refused := too_long(view.reply, grader.most_bytes)):
        return refused
    aids = aids_for(assertion, key)
    if aids is NO_AIDS and view.trial.failure is not None:
        return ungraded_by(view.trial.failure)
    if isinstance(grader, AidedGrader):
        return await grader.grade_with(view, aids)
    if not isinstance(grader, JudgedGrader):
        raise TypeError(
            f"{assertion.type} has no way to grade."
        )  # an error of ours, reported like any other
    if aids.judge is not None:
        return await grader.judge(view, aids.judge, key=key, threshold=assertion.threshold)
    if view.trial.failure is not None:
        return ungraded_by(view.trial.failure)
    return Grade.without_result(Cause.JUDGE, NO_JUDGE)


def _grade_unanswered(trial: Trial, turn: int | None) -> Grade | None:
    """Grade what the agent never answered: failed by the agent, ungraded by anything else.

    The end of a conversation is the answer to its last message.
    """
    if trial.failure is not None and (turn is None or turn >= _first_broken(trial)):
        return ungraded_by(trial.failure)
    if trial.user_stopped and (turn is None or turn > len(trial.turns)):
        return Grade.without_result(Cause.USER, trial.user_stopped)
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
    """Return the turn that a failure interrupted, or the one that did not begin because of it."""
    count = len(trial.turns)
    return count if count and trial.turns[-1].error is not None else count + 1


def _view(
    assertion: AssertionSpec, *, trial: Trial, turn: int | None, given: TurnSpec | None
) -> View:
    record: TurnRecord | None = None if turn is None else trial.turns[turn - 1]
    whole_text = assertion.scope == "conversation"
    if given is None:
        last = trial.turns[-1] if assertion.scope == "turn" else None
        return View(trial, last, whole_text=whole_text)
    # Later turns must not count for this one.
    so_far = replace(trial, turns=trial.turns[:turn]) if whole_text else trial
    return View(
        so_far,
        None if whole_text else record,
        given.expected,
        whole_text=whole_text,
        context=tuple(given.context) or None,
        retrieval_context=None
        if given.retrieval_context is None
        else tuple(given.retrieval_context),
        config=given.config,
    )


def _in_range(grade: Grade) -> Grade:
    if grade.score is None:
        return grade
    if math.isnan(grade.score):
        return Grade.of_failure("This check failed with an error: its score is not a number.")
    if (score := share_of(grade.score)) is None:
        reason = f"This check failed with an error: its score is {grade.score:g}, outside 0 to 1."
        return Grade.of_failure(reason)
    return grade.but(score=score)


def _with_doubt(assertion: AssertionSpec, grade: Grade) -> Grade:
    """Add to a check that cannot fail why it decides nothing."""
    if not grade.passed or (problem := assertion.cannot_fail()) is None:
        return grade
    return grade.but(reason=f"{grade.reason} It has no effect on the verdict: {problem}")


def _with_share(rubric: GradedAssertion) -> GradedAssertion:
    """Note that the weight of the suite's rubric is a share, not a weight among others."""
    details = rubric.grade.details | {"share": rubric.weight}
    return replace(rubric, grade=rubric.grade.but(details=details))


def _with_criteria_of_items(check: GradedAssertion) -> GradedAssertion:
    """Attach to each rubric bullet the criterion that judged it."""
    if (
        check.judged_criterion is None
        or not check.judged_criterion.items
        or "items" not in check.grade.details
    ):
        return check
    bullets = zip(check.grade.details["items"], check.judged_criterion.items, strict=True)
    items = [item | {"yardstick": digest} for item, digest in bullets]
    return replace(check, grade=check.grade.but(details=check.grade.details | {"items": items}))


def _with_question(limit: GradedAssertion) -> GradedAssertion:
    return replace(limit, question=digest_of([limit.type, limit.grade.details.get("limit")]))


def _with_dropped(grade: Grade) -> Grade:
    """Add the settings that the judges' models did not accept."""
    dropped = sorted({name for call in grade.calls for name in call.dropped})
    return grade.but(details=grade.details | {"dropped": dropped}) if dropped else grade


def by_threshold(grade: Grade, threshold: float | None) -> Grade:
    """Decide by the score what the check itself leaves open."""
    return _with_threshold(_decide_open_score(grade, threshold), threshold)


def _decide_open_score(grade: Grade, threshold: float | None) -> Grade:
    """Decide a partly open score, but only if the open part makes no difference."""
    if grade.score is None or grade.highest is None:
        return grade
    lowest, highest = grade.score, grade.highest
    between = f"between {lowest:.2f} and {highest:.2f}"
    graded = grade.but(highest=None, details=grade.details | {"range": [lowest, highest]})
    if threshold is None or at_least(lowest, threshold) != at_least(highest, threshold):
        needs = "" if threshold is None else f", and {threshold:.4g} is needed"
        reason = f"{grade.reason} So the score could be anything {between}{needs}."
        return graded.but(score=None, status=GradeStatus.UNGRADED, cause=Cause.JUDGE, reason=reason)
    is_enough = "enough" if at_least(lowest, threshold) else "not enough"
    difference = f"This makes no difference: the score is {between}, {is_enough} either way."
    return graded.but(reason=f"{grade.reason} {difference}")


SUSPICION = (
    "The conversation may contain instructions for the judge. Read it before you trust this grade."
)


def _with_suspicion(grade: Grade) -> Grade:
    """Warn that the judge may have been manipulated into a favourable grade."""
    if (
        "injection" not in grade.details.get("flags", ())
        or not grade.score
        or grade.passed is False
    ):
        return grade
    return grade.but(reason=f"{grade.reason} {SUSPICION}")


def _with_threshold(grade: Grade, threshold: float | None) -> Grade:
    """Decide by the score what the check itself leaves open, and end the reason with it."""
    if grade.passed is not None or grade.score is None:
        return grade
    if threshold is None:
        return grade.but(reason=with_score(grade.reason, grade.score, None))
    passed = at_least(grade.score, threshold)
    return grade.but(
        passed=passed,
        cause=grade.cause if passed else Cause.ASSERTION,
        reason=with_score(grade.reason, grade.score, threshold),
    )
