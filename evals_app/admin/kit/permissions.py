"""Permissions and limits of pages: rights of buttons, rows that only runs write, uploads."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern
from unfold.admin import ModelAdmin

from evals_app.requests.throttles import Uploads, in_minutes
from fixtures_app.editing.scripts import FewScripts


def requires(*permissions: str) -> Callable[..., bool]:
    """Return the method `has_X_permission` that Unfold asks about a button.

    Name it without a dot: Unfold looks up a dotted permission in the database during system checks,
    and the first `migrate` of a new database would fail.
    """

    def has_permission(self: object, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG001 - Unfold's signature
        return request.user.has_perms(permissions)

    return has_permission


def nobody(self: object, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG001 - Django's signature
    """Refuse: a method `has_X_permission`."""
    return False


class NotesEachDeletion(ModelAdmin):
    """Rows that people delete from the list: each of them is an act."""

    def log_deletions(self, request: HttpRequest, queryset: Any) -> list[LogEntry]:
        """Leave an entry for each row, as for one that is deleted on its page."""
        note: Any = super().log_deletions
        return [entry for row in queryset for entry in note(request, [row])]


class WrittenByRuns(ModelAdmin):
    """Rows that no one adds or deletes."""

    has_add_permission = has_delete_permission = nobody


class ReadOnly(FewScripts, WrittenByRuns):
    """Results: a long list, newest first, and pages that refresh themselves during a run."""

    sortable_by = ()  # no other order has an index
    ordering = ("-id",)
    actions: Sequence[str | Callable[..., HttpResponse | None]] | None = None
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the table
    list_per_page = 50

    has_change_permission = nobody

    class Media:
        css = {"all": ["evals_app/conversation/review.css"]}


class AddedUp(ReadOnly):
    """Rows that runs write, without a list: our own page adds them up for readers of runs."""

    has_view_permission = requires("evals_app.view_run")

    def get_urls(self) -> list[URLPattern]:
        return []


def refused_upload(request: HttpRequest, context: dict[str, object]) -> HttpResponse | None:
    """Count an upload; if there were too many, return a page with the time to try again."""
    rate = Uploads()
    if rate.allow_request(request, None):
        return None
    context |= {"title": "Too many uploads", "again": in_minutes(rate.wait() or 1)}
    page = render(request, "admin/evals_app/importing/too_many_uploads.html", context, status=429)
    page.headers["Retry-After"] = rate.retry_after
    return page
