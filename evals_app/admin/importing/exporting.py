"""Downloads: a suite, a fixture, or everything."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET
from pydantic import ValidationError

from evals_app.library.exporting.downloads import Download, download, download_fixture

VIEWING_EVERYTHING = (
    *(f"evals_app.view_{kind}" for kind in ("suite", "case", "agent")),
    *(f"fixtures_app.view_{kind}" for kind in ("fixture", "entitytype")),
)
_UNREADABLE = (
    "This cannot be exported because part of it can no longer be read. In a suite, look for checks "
    "marked “No longer available”. For an agent or test data, save it to see the error."
)


def may_export_everything(request: HttpRequest) -> bool:
    """Whether this person may see everything that an export contains, except providers."""
    return request.user.has_perms(VIEWING_EVERYTHING)


def sees_providers(request: HttpRequest) -> bool:
    """Whether an export for this person contains providers."""
    return request.user.has_perm("evals_app.view_provider")


@require_GET
@permission_required(VIEWING_EVERYTHING, raise_exception=True)
def export_everything(request: HttpRequest) -> HttpResponse:
    """Download all suites, agents, fixtures and providers for another import."""
    return send(
        request,
        lambda: download("evalwell", has_providers=sees_providers(request)),
        otherwise="admin:evals_app_suite_import",
    )


@require_GET
@permission_required("fixtures_app.view_fixture", raise_exception=True)
def export_fixture(request: HttpRequest, slug: str) -> HttpResponse:
    """Download a fixture with its entity types."""
    return send(
        request,
        lambda: download_fixture(slug),
        otherwise="admin:fixtures_app_fixture_changelist",
    )


def send(request: HttpRequest, write: Callable[[], Download], *, otherwise: str) -> HttpResponse:
    """Return a download; if a row no longer validates, redirect with an error."""
    try:
        file = write()
    except LookupError as error:
        raise Http404(str(error)) from error
    except ValidationError:
        messages.error(request, _UNREADABLE)
        return redirect(otherwise)
    return attachment(file)


def attachment(file: Download) -> HttpResponse:
    """Return a file that browsers save."""
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return HttpResponse(file.content, content_type=file.media_type, headers=headers)
