"""Answers to requests that failed: JSON below /api/, a page elsewhere."""

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views import defaults

from evals_app.api.problems import MEDIA_TYPE, problem_body
from evalsite.logs import is_away

RETRY_AFTER_S = 10
API = "/api/"

_BUSY = "Someone else is saving a lot of data right now."
_SILENT = "The database does not answer."


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 while the database is unavailable, 500 for an internal error."""
    error = sys.exc_info()[1]
    if not is_away(error):
        if _is_api(request):
            return _problem(500, "An internal error occurred. The server log has the details.")
        return defaults.server_error(request)
    reason = _BUSY if "locked" in str(error) else _SILENT
    if _is_api(request):
        response = _problem(503, f"{reason} Nothing was saved; try again.")
    elif request.path == "/metrics":
        response = HttpResponse(f"{reason}\n", status=503, content_type="text/plain; charset=utf-8")
    else:
        is_saving = request.method == "POST"
        context = {"reason": reason, "is_saving": is_saving, "again": request.get_full_path()}
        response = HttpResponse(render_to_string("unavailable.html", context), status=503)
    response.headers["Retry-After"] = str(RETRY_AFTER_S)
    response.headers["Cache-Control"] = "no-store"
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400: the Host is not one of this site, or the request is malformed."""
    if _is_api(request):
        return _problem(400, "The request cannot be read, or its Host is not a name of this site.")
    return defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403."""
    if _is_api(request):
        return _problem(403, "You do not have permission for this.")
    return defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404."""
    if _is_api(request):
        return _problem(404, f"There is nothing at {request.path}.")
    return defaults.page_not_found(request, exception)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith(API)


def _problem(status: int, detail: str) -> HttpResponse:
    return JsonResponse(
        problem_body(HTTPStatus(status), detail), status=status, content_type=MEDIA_TYPE
    )
