"""Suites that are put away: out of lists and runs, with their history, until somebody restores them."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.forms import BaseDialogForm

from evals_app.admin.presentation import plural
from evals_app.admin.starting import leave_dialog
from evals_app.models import Suite
from evals_app.models.suites import SuiteQuerySet


class ArchivedFilter(admin.SimpleListFilter):
    """Suites in use, unless somebody asks for others."""

    title = "archived"
    parameter_name = "archived"
    column = "archived_at"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:  # noqa: ANN401 - any admin
        return [("yes", "Archived"), ("all", "In use and archived")]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        in_use, *others = super().choices(changelist)
        yield {**in_use, "display": "In use"}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "all":
            return queryset
        return queryset.filter(**{f"{self.column}__isnull": self.value() != "yes"})


class ArchivedSuiteFilter(ArchivedFilter):
    """What belongs to suites in use, unless somebody asks for others."""

    title = "archived suites"
    column = "suite__archived_at"


class Archiving(ModelAdmin):
    """Lets people archive and restore suites, from the list and from a suite's own page."""

    actions = ["archive", "restore"]

    def has_archive_permission(
        self, request: HttpRequest, obj: Model | str | int | None = None
    ) -> bool:
        return request.user.has_perm("evals_app.change_suite")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        # Here, because permissions are asked before the suite is loaded.
        if isinstance(suite := context.get("original"), Suite):
            what = "restore_one" if suite.archived_at is None else "archive_one"
            useless = reverse(f"admin:evals_app_suite_{what}", args=[suite.pk])
            for menu in context.get("actions_detail", ()):
                if "items" in menu:
                    menu["items"] = [each for each in menu["items"] if each["path"] != useless]
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.action(description="Archive", permissions=["archive"])
    def archive(self, request: HttpRequest, queryset: SuiteQuerySet) -> None:
        self._note(request, queryset.current(), "archived")
        count = Suite.objects.filter(pk__in=queryset.values("pk")).archive()
        messages.success(request, f"{plural(count, 'suite')} archived.")

    @admin.action(description="Restore", permissions=["archive"])
    def restore(self, request: HttpRequest, queryset: SuiteQuerySet) -> None:
        self._note(request, queryset.exclude(archived_at=None), "restored")
        count = Suite.objects.filter(pk__in=queryset.values("pk")).restore()
        messages.success(request, f"{plural(count, 'suite')} restored.")

    def _note(self, request: HttpRequest, suites: QuerySet[Suite], what: str) -> None:
        for suite in suites:
            self.log_change(request, suite, f"It was {what}.")

    @action(
        description="Archive",
        icon="archive",
        url_path="archive",
        permissions=["archive"],
        dialog={
            "title": "Archive this suite?",
            "description": "It leaves the lists and is not run any more, until somebody restores "
            "it. Its runs and their results stay.",
            "form_submit_text": "Archive",
        },
    )
    def archive_one(
        self, request: HttpRequest, form: BaseDialogForm, object_id: str
    ) -> HttpResponse:
        self.archive(request, Suite.objects.filter(pk=object_id))
        return leave_dialog(reverse("admin:evals_app_suite_change", args=[object_id]))

    @action(
        description="Restore",
        icon="unarchive",
        url_path="restore",
        permissions=["archive"],
        dialog={
            "title": "Restore this suite?",
            "description": "It comes back to the lists, and can be run again.",
            "form_submit_text": "Restore",
        },
    )
    def restore_one(
        self, request: HttpRequest, form: BaseDialogForm, object_id: str
    ) -> HttpResponse:
        self.restore(request, Suite.objects.filter(pk=object_id))
        return leave_dialog(reverse("admin:evals_app_suite_change", args=[object_id]))
