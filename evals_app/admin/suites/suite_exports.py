"""Downloading a suite from its page."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.decorators import action

from evals_app.admin.importing.exporting import VIEWING_EVERYTHING, sees_providers, send
from evals_app.admin.kit.permissions import requires
from evals_app.library.exporting.downloads import download, download_suite
from evals_app.library.exporting.file_export import Form
from evals_app.models import Suite


def exports(
    name: str, title: str, icon: str, url_path: str, *, form: Form | None = None
) -> Callable[..., HttpResponse]:
    """Make a menu entry that downloads a suite: with all it needs, or its file alone."""

    def export(self: Any, request: HttpRequest, object_id: str) -> HttpResponse:  # noqa: ARG001 - a method
        slug = get_object_or_404(Suite, pk=object_id).slug
        return send(
            request,
            lambda: (
                download(slug, [slug], form=form, has_providers=sees_providers(request))
                if form
                else download_suite(slug)
            ),
            otherwise=reverse("admin:evals_app_suite_change", args=[object_id]),
        )

    export.__name__ = name  # Unfold asks for the right by it
    right = "export" if form else "view"
    decorated: Callable[..., HttpResponse] = action(
        description=title, icon=icon, url_path=url_path, permissions=[right]
    )(export)
    return decorated


class ExportsSuites(ModelAdmin):
    """Lets people download a suite in each available format."""

    # As in REST: what a suite needs is exported with it, or listed as left out.
    has_export_permission = requires(*VIEWING_EVERYTHING)

    export_suite = exports("export_suite", "Export YAML", "download", "export")
    export_bundle = exports(
        "export_bundle", "Export with dependencies", "folder_zip", "export-all", form="native"
    )
    export_struere = exports(
        "export_struere", "Export for Struere", "swap_horiz", "export-struere", form="struere"
    )
    export_table = exports(
        "export_table", "Export spreadsheet", "table", "export-table", form="xlsx"
    )
