"""What a run would take, before it is started."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.bodies import StartRun, read_body, suite_and_agent
from evals_app.api.endpoint import Endpoint, answers
from evals_app.api.permissions import Need, Scope
from evals_app.api.shapes import Shape, TokensShape
from evals_app.reports.forecasts import forecast_json
from evals_app.runs.forecast import forecast


class CallsShape(Shape):
    """Calls of models, by side."""

    agent = serializers.IntegerField()
    judge = serializers.IntegerField()


class LowHighShape(Shape):
    """Between which values something should lie; null: unknown."""

    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class ForecastShape(Shape):
    """What a run would take; counts are likely ones, nothing is promised."""

    conversations = serializers.IntegerField()
    calls = CallsShape()
    tokens = TokensShape()
    cost_usd = LowHighShape(help_text="Agent and judge; null where a model has no price.")
    unpriced = serializers.ListField(
        child=serializers.CharField(), help_text="Models without a price."
    )
    duration_ms = LowHighShape(help_text="Null for an agent outside that was never run.")
    earlier_runs = serializers.IntegerField(help_text="That it is drawn from; 0: a guess.")
    basis = serializers.CharField(help_text="The same for people.")


class ForecastRun(Endpoint):
    """What a run would take."""

    needs: ClassVar = {"POST": Need(Scope.READ, "evals_app.view_run")}

    @extend_schema(
        operation_id="runs_forecast",
        summary="Forecast a run",
        description="Takes the body that would start the run, and starts nothing.",
        request=StartRun,
        responses=answers(ForecastShape, 422),
    )
    def post(self, request: Request) -> Response:
        body = read_body(StartRun, request.data)
        suite, agent = suite_and_agent(body, request.user)
        return Response(forecast_json(forecast(suite, agent=agent, **body.choices())))
