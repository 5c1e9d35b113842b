"""Pages that add up rows instead of listing them."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_GET

from evals_app.admin.kit.permissions import ReadOnly, requires


class Overview(ReadOnly):
    """One page for a table that runs write; everyone who may read runs may read it."""

    template: str

    has_view_permission = requires("evals_app.view_run")

    def get_urls(self) -> list[URLPattern]:
        view = require_GET(self.admin_site.admin_view(self.changelist_view))
        return [path("", view, name=f"{self.opts.app_label}_{self.opts.model_name}_changelist")]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = self.admin_site.each_context(request) | {"opts": self.opts}
        context |= self.overview(request) | (extra_context or {})
        return TemplateResponse(request, self.template, context)

    def overview(self, request: HttpRequest) -> dict[str, Any]:
        """Return the context of the template."""
        raise NotImplementedError
