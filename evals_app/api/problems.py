"""What is wrong with a request: application/problem+json (RFC 9457), always in one shape."""

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import (
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from pydantic import ValidationError as SpecError
from rest_framework.exceptions import (
    APIException,
    ErrorDetail,
    NotAuthenticated,
    UnsupportedMediaType,
    ValidationError,
)
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler, set_rollback

from evals_app.engine.suite import near
from evals_app.formats import FormatError, Problem
from evals_app.formats.problems import keys_text, shortened
from evals_app.library import EditedError, edited_words
from evals_app.runs import CannotStartError

MEDIA_TYPE = "application/problem+json"

# Types beyond what the status says. They are names, not addresses.
BLANK = "about:blank"
INVALID_REQUEST = "urn:touchstone:invalid-request"
INVALID_FILES = "urn:touchstone:invalid-files"
CANNOT_START = "urn:touchstone:cannot-start"
KEY_REUSED = "urn:touchstone:idempotency-key-reused"
STALE_ROW = "urn:touchstone:stale-row"
EDITED = "urn:touchstone:edited"

TITLES = {
    INVALID_REQUEST: "The request is not valid",
    INVALID_FILES: "The files cannot be imported",
    CANNOT_START: "The run cannot start",
    KEY_REUSED: "This Idempotency-Key was used for another request",
    STALE_ROW: "What is stored no longer validates",
    EDITED: "This would replace an edit, or what another file brought",
}

_REPLACE = "Send replace=true to replace it; export it first to keep it."

Error = dict[str, Any]


class RefusedError(APIException):
    """A request that is understood and refused; `errors` say why, each with its place."""

    def __init__(
        self,
        detail: str,
        *,
        status: int = HTTPStatus.BAD_REQUEST,
        kind: str = INVALID_REQUEST,
        errors: Iterable[Error] = (),
    ) -> None:
        super().__init__(detail)
        self.status_code = status
        self.kind = kind
        self.errors = list(errors)


def problem(
    status: int, detail: str, *, kind: str = BLANK, errors: Iterable[Error] = ()
) -> Response:
    """Answer with a problem."""
    body = problem_body(status, detail, kind=kind, errors=errors)
    return Response(body, status=status, content_type=MEDIA_TYPE)


def problem_body(
    status: int, detail: str, *, kind: str = BLANK, errors: Iterable[Error] = ()
) -> dict[str, Any]:
    """Describe a problem."""
    return {
        "type": kind,
        "title": TITLES.get(kind) or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "errors": list(errors),
    }


def problem_response(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Turn an exception into a problem; None for what is a mistake of ours."""
    if (request := context.get("request")) is not None:
        # Who asked for YAML, as for the schema, would get it under a media type that is JSON.
        request.accepted_renderer = JSONRenderer()
        request.accepted_media_type = JSONRenderer.media_type
    answer = _own_problem(exc)
    if answer is not None:
        set_rollback()
        return answer
    plain = exception_handler(exc, context)
    if plain is None:
        return None
    if isinstance(exc, ValidationError):
        errors = list(_leaves(exc.detail))
        found = problem(plain.status_code, _first(errors), kind=INVALID_REQUEST, errors=errors)
    else:
        detail = str(plain.data.get("detail", "")) or _phrase(plain)
        found = problem(plain.status_code, detail + _hint(exc, context))
    for name in ("WWW-Authenticate", "Retry-After"):
        if name in plain.headers:
            found.headers[name] = plain.headers[name]
    return found


def _own_problem(exc: Exception) -> Response | None:
    if isinstance(exc, RefusedError):
        return problem(exc.status_code, str(exc.detail), kind=exc.kind, errors=exc.errors)
    if isinstance(exc, FormatError):
        errors = [file_error(each) for each in exc.problems if each.level == "error"]
        return problem(400, _first(errors), kind=INVALID_FILES, errors=errors)
    if isinstance(exc, EditedError):
        errors = [error_at(each.slug, edited_words(each)) for each in exc.changes]
        return problem(409, f"{exc} {_REPLACE}", kind=EDITED, errors=errors)
    if isinstance(exc, CannotStartError):
        errors = [error_at("", message) for message in exc.problems]
        return problem(422, _first(errors), kind=CANNOT_START, errors=errors)
    if isinstance(exc, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent):
        return problem(413, "The request is too large; send less at once.")
    if isinstance(exc, SuspiciousOperation):
        return problem(400, "The request cannot be read.")
    return None


def error_at(keys: str, message: str, value: Any = None) -> Error:  # noqa: ANN401 - JSON
    """Describe one mistake at a path of keys; an empty one means the whole."""
    return {"keys": keys, "message": message, "value": value}


def file_error(found: Problem) -> Error:
    """Describe one mistake, or doubt, in a file."""
    return {
        "keys": found.keys,
        "message": found.message,
        "value": found.value or None,
        "path": found.path,
        "line": found.line or None,
        "column": found.column or None,
    }


def refused_data(found: Iterable[Problem], *, kind: str = INVALID_REQUEST) -> RefusedError:
    """Refuse JSON for what is wrong with it."""
    errors = [
        error_at(each.keys, each.message, each.value or None)
        for each in found
        if each.level == "error"
    ]
    return RefusedError(_first(errors), kind=kind, errors=errors)


def stale(exc: SpecError) -> RefusedError:
    """Say that a row no longer validates; values are left out, they may be large."""
    errors = [
        error_at(keys_text(each["loc"]), each["msg"].removeprefix("Value error, "))
        for each in exc.errors(include_url=False, include_input=False)
    ]
    detail = "Open it in the admin and save it again, or import it anew."
    return RefusedError(detail, status=409, kind=STALE_ROW, errors=errors)


def unknown(word: str, known: Iterable[str], *, what: str) -> str:
    """Say that a name is unknown, which near one may be meant, and which exist."""
    names, word = list(known), shortened(word)
    return f"Unknown {what} {word!r}.{near(word, names)} Known: {', '.join(names)}."


def _leaves(detail: Any, keys: str = "") -> Iterator[Error]:  # noqa: ANN401 - nested as REST framework does
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            yield from _leaves(value, f"{keys}.{key}" if keys else str(key))
    elif isinstance(detail, list | tuple):
        for value in detail:
            yield from _leaves(value, keys)
    elif isinstance(detail, ErrorDetail):
        yield error_at(keys, str(detail))


def _first(errors: list[Error]) -> str:
    first = errors[0] if errors else error_at("", "The request is not valid.")
    place = first["keys"] or first.get("path") or ""
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    return (f"{place}: " if place else "") + str(first["message"]) + more


def _hint(exc: Exception, context: Mapping[str, Any]) -> str:
    """Say what to send instead."""
    if isinstance(exc, UnsupportedMediaType):
        parsers = getattr(context.get("view"), "parser_classes", ())
        return f" Send {' or '.join(each.media_type for each in parsers)}."
    if isinstance(exc, NotAuthenticated):
        return " Send the header Authorization: Bearer TOKEN."
    return ""


def _phrase(response: Response) -> str:
    return HTTPStatus(response.status_code).phrase
