"""One object that people write: read with its version, written and deleted under conditions."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from pydantic import BaseModel
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.authored.imports import ImportAnswer, import_json
from evals_app.formats.foreign.draft import NAMES
from evals_app.formats.importing import SourceData, SourceFile
from evals_app.formats.reading.problems import FormatError
from evals_app.library.changes.edits import MODELS
from evals_app.library.changes.import_report import ImportReport, Kind, ObjectChange
from evals_app.library.deleting.written import InUseError, delete_written
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.rights import Rights
from evals_app.reports.answers.run_answers import Json
from evals_app.requests.auth import user_of
from evals_app.requests.conditions import Condition
from evals_app.requests.endpoint import (
    ETAG,
    FIELDS,
    OneEndpoint,
    describe_patch,
    find_or_404,
    problems,
    responses,
)
from evals_app.requests.parsers import YAML_PARSERS, JsonParser
from evals_app.requests.problems import (
    IN_USE,
    INVALID_FILES,
    MissingError,
    RefusedError,
    error_at,
    refused_at,
    refused_data,
    sound,
)

W = TypeVar("W", bound="type[WrittenEndpoint]")

EDIT = "Written over REST."
DELETED = "Deleted over REST."

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The ETag of the version that this replaces or deletes.",
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    enum=["*"],
    description="Write only if it does not exist.",
)


class StoredVersion(NamedTuple):
    """What is stored, and its version."""

    spec: BaseModel
    version: str


class VersionedEndpoint(OneEndpoint):
    """One thing as its spec; the header `ETag` identifies this version of it."""

    parser_classes = [JsonParser]
    etag: str  # of what was read

    @abstractmethod
    def find_version(self, key: Any) -> StoredVersion | None:
        """Return what is stored; None if nothing is."""

    def read(self, key: Any) -> Json | None:
        stored = sound(lambda: self.find_version(key))
        if stored is None:
            return None
        self.etag = quote_etag(stored.version)
        return stored.spec.model_dump(mode="json", by_alias=True)

    def get(self, request: Request, **named: object) -> HttpResponse:
        answer = super().get(request, **named)
        answer.headers["ETag"] = self.etag
        return get_conditional_response(request, etag=self.etag, response=answer) or answer

    def version(self, key: Any) -> str:
        """Return the version of what exists; rows that are no longer valid are refused."""
        stored = sound(lambda: self.find_version(key))
        return stored.version if stored is not None else ""


class WrittenEndpoint(VersionedEndpoint):
    """One object that files can contain: PUT writes its spec by the same way as an import."""

    kind: ClassVar[Kind]
    parser_classes = [JsonParser, *YAML_PARSERS]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.model = MODELS[cls.kind]

    def remove(self, row: Any, user: User) -> None:
        """Delete a row unless others use it, which raises InUseError."""
        delete_written(row, by=user, note=DELETED)

    def put(self, request: Request, slug: str) -> Response:
        Rights.of(request.user).require_some()  # before the body is read
        return self._write(request, slug, request.data, Condition.of(request))

    def patch(self, request: Request, slug: str) -> Response:
        Rights.of(request.user).require_some()
        condition = Condition.of(request)
        stored = sound(lambda: self.find_version(slug))
        if stored is None:
            raise MissingError(self.model, slug)
        condition.require(lambda: stored.version)
        body = self.merge_body(request, stored.spec.model_dump(mode="json", by_alias=True))
        # No one may change it between reading and writing.
        return self._write(request, slug, body, Condition([stored.version], must_exist=True))

    def _write(self, request: Request, slug: str, body: Any, condition: Condition) -> Response:
        """Write a body as an import does."""
        path = f"{slug}.{self.kind}.yaml"
        is_yaml = isinstance(body, bytes)
        source = SourceFile(path, body) if is_yaml else SourceData(path, body)

        def approve(report: ImportReport) -> None:
            change = self._change(report)
            if change.slug != slug:
                message = f"The slug is {slug!r} in the address, but {change.slug!r} in the body."
                raise refused_at("slug", message, change.slug)
            is_new = change.what == "created"
            condition.require(None if is_new else lambda: self.version(slug))

        try:
            report = import_files(
                [source],
                dialect="native",
                edit=EDIT,
                rights=Rights.of(request.user),
                approve=approve,
                written=lambda: self.note_written(slug),
            )
        except FormatError as exc:
            if is_yaml:
                raise
            # JSON is not a file: it has keys, but no lines.
            raise refused_data(exc.problems, kind=INVALID_FILES) from exc
        status = 201 if self._change(report).what == "created" else 200
        answer = Response(import_json(report, dry_run=False), status=status)
        answer.headers["ETag"] = quote_etag(self.version_written(report))
        return answer

    def _change(self, report: ImportReport) -> ObjectChange:
        """Return what an import did to the object itself; a fixture also comes with types."""
        return next(change for change in report.changes if change.kind == self.kind)

    def note_written(self, slug: str) -> None:
        """Do further work in the transaction that has written the object."""

    def version_written(self, report: ImportReport) -> str:
        """Return the version that was written."""
        return report.after

    def delete(self, request: Request, slug: str) -> Response:
        condition = Condition.of(request)
        with transaction.atomic():
            rows = self.model._default_manager  # noqa: SLF001 - how Django names it
            row: Any = find_or_404(rows.select_for_update(), slug=slug)
            condition.require(lambda: self.version(slug))
            try:
                self.remove(row, user_of(request))
            except InUseError as error:
                raise self._in_use(slug, error, user_of(request)) from error
        return Response(status=204)

    def _in_use(self, slug: str, error: InUseError, user: User) -> RefusedError:
        ours = NAMES.get(self.kind, self.kind)
        if not user.has_perm(f"evals_app.view_{error.kind}"):
            message = f"{error.kind.title()}s that you may not see use the {ours} {slug!r}."
            return RefusedError(message, status=409, kind=IN_USE)
        message = f"These {error.kind}s use the {ours} {slug!r}: {error}."
        errors = [error_at("", f"The {error.kind} {name!r} uses it.", name) for name in error.users]
        return RefusedError(message, status=409, kind=IN_USE, errors=errors)


def describe_written(noun: str, *, deleting: str) -> Callable[[W], W]:
    """Describe a view of a kind for the schema; `deleting` says what DELETE does."""

    def describe(view: W) -> W:
        kind, spec = view.kind, view.answer
        articles = {"agent": "an agent", "fixture": "a set of test data"}
        a_kind = articles.get(kind, f"a {kind}")
        get = extend_schema(
            operation_id=f"{noun}_get",
            summary=f"Read {a_kind}",
            description="The header `ETag` identifies this version; send it as `If-Match` with PUT "
            "or DELETE. With `If-None-Match`, the answer is 304 if nothing has changed.",
            parameters=[FIELDS, ETAG],
            responses={**responses(spec, 404, 409), (304, None): None},
        )
        put = extend_schema(
            operation_id=f"{noun}_put",
            summary=f"Write {a_kind}",
            description="The body is the spec, as in the answer of GET or in a native file; keys "
            "that are left out get their defaults. With `If-Match`, it is refused (412) if someone "
            "else has changed it; a token can require this header (428). "
            "`If-None-Match: *` writes only what does not exist yet.",
            parameters=[IF_MATCH, IF_NONE_MATCH, ETAG],
            request={"application/json": spec, "application/yaml": OpenApiTypes.BINARY},
            responses={
                (201, "application/json"): ImportAnswer,
                **responses(ImportAnswer, 409, 412, 413, 415, 428),
            },
        )
        patch = describe_patch(
            noun, a_kind, ImportAnswer, 409, 412, 413, 415, 428, parameters=[IF_MATCH, ETAG]
        )
        delete = extend_schema(
            operation_id=f"{noun}_delete",
            summary=f"{'Archive' if kind == 'suite' else 'Delete'} {a_kind}",
            description=deleting,
            parameters=[IF_MATCH],
            request=None,
            responses={(204, None): None, **problems(404, 409, 412, 428)},
        )
        return extend_schema_view(get=get, put=put, patch=patch, delete=delete)(view)

    return describe
