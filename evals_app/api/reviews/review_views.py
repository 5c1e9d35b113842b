"""Reviews of executions: list, say, withdraw."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.models import Execution, Review
from evals_app.reports.answers import run_answers
from evals_app.reports.answers.run_answers import Row
from evals_app.reports.answers.run_json import review_json
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import read_body
from evals_app.requests.endpoint import (
    Endpoint,
    ListEndpoint,
    describe_get,
    find_or_404,
    new_response,
    responses,
)
from evals_app.requests.given_reviews import GivenReview, give_review
from evals_app.requests.permissions import Need, Scope
from evals_app.runs.reading.run_readers import review_rows
from evals_app.runs.reviews.reviewing import (
    REVIEWING,
    may_withdraw,
    withdraw,
)
from fixtures_app.ground.strict_json import JsonObject

_SEEING = "evals_app.view_execution"


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
        review = give_review(body, _execution(pk), user_of(request))
        return new_response(review, "review", pk, review["id"])


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


def _execution(pk: int) -> Execution:
    return find_or_404(Execution.objects.defer("summary", "turn_ms"), pk=pk)


def _answer(pk: int) -> JsonObject:
    return review_json(review_rows().get(pk=pk))
