"""Retests of two runs: forecast, start, list, read, cancel."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.runs.run_views import RUN, VIEW
from evals_app.models import Run, Settlement
from evals_app.reports.answers.retests import (
    SettlementDetails,
    SettlementForecast,
    SettlementRow,
    settlement_json,
)
from evals_app.reports.answers.run_answers import in_json
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import Nothing, StartSettlement, read_body
from evals_app.requests.endpoint import (
    Endpoint,
    ListEndpoint,
    OneEndpoint,
    describe_get,
    find_or_404,
    new_response,
    responses,
)
from evals_app.requests.filters import SettlementFilters
from evals_app.requests.problems import RefusedError, error_at
from evals_app.runs.ending.cancel import cancel_settlement
from evals_app.runs.reading.run_readers import settlement_details, settlement_rows
from evals_app.runs.retests.candidates import (
    SettlementPlan,
    SettlementPrice,
    plan_settlement,
    price_of,
)
from evals_app.runs.retests.rounds import start_settlement
from fixtures_app.ground.strict_json import JsonObject


@describe_get("settlements_list", "List retests")
class Settlements(ListEndpoint):
    """All retests, newest first."""

    needs: ClassVar = {"GET": VIEW, "POST": RUN}
    queryset = settlement_rows()
    answer = SettlementRow
    filterset_class = SettlementFilters

    row_json = staticmethod(settlement_json)

    @extend_schema(
        operation_id="settlements_start",
        summary="Retest two runs",
        description="Runs the cases again in which head is worse than base, 5 to 20 times in each"
        " version, until the difference is certain.",
        request=StartSettlement,
        responses=responses(SettlementDetails, 422, status=201),
    )
    def post(self, request: Request) -> Response:
        body = read_body(StartSettlement, request.data)
        new = start_settlement(_plan_of(body), max_cost_usd=body.max_cost_usd, by=user_of(request))
        return new_response(settlement_details(new.pk), "settlement", new.pk)


class ForecastSettlement(Endpoint):
    """A forecast of a retest."""

    needs: ClassVar = {"POST": VIEW}

    @extend_schema(
        operation_id="settlements_forecast",
        summary="Forecast a retest",
        description="Takes the same body as starting the retest, but starts nothing.",
        request=StartSettlement,
        responses=responses(SettlementForecast, 422),
    )
    def post(self, request: Request) -> Response:
        plan = _plan_of(read_body(StartSettlement, request.data))
        return Response(_forecast_json(price_of(plan)))


@describe_get("settlements_get", "Read a retest with its cases", 404)
class OneSettlement(OneEndpoint):
    """One retest: what was found, case by case."""

    needs: ClassVar = {"GET": VIEW}
    model = Settlement
    answer = SettlementDetails

    read = staticmethod(settlement_details)


class CancelSettlement(Endpoint):
    """Cancel a retest."""

    needs: ClassVar = {"POST": RUN}

    @extend_schema(
        operation_id="settlements_cancel",
        summary="Cancel a retest and its runs",
        description="A retest that has ended does not change.",
        request=None,
        responses=responses(SettlementDetails, 404),
    )
    def post(self, request: Request, pk: int) -> Response:
        read_body(Nothing, request.data)
        cancel_settlement(find_or_404(Settlement.objects.all(), pk=pk), by=user_of(request))
        return Response(settlement_details(pk))


def _forecast_json(price: SettlementPrice) -> JsonObject:
    suspicion = price.plan.suspicion
    low, high = price.likely_usd or (None, None)
    return SettlementForecast.of_object(
        suspicion,
        suspects=len(suspicion.suspects),
        stand_in=price.plan.stand_in or None,
        most_conversations=price.plan.most_trials,
        cost_usd={"low": in_json(low), "high": in_json(high), "most": in_json(price.most_usd)},
        unpriced=price.unpriced_models,
        in_words=price.in_words,
    )


def _plan_of(body: StartSettlement) -> SettlementPlan:
    """Return what a body asks for; a run that does not exist is refused."""
    numbers = {"base": body.base, "head": body.head}
    runs = Run.objects.select_related("suite", "snapshot").in_bulk(set(numbers.values()))
    errors = [
        error_at(key, f"There is no run {number}.", number)
        for key, number in numbers.items()
        if number not in runs
    ]
    if errors:
        raise RefusedError(errors[0]["message"], errors=errors)
    return plan_settlement(runs[body.base], runs[body.head], with_better=body.with_better)
