"""People's opinions on the grades of an execution, and the verdict that follows from them.

The latest opinion of each person counts, and the majority decides. A tie decides nothing, and
"cannot tell" does not count. Only grades are overruled: the verdict follows by the rules of runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evals_app.engine.graders import GRADERS
from evals_app.engine.record.grade import Grade, GradedAssertion, GradeStatus
from evals_app.engine.record.trial import Cause, Trial, Verdict
from evals_app.engine.statistics.rates import at_least, mean
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from evals_app.engine.verdicts.execution_verdict import Decision, decide
from evals_app.engine.verdicts.grading import by_threshold

_MIDDLE = 0.5  # 3 on the scale 1-5


@dataclass(frozen=True, slots=True)
class Ruling:
    """A person's verdict on a check, or on bullet `item` of its rubric; `passed` None: cannot tell.

    `person` identifies people, `name` is shown.
    """

    person: int | str
    name: str
    passed: bool | None
    score: float | None = None
    item: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Consensus:
    """The joint verdict of people: that of most of them, None if they disagree or cannot tell."""

    passed: bool | None
    score: float | None = None
    is_disputed: bool = False
    words: tuple[Ruling, ...] = ()  # those that agree with it


def consensus(words: Iterable[Ruling]) -> Consensus:
    """Return the joint opinion of people; those of each person are in the order of time."""
    votes = [word for word in _latest(words) if word.passed is not None]
    passing = sum(word.passed is True for word in votes)
    if 2 * passing == len(votes):
        return Consensus(None, is_disputed=bool(votes))
    passed = 2 * passing > len(votes)
    agreeing = tuple(word for word in votes if word.passed is passed)
    scores = [word.score for word in agreeing if word.score is not None]
    return Consensus(passed, mean(scores), words=agreeing)


def _latest(words: Iterable[Ruling]) -> Sequence[Ruling]:
    return list({word.person: word for word in words}.values())


def passes(score: float, *, kind: str, threshold: float | None) -> bool:
    """Return the verdict that a person's score means for a check of a type.

    Without a threshold the middle decides, as for judges on the scale 1-5; a check that only informs
    keeps the score alone.
    """
    grader = GRADERS.get(kind)
    if threshold is None and grader is not None:
        threshold = grader.usual_threshold
    return at_least(score, _MIDDLE if threshold is None else threshold)


def bullets(details: Mapping[str, object]) -> dict[int, bool | None]:
    """Return the verdicts of a rubric's bullets by number, None if open; empty for another grade."""
    items = details.get("items") if details.get("scale") == "rubric" else None
    met: dict[object, bool] = {"pass": True, "fail": False}
    return {
        item["id"]: met.get(item["verdict"])
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, dict) and isinstance(item.get("id"), int) and "verdict" in item
    }


@dataclass(frozen=True, slots=True)
class GivenGrade:
    """A stored grade, with people's verdicts on it."""

    type: str
    label: str
    family: Any
    turn: int | None
    position: int
    weight: float
    threshold: float | None
    grade: Grade
    words: tuple[Ruling, ...] = ()


def overrule(given: GivenGrade) -> Grade | None:
    """Return the grade that people give a check; None if its grade stays.

    A verdict on a whole rubric takes precedence over verdicts on its bullets.
    """
    grade = given.grade
    whole = consensus(word for word in given.words if word.item is None)
    if whole.passed is not None:
        regraded = _grade_by_people(given, whole)
        is_same = (regraded.passed, regraded.score) == (grade.passed, grade.score)
        return None if is_same else regraded
    decided = {}
    for number, met in bullets(grade.details).items():
        bullet = consensus(word for word in given.words if word.item == number)
        if bullet.passed is not None and bullet.passed is not met:
            decided[number] = bullet
    return _recount_bullets(given, decided) if decided else None


def _grade_by_people(given: GivenGrade, people: Consensus) -> Grade:
    """Return the grade by people; mere agreement with a verdict keeps its score."""
    grade = given.grade
    only_informs = grade.status is GradeStatus.OK and grade.passed is None
    is_limit = given.family == "limit"
    score = people.score
    if score is None:
        score = grade.score if people.passed is grade.passed else float(bool(people.passed))
    failed = Cause.LIMIT if is_limit else Cause.ASSERTION
    return grade.but(
        score=None if is_limit else score,
        passed=None if only_informs else people.passed,
        status=GradeStatus.OK,
        cause=None if people.passed else failed,
        reason=_in_words(people),
    )


def _recount_bullets(given: GivenGrade, decided: Mapping[int, Consensus]) -> Grade:
    """Count the bullets of a rubric again, with those that people decided."""
    grade = given.grade
    known = bullets(grade.details)
    verdicts = {
        item["id"]: item["verdict"] for item in grade.details["items"] if item.get("id") in known
    }
    verdicts |= {number: "pass" if people.passed else "fail" for number, people in decided.items()}
    results = list(verdicts.values())
    met, is_open = results.count("pass"), results.count(None)
    applicable = len(results) - results.count("not_applicable")
    reasons = " ".join(
        f"Bullet {number}: {_in_words(people)}" for number, people in decided.items()
    )
    recounted = grade.but(
        score=met / applicable,
        highest=(met + is_open) / applicable if is_open else None,
        passed=None,
        status=GradeStatus.OK,
        cause=None,
        reason=f"{met} of {applicable} bullets {'is' if met == 1 else 'are'} met. {reasons}",
        details=grade.details | {"met": met, "applicable": applicable, "undecided": is_open},
    )
    return by_threshold(recounted, given.threshold)


def _in_words(people: Consensus) -> str:
    """Describe the people who decided, and why."""
    names = ", ".join(word.name for word in people.words)
    reason = next((word.reason for word in people.words if word.reason), "")
    first = f"Decided by {names}"
    return f"{first}: {reason}" if reason else f"{first}."


def decide_with_people(
    trial: Trial,
    grades: Sequence[GivenGrade],
    *,
    case: CaseSpec,
    suite: SuiteSpec,
    not_the_agent: str | None = None,
) -> Decision | None:
    """Return the verdict of an execution with the decisions of people; None if they change no grade.

    `not_the_agent` is a person's reason why the agent is not to blame.
    """
    with_people = [overrule(given) if given.words else None for given in grades]
    if not any(with_people) and not_the_agent is None:
        return None
    graded = _original_grades(
        [
            replace(given, grade=grade or given.grade)
            for given, grade in zip(grades, with_people, strict=True)
        ],
        case=case,
        suite=suite,
    )
    decision = decide(trial, graded, suite=suite, case=case)
    if not_the_agent is None:
        return decision
    return Decision(Verdict.ERRORED, None, Cause.CASE, not_the_agent)


def _original_grades(
    grades: Iterable[GivenGrade], *, case: CaseSpec, suite: SuiteSpec
) -> list[GradedAssertion]:
    """Return grades as they were when the verdict was computed, completed from the suite."""
    placed = {(check.number, check.position): check.check for check in suite.placed_checks(case)}
    graded = []
    for given in grades:
        check = None if given.family == "limit" else placed.get((given.turn, given.position))
        graded.append(
            GradedAssertion(
                type=given.type,
                label=given.label,
                family=given.family,
                turn=given.turn,
                position=given.position,
                weight=given.weight,
                threshold=given.threshold,
                grade=given.grade,
                # A judge that was not trusted has no weight; see engine/statistics/trust.py.
                decides=check is None or (given.weight > 0 and suite.decides(check)),
                fail_on_error=check is not None and check.fail_on_error,
                is_rubric=check is not None and check is suite.rubric_check,
            )
        )
    return graded
