"""Answers to requests that failed: JSON for programs, a page elsewhere."""

import re
import sys
from collections.abc import Callable, Sequence

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme

from evals_app.requests.problems import MEDIA_TYPE, problem_body
from evalsite.logs import is_away

RETRY_AFTER_S = 10
PROGRAMS = ("/api/", "/mcp")  # read JSON, no pages

_BUSY = "Someone else is saving a lot of data right now."
_SILENT = "The database does not answer."
# Actions of the admin as its addresses name them, and the right that each needs.
_RIGHTS = {"add": "add", "change": "view", "changelist": "view", "delete": "delete"}
_ACTION = re.compile(rf"(?P<app>[a-z_]+)_(?P<model>[a-z]+)_(?P<action>{'|'.join(_RIGHTS)})")

Handler = Callable[[HttpRequest, Exception], HttpResponse]


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 while the database is unavailable, 500 for an internal error."""
    error = sys.exc_info()[1]
    if not is_away(error):
        if _is_api(request):
            return _problem(500, "An internal error occurred. The server log has the details.")
        return _page(
            request,
            500,
            "Something went wrong here",
            "This is a fault of the site. Go back and try again. If it happens again, ask an "
            "administrator to look into the server log.",
            _draft_note(request),
        )
    reason = _BUSY if "locked" in str(error) else _SILENT
    if _is_api(request):
        response = _problem(503, f"{reason} Nothing was saved; try again.")
    elif request.path == "/metrics":
        response = HttpResponse(f"{reason}\n", status=503, content_type="text/plain; charset=utf-8")
    else:
        is_saving = request.method == "POST"
        context = {"title": reason, "is_saving": is_saving, "again": request.get_full_path()}
        page = render_to_string("errors/unavailable.html", context)
        response = HttpResponse(page, status=503)
    response.headers["Retry-After"] = str(RETRY_AFTER_S)
    response.headers["Cache-Control"] = "no-store"
    return response


def _refusing(
    status: int, detail: str, page: Callable[[HttpRequest, Exception], HttpResponse]
) -> Handler:
    def refuse(request: HttpRequest, exception: Exception) -> HttpResponse:
        if _is_api(request):
            return _problem(status, detail.format(path=request.path))
        return page(request, exception)

    return refuse


def _unreadable(request: HttpRequest, _: Exception) -> HttpResponse:
    return _page(
        request,
        400,
        "This request cannot be read",
        "The address is not a name of this site, or the request was cut off. Check the address, "
        "or ask an administrator.",
    )


def _forbidden(request: HttpRequest, _: Exception) -> HttpResponse:
    return _page(
        request,
        403,
        "You do not have the right to do this",
        f"Ask an administrator for the right to {_right(request)}. Nothing was changed.",
        is_inside=True,
    )


def _missing(request: HttpRequest, _: Exception) -> HttpResponse:
    return _page(
        request,
        404,
        "There is nothing at this address",
        "It may have been deleted, or the link is not complete. Ask whoever gave you the link.",
        is_inside=True,
    )


bad_request = _refusing(
    400, "The request cannot be read, or its Host is not a name of this site.", _unreadable
)
permission_denied = _refusing(403, "You do not have permission for this.", _forbidden)
page_not_found = _refusing(404, "There is nothing at {path}.", _missing)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 - Django's signature
    """Refuse a form that does not come from this session of this browser."""
    return _page(
        request,
        403,
        "This page is too old to be sent",
        "You have signed in again since you opened it, or your browser blocks the cookies of this "
        "site. Nothing was saved. Go back, load the page again, and send it once more.",
        _draft_note(request),
        is_inside=True,
    )


def _draft_note(request: HttpRequest) -> str:
    """Return where the text of the form was kept: see fixtures_app/drafts.js."""
    has_draft = request.method == "POST" and "_draft" in request.POST
    return "Your browser has kept what you typed in the form." if has_draft else ""


def _right(request: HttpRequest) -> str:
    """Return the right that an address of the admin needs, in words."""
    place = request.resolver_match
    match = _ACTION.fullmatch((place and place.url_name) or "")
    if match is None:
        return "do this"
    verb = _RIGHTS[match["action"]]
    if match["action"] == "change" and request.method == "POST":
        verb = "change"
    names = apps.get_model(match["app"], match["model"])._meta.verbose_name_plural  # noqa: SLF001
    return f"{verb} {names}"


def _page(
    request: HttpRequest, status: int, title: str, *lines: str, is_inside: bool = False
) -> HttpResponse:
    """Answer with a page; `is_inside`: in the frame of the site, if the person may see it."""
    is_inside = is_inside and _may_enter(request)
    frame: dict[str, object] = admin.site.each_context(request) if is_inside else {}
    texts: Sequence[str] = [line for line in lines if line]
    layout = "admin/base_site.html" if is_inside else "errors/apart.html"
    own = {"layout": layout, "title": title, "lines": texts, "is_inside": is_inside}
    context = frame | own | {"back": _came_from(request) if status != 400 else ""}  # noqa: PLR2004
    if is_inside:
        return render(request, "errors/refused.html", context, status=status)
    return HttpResponse(render_to_string("errors/refused.html", context), status=status)


def _may_enter(request: HttpRequest) -> bool:
    return hasattr(request, "user") and admin.site.has_permission(request)


def _came_from(request: HttpRequest) -> str:
    """Return the previous page of this site; empty if unknown or this same page."""
    origin = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(origin, {request.get_host()})
    return origin if is_ours and origin != request.build_absolute_uri() else ""


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith(PROGRAMS)


def _problem(status: int, detail: str) -> HttpResponse:
    return JsonResponse(problem_body(status, detail), status=status, content_type=MEDIA_TYPE)
