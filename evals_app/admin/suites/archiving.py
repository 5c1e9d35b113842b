"""Archived suites: hidden from lists and runs until someone restores them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.decorators import action

from evals_app.admin.kit.permissions import requires
from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.models import Suite
from evals_app.models.authored.suites import SuiteQuerySet

_Method = TypeVar("_Method", bound=Callable[..., object])


class ArchivedFilter(admin.SimpleListFilter):
    """Active suites by default, or archived ones."""

    title = "archived"
    parameter_name = "archived"
    column = "archived_at"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        return [("yes", "Archived"), ("all", "Active and archived")]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        active, *others = super().choices(changelist)
        yield {**active, "display": "Active"}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "all":
            return queryset
        return queryset.filter(**{f"{self.column}__isnull": self.value() != "yes"})


class ArchivedSuiteFilter(ArchivedFilter):
    """Rows of active suites by default, or of archived ones."""

    title = "archived suites"
    column = "suite__archived_at"


def _confirm_button(what: str, icon: str, text: str) -> Callable[[_Method], _Method]:
    """Make a button with a dialog that asks first."""
    return action(
        description=what,
        icon=icon,
        url_path=what.lower(),
        permissions=["archive"],
        dialog={"title": f"{what} this suite?", "description": text, "form_submit_text": what},
    )


def useless_action(suite: Suite) -> str:
    """Return the last part of the address of the button that makes no sense for this suite."""
    # Permissions are checked before the suite is loaded, so this is not one.
    return "restore" if suite.archived_at is None else "archive"


class Archiving(ModelAdmin):
    """Lets people archive and restore suites, from the list and from a suite's own page."""

    actions = ["archive", "restore"]

    has_archive_permission = requires("evals_app.change_suite")

    @admin.action(description="Archive", permissions=["archive"])
    def archive(self, request: HttpRequest, queryset: SuiteQuerySet) -> None:
        for suite in queryset.current():
            self.log_change(request, suite, "Archived.")
        count = Suite.objects.filter(pk__in=queryset.values("pk")).archive()
        messages.success(request, f"{plural(count, 'suite')} archived.")

    @admin.action(description="Restore", permissions=["archive"])
    def restore(self, request: HttpRequest, queryset: SuiteQuerySet) -> None:
        for suite in queryset.exclude(archived_at=None):
            self.log_change(request, suite, "Restored.")
        count = Suite.objects.filter(pk__in=queryset.values("pk")).restore()
        messages.success(request, f"{plural(count, 'suite')} restored.")

    @_confirm_button(
        "Archive",
        "archive",
        "It is hidden from lists and cannot run until someone restores it. Its runs and results "
        "are kept.",
    )
    def archive_one(self, request: HttpRequest, form: object, object_id: str) -> HttpResponse:
        return self._one(request, object_id, self.archive)

    @_confirm_button("Restore", "unarchive", "It returns to the lists and can run again.")
    def restore_one(self, request: HttpRequest, form: object, object_id: str) -> HttpResponse:
        return self._one(request, object_id, self.restore)

    def _one(
        self, request: HttpRequest, pk: str, act: Callable[[HttpRequest, SuiteQuerySet], None]
    ) -> HttpResponse:
        act(request, Suite.objects.filter(pk=pk))
        return leave_dialog(reverse("admin:evals_app_suite_change", args=[pk]))
