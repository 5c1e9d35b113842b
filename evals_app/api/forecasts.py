"""Forecasts of runs."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.bodies import StartRun, read_body, suite_and_agent
from evals_app.api.endpoint import Endpoint, responses
from evals_app.api.permissions import Need, Scope
from evals_app.reports.forecasts import ForecastAnswer, forecast_json
from evals_app.runs.forecast import forecast


class ForecastRun(Endpoint):
    """A forecast of a run."""

    needs: ClassVar = {"POST": Need(Scope.READ, "evals_app.view_run")}

    @extend_schema(
        operation_id="runs_forecast",
        summary="Forecast a run",
        description="Takes the same body as starting the run, but starts nothing.",
        request=StartRun,
        responses=responses(ForecastAnswer, 422),
    )
    def post(self, request: Request) -> Response:
        body = read_body(StartRun, request.data)
        suite, agent = suite_and_agent(body, request.user)
        return Response(forecast_json(forecast(suite, agent=agent, **body.choices())))
