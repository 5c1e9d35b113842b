"""The access log: a line for each request, without its query, its headers and its secrets."""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.encoding import escape_uri_path

from evals_app.api.request_ids import request_id
from evalsite.logs import ASKED, Asked
from evalsite.middleware import Probes

log = logging.getLogger(__name__)

_SECRET = "token"  # noqa: S105 - of links that set a password; as addresses name it


class AccessLog:
    """Write who asked for what, and how it was answered.

    Probes and files of pages are only written at level DEBUG. The time ends when the answer begins;
    the size of an answer that is made while it is sent is unknown.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        ASKED.set(Asked(request, request_id.get()))
        began = time.monotonic()
        response = self.get_response(request)
        took_ms = (time.monotonic() - began) * 1000
        size = response.headers.get("Content-Length")
        known = {
            "method": request.method,
            "path": _path(request),
            "status": response.status_code,
            "ms": round(took_ms),
            "bytes": None if size is None else int(size),
        }
        level = logging.DEBUG if _is_routine(request) else logging.INFO
        log.log(level, "%(method)s %(path)s %(status)d in %(ms)d ms", known, extra=known)
        return response


def _path(request: HttpRequest) -> str:
    """Return the path in one line, without the secret of a link."""
    path = escape_uri_path(request.path)
    match = request.resolver_match
    secret = match.kwargs.get(_SECRET) if match else None
    return path.replace(secret, "***") if secret else path


def _is_routine(request: HttpRequest) -> bool:
    return request.path_info in Probes.views or request.path.startswith(settings.STATIC_URL)
