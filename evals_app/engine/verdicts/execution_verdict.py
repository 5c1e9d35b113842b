"""From the grades of an execution to its verdict, its score and its summary."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evals_app.engine.record.grade import GradedAssertion, GradeStatus
from evals_app.engine.record.trial import Cause, Trial, Verdict
from evals_app.engine.statistics.rates import at_least
from evals_app.engine.statistics.scored_reasons import without_score
from evals_app.engine.statistics.trust import ONLY_INFORMS
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from fixtures_app.ground.strict_json import JsonObject

NOT_GRADED = frozenset({GradeStatus.UNGRADED, GradeStatus.ERROR})


ONLY_MEASURED = "No check could pass or fail: all of them only inform."


ONLY_EFFORT = "This suite measures only speed and cost, not what the agent says."


@dataclass(frozen=True, slots=True)
class Decision:
    """How an execution ended; `cause` is None exactly when it passed or was only measured.

    An errored execution has no score, because part of it is unknown.
    """

    verdict: Verdict
    score: float | None
    cause: Cause | None = None
    reason: str = ""


def decide(
    trial: Trial,
    graded: Sequence[GradedAssertion],
    *,
    suite: SuiteSpec,
    case: CaseSpec | None = None,
) -> Decision:
    """Return the verdict of an execution of a case; without one, the suite's threshold counts."""
    if trial.failure is not None:
        return Decision(Verdict.ERRORED, None, trial.failure.cause, trial.failure.message)
    score = execution_score(graded)
    causes = _causes(trial, graded, suite=suite, threshold=suite.threshold_of(case))
    if not causes:
        is_decided = any(check.decides and check.grade.passed is not None for check in graded)
        if not is_decided and not (suite.scores_decide and score is not None):
            causes += _unmeasured_checks(graded)
            if not causes and _is_measured(graded):
                return Decision(Verdict.MEASURED, score, reason=ONLY_MEASURED)
            if not causes:
                causes.append((Cause.CASE, _why_undecided(graded, suite, case)))
    if not causes:
        return Decision(Verdict.PASSED, score)
    cause, reason = _gravest(causes)
    if cause.is_error:
        return Decision(Verdict.ERRORED, None, cause, reason)
    if undecided := [problem for problem in causes if problem[0].is_error]:
        reason = f"{reason} Also not graded: {_gravest(undecided)[1]}"
    # A conversation that broke off, or exceeded a limit, gets nothing for what went before.
    is_void = cause in {Cause.AGENT, Cause.LIMIT}
    return Decision(Verdict.FAILED, 0.0 if is_void else score, cause, reason)


def _is_measured(graded: Sequence[GradedAssertion]) -> bool:
    """Return whether checks that only inform by design were graded."""
    has_measured = any(check.grade.status is GradeStatus.OK for check in graded)
    # A judge that the suite does not trust was meant to decide.
    return has_measured and not any(ONLY_INFORMS in check.grade.details for check in graded)


def _unmeasured_checks(graded: Sequence[GradedAssertion]) -> list[tuple[Cause, str]]:
    """Return why checks that only inform could not be graded; nothing else is to be decided."""
    return [
        _why_ungraded(check)
        for check in graded
        if check.grade.status in NOT_GRADED
        and check.weight > 0
        and ONLY_INFORMS not in check.grade.details
    ]


def _why_ungraded(check: GradedAssertion) -> tuple[Cause, str]:
    grade = check.grade
    cause = Cause.ASSERTION if check.fail_on_error else grade.cause or Cause.HARNESS
    label = "" if check.family == "limit" else f"{check.label.rstrip('.')}: "
    return cause, f"{label}{grade.reason}"


def _gravest(causes: Sequence[tuple[Cause, str]]) -> tuple[Cause, str]:
    """Return the cause that decides.

    A check that could not be graded cannot make up for a failure of another one; only an internal
    error casts doubt on that failure, too.
    """
    failures = [problem for problem in causes if not problem[0].is_error]
    broken = [problem for problem in causes if problem[0] is Cause.HARNESS]
    return min(broken or failures or causes, key=lambda problem: list(Cause).index(problem[0]))


def _causes(
    trial: Trial, graded: Sequence[GradedAssertion], *, suite: SuiteSpec, threshold: float
) -> list[tuple[Cause, str]]:
    causes = [(Cause.AGENT, turn.error) for turn in trial.turns if turn.error]
    causes += [(Cause.USER, trial.user_stopped)] if trial.user_stopped else []
    for check in graded:
        grade = check.grade
        if grade.status in NOT_GRADED:
            # Where scores decide, the missing score would have counted.
            if check.decides or (suite.scores_decide and check.weight > 0):
                causes.append(_why_ungraded(check))
        elif (
            check.decides
            and grade.passed is False
            and (check.family == "limit" or not suite.passes_by_score)
        ):
            causes.append((grade.cause or Cause.ASSERTION, grade.reason))
    if suite.passes_by_score and (missed := _score_missed(graded, threshold)):
        causes.append((Cause.ASSERTION, missed))
    return causes


def _score_missed(graded: Sequence[GradedAssertion], threshold: float) -> str:
    """Explain that the score is too low even if all ungraded checks had passed; else empty."""
    score = execution_score(graded)
    best = execution_score([_at_best(check) for check in graded])
    if score is None or best is None or at_least(best, threshold):
        return ""
    misses = (
        without_score(g.grade.reason)[0] for g in graded if g.decides and g.grade.passed is False
    )
    return f"The score {score:.4g} is below {threshold:.4g}. {next(misses, '')}".rstrip()


def _at_best(check: GradedAssertion) -> GradedAssertion:
    if check.fail_on_error or check.grade.status not in NOT_GRADED:
        return check
    return replace(check, grade=check.grade.but(score=1.0))


def _why_undecided(
    graded: Sequence[GradedAssertion], suite: SuiteSpec, case: CaseSpec | None
) -> str:
    """Explain why no check decided: not applicable, an untrusted judge, or no checks."""
    reasons = (
        check.grade.reason
        if check.decides and check.grade.status is GradeStatus.NOT_APPLICABLE
        else check.grade.details.get(ONLY_INFORMS)
        for check in graded
    )
    passed_over = [
        f"{check.label.rstrip('.')}: {reason}"
        for check, reason in zip(graded, reasons, strict=True)
        if reason
    ]
    if not passed_over:
        written = [*suite.assertions, *(case.assertions() if case else ())]
        if not graded and any(not check.enabled for check in written):
            return "There is nothing to check: all checks are disabled."
        return "There is nothing to check."
    return " ".join(["No check could decide.", *passed_over])


def execution_score(graded: Sequence[GradedAssertion]) -> float | None:
    """Return the score of the checks combined with that of the suite's rubric, by its share.

    If one of them has no score, the other counts alone; None if neither has one.
    """
    checks = _weighted_score([check for check in graded if not check.is_rubric])
    rubric = next(
        (g for g in graded if g.is_rubric and g.weight and g.grade.score is not None), None
    )
    if rubric is None or rubric.grade.score is None or checks is None:
        return checks if rubric is None else rubric.grade.score
    return (1 - rubric.weight) * checks + rubric.weight * rubric.grade.score


def _score_of(check: GradedAssertion) -> float | None:
    """Return the score of a check; one with `fail_on_error` that could not be graded has 0."""
    is_failed = check.fail_on_error and check.grade.status in NOT_GRADED
    return 0.0 if is_failed else check.grade.score


def _weighted_score(graded: Sequence[GradedAssertion]) -> float | None:
    """Return the weighted mean of all grades that have a score, None if none has."""
    scored = [(score, g.weight) for g in graded if (score := _score_of(g)) is not None and g.weight]
    weight = math.fsum(weight for _, weight in scored)
    return math.fsum(score * weight for score, weight in scored) / weight if weight else None


# What each part of a summary is about: a type of limit, or families of checks.
_SUMMARIZED: Mapping[str, frozenset[str]] = {
    "prompt_tokens_passed": frozenset({"max_prompt_tokens"}),
    "response_tokens_passed": frozenset({"max_response_tokens"}),
    "time_passed": frozenset({"max_time_ms"}),
    "response_criteria_passed": frozenset({"judged"}),
    "trajectory_criteria_passed": frozenset({"tools", "retrieval"}),
}


def summarized_checks(part: str, checks: Iterable[Any]) -> list[Any]:
    """Return the checks, or their rows, that a part is about, without those that are shown only."""
    about = _SUMMARIZED.get(part, frozenset())
    return [c for c in checks if c.weight > 0 and not about.isdisjoint((c.type, c.family))]


def execution_summary(
    trial: Trial, graded: Sequence[GradedAssertion], decision: Decision
) -> JsonObject:
    """Return which kinds of criteria passed: true, false, or null where none is set."""
    judged = summarized_checks("response_criteria_passed", graded)
    reasons = [g.grade.reason for g in judged if _is_passed(g) is False]
    return {
        "overall_passed": _overall(decision),
        **{part: _all_passed(summarized_checks(part, graded)) for part in _SUMMARIZED},
        "response_criteria_failure_reason": " ".join(reasons) or None,
        "prompt_tokens": trial.usage.prompt_tokens,
        "response_tokens": trial.usage.response_tokens,
        "execution_time_ms": trial.time_ms,
        "tool_calls": [call.name for call in trial.tool_calls] if trial.reports_calls else None,
        "cached_answers": None,
    }


def _overall(decision: Decision) -> bool | None:
    """Return whether an execution passed; None where nothing in it could pass or fail."""
    return None if decision.verdict is Verdict.MEASURED else decision.verdict is Verdict.PASSED


def _is_passed(check: GradedAssertion) -> bool | None:
    # A criterion that could not be graded did not pass.
    if check.grade.status in NOT_GRADED:
        return False
    return check.grade.passed


def _all_passed(graded: Sequence[GradedAssertion]) -> bool | None:
    verdicts = [passed for check in graded if (passed := _is_passed(check)) is not None]
    return all(verdicts) if verdicts else None
