"""What was spent in a month."""

from typing import ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.reports.answers.spending import SpendingAnswer, spending_json
from evals_app.requests.auth import user_of
from evals_app.requests.endpoint import Endpoint, one_of, responses
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import refused_at
from evals_app.runs.money.spending import WAYS, month_text, read_month, spending


class SpendingOfMonth(Endpoint):
    """The ledger of a month."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_run")}
    parameters = ("month", "by")

    @extend_schema(
        operation_id="spending",
        summary="Read what was spent in a month",
        parameters=[
            OpenApiParameter("month", str, description="For example 2026-11; default: this month."),
            OpenApiParameter("by", str, enum=WAYS, description="Default: day."),
        ],
        responses=responses(SpendingAnswer),
    )
    def get(self, request: Request) -> Response:
        try:
            first = read_month(request.query_params.get("month", ""))
        except ValueError as error:
            raise refused_at("month", str(error)) from error
        by = one_of(request, "by", WAYS) or "day"
        amounts = spending(first, by=by, reader=user_of(request))
        return Response(spending_json(month_text(first), by, amounts))
