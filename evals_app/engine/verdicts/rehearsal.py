"""Grade the expected answer of a turn by the turn's own checks, as if it were the agent's reply."""

from collections.abc import Iterator, Sequence

from evals_app.engine.graders import PlainGrader
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Trial, TurnRecord
from evals_app.engine.record.view import View
from evals_app.engine.statistics.rates import at_least
from evals_app.engine.suites.suite_spec import AssertionSpec

_MAX_CHARS = 20_000  # a longer answer would slow down an import
# These compare the whole reply with the expected answer, so it must pass the other checks too.
_OF_WHOLE_REPLIES = frozenset({"overlap", "similarity"})


def missed_by_expected(
    expected: str | None, checks: Sequence[AssertionSpec]
) -> Iterator[tuple[AssertionSpec, str]]:
    """Find the checks of a turn that its expected answer does not pass, and the reasons."""
    if expected is None or len(expected) > _MAX_CHARS:
        return
    is_reply = any(map(_takes_whole_reply, checks))
    for check in checks:
        if (check.lacks_expected or is_reply) and (problem := _problem(check, expected)):
            yield check, problem


def _takes_whole_reply(check: AssertionSpec) -> bool:
    is_whole = check.type == "exact_match" or check.grader.family in _OF_WHOLE_REPLIES
    has_path = getattr(check.grader, "response_path", None) is not None
    return is_whole and check.lacks_expected and not has_path


def _problem(check: AssertionSpec, expected: str) -> str | None:
    grader = check.grader
    if check.lacks_expected and (problem := grader.expected_problem(expected)):
        return f"{check.type}: {problem}"
    if not (isinstance(grader, PlainGrader) and not grader.reads_more() and check.decides):
        return None
    if check.scope == "conversation":
        return None
    grade = _grade(grader, expected, expected)
    needed = check.threshold if check.threshold is not None else grader.usual_threshold
    if grade.status in {GradeStatus.ERROR, GradeStatus.UNGRADED}:
        return f"The check “{check.label}” cannot grade the expected answer. {grade.reason}"
    if grade.passed is None and grade.score is not None and needed is not None:
        if at_least(grade.score, needed):
            return None
        score = f"It scores {grade.score:.2f} and needs {needed:.2f}. "
    elif grade.passed is False:
        score = ""
    else:
        return None
    return f"The expected answer does not pass the check “{check.label}”. {score}{grade.reason}"


def passes(check: AssertionSpec, reply: str, expected: str | None) -> bool | None:
    """Whether a reply passes a check; None: it needs a judge, or only gives a score."""
    grader = check.grader
    if not isinstance(grader, PlainGrader) or grader.reads_more():
        return None
    grade = _grade(grader, reply, expected)
    needed = check.threshold if check.threshold is not None else grader.usual_threshold
    if grade.passed is None and grade.score is not None and needed is not None:
        return at_least(grade.score, needed)
    return grade.passed


def _grade(grader: PlainGrader, reply: str, expected: str | None) -> Grade:
    if getattr(grader, "response_path", None) is not None:
        # The expected text is that part, without a whole reply around it.
        grader = grader.model_copy(update={"response_path": None})
    turn = TurnRecord(index=1, user="", reply=reply)
    trial = Trial(case="", number=1, planned_turns=1, agent="", turns=(turn,))
    return grader.grade(View(trial, turn, expected))
