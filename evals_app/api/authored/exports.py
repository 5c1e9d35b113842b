"""Suites and everything else that people wrote, as files."""

from collections.abc import Sequence
from typing import ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from evals_app.engine.specs.files import media_type
from evals_app.library.exporting.downloads import Download, download, download_suite
from evals_app.library.exporting.file_export import FORMS
from evals_app.models import Suite
from evals_app.requests.auth import user_of
from evals_app.requests.endpoint import AnyRenderer, Endpoint, one_of, problems
from evals_app.requests.permissions import Need, Scope, require
from evals_app.requests.problems import MissingError, sound

_SUITES = Need(Scope.READ, "evals_app.view_suite")
# What is exported with suites.
_MORE = ("evals_app.view_agent", *("fixtures_app.view_fixture", "fixtures_app.view_entitytype"))
_PROBLEMS = problems(404, 409)
_FILES = {
    (200, kind): OpenApiTypes.BINARY
    for kind in ("application/zip", media_type("a.xlsx"), media_type("a.csv"))
}
_AS = OpenApiParameter("as", str, enum=FORMS, description="Format; default: native.")


class SuiteExport(Endpoint):
    """One suite as files."""

    needs: ClassVar = {"GET": _SUITES}
    parameters = ("as",)
    renderer_classes: Sequence[type[JSONRenderer]] = [AnyRenderer]

    @extend_schema(
        operation_id="suites_export",
        summary="Read a suite as a file",
        description="As a native YAML file, or in another format with everything it needs; an archive "
        "if that takes several files.",
        parameters=[_AS],
        responses={(200, "application/yaml"): OpenApiTypes.ANY, **_FILES, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        form = one_of(request, "as", FORMS) or "native"
        if form != "native":
            _require_everything(request)
        try:
            file = sound(
                lambda: (
                    download_suite(slug)
                    if form == "native"
                    else download(slug, [slug], form=form, has_providers=_sees_providers(request))
                )
            )
        except LookupError as error:
            raise MissingError(Suite, slug) from error
        return _file_response(file)


class ExportAll(Endpoint):
    """Everything that people wrote, as files."""

    needs: ClassVar = {"GET": _SUITES}
    parameters = ("as",)
    renderer_classes: Sequence[type[JSONRenderer]] = [AnyRenderer]

    @extend_schema(
        operation_id="export",
        summary="Export everything as an archive",
        description="All agents, test data, providers and suites that are not archived, with their "
        "attached files. The archive can be imported again. Providers are left out for users without the "
        "permission to view them.",
        parameters=[_AS],
        responses={**_FILES, **_PROBLEMS},
    )
    def get(self, request: Request) -> HttpResponse:
        _require_everything(request)
        form = one_of(request, "as", FORMS) or "native"
        has_providers = _sees_providers(request)
        return _file_response(
            sound(lambda: download("evalwell", form=form, has_providers=has_providers))
        )


def _require_everything(request: Request) -> None:
    for permission in _MORE:
        require(request, permission)


def _sees_providers(request: Request) -> bool:
    return user_of(request).has_perm("evals_app.view_provider")


def _file_response(file: Download) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return HttpResponse(file.content, headers=headers, content_type=file.media_type)
