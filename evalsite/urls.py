"""Addresses of the site."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView


def healthz(_request: HttpRequest) -> HttpResponse:
    """Say that this process answers; it asks nobody else, not even the database."""
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("api/", include("evals_app.api.urls")),
    path("healthz", healthz, name="healthz"),
]
