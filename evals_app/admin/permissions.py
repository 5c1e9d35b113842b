"""Who may do what on pages: rights that buttons ask for, and rows that only runs write."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.admin import ModelAdmin


def requires(*permissions: str) -> Callable[..., bool]:
    """Return the method `has_X_permission` that Unfold asks about a button.

    Name it without a dot: Unfold looks up a dotted permission in the database during system checks,
    and the first `migrate` of a new database would fail.
    """

    def has_permission(self: Any, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG001 - Unfold's signature
        return request.user.has_perms(permissions)

    return has_permission


class WrittenByRuns(ModelAdmin):
    """Rows that nobody adds or deletes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(WrittenByRuns):
    """Results: a long list, newest first, and pages that refresh themselves while a run goes on."""

    sortable_by = ()  # no other order has an index
    ordering = ("-id",)
    actions = None
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the table
    list_per_page = 50

    class Media:
        css = {"all": ["evals_app/review.css"]}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def refused_refresh(self, request: HttpRequest) -> HttpResponse | None:
        """Return the answer to a page part that may not be read; the page then reloads."""
        # Without a session the page itself must ask for the password, not this part of it.
        if self.admin_site.has_permission(request) and self.has_view_permission(request):
            return None
        return HttpResponse(status=403, headers={"HX-Refresh": "true"})
