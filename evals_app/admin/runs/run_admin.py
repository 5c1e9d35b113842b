"""Runs in the admin: the list, and the page of one run."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from evals_app.admin.comparing.views import compare_chosen, tabulate_chosen
from evals_app.admin.kit.permissions import ReadOnly
from evals_app.admin.kit.presentation import between, plural, run_badges
from evals_app.admin.runs.run_belonging import (
    BelongingFilter,
    followers_in_words,
    with_followers,
)
from evals_app.admin.runs.run_head import scope_line, scripted_line, tested_line
from evals_app.admin.runs.run_pages import (
    how_long_kept,
    live_context,
    with_suite,
    with_transcripts,
)
from evals_app.admin.runs.run_results import snapshot_settings
from evals_app.admin.starting.run_dialog import models_url
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.usage import total_cost
from evals_app.models import Run, Suite
from evals_app.reports.answers.decided import share_with_people
from evals_app.reports.words.figures import UNKNOWN, score_text
from evals_app.runs.reading.suite_verdict import with_pass_rates
from fixtures_app.editing.times import moment


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
class RunAdmin(ReadOnly):
    """Runs: started elsewhere, watched and read here."""

    list_display = (
        *("name", "verdict_badge", "counts", "score_shown", "cost", "agent_shown", "took"),
        "when_started",
    )
    list_filter = (BelongingFilter, SuiteFilter, "verdict", "status")
    list_select_related = ("suite",)
    paginator = InfinitePaginator
    actions = (compare_chosen, tabulate_chosen)
    list_disable_select_all = True  # a comparison has few runs
    change_form_template = "admin/evals_app/runs/page.html"
    when_empty = "A run executes a suite once. Open a suite and press Run."

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return with_followers(with_pass_rates(super().get_queryset(request)))

    @display(description="Run")
    def name(self, run: Run) -> SafeString:
        return run_name(run)

    @display(description="Verdict")
    def verdict_badge(self, run: Run) -> SafeString:
        return format_html("<div>{}</div>", run_badges(run))

    @display(description="Cases passed")
    def counts(self, run: Run) -> SafeString:
        kinds = {
            "passed": run.passed,
            "failed": run.failed,
            "errored": run.errored,
            "measured": run.measured,
            "skipped": run.skipped,
            "cancelled": run.cancelled,
            "remaining" if run.is_open else "not run": run.not_run,
        }
        shown = [f"{number:,} {kind}" for kind, number in kinds.items() if number]
        of_all = f" of {plural(run.total, 'conversation')}"
        lines = [share_with_people(vars(run), run.reviewed)] if run.verdict else []
        lines.append(format_html('<span class="quiet">{}{}</span>', ", ".join(shown), of_all))
        return _lines(lines)

    @display(description="Score")
    def score_shown(self, run: Run) -> str:
        return score_text(run.score, scale=run.score_scale)

    @display(description="Cost")
    def cost(self, run: Run) -> str:
        if run.is_open:
            return f"{usd_text(run.spent_usd)} so far" if run.spent_usd else UNKNOWN
        parts = (
            [run.judge_cost_usd] if run.grades_again else [run.agent_cost_usd, run.judge_cost_usd]
        )
        total = total_cost(parts)
        if total is None and run.spent_usd:
            return f"at least {usd_text(run.spent_usd)}"
        return usd_text(total)

    @display(description="Agent and model")
    def agent_shown(self, run: Run) -> SafeString:
        lines = [run.agent_name]
        lines += [format_html('<span class="quiet">{}</span>', run.model)] if run.model else []
        if run.group:
            url = models_url(run.group)
            lines.append(format_html('<a class="underlined" href="{}">All in one table</a>', url))
        if followed := followers_in_words(run):
            link = format_html('<a class="underlined" href="?which={}">{}</a>', run.pk, followed)
            lines.append(link)
        return _lines(lines)

    @display(description="Duration")
    def took(self, run: Run) -> str:
        return between(run.started_at, run.finished_at or timezone.now())

    @display(description="Started")
    def when_started(self, run: Run) -> str:
        return moment(run.started_at) or "not yet"

    # The page

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **kwargs: object
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


def _lines(lines: Iterable[str]) -> SafeString:
    joined = format_html_join(mark_safe("<br>"), "{}", ((line,) for line in lines))
    return format_html("<div>{}</div>", joined)


def run_name(run: Run) -> SafeString:
    """Return the name of a run in a list, with its coverage unless it was the whole suite."""
    name = f"{run.suite_name}, run {run.pk}"
    if not run.covers:
        return format_html("{}", name)
    return format_html('<div>{}<br><span class="quiet">{}</span></div>', name, capfirst(run.covers))
