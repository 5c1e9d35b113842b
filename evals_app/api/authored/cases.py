"""The cases of a suite, one at a time; an import or a PUT of the suite writes them all."""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any, ClassVar, NamedTuple, TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import quote_etag
from drf_spectacular.utils import extend_schema
from pydantic import Field, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.authored.writing import DELETED, EDIT, IF_MATCH, StoredVersion, VersionedEndpoint
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.formats.foreign.attached import files_of
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.library.changes.edits import note_edit
from evals_app.library.changes.spec_changes import digest_of
from evals_app.library.deleting.written import delete_case
from evals_app.library.importing.file_import import read_case
from evals_app.library.importing.rights import Rights
from evals_app.library.saving import CaseDoesNotFitError, add_case, change_case
from evals_app.models import Attachment, Case, Suite
from evals_app.models.authored.suites import load_content
from evals_app.reports.answers.run_answers import Answer
from evals_app.requests.auth import user_of
from evals_app.requests.conditions import Condition
from evals_app.requests.endpoint import (
    ETAG,
    FIELDS,
    ListEndpoint,
    describe_get,
    describe_patch,
    find_or_404,
    problems,
    responses,
)
from evals_app.requests.filters import CaseFilters
from evals_app.requests.pagination import ByPlace
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import (
    Error,
    RefusedError,
    error_at,
    refused_data,
    sound,
    stale,
)
from fixtures_app.library import Saved

T = TypeVar("T")

_SEE = Need(Scope.READ, "evals_app.view_case")
# Where the case is in the suite that its spec is read with.
_PLACE = "cases[0]"


class CaseRow(Answer):
    """A case, as lists show it."""

    id: int
    name: str
    description: str
    tags: list[str]
    enabled: bool = Field(description="Runs skip a disabled case.")
    trials: int | None = Field(description="null: as many as the suite sets.")


class CaseWritten(Answer):
    """What became of a case that was written."""

    id: int
    name: str
    suite: str = Field(description="Slug.")
    what: Saved
    warnings: list[Error]


class _Read(NamedTuple):
    """A body: the case, the SHA-256 of its files by their paths, and warnings."""

    spec: CaseSpec
    files: dict[str, str]
    warnings: list[Problem]


@describe_get("cases_list", "List the cases of a suite", 404)
class Cases(ListEndpoint):
    """The cases of a suite, in their order."""

    needs: ClassVar = {
        "GET": _SEE,
        "POST": Need(Scope.AUTHOR, "evals_app.view_suite", "evals_app.add_case"),
    }
    queryset = Case.objects.none()  # for the schema
    answer = CaseRow
    filterset_class = CaseFilters
    pagination_class = ByPlace
    orderings: ClassVar = {"position": ("position", "id"), "id": ("id",)}

    def get_queryset(self) -> QuerySet[Case]:
        return Case.objects.filter(suite=_suite(self.kwargs["slug"])).only(
            *CaseRow.KEYS, "position"
        )

    @extend_schema(
        operation_id="cases_add",
        summary="Add a case to a suite",
        description="At the end of the suite. The body is a case, as in a suite's spec.",
        parameters=[ETAG],
        request=CaseSpec,
        responses=responses(CaseWritten, 404, 409, 413, 415, status=201),
    )
    def post(self, request: Request, slug: str) -> Response:
        suite = _suite(slug)
        read = _read(suite, request.data, request)
        with transaction.atomic():
            _keep_files(read.files)
            case = _refuse_misfit(lambda: add_case(suite, read.spec))
            note_edit(case, user=request.user, note=EDIT, is_new=True)
        answer = _write_response(case, "created", read, status=201)
        answer.headers["Location"] = reverse("api:case", args=[slug, case.pk])
        return answer


class OneCase(VersionedEndpoint):
    """One case."""

    needs: ClassVar = {
        "GET": _SEE,
        "PUT": Need(Scope.AUTHOR, "evals_app.view_suite", "evals_app.change_case"),
        "PATCH": Need(
            Scope.AUTHOR, "evals_app.view_suite", "evals_app.view_case", "evals_app.change_case"
        ),
        "DELETE": Need(Scope.AUTHOR, "evals_app.delete_case"),
    }
    model = Case
    answer = CaseSpec

    def find_version(self, key: tuple[str, int]) -> StoredVersion:
        slug, pk = key
        row = Case.objects.filter(suite__slug=slug, pk=pk).first()
        return _stored_version(row or _case(slug, pk))

    @extend_schema(
        operation_id="cases_get",
        summary="Read a case",
        description="The header `ETag` identifies this version; send it as `If-Match` with PUT or "
        "DELETE. With `If-None-Match`, the answer is 304 if nothing has changed.",
        parameters=[FIELDS, ETAG],
        responses={**responses(CaseSpec, 404, 409), (304, None): None},
    )
    def get(self, request: Request, **named: object) -> HttpResponse:
        return super().get(request, key=(named["slug"], named["pk"]))

    @extend_schema(
        operation_id="cases_put",
        summary="Change a case",
        description="The body is a case, as in the answer of GET; keys that are left out get their "
        "defaults. It keeps its id and its place, even if its name changes. With `If-Match`, it is "
        "refused (412) if someone else has changed the case; a token can require this header (428).",
        parameters=[IF_MATCH, ETAG],
        request=CaseSpec,
        responses=responses(CaseWritten, 404, 409, 412, 413, 415, 428),
    )
    def put(self, request: Request, slug: str, pk: int) -> Response:
        return self._write(request, (slug, pk), request.data, Condition.of(request))

    @describe_patch(
        "cases", "a case", CaseWritten, 409, 412, 413, 415, 428, parameters=[IF_MATCH, ETAG]
    )
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        condition = Condition.of(request)
        stored = sound(lambda: self.find_version((slug, pk)))
        condition.require(lambda: stored.version)
        body = self.merge_body(request, stored.spec.model_dump(mode="json", by_alias=True))
        # No one may change it between reading and writing.
        return self._write(request, (slug, pk), body, Condition([stored.version], must_exist=True))

    def _write(
        self, request: Request, key: tuple[str, int], body: Any, condition: Condition
    ) -> Response:
        suite = _case(*key).suite
        assert suite is not None  # noqa: S101 - only staged cases have none
        read = _read(suite, body, request)
        with transaction.atomic():
            case = _case(*key, lock=True)
            condition.require(lambda: self.version(key))
            load_content([case], case__in=[case])
            _keep_files(read.files)
            what = _refuse_misfit(lambda: change_case(case, read.spec))
            if what != "unchanged":
                note_edit(case, user=request.user, note=EDIT)
        return _write_response(case, what, read)

    @extend_schema(
        operation_id="cases_delete",
        summary="Delete a case",
        description="Its results in earlier runs are kept.",
        parameters=[IF_MATCH],
        request=None,
        responses={(204, None): None, **problems(404, 409, 412, 428)},
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        condition = Condition.of(request)
        with transaction.atomic():
            case = _case(slug, pk, lock=True)
            condition.require(lambda: self.version((slug, pk)))
            delete_case(case, by=user_of(request), note=DELETED)
        return Response(status=204)


def _suite(slug: str) -> Suite:
    return find_or_404(Suite.objects.with_head(), slug=slug)


def _case(slug: str, pk: int, *, lock: bool = False) -> Case:
    """Return a case; with `lock`, writers of its suite wait for the end of the transaction."""
    if lock:
        list(Suite.objects.select_for_update().filter(slug=slug).values_list("pk"))
    rows = Case.objects.filter(suite=_suite(slug))
    return find_or_404(rows, pk=pk)


def _stored_version(row: Case) -> StoredVersion:
    load_content([row], case__in=[row])
    spec = row.to_spec()
    return StoredVersion(spec, digest_of(spec))


def _read(suite: Suite, body: Any, request: Request) -> _Read:
    """Read a body, or refuse it with all its errors."""
    try:
        whole, warnings = read_case(suite, body, rights=Rights.of(request.user))
    except FormatError as error:
        raise refused_data(map(_in_case, error.problems)) from error
    except ValidationError as error:
        raise stale(error) from error
    return _Read(whole.cases[0], files_of([whole]), warnings)


def _in_case(problem: Problem) -> Problem:
    """Return a problem with its place in the case, not in the suite."""
    keys = problem.keys
    inside = keys.removeprefix(_PLACE).removeprefix(".") if keys.startswith(_PLACE) else keys
    return replace(problem, keys=inside)


def _keep_files(files: dict[str, str]) -> None:
    """Keep the files that a case names; one that was removed a moment ago is refused."""
    stored = Attachment.objects.keep(files.values())
    if missing := [path for path, sha256 in files.items() if sha256 not in stored]:
        names = ", ".join(sorted(missing))
        raise RefusedError(f"These files are no longer stored: {names}. Send them to files/ again.")


def _refuse_misfit(write: Callable[[], T]) -> T:
    try:
        return write()
    except CaseDoesNotFitError as error:
        errors = [error_at(error.key, str(error))]
        raise RefusedError(str(error), status=HTTPStatus.CONFLICT, errors=errors) from error


def _write_response(case: Case, what: Saved, read: _Read, *, status: int = 200) -> Response:
    suite: Any = case.suite
    answer = CaseWritten.of(
        id=case.pk,
        name=case.name,
        suite=suite.slug,
        what=what,
        warnings=[
            error_at(warning.keys, warning.message, warning.value or None)
            for warning in map(_in_case, read.warnings)
        ],
    )
    etag = quote_etag(digest_of(read.spec))
    return Response(answer, status=status, headers={"ETag": etag})
