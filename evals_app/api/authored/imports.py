"""Imports of files: an upload, files in JSON, or a single YAML file."""

from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Literal

from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.formats.foreign.shapes import TableChoices
from evals_app.formats.importing import SourceFile
from evals_app.formats.reader_plugins import all_dialects
from evals_app.formats.tables.chosen import read_choices
from evals_app.formats.tables.table import MAX_ROWS
from evals_app.library.changes.import_report import ImportReport, Kind
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.rights import Rights
from evals_app.library.importing.uploads import printable, unpack
from evals_app.reports.answers.run_answers import Answer, DifferenceJson, Json, in_json
from evals_app.requests.bodies import ImportFiles, read_body
from evals_app.requests.endpoint import Endpoint, flag, one_of, responses
from evals_app.requests.parsers import YAML_PARSERS, JsonParser, UploadParser
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import FileError, RefusedError, error_at, file_error, refused_at
from evals_app.requests.throttles import Uploads

# Parts of an upload with these names go by their file name.
_UNNAMED = ("file", "files")


class ImportEdit(Answer):
    """The last edit since the last import; null: unknown."""

    by: str | None
    at: datetime | None


class ChangeJson(Answer):
    """What an import did to one object."""

    kind: Kind
    slug: str
    what: Literal["created", "updated", "unchanged"]
    edited: ImportEdit | None = Field(description="It was edited here since its last import.")
    came_from: str | None = Field(description="The other file that the replaced suite came from.")
    differences: list[DifferenceJson] = Field(description="What a dry run would update.")
    checks_nothing: bool = Field(description="It writes a suite in which no case checks anything.")


class FileLoss(FileError):  # noqa: N818 - not an exception
    """Something in a file that is left out."""

    checks: int = Field(description="How many checks are lost with it, as far as is known.")


class ImportAnswer(Answer):
    """What an import did or, with `dry_run`, would do."""

    dry_run: bool
    changes: list[ChangeJson]
    warnings: list[FileError]
    guesses: list[FileError] = Field(description="What was taken for what, as choices can change.")
    losses: list[FileLoss] = Field(description="What is not supported here and left out, and why.")
    checks_lost: int = Field(description="How many checks are left out, as far as is known.")
    checks_read: int = Field(description="0: not counted, because no check was lost.")


def import_json(report: ImportReport, *, dry_run: bool) -> Json:
    """Return what an import did, as REST answers it."""
    return ImportAnswer.of(
        dry_run=dry_run,
        changes=[
            ChangeJson.of_object(
                change,
                edited=change.edit
                and {"by": change.edit.by or None, "at": in_json(change.edit.at)},
                came_from=change.source or None,
                differences=list(map(DifferenceJson.of_texts, change.differences)),
            )
            for change in report.changes
        ],
        warnings=[file_error(warning) for warning in report.warnings],
        guesses=[file_error(guess) for guess in report.guesses],
        losses=[FileLoss.of(file_error(loss), checks=loss.checks) for loss in report.losses],
        checks_lost=report.checks_lost,
        checks_read=report.checks_read,
    )


class Import(Endpoint):
    """Import files; with any error, nothing is saved."""

    needs: ClassVar = {"POST": Need(Scope.AUTHOR)}
    parameters = (
        *("dry_run", "replace", "accept_no_checks", "dialect", "agent", "as_one_suite", "path"),
        *("ignore_column", "map_column", "check", "header_row"),
    )
    throttle_classes = [*Endpoint.throttle_classes, Uploads]
    parser_classes = [JsonParser, UploadParser, *YAML_PARSERS]

    @extend_schema(
        operation_id="import",
        summary="Import suites, agents, test data and providers",
        description="The body is files in JSON, an upload, or one YAML file with its name in "
        "`path`. In an upload, the name of a part is its path; parts named `files` go by their file "
        "names. Archives (.zip) are unpacked; their other files can be referred to. With any error, "
        "nothing is saved.",
        parameters=[
            OpenApiParameter(
                "dry_run", bool, description="Only report what would change, in detail."
            ),
            OpenApiParameter(
                "replace",
                bool,
                description="Also replace what was edited here since its last import, and suites that "
                "came from another file; otherwise both are refused (409). A dry run reports them "
                "as `edited` and `came_from`.",
            ),
            OpenApiParameter(
                "accept_no_checks",
                bool,
                description="Also write suites in which no case checks anything; otherwise they are "
                "refused (409). A dry run reports them as `checks_nothing`.",
            ),
            OpenApiParameter(
                "dialect", str, enum=tuple(all_dialects()), description="Format; default: detected."
            ),
            OpenApiParameter(
                "agent",
                str,
                description="Slug of the agent under test, for files that do not name one.",
            ),
            OpenApiParameter(
                "as_one_suite",
                bool,
                description="Read all evals that test one agent as the cases of one suite.",
            ),
            OpenApiParameter(
                "ignore_column",
                str,
                many=True,
                description="Name of a column of spreadsheets to leave out. May be repeated.",
            ),
            OpenApiParameter(
                "map_column",
                str,
                many=True,
                description="Which known column a column of spreadsheets is, such as "
                "Frage=question. May be repeated.",
            ),
            OpenApiParameter(
                "check",
                str,
                many=True,
                description="How expected answers of spreadsheets are compared, such as contains; "
                "those of one kind, such as sentence=contains. May be repeated.",
            ),
            OpenApiParameter(
                "header_row",
                int,
                description="The row of a spreadsheet with its headers, from 1. Default: detected.",
            ),
            OpenApiParameter("path", str, description="File name, if the body is a file."),
        ],
        request={
            "application/json": ImportFiles,
            "multipart/form-data": {
                "type": "object",
                "properties": {
                    "files": {"type": "array", "items": {"type": "string", "format": "binary"}}
                },
            },
            "application/yaml": OpenApiTypes.BINARY,
        },
        responses=responses(ImportAnswer, 409),
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
            accept_no_checks=flag(request, "accept_no_checks"),
            dialect=one_of(request, "dialect", tuple(all_dialects())),
            find=upload.find,
            find_paths=upload.find_paths,
            agent=request.query_params.get("agent"),
            as_one_suite=flag(request, "as_one_suite"),
            tables=_table_choices(request),
            rights=rights,
        )
        report = replace(report, warnings=[*report.warnings, *upload.passed_over()])
        return Response(import_json(report, dry_run=dry_run))


def _table_choices(request: Request) -> TableChoices:
    """Read what is chosen for tables."""
    query = request.query_params
    row = query.get("header_row", "")
    if row and not (row.isdecimal() and 0 < int(row) <= MAX_ROWS):
        raise refused_at("header_row", f"Expected a whole number from 1 to {MAX_ROWS:,}.")
    try:
        return read_choices(
            *(query.getlist(name) for name in ("ignore_column", "map_column", "check")),
            header_row=int(row) if row else None,
        )
    except ValueError as error:
        raise refused_at("map_column", str(error)) from error


def _files(request: Request) -> list[SourceFile]:
    path = request.query_params.get("path")
    if isinstance(request.data, bytes):
        if not path:
            raise refused_at("path", "Send the file name, for example ?path=refunds.suite.yaml")
        return [SourceFile(path, request.data)]
    if path is not None:
        message = "Send path only with a body that is one YAML file; here every file has its own."
        raise refused_at("path", message)
    if isinstance(request.data, QueryDict):
        _refuse_fields(request)
        uploads = [(name, part) for name, parts in request.FILES.lists() for part in parts]
        if not uploads:
            raise refused_at("files", "This upload contains no file.")
        return [
            SourceFile(upload.name if name in _UNNAMED else name, upload.read())
            for name, upload in uploads
        ]
    body = read_body(ImportFiles, request.data)
    return [SourceFile(file.path, file.content.encode()) for file in body.files]


def _refuse_fields(request: Request) -> None:
    """Refuse parts that are not files: a part named `dry_run` would have no effect."""
    errors = [
        error_at(
            printable(name), "This part of the upload is not a file; send options in the query."
        )
        for name in request.data
        if name not in request.FILES
    ]
    if errors:
        raise RefusedError(f"{errors[0]['keys']}: {errors[0]['message']}", errors=errors)
