"""Reviews of judged grades as rows, so that judges can be compared with people.

yardstick = make_yardstick("Polite")
label(yardstick, person=True, judge=False)               # of a new answer
forty_labels(yardstick)                                  # see tests/engine/statistics/test_agreement.py
"""

from typing import Any

from django.contrib.auth.models import User

from evals_app.engine.verdicts.judged_criteria import digest_of
from evals_app.models import Execution, GradeResult, Review, Run, Yardstick
from tests.makers import make_execution, make_grade, make_run

# People and judge: both pass, only the judge, only people, both fail.
FORTY = [(True, True)] * 28 + [(False, True)] * 4 + [(True, False)] * 2 + [(False, False)] * 6


def make_yardstick(criterion: str = "Is polite", **changes: Any) -> Yardstick:
    """Write a yardstick; another criterion is another one."""
    digest = digest_of([criterion, changes])
    columns = {
        "digest": digest,
        "type": "llm_judge",
        "scale": "pass_fail",
        "judge": "openai/large",
        "prompt_version": 3,
    }
    return Yardstick.objects.create(criterion=criterion, **columns | changes)


def judged_grade(yardstick: Yardstick, *, passed: bool = True, **changes: Any) -> GradeResult:
    """Return a grade by a yardstick, not yet saved."""
    columns: dict[str, Any] = {
        "family": "judged",
        "type": yardstick.type,
        "label": yardstick.criterion,
        "passed": passed,
        "score": float(passed),
        "reason": "The judge says so.",
        "yardstick": yardstick,
        "details": {"flags": []},
    }
    return make_grade(**columns | changes)


def judged_answer(
    yardstick: Yardstick, *, judge: bool = True, run: Run | None = None, **changes: Any
) -> GradeResult:
    """Write an execution with a grade by a yardstick, and return the grade."""
    run = run or Run.objects.first() or make_run()
    number = run.executions.count() + 1
    grade = judged_grade(yardstick, passed=judge, **changes.pop("grade", {}))
    given = {"case": f"Question {number}", "grades": [grade]} | changes
    make_execution(run, given.pop("case"), **given)
    return GradeResult.objects.get(pk=grade.pk)


def review(grade: GradeResult, *, passed: bool | None, **changes: Any) -> Review:
    """Write what a person says of a grade."""
    by, _ = User.objects.get_or_create(username=changes.pop("by", "ann"))
    columns = {
        "execution_id": grade.execution_id,
        "yardstick": grade.yardstick,
        "judged_passed": grade.passed,
        "judged_score": grade.score,
        "by": by,
        "by_name": by.username,
    }
    return Review.objects.create(grade=grade, passed=passed, **columns | changes)


def label(
    yardstick: Yardstick,
    *,
    person: bool | None,
    judge: bool = True,
    by: str = "ann",
    run: Run | None = None,
    **changes: Any,
) -> Review:
    """Write an execution with a grade by a yardstick, and what a person says of it."""
    grade = judged_answer(yardstick, judge=judge, run=run, grade=changes.pop("grade", {}))
    return review(grade, passed=person, by=by, **changes)


def forty_labels(yardstick: Yardstick, *, run: Run | None = None) -> list[Review]:
    """Label 40 answers: the numbers that follow are worked out in tests/engine/statistics/test_agreement.py."""
    run = run or make_run()
    return [label(yardstick, person=person, judge=judge, run=run) for person, judge in FORTY]


def graded_again(review_: Review, yardstick: Yardstick, *, judge: bool, run: Run) -> Review:
    """Write the grade of a labelled answer by another yardstick, with the label carried over."""
    old = review_.execution
    execution = make_execution(
        run,
        old.case,
        position=old.position,
        source=Execution.objects.get(pk=old.source_id or old.pk),
        grades=[judged_grade(yardstick, passed=judge)],
    )
    return review(
        execution.grades.get(), passed=review_.passed, carried_from=review_, is_label=True
    )
