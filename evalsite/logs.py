"""Lines of the log: their format, their context, and errors of an unavailable database."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import NamedTuple

from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.utils.functional import SimpleLazyObject

from evals_app.engine.basics import at_work


class CurrentRequest(NamedTuple):
    """A request and its id."""

    request: HttpRequest
    id: str


# The request that this thread answers. Not cleared: the last lines about a request come later.
CURRENT_REQUEST: ContextVar[CurrentRequest | None] = ContextVar("asked", default=None)

# The context of a line, and what the access log knows about a request.
CONTEXT = ("run", "execution", "request_id", "user")
OF_REQUESTS = ("method", "path", "status", "ms", "bytes")


# Exceptions for refused requests, which Django logs with a traceback.
_REFUSALS = (PermissionDenied, BadRequest, SuspiciousOperation, MultiPartParserError)


def is_away(error: BaseException | None) -> bool:
    """Whether the database was locked or did not answer, so that trying again may help."""
    is_its_own = isinstance(error, OperationalError | InterfaceError)
    # For SQLite a missing table is an operational error too.
    return is_its_own and not str(error).startswith("no such")


class OneLine(logging.Filter):
    """Shorten errors that are not bugs to one line, so that their tracebacks do not hide bugs.

    The database is unavailable, or a request was refused.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if is_away(error) or isinstance(error, _REFUSALS):
            reason = str(error).partition("\n")[0]
            record.msg = record.getMessage() + (f" ({reason})" if reason else "")
            record.args, record.exc_info, record.exc_text = (), None, None
        return True


class ContextFilter(logging.Filter):
    """Add the run, execution or request of a line, as far as they are known."""

    def filter(self, record: logging.LogRecord) -> bool:
        asked = CURRENT_REQUEST.get()
        known = {
            "run": at_work.RUN.get(),
            "execution": at_work.EXECUTION.get(),
            "request_id": asked and asked.id,
            "user": asked and _user_name(asked.request),
        }
        # The caller's own values take precedence.
        record.__dict__.update(known | {n: v for n, v in record.__dict__.items() if n in known})
        return True


def _user_name(request: HttpRequest) -> str:
    """Return who sent a request, if already loaded: the log does not query the database."""
    user = getattr(request, "user", None)
    if isinstance(user, SimpleLazyObject):
        user = getattr(request, "_cached_user", None)
    return user.get_username() if user is not None else ""


class TextFormatter(logging.Formatter):
    """A line for people; its context follows in brackets."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}: {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - Python's name
        known = [f"{name}={value}" for name, value in _known_values(record, CONTEXT).items()]
        return super().formatMessage(record) + (f" [{' '.join(known)}]" if known else "")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_known_values(record, CONTEXT + OF_REQUESTS),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _known_values(record: logging.LogRecord, names: tuple[str, ...]) -> dict[str, object]:
    values = {name: getattr(record, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None and value != ""}


FORMATTERS = {"line": TextFormatter, "json": JsonFormatter}
