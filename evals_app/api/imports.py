"""Import files: uploaded, in JSON, or one as it is."""

from dataclasses import replace
from typing import Any, ClassVar

from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.bodies import ImportFiles, read_body
from evals_app.api.endpoint import Endpoint, answers, flag, one_of
from evals_app.api.parsers import YAML_PARSERS, JsonParser, UploadParser
from evals_app.api.permissions import Need, Scope
from evals_app.api.problems import RefusedError, error_at, file_error
from evals_app.api.shapes import ImportShape
from evals_app.formats import DIALECTS, SourceFile
from evals_app.library import ImportReport, Rights, import_files
from evals_app.library.uploads import printable, unpack
from evals_app.throttles import Uploads

# Parts of an upload with this name are known by their file name.
_UNNAMED = ("file", "files")


def import_json(report: ImportReport, *, dry_run: bool) -> dict[str, Any]:
    """Tell what an import did."""
    return {
        "dry_run": dry_run,
        "changes": [
            {
                "kind": each.kind,
                "slug": each.slug,
                "what": each.what,
                "edited": {
                    "by": each.edit.by or None,
                    "at": each.edit.at.isoformat() if each.edit.at else None,
                }
                if each.edit
                else None,
                "came_from": each.source or None,
                "differences": [
                    {"keys": one.keys, "before": one.before or None, "after": one.after or None}
                    for one in each.differences
                ],
            }
            for each in report.changes
        ],
        "warnings": [file_error(each) for each in report.warnings],
        "losses": [file_error(each) for each in report.losses],
    }


class Import(Endpoint):
    """Import files, all or nothing."""

    needs: ClassVar = {"POST": Need(Scope.AUTHOR)}
    parameters = ("dry_run", "replace", "dialect", "agent", "path")
    throttle_classes = [*Endpoint.throttle_classes, Uploads]
    parser_classes = [JsonParser, UploadParser, *YAML_PARSERS]

    @extend_schema(
        operation_id="import",
        summary="Import suites, agents, fixtures and providers",
        description="Either files in JSON, or an upload (the name of each part is its path; parts "
        "named `files` go by their file names; a part that ends in .zip is unpacked, and what is no "
        "eval file in it is there to be named), or one YAML file as the body with its name in "
        "`path`. With every error nothing is saved.",
        parameters=[
            OpenApiParameter(
                "dry_run", bool, description="Only tell what would happen, in detail."
            ),
            OpenApiParameter(
                "replace",
                bool,
                description="Replace even what somebody edited here since its last import, and "
                "suites that came from another file; otherwise that is refused (409). A dry run "
                "reports both under `edited` and `came_from`.",
            ),
            OpenApiParameter("dialect", str, enum=DIALECTS, description="Else it is found out."),
            OpenApiParameter(
                "agent", str, description="Slug of the agent to test, for files of other systems."
            ),
            OpenApiParameter("path", str, description="Name of the file, where the body is one."),
        ],
        request={
            "application/json": ImportFiles,
            "multipart/form-data": {
                "type": "object",
                "properties": {
                    "files": {"type": "array", "items": {"type": "string", "format": "binary"}}
                },
            },
            "application/yaml": OpenApiTypes.STR,
        },
        responses=answers(ImportShape, 409),
    )
    def post(self, request: Request) -> Response:
        dry_run = flag(request, "dry_run")
        rights = Rights.of(request.user)
        rights.require_some()  # before the body is read
        upload = unpack(_files(request))
        report = import_files(
            upload.files,
            dry_run=dry_run,
            replace=flag(request, "replace"),
            dialect=one_of(request, "dialect", DIALECTS),
            find=upload.find,
            find_paths=upload.find_paths,
            agent=request.query_params.get("agent"),
            rights=rights,
        )
        report = replace(report, warnings=[*report.warnings, *upload.passed_over()])
        return Response(import_json(report, dry_run=dry_run))


def _files(request: Request) -> list[SourceFile]:
    path = request.query_params.get("path")
    if isinstance(request.data, bytes):
        if not path:
            message = "Say what the file is called: ?path=refunds.suite.yaml"
            raise RefusedError(message, errors=[error_at("path", message)])
        return [SourceFile(path, request.data)]
    if path is not None:
        message = "path belongs to a body that is one YAML file; here each file has its own."
        raise RefusedError(message, errors=[error_at("path", message)])
    if isinstance(request.data, QueryDict):
        _refuse_fields(request)
        uploads = [(name, each) for name, parts in request.FILES.lists() for each in parts]
        if not uploads:
            message = "There is no file in this upload."
            raise RefusedError(message, errors=[error_at("files", message)])
        return [SourceFile(_path(name, upload.name), upload.read()) for name, upload in uploads]
    body = read_body(ImportFiles, request.data)
    return [SourceFile(each.path, each.content.encode()) for each in body.files]


def _refuse_fields(request: Request) -> None:
    """Refuse parts without a file: a `dry_run` among them would be no dry run."""
    errors = [
        error_at(printable(name), "This part of the upload is no file; options stand in the query.")
        for name in request.data
        if name not in request.FILES
    ]
    if errors:
        raise RefusedError(f"{errors[0]['keys']}: {errors[0]['message']}", errors=errors)


def _path(name: str, file_name: str) -> str:
    return file_name if name in _UNNAMED else name
