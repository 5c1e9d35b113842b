"""Reviews of conversations that people give over REST and MCP."""

from typing import Any, Literal

from django.contrib.auth.models import User
from pydantic import Field

from evals_app.engine.specs.base_spec import Spec
from evals_app.models import Execution, GradeResult, Review
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.answers.run_json import review_json
from evals_app.requests.bodies import RunId
from evals_app.runs.reading.run_readers import review_rows
from evals_app.runs.reviews.review_tasks import answer_item, asked_item
from evals_app.runs.reviews.reviewing import (
    MAX_CHARS,
    CannotReviewError,
    comment,
    not_the_agents_fault,
    review_grade,
)


class GivenReview(Spec):
    """What a person says of a grade, of a bullet of its rubric, or of the execution."""

    kind: Literal["verdict", "not_the_agent", "comment"] = "verdict"
    grade: RunId | None = Field(
        default=None, description="A verdict is about a grade, a comment may be."
    )
    item: int | None = Field(
        default=None, ge=0, le=10**6, description="The `id` of a bullet in its `details`."
    )
    passed: bool | None = Field(
        default=None, description="Whether the check passes; null: you cannot tell."
    )
    score: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="On a scale: your own score, which decides whether it passes.",
    )
    reason: str = Field(
        default="", max_length=MAX_CHARS, description="Required except for a verdict."
    )
    task: RunId | None = Field(
        default=None, description="The task that asks for this verdict; see `review-tasks/`."
    )


def give_review(body: GivenReview, execution: Execution, by: User) -> Json:
    """Keep a review, and return it as REST has it.

    Raises:
        CannotReviewError: there is no such grade, or it cannot be reviewed so.
    """
    grade = None
    if body.grade is not None:
        grades = GradeResult.objects.select_related("execution", "yardstick").defer("calls")
        grade = grades.filter(execution=execution, pk=body.grade).first()
        if grade is None:
            problem = f"Conversation {execution.pk} has no grade {body.grade}."
            raise CannotReviewError(problem, key="grade", value=body.grade)
    review = _write_review(body, execution, grade, by)
    return review_json(review_rows().get(pk=review.pk))


def _write_review(
    body: GivenReview, execution: Execution, grade: GradeResult | None, by: User
) -> Review:
    if body.kind == "comment":
        return comment(execution, by=by, reason=body.reason, grade=grade)
    if body.kind == "not_the_agent":
        return not_the_agents_fault(execution, by=by, reason=body.reason)
    if grade is None:
        raise CannotReviewError("A verdict is about a grade; name it.", key="grade")
    word: dict[str, Any] = {"passed": body.passed, "score": body.score, "reason": body.reason}
    if body.task is None:
        return review_grade(grade, by=by, item=body.item, **word)
    row = asked_item(body.task, grade=grade, item=body.item, of=by)
    if row is None:
        message = f"Task {body.task} does not ask you about this."
        raise CannotReviewError(message, key="task", value=body.task)
    return answer_item(row, by=by, **word)
