"""The access log: a line for each request, without its query, its headers and its secrets.

Requests are counted here, too. Each process of the web server counts for itself and adds its counts to
the tallies every few seconds, so a scrape of any process covers all of them.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from threading import Event, Lock

from django.conf import settings
from django.db import Error, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.encoding import escape_uri_path

from evals_app.models import Tally
from evals_app.models.run_records.leases import series
from evals_app.requests.request_ids import request_id
from evals_app.runs.ground.tallies import duration
from evalsite.logs import CURRENT_REQUEST, CurrentRequest
from evalsite.middleware import Probes

log = logging.getLogger(__name__)

ADD_EVERY_S = 10.0
REQUESTS = "http_requests_total"
REQUEST_SECONDS = "http_request_seconds"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECRET = "token"  # noqa: S105 - of links that open a page without signing in; as addresses name it


class UncountedRequests:
    """The requests of this process that are not in the tallies yet."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()

    def note(self, method: str, status: int, took_ms: float) -> None:
        """Count a request."""
        method = method if method in METHODS else "other"
        counts = {series(REQUESTS, method=method, status=str(status)): 1}
        with self._lock:
            self._counts.update(counts | duration(REQUEST_SECONDS, took_ms))

    def add(self) -> None:
        """Add them to the tallies; keep them for later if the database does not answer."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        try:
            with transaction.atomic():  # all of them, or none
                Tally.add_all(counts)
        except Error:
            with self._lock:
                self._counts.update(counts)

    def add_until(self, ended: Event) -> None:
        """Add them every few seconds, in a thread with a connection of its own."""
        while not ended.wait(ADD_EVERY_S):
            self.add()
            connection.close()


requests = UncountedRequests()


class AccessLog:
    """Log who asked for what, and how it was answered.

    Probes and static files are only logged at level DEBUG. The time ends when the answer begins;
    the size of an answer that is made while it is sent is unknown.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        CURRENT_REQUEST.set(CurrentRequest(request, request_id.get()))
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
        is_routine = _is_routine(request)
        if settings.METRICS and not is_routine:
            requests.note(request.method or "", response.status_code, took_ms)
        level = logging.DEBUG if is_routine else logging.INFO
        log.log(level, "%(method)s %(path)s %(status)d in %(ms)d ms", known, extra=known)
        return response


def _path(request: HttpRequest) -> str:
    """Return the path on one line, without the secret of a link."""
    path = escape_uri_path(request.path)
    match = request.resolver_match
    secret = match.kwargs.get(_SECRET) if match else None
    return path.replace(secret, "***") if secret else path


def _is_routine(request: HttpRequest) -> bool:
    return request.path_info in Probes.views or request.path.startswith(settings.STATIC_URL)
