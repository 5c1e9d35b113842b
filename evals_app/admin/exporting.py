"""Downloads: a suite, a fixture, or everything that people wrote."""

from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from pydantic import ValidationError

from evals_app.library.downloads import Download, download, download_fixture

_VIEWED = (
    *(f"evals_app.view_{kind}" for kind in ("suite", "case", "agent", "provider")),
    *(f"fixtures_app.view_{kind}" for kind in ("fixture", "entitytype")),
)
_UNREADABLE = (
    "It cannot be exported: something in it no longer reads. In suites, look for checks marked “No "
    "longer available”; a fixture or an agent says what is wrong when you save it."
)


def may_export_everything(request: HttpRequest) -> bool:
    """Whether this person may see everything that people write."""
    return request.user.has_perms(_VIEWED)


def export_everything(request: HttpRequest) -> HttpResponse:
    """Download all suites, agents, fixtures and providers, as they are imported again."""
    if not may_export_everything(request):
        raise PermissionDenied
    return send(request, lambda: download("touchstone"), otherwise="admin:evals_app_suite_import")


def export_fixture(request: HttpRequest, slug: str) -> HttpResponse:
    """Download a fixture with its entity types."""
    if not request.user.has_perm("fixtures_app.view_fixture"):
        raise PermissionDenied
    return send(
        request,
        lambda: download_fixture(slug),
        otherwise="admin:fixtures_app_fixture_changelist",
    )


def send(request: HttpRequest, write: Callable[[], Download], *, otherwise: str) -> HttpResponse:
    """Answer with a download; where a row no longer validates, say so on another page."""
    try:
        file = write()
    except LookupError as error:
        raise Http404(str(error)) from error
    except ValidationError:
        messages.error(request, _UNREADABLE)
        return redirect(otherwise)
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return HttpResponse(file.content, content_type=file.media_type, headers=headers)
