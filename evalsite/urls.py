"""Addresses of the site."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from evalsite.metrics import metrics

admin.autodiscover()

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("api/", include("evals_app.api.urls")),
    path("metrics", metrics, name="metrics"),
]
