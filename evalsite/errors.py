"""Answers to requests that failed: JSON below /api/, a page elsewhere."""

import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views import defaults

from evals_app.api.problems import MEDIA_TYPE, problem_body
from evalsite.logs import is_away

RETRY_AFTER_S = 10
API = "/api/"

_BUSY = "Someone else is saving a lot of data right now."
_SILENT = "The database does not answer."

Handler = Callable[[HttpRequest, Exception], HttpResponse]


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


def _refusing(status: int, detail: str, page: Callable[..., HttpResponse]) -> Handler:
    def refuse(request: HttpRequest, exception: Exception) -> HttpResponse:
        if _is_api(request):
            return _problem(status, detail.format(path=request.path))
        return page(request, exception)

    return refuse


bad_request = _refusing(
    400, "The request cannot be read, or its Host is not a name of this site.", defaults.bad_request
)
permission_denied = _refusing(
    403, "You do not have permission for this.", defaults.permission_denied
)
page_not_found = _refusing(404, "There is nothing at {path}.", defaults.page_not_found)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith(API)


def _problem(status: int, detail: str) -> HttpResponse:
    return JsonResponse(problem_body(status, detail), status=status, content_type=MEDIA_TYPE)
