"""Runs compared with each other."""

from typing import ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.runs.run_views import VIEW
from evals_app.engine.statistics.comparison import MAX_RUNS, ChangeKind
from evals_app.library.importing.rights import Rights
from evals_app.reports.answers.comparison_answers import ComparisonAnswer
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


def _run_ids(request: Request) -> list[int]:
    """Read the numbers of the runs; anything else is refused."""
    given = request.query_params.getlist("run")
    for text in given:
        if not is_id(text):
            raise refused_at("run", "Give the number of a run, for example ?run=1&run=2.", text)
    return [int(text) for text in given]
