"""Runs and their executions: forecast, start, list, read."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.specs.files import sha256_of
from evals_app.models import Execution, Run
from evals_app.reports.answers.forecasts import ForecastAnswer, forecast_json
from evals_app.reports.answers.run_answers import (
    ExecutionDetails,
    ExecutionRow,
    Json,
    Row,
    RunDetails,
    RunRow,
)
from evals_app.reports.answers.run_json import EXECUTION_COLUMNS, execution_row_json, run_json
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import StartRun, read_body, suite_and_agent
from evals_app.requests.endpoint import (
    ETAG,
    FIELDS,
    Endpoint,
    ListEndpoint,
    OneEndpoint,
    describe_get,
    find_or_404,
    new_response,
    responses,
)
from evals_app.requests.filters import AllExecutionFilters, ExecutionFilters, RunFilters
from evals_app.requests.pagination import ByPosition, NewestMatches
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.starts import start_once
from evals_app.requests.waiting import WAIT, seconds_to_wait, wait_until
from evals_app.runs.forgetting.whole_runs import DELETING_RUNS, delete_run
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.reading.newest_rows import end_of, end_of_runs
from evals_app.runs.reading.run_readers import (
    execution_details,
    execution_rows,
    run_details,
    run_rows,
)
from evals_app.runs.starting.forecast import forecast

VIEW = Need(Scope.READ, "evals_app.view_run")
RUN = Need(Scope.RUN, *RUNNING)

_NOT_MODIFIED = 304
_STEPS = (
    *("status", "passed", "failed", "errored", "measured", "skipped", "cancelled", "not_run"),
    *("spent_usd", "reserved_usd", "unsettled_usd", "started_at"),
)
_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="With the same key again, the answer is the same run; no other is started.",
)


@describe_get("runs_list", "List runs")
class Runs(ListEndpoint):
    """All runs, newest first."""

    needs: ClassVar = {"GET": VIEW, "POST": RUN}
    queryset = run_rows()
    answer = RunRow
    filterset_class = RunFilters

    row_json = staticmethod(run_json)

    @extend_schema(
        operation_id="runs_start",
        summary="Start a run",
        parameters=[_KEY],
        request=StartRun,
        responses={(201, "application/json"): RunDetails, **responses(RunDetails, 409, 422)},
    )
    def post(self, request: Request) -> Response:
        body = read_body(StartRun, request.data)
        key = request.headers.get("Idempotency-Key")
        run, is_new = start_once(body, key=key, user=user_of(request))
        return created_response(run) if is_new else Response(run_details(run.pk))


def created_response(run: Run) -> Response:
    """Return the response for a new run."""
    return new_response(run_details(run.pk), "run", run.pk)


class ForecastRun(Endpoint):
    """A forecast of a run."""

    needs: ClassVar = {"POST": VIEW}

    @extend_schema(
        operation_id="runs_forecast",
        summary="Forecast a run",
        description="Takes the same body as starting the run, but starts nothing.",
        request=StartRun,
        responses=responses(ForecastAnswer, 422),
    )
    def post(self, request: Request) -> Response:
        body = read_body(StartRun, request.data)
        suite, agent = suite_and_agent(body, user_of(request))
        by = request.user.pk
        expected = forecast(suite, by=by, agent=agent, **body.choices())
        return Response(forecast_json(expected, month_left_usd=month_left(by)))


class OneRun(OneEndpoint):
    """One run: verdict, counters, cases and gates."""

    needs: ClassVar = {"GET": VIEW, "DELETE": Need(Scope.AUTHOR, *DELETING_RUNS)}
    model = Run
    answer = RunDetails
    parameters = ("fields", "wait")

    read = staticmethod(run_details)

    @extend_schema(
        operation_id="runs_get",
        summary="Read a run",
        description="With `wait`, the answer comes when the run has ended, or after that many seconds."
        " With `If-None-Match` as well, it comes when anything has changed since the answer with "
        "that `ETag`, or else is 304. If many requests are waiting already, it comes immediately.",
        parameters=[FIELDS, WAIT, ETAG],
        responses={**responses(RunDetails, 404), (304, None): None},
    )
    def get(self, request: Request, **named: Any) -> HttpResponse:
        pk, seconds = named["pk"], seconds_to_wait(request)
        state = _state(pk) if seconds else None  # before the answer, or a step could be missed
        answer = self._answer(request, pk)

        def is_done() -> bool:
            nonlocal answer, state
            before, state = state, _state(pk)
            if state != before:
                answer = self._answer(request, pk)
            has_news = "If-None-Match" in request.headers and answer.status_code != _NOT_MODIFIED
            return has_news or state is None or state[0] not in Run.OPEN

        if seconds:
            wait_until(is_done, seconds=seconds)
        return answer

    @extend_schema(
        operation_id="runs_delete",
        summary="Delete a run for good",
        description="With its conversations, and with the runs that grade these again. A run that is"
        " in progress or retested, and a released version, stays.",
        responses=responses(None, 404, 422, status=204),
    )
    def delete(self, request: Request, pk: int) -> Response:
        delete_run(find_run(pk), by=user_of(request))
        return Response(status=204)

    def _answer(self, request: Request, pk: int) -> HttpResponse:
        answer: Any = super().get(request, pk=pk)
        # The answer may be large: its bytes are written once, for the ETag and for the client.
        answer.accepted_renderer = request.accepted_renderer
        answer.accepted_media_type = request.accepted_media_type
        answer.renderer_context = self.get_renderer_context()
        answer.headers["ETag"] = etag = quote_etag(sha256_of(answer.render().content))
        return get_conditional_response(request, etag=etag, response=answer) or answer


def _state(pk: int) -> tuple[object, ...] | None:
    """Return what changes with every step of a run, read by one cheap query."""
    return Run.objects.filter(pk=pk).values_list(*_STEPS).first()


@describe_get("runs_executions", "List the conversations of a run", 404)
class RunExecutions(ListEndpoint):
    """The conversations of a run, in the order of its cases."""

    needs: ClassVar = {"GET": VIEW}
    queryset = Execution.objects.none()  # for the schema
    answer = ExecutionRow
    filterset_class = ExecutionFilters
    pagination_class = ByPosition
    orderings: ClassVar = {"position": ("position", "trial")}

    def get_queryset(self) -> QuerySet[Execution, Row]:
        return execution_rows().filter(run=find_run(self.kwargs["pk"]))

    row_json = staticmethod(execution_row_json)


class ExecutionOfAnyRun(ExecutionRow):
    """A conversation in the list of those of all runs."""

    suite: str = Field(description="Slug.")
    agent: str = Field(description="Slug.")


@describe_get("executions_list", "List the conversations of all runs")
class AllExecutions(ListEndpoint):
    """The conversations of all runs, newest first."""

    needs: ClassVar = {"GET": VIEW}
    queryset = Execution.objects.exclude(run__in=Run.all_runs.filter(status=Run.PREPARING))
    columns = (*EXECUTION_COLUMNS, "run__suite_slug", "run__agent_slug")
    answer = ExecutionOfAnyRun
    filterset_class = AllExecutionFilters
    pagination_class = NewestMatches

    def end_of_matches(self) -> int:
        """Return a key above those of all conversations that the filters leave."""
        filters = self.filterset_class(self.request.query_params, self.queryset)
        runs = filters.matching_runs() if filters.is_valid() else None
        return end_of(Execution.objects.all()) if runs is None else end_of_runs(runs)

    def row_json(self, row: Row) -> Json:
        of_run = {"suite": row["run__suite_slug"], "agent": row["run__agent_slug"]}
        return execution_row_json(row) | of_run


@describe_get(
    "executions_get", "Read a conversation: messages, tool calls, grades, limits and changes", 404
)
class OneExecution(OneEndpoint):
    """One conversation with all its details."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_execution")}
    model = Execution
    answer = ExecutionDetails

    read = staticmethod(execution_details)


def find_run(pk: int) -> Run:
    """Return a run, without its summary."""
    return find_or_404(Run.objects.defer("summary"), pk=pk)
