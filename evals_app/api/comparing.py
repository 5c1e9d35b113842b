"""Runs compared with each other: with a base, or as a table of agents and models."""

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.runs.run_views import VIEW
from evals_app.engine.statistics.comparison import MAX_RUNS, ChangeKind
from evals_app.library.importing.rights import Rights
from evals_app.reports.answers.comparison_answers import ComparisonAnswer
from evals_app.reports.answers.model_comparison import MAX_RUNS_IN_TABLE
from evals_app.reports.answers.model_comparison_answers import ModelComparisonAnswer
from evals_app.requests.endpoint import (
    FIELDS,
    Endpoint,
    one_of,
    only_keys,
    responses,
    wanted_fields,
)
from evals_app.requests.pagination import ByNumber, is_id
from evals_app.requests.problems import refused_at
from evals_app.runs.reading.compared_runs import CannotCompareError, compare_runs, comparison_json
from evals_app.runs.reading.model_comparison import NoTableError, Wanted, table_json, table_runs

_PARAMETERS = (
    OpenApiParameter(
        "run",
        int,
        many=True,
        required=True,
        description=f"Repeat it for each run, the base first: ?run=1&run=2. At most {MAX_RUNS}.",
    ),
    OpenApiParameter(
        "change", str, enum=list(ChangeKind), description="Only cases with this change."
    ),
    OpenApiParameter("case", str, description="Only cases whose name contains this text."),
    OpenApiParameter("page", int, description="Of the cases, from 1."),
    OpenApiParameter("page_size", int, description="50, or up to 200."),
    FIELDS,
)


class CompareRuns(Endpoint):
    """A comparison of runs."""

    needs: ClassVar = {"GET": VIEW}
    parameters = tuple(parameter.name for parameter in _PARAMETERS)

    @extend_schema(
        operation_id="runs_compare",
        summary="Compare runs",
        description="Compares runs that have ended with the first of them, the base.",
        parameters=list(_PARAMETERS),
        responses=responses(ComparisonAnswer, 404),
    )
    def get(self, request: Request) -> Response:
        change = one_of(request, "change", list(ChangeKind))
        wanted = wanted_fields(request, ComparisonAnswer.KEYS)
        try:
            comparison = compare_runs(_run_ids(request))
        except CannotCompareError as error:
            raise refused_at("run", str(error)) from error
        if not Rights.of(request.user).may_see_everything():
            comparison = comparison.without_values()
        cases = comparison.cases.filter_by(change=change, text=request.query_params.get("case", ""))
        pages = ByNumber()
        page = pages.paginate_queryset(cases, request, view=self)
        answer = comparison_json(
            comparison,
            page or (),
            count=len(cases),
            next=pages.get_next_link(),
            previous=pages.get_previous_link(),
        )
        return Response(only_keys(answer, wanted))


_OF_TABLE = (
    OpenApiParameter("group", UUID, description="The group of runs that were started together."),
    OpenApiParameter(
        "run",
        int,
        many=True,
        description="Instead of a group, the numbers of runs: ?run=1&run=2. At most"
        f" {MAX_RUNS_IN_TABLE:,}.",
    ),
    OpenApiParameter(
        "suite", str, many=True, description="Slugs of suites whose cases the answer includes."
    ),
    FIELDS,
)


class CompareModels(Endpoint):
    """Runs in one table, by suite, agent and model."""

    needs: ClassVar = {"GET": VIEW}
    parameters = tuple(parameter.name for parameter in _OF_TABLE)

    @extend_schema(
        operation_id="runs_comparison",
        summary="Compare agents and models",
        description="Puts runs into one table: a row for each suite, a column for each agent with each"
        " model, with totals and what each one misses. Runs that have not ended count in no total.",
        parameters=list(_OF_TABLE),
        responses=responses(ModelComparisonAnswer, 404),
    )
    def get(self, request: Request) -> Response:
        wanted = wanted_fields(request, ModelComparisonAnswer.KEYS)
        asked = _asked_for(request)
        try:
            runs = table_runs(asked)
        except NoTableError as error:
            where = "group" if isinstance(asked, UUID) else "run"
            raise refused_at(where, str(error)) from error
        answer = table_json(
            runs,
            suites=request.query_params.getlist("suite"),
            shows_labels=Rights.of(request.user).may_see_everything(),
        )
        return Response(only_keys(answer, wanted))


def _asked_for(request: Request) -> Wanted:
    """Read which runs are asked for; anything else is refused."""
    group = request.query_params.get("group")
    if group is None:
        return _run_ids(request)
    if "run" in request.query_params:
        raise refused_at("group", "Give a group or numbers of runs, not both.", group)
    try:
        return UUID(group)
    except ValueError:
        raise refused_at("group", "Give the group of a run, a UUID.", group) from None


def _run_ids(request: Request) -> list[int]:
    """Read the numbers of the runs; anything else is refused."""
    given = request.query_params.getlist("run")
    for text in given:
        if not is_id(text):
            raise refused_at("run", "Give the number of a run, for example ?run=1&run=2.", text)
    return [int(text) for text in given]
