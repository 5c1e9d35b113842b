"""Reviews of executions: list, say, withdraw."""

from typing import Any, ClassVar, Literal

from django.contrib.auth.models import User
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.specs.base_spec import Spec
from evals_app.models import Execution, GradeResult, Review
from evals_app.reports.answers import run_answers
from evals_app.reports.answers.run_answers import Row
from evals_app.reports.answers.run_json import review_json
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import RunId, read_body
from evals_app.requests.endpoint import (
    Endpoint,
    ListEndpoint,
    describe_get,
    find_or_404,
    new_response,
    responses,
)
from evals_app.requests.permissions import Need, Scope
from evals_app.runs.reading.run_readers import review_rows
from evals_app.runs.reviews.review_tasks import answer_item, asked_item
from evals_app.runs.reviews.reviewing import (
    MAX_CHARS,
    REVIEWING,
    CannotReviewError,
    comment,
    may_withdraw,
    not_the_agents_fault,
    review_grade,
    withdraw,
)
from fixtures_app.ground.strict_json import JsonObject

_SEEING = "evals_app.view_execution"


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


@describe_get("executions_reviews", "List the reviews of a conversation, withdrawn ones too", 404)
class ReviewEndpoint(ListEndpoint):
    """What people say of a conversation, newest first."""

    needs: ClassVar = {
        "GET": Need(Scope.READ, _SEEING),
        "POST": Need(Scope.AUTHOR, _SEEING, REVIEWING),
    }
    queryset = Review.objects.none()  # for the schema
    answer = run_answers.ReviewJson

    def get_queryset(self) -> QuerySet[Review, Row]:
        return review_rows().filter(execution=_execution(self.kwargs["pk"]))

    row_json = staticmethod(review_json)

    @extend_schema(
        operation_id="executions_review",
        summary="Review a conversation",
        description="Says that a grade is right or wrong, that a failure is not the agent's fault,"
        " or comments. A verdict replaces your own earlier one on the same grade.",
        request=GivenReview,
        responses=responses(run_answers.ReviewJson, 404, 422, status=201),
    )
    def post(self, request: Request, pk: int) -> Response:
        body = read_body(GivenReview, request.data)
        execution = _execution(pk)
        grade = None
        if body.grade is not None:
            grades = GradeResult.objects.select_related("execution", "yardstick").defer("calls")
            grade = grades.filter(execution=execution, pk=body.grade).first()
            if grade is None:
                problem = f"Conversation {pk} has no grade {body.grade}."
                raise CannotReviewError(problem, key="grade", value=body.grade)
        review = _write_review(body, execution, grade, user_of(request))
        return new_response(_answer(review.pk), "review", pk, review.pk)


class OneReview(Endpoint):
    """One review, which its author may withdraw."""

    needs: ClassVar = {"DELETE": Need(Scope.AUTHOR, _SEEING, REVIEWING)}

    @extend_schema(
        operation_id="executions_review_withdraw",
        summary="Withdraw a review",
        description="Your own, or as an admin any. It stays in the list, and no longer counts.",
        request=None,
        responses=responses(run_answers.ReviewJson, 404, 422),
    )
    def delete(self, request: Request, pk: int, review: int) -> Response:
        row = find_or_404(Review.objects.select_related("execution"), execution=pk, pk=review)
        if not may_withdraw(row, request.user):
            raise PermissionDenied("You may withdraw only reviews of your own.")
        withdraw(row, by=user_of(request))
        return Response(_answer(review))


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


def _execution(pk: int) -> Execution:
    return find_or_404(Execution.objects.defer("summary", "turn_ms"), pk=pk)


def _answer(pk: int) -> JsonObject:
    return review_json(review_rows().get(pk=pk))
