"""Addresses of the pages that belong to no form or list of Django's admin."""

from django.contrib import admin
from django.urls import path

from fixtures_app.admin.trying import try_fixture

urlpatterns = [
    path(
        "fixtures_app/fixture/<int:pk>/try/",
        admin.site.admin_view(try_fixture),
        name="fixtures_app_fixture_try",
    ),
]
