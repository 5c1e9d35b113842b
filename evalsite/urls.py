"""Addresses of the site."""

from importlib import import_module

from django.contrib import admin
from django.urls import URLPattern, include, path
from django.views.generic import RedirectView

from evalsite.metrics import metrics
from evalsite.search import search

# Our own pages alone, not those that other applications would add by `autodiscover`: a schedule of
# django-q2 runs any function that it names, so its page would allow code execution.
pages: list[URLPattern] = []
for application in ("evals_app", "fixtures_app"):
    import_module(f"{application}.admin")
    # Before Django's, one of which matches everything else.
    pages += import_module(f"{application}.admin.urls").urlpatterns

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/help/", include("evalsite.help")),
    path("admin/search/", admin.site.admin_view(search), name="search"),  # instead of Unfold's
    path("admin/", include("evalsite.sign_in.urls")),  # its first page instead of Django's
    path("admin/", include("evals_app.admin.people.urls")),
    path("admin/", ([*pages, *admin.site.get_urls()], "admin", admin.site.name)),
    path("api/", include("evals_app.api.urls")),
    path("", include("evals_app.mcp.urls")),
    path("metrics", metrics, name="metrics"),
]

handler400 = "evalsite.errors.bad_request"
handler403 = "evalsite.errors.permission_denied"
handler404 = "evalsite.errors.page_not_found"
handler500 = "evalsite.errors.server_error"
