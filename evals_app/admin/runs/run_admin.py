"""Runs in the admin: the list, and the page of one run."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from unfold.paginator import InfinitePaginator
from unfold.views import ChangeList

from evals_app.admin.comparing.views import compare_chosen, tabulate_chosen
from evals_app.admin.kit.permissions import ReadOnly
from evals_app.admin.people.saved_views import WithViews
from evals_app.admin.runs.run_belonging import (
    BelongingFilter,
    with_followers,
)
from evals_app.admin.runs.run_head import scope_line, scripted_line, simulated_line, tested_line
from evals_app.admin.runs.run_list import (
    RunList,
    belonging_cell,
    cases_cell,
    cost_cell,
    run_cell,
    started_cell,
    verdict_cell,
)
from evals_app.admin.runs.run_pages import (
    how_long_kept,
    live_context,
    with_suite,
    with_transcripts,
)
from evals_app.admin.runs.run_results import snapshot_settings
from evals_app.models import Run, Suite
from evals_app.runs.reading.suite_verdict import with_pass_rates
from fixtures_app.editing.markup import TemplateContext


class SuiteFilter(admin.SimpleListFilter):
    """Runs of one suite, by its slug, which survives the suite."""

    title = "suite"
    parameter_name = "suite_slug"
    column: ClassVar[str] = "suite_slug"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        return list(Suite.objects.order_by("name").values_list("slug", "name"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.column: self.value()}) if self.value() else queryset


@admin.register(Run)
class RunAdmin(WithViews, ReadOnly):
    """Runs: started elsewhere, watched and read here."""

    list_display = (run_cell, verdict_cell, cases_cell, cost_cell, belonging_cell, started_cell)
    list_filter = (BelongingFilter, SuiteFilter, "verdict", "status")
    list_select_related = ("suite",)
    paginator = InfinitePaginator
    actions = (compare_chosen, tabulate_chosen)
    list_disable_select_all = True  # a comparison has few runs
    change_form_template = "admin/evals_app/runs/page.html"
    when_empty = "A run executes a suite once. Open a suite and press Run."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return with_followers(with_pass_rates(super().get_queryset(request)))

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        return RunList

    def changelist_view(
        self, request: HttpRequest, extra_context: Mapping[str, object] | None = None
    ) -> HttpResponse:
        page = super().changelist_view(request, extra_context)
        if request.headers.get("HX-Trigger") == "live-rows" and isinstance(page, TemplateResponse):
            page.template_name = "admin/evals_app/runs/live_rows.html"
        return page

    # The page

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        run: Run = context["original"]
        context |= live_context(request, run) | {
            "title": f"Run {run.pk}",
            "frozen": snapshot_settings(run),
            "transcripts": how_long_kept(run),
            "pruned_at": with_transcripts(run).pruned_at,
            "tested": tested_line(run),
            "scope": scope_line(run),
            "scripted": scripted_line(run),
            "simulated": simulated_line(run),
            "show_history": False,
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Run | None:
        # The page needs what lists leave out.
        if not object_id.isdecimal():
            return None
        related = ("snapshot", "created_by")
        return with_suite(Run.objects.filter(pk=object_id)).select_related(*related).first()


def run_name(run: Run) -> SafeString:
    """Return the name of a run in a list, with its coverage unless it was the whole suite."""
    name = f"{run.suite_name}, run {run.pk}"
    if not run.covers:
        return format_html("{}", name)
    return format_html('<div>{}<br><span class="quiet">{}</span></div>', name, capfirst(run.covers))
