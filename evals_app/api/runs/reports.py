"""Reports of runs as files, and the schema of the one for programs."""

from collections.abc import Sequence
from typing import ClassVar

from django.http import StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.runs.run_views import VIEW, find_run
from evals_app.reports.reference.report_schema import report_schema
from evals_app.reports.words.report_plugins import all_kinds
from evals_app.requests.endpoint import AnyRenderer, Endpoint, one_of, problems, responses
from evals_app.requests.permissions import Need, Scope, require, shown_to
from evals_app.runs.reporting import report

_KIND = OpenApiParameter(
    "kind",
    str,
    enum=tuple(all_kinds()),
    description="Default: json. "
    + " ".join(f"{name}: {kind.title}." for name, kind in all_kinds().items()),
)
_JSON = "application/json"
_MEDIA_TYPES = [kind.media_type.partition(";")[0] for kind in all_kinds().values()]
_FILES = {
    (200, name): OpenApiTypes.ANY if name == _JSON else OpenApiTypes.BINARY for name in _MEDIA_TYPES
}


class RunReport(Endpoint):
    """A report of a run, of any kind."""

    needs: ClassVar = {"GET": VIEW}
    parameters = ("kind",)
    renderer_classes: Sequence[type[JSONRenderer]] = [AnyRenderer]

    @extend_schema(
        operation_id="runs_report",
        summary="Read a report of a run as a file",
        description="Kinds with conversations (html, folder, json, those of plug-ins) also require `view_execution`; "
        "without it, a decision has no replies. "
        "The schema of json is at /api/runs/report-schema/.",
        parameters=[_KIND],
        responses={**_FILES, **problems(404, 422)},
    )
    def get(self, request: Request, pk: int) -> StreamingHttpResponse:
        kinds = all_kinds()
        kind = one_of(request, "kind", tuple(kinds)) or "json"
        if kinds[kind].has_conversations:
            require(request, "evals_app.view_execution")

        def link(model: str, key: int) -> str:
            page = reverse(f"admin:evals_app_{model}_change", args=[key])
            return str(request.build_absolute_uri(page))

        file = report(kind, find_run(pk), link=link, shown=shown_to(request.user))
        return StreamingHttpResponse(
            file.content,
            content_type=file.media_type,
            headers={
                "Content-Disposition": f'attachment; filename="{file.name}"',
                # A browser must never show it as a page of this site: agents wrote parts of it.
                "X-Content-Type-Options": "nosniff",
            },
        )


class ReportSchema(Endpoint):
    """The JSON Schema of the JSON report."""

    needs: ClassVar = {"GET": Need(Scope.READ)}

    @extend_schema(
        operation_id="runs_report_schema",
        summary="Read the JSON Schema of a report of kind json",
        responses=responses(OpenApiTypes.OBJECT),
    )
    def get(self, request: Request) -> Response:
        return Response(report_schema())
