"""Problems of requests: application/problem+json (RFC 9457), always with the same keys."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import (
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.db.models import Model
from pydantic import Field
from pydantic import ValidationError as SpecError
from rest_framework.exceptions import (
    APIException,
    ErrorDetail,
    NotAuthenticated,
    ParseError,
    UnsupportedMediaType,
    ValidationError,
)
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler, set_rollback

from evals_app.engine.basics.errors import CannotError
from evals_app.formats.reading.problems import FormatError, keys_text, shorten
from evals_app.formats.reading.problems import Problem as FileProblem
from evals_app.library.importing.file_import import (
    EditedError,
    NoChecksError,
    edited_words,
    unchecked_words,
)
from evals_app.models.fields.concurrency import one_moment
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.requests.request_ids import request_id
from evals_app.runs.starting.freeze import CannotStartError
from fixtures_app.ground.spec_errors import message_of
from fixtures_app.ground.strict_json import read_strictly
from fixtures_app.ground.words import near

S = TypeVar("S")

MEDIA_TYPE = "application/problem+json"

# Types beyond the status. They are names, not addresses.
BLANK = "about:blank"
INVALID_REQUEST = "urn:evalwell:invalid-request"
INVALID_FILES = "urn:evalwell:invalid-files"
CANNOT_START = "urn:evalwell:cannot-start"
KEY_REUSED = "urn:evalwell:idempotency-key-reused"
BEING_PREPARED = "urn:evalwell:being-prepared"
STALE_ROW = "urn:evalwell:stale-row"
EDITED = "urn:evalwell:edited"
NO_CHECKS = "urn:evalwell:no-checks"
IN_USE = "urn:evalwell:in-use"
UNREADABLE = "urn:evalwell:unreadable-body"
NOT_INSTALLED = "urn:evalwell:not-installed"

TITLES = {
    INVALID_REQUEST: "The request is not valid",
    INVALID_FILES: "The files cannot be imported",
    CANNOT_START: "The run cannot start",
    KEY_REUSED: "This Idempotency-Key was used for another request",
    BEING_PREPARED: "The run of this Idempotency-Key is being prepared",
    STALE_ROW: "The stored object is no longer valid",
    EDITED: "This would replace an edit, or an object from another file",
    NO_CHECKS: "No case of a suite checks anything",
    IN_USE: "Something else uses this",
    UNREADABLE: "The body of the request cannot be read",
    NOT_INSTALLED: "A package that this needs is not installed",
}

_REPLACE = "Send replace=true to replace it; export it first to keep a copy."
_ACCEPT = "Add checks, or send accept_no_checks=true to import it without any."


class Error(Answer):
    """An error and its place."""

    keys: str = Field(
        description="Path of keys, for example cases[2].turns[0].user; empty: the whole body."
    )
    message: str
    value: object = Field(description="The value found there.")


class FileError(Error):
    """An error, a warning or a loss in a file."""

    path: str = Field(description="Name of the file.")
    line: int | None
    column: int | None


class ProblemJson(Answer):
    """Why a request failed (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str = Field(description="As in the header X-Request-ID, and in the server's log.")
    errors: list[FileError | Error]
    warnings: list[FileError] = Field(description="What else was noticed in files.")
    guesses: list[FileError] = Field(description="What in files was taken for what.")


class RefusedError(APIException):
    """A request that is refused; `errors` have the reasons and their places.

    `retry_after`: seconds after which the same request may be accepted.
    """

    def __init__(
        self,
        detail: str,
        *,
        status: int = HTTPStatus.BAD_REQUEST,
        kind: str = INVALID_REQUEST,
        errors: Iterable[Json] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.status_code = status
        self.kind = kind
        self.errors = list(errors)
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


class MissingError(APIException):
    """What a request names does not exist: a row of `model` with this id or slug."""

    status_code = HTTPStatus.NOT_FOUND

    def __init__(self, model: type[Model], key: object) -> None:
        self.model = model
        self.key = key
        noun, name = model._meta.verbose_name, repr(key) if isinstance(key, str) else key  # noqa: SLF001
        super().__init__(f"There is no {noun} {name}.")

    def hint(self, user: User | AnonymousUser) -> str:
        """Return the nearest slug, if the user may see such rows; empty if none is near."""
        about = self.model._meta  # noqa: SLF001 - the documented API of models
        names = {field.name for field in about.get_fields()}
        if "slug" not in names or not user.has_perm(f"{about.app_label}.view_{about.model_name}"):
            return ""
        slugs = self.model._default_manager.values_list("slug", flat=True)  # noqa: SLF001
        return near(str(self.key), slugs)


def problem(
    status: int,
    detail: str,
    *,
    kind: str = BLANK,
    errors: Iterable[Json] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a problem as a response."""
    body = problem_body(status, detail, kind=kind, errors=errors)
    return Response(body, status=status, content_type=MEDIA_TYPE, headers=headers)


def problem_body(
    status: int, detail: str, *, kind: str = BLANK, errors: Iterable[Json] = ()
) -> Json:
    """Describe a problem."""
    title = TITLES.get(kind) or HTTPStatus(status).phrase
    return ProblemJson.of(
        type=kind,
        title=title,
        status=status,
        detail=detail,
        request_id=request_id.get(),
        errors=list(errors),
        warnings=[],
        guesses=[],
    )


def problem_response(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Return an exception as a problem; None for an internal error."""
    if (request := context.get("request")) is not None:
        # A client that accepts YAML, as for the schema, would get YAML under a JSON media type.
        request.accepted_renderer = JSONRenderer()
        request.accepted_media_type = JSONRenderer.media_type
    answer = _own_problem(exc, context)
    if answer is not None:
        set_rollback()
        return answer
    plain = exception_handler(exc, context)
    if plain is None:
        return None
    if isinstance(exc, ValidationError):
        errors = list(_leaves(exc.detail))
        answer = problem(plain.status_code, _first(errors), kind=INVALID_REQUEST, errors=errors)
    else:
        detail = str(plain.data.get("detail", "")) or HTTPStatus(plain.status_code).phrase
        kind = UNREADABLE if isinstance(exc, ParseError) else BLANK
        answer = problem(plain.status_code, detail + _hint(exc, context), kind=kind)
    for name in ("WWW-Authenticate", "Retry-After"):
        if name in plain.headers:
            answer.headers[name] = plain.headers[name]
    return answer


def _own_problem(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    if isinstance(exc, MissingError):
        request = context.get("request")
        hint = exc.hint(request.user) if request is not None else ""
        return problem(404, f"{exc.detail}{hint}")
    if isinstance(exc, RefusedError):
        return problem(
            exc.status_code, str(exc.detail), kind=exc.kind, errors=exc.errors, headers=exc.headers
        )
    if isinstance(exc, FormatError):
        return _refused_files(exc.problems)
    if isinstance(exc, EditedError):
        errors = [error_at(change.slug, edited_words(change)) for change in exc.changes]
        return problem(409, f"{exc} {_REPLACE}", kind=EDITED, errors=errors)
    if isinstance(exc, NoChecksError):
        words = {change.slug: f"{unchecked_words(change)} {_ACCEPT}" for change in exc.changes}
        errors = [error_at(slug, message) for slug, message in words.items()]
        errors += map(file_error, (*exc.report.warnings, *exc.report.losses))
        return problem(409, f"{exc} {_ACCEPT}", kind=NO_CHECKS, errors=errors)
    if isinstance(exc, CannotError):
        errors = [error_at(exc.key, message, exc.value) for message in exc.problems]
        kind = CANNOT_START if isinstance(exc, CannotStartError) else INVALID_REQUEST
        detail = _first([error_at("", message) for message in exc.problems])
        return problem(422, detail, kind=kind, errors=errors)
    if isinstance(exc, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent):
        return problem(413, "The request is too large; send less at once.")
    if isinstance(exc, SuspiciousOperation):
        return problem(400, "The request cannot be read.")
    return None


def _refused_files(problems: Iterable[FileProblem]) -> Response:
    found: dict[str, list[Json]] = {"error": [], "warning": [], "guess": [], "loss": []}
    for fault in problems:
        found[fault.level].append(file_error(fault))
    errors = found["error"]
    answer = problem(400, _first(errors), kind=INVALID_FILES, errors=errors)
    answer.data |= {"warnings": found["warning"], "guesses": found["guess"]}
    return answer


def error_at(keys: str, message: str, value: object = None) -> Json:
    """Describe an error at a path of keys; an empty path means the whole body."""
    return Error.of(keys=keys, message=message, value=value)


def file_error(problem: FileProblem) -> Json:
    """Describe an error, a warning or a loss in a file."""
    return FileError.of_object(
        problem,
        message=problem.message_in_rest,
        value=value_of(problem),
        line=problem.line or None,
        column=problem.column or None,
    )


def value_of(problem: FileProblem) -> object:
    """Return what was found, as JSON has it: a number as a number. A text that was cut stays text."""
    try:
        return read_strictly(problem.value)
    except ValueError:
        return problem.value or None


def refused_at(keys: str, message: str, value: object = None) -> RefusedError:
    """Return the refusal of one part of a request; an empty path means the whole body."""
    return RefusedError(message, errors=[error_at(keys, message, value)])


def refused_data(problems: Iterable[FileProblem], *, kind: str = INVALID_REQUEST) -> RefusedError:
    """Return the refusal of a JSON body with errors."""
    errors = [
        error_at(fault.keys, fault.message, value_of(fault))
        for fault in problems
        if fault.level == "error"
    ]
    return RefusedError(_first(errors), kind=kind, errors=errors)


def stale(exc: SpecError) -> RefusedError:
    """Return the refusal for a row that is no longer valid, without values, which may be large."""
    errors = [
        error_at(keys_text(error["loc"]), message_of(error))
        for error in exc.errors(include_url=False, include_input=False)
    ]
    detail = "Open it in the admin and save it again, or import it again."
    return RefusedError(detail, status=409, kind=STALE_ROW, errors=errors)


def unknown(word: str, known: Iterable[str], *, what: str, keys: str) -> RefusedError:
    """Return the refusal of an unknown name, with the nearest name and all known ones."""
    names, word = list(known), shorten(word)
    message = f"Unknown {what} {word!r}.{near(word, names)} Known: {', '.join(names)}."
    return refused_at(keys, message)


def _leaves(detail: object, keys: str = "") -> Iterator[Json]:
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            yield from _leaves(value, f"{keys}.{key}" if keys else str(key))
    elif isinstance(detail, list | tuple):
        for value in detail:
            yield from _leaves(value, keys)
    elif isinstance(detail, ErrorDetail):
        yield error_at(keys, str(detail))


def _first(errors: list[Json]) -> str:
    first = errors[0] if errors else error_at("", "The request is not valid.")
    place = first["keys"] or first.get("path") or ""
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    return (f"{place}: " if place else "") + str(first["message"]) + more


def _hint(exc: Exception, context: Mapping[str, object]) -> str:
    """Return a hint about what to send instead."""
    if isinstance(exc, UnsupportedMediaType):
        view = context.get("view")  # what it takes depends on the method
        parsers = view.get_parsers() if isinstance(view, APIView) else ()
        return f" Send {' or '.join(parser.media_type for parser in parsers)}."
    if isinstance(exc, NotAuthenticated):
        return " Send the header Authorization: Bearer TOKEN."
    return ""


def sound(read: Callable[[], S]) -> S:
    """Read a spec from rows; rows of an older version may no longer be valid."""
    try:
        with one_moment():
            return read()
    except SpecError as exc:
        raise stale(exc) from exc
