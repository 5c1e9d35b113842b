"""Runs in the admin: the list, and the page of one run."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.views.decorators.cache import never_cache
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from evals_app.admin.comparing.retest_dialog import retest_context, retest_url
from evals_app.admin.comparing.views import compare_chosen
from evals_app.admin.kit.presentation import (
    between,
    has_scripted_judge,
    plural,
    run_badges,
    token_lines,
)
from evals_app.admin.regrading.regrade_dialog import GradesAgain, regrade_url
from evals_app.admin.regrading.regrade_results import made_from, regraded_line, results_context
from evals_app.admin.reviews.review_tasks import may_check_grades
from evals_app.admin.runs.run_actions import RunActions
from evals_app.admin.runs.run_progress import counters, progress, status_line
from evals_app.admin.runs.run_reports import may_download, report_kinds, sent_report
from evals_app.admin.runs.run_results import causes, results, snapshot_settings
from evals_app.admin.runs.run_stops import go_on_label, may_go_on, stopped_line
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.usage import total_cost
from evals_app.library.baselines import why_no_baseline
from evals_app.models import Run, Suite
from evals_app.reports.answers.decided import WITH_PEOPLE, people_note
from evals_app.reports.words.figures import UNKNOWN, score_text, token_sum
from evals_app.reports.words.kinds import KIND_NAMES
from evals_app.runs.schedules import schedule_of
from fixtures_app.editing.times import moment


class SuiteFilter(admin.SimpleListFilter):
    """Runs of one suite, by its slug, which survives the suite."""

    title = "suite"
    parameter_name = "suite_slug"
    column: ClassVar[str] = "suite_slug"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> Iterable[tuple[str, str]]:
        return list(Suite.objects.order_by("name").values_list("slug", "name"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.column: self.value()}) if self.value() else queryset


_STOP_POLLING = 286  # of htmx


@admin.register(Run)
class RunAdmin(GradesAgain, RunActions):
    """Runs: started elsewhere, watched and read here."""

    list_display = (
        *("name", "verdict_badge", "counts", "score_shown", "cost", "tokens_shown", "agent_shown"),
        *("took", "when_started"),
    )
    list_filter = (SuiteFilter, "verdict", "status")
    list_select_related = ("suite",)
    paginator = InfinitePaginator
    actions = (compare_chosen,)
    list_disable_select_all = True  # a comparison has few runs
    change_form_template = "admin/evals_app/runs/page.html"
    when_empty = "A run executes a suite once. Open a suite and press Run."

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        # A summary grows with its cases, so lists leave it out.
        return super().get_queryset(request).defer("summary")

    @display(description="Run")
    def name(self, run: Run) -> SafeString:
        return run_name(run)

    @display(description="Verdict")
    def verdict_badge(self, run: Run) -> SafeString:
        return format_html("<div>{}</div>", run_badges(run))

    @display(description="Executions")
    def counts(self, run: Run) -> SafeString | str:
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
        recorded = f"{', '.join(shown)} of {run.total:,}" if len(shown) > 1 else ", ".join(shown)
        if not run.reviewed:
            return recorded
        people = f"{run.reviewed['passed']:,} passed {WITH_PEOPLE}"
        return format_html('<div>{}<br><span class="quiet">{}</span></div>', recorded, people)

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

    @display(description="Tokens")
    def tokens_shown(self, run: Run) -> SafeString | str:
        if run.is_open:
            return UNKNOWN
        if run.grades_again:
            return f"Judge: {token_sum(run.judge_prompt_tokens, run.judge_response_tokens)}"
        return token_lines(run, judge=run.judge)

    @display(description="Agent and model")
    def agent_shown(self, run: Run) -> SafeString:
        if not run.model:
            return format_html("{}", run.agent_name)
        return format_html(
            '<div>{}<br><span class="quiet">{}</span></div>', run.agent_name, run.model
        )

    @display(description="Duration")
    def took(self, run: Run) -> str:
        return between(run.started_at, run.finished_at or timezone.now())

    @display(description="Started")
    def when_started(self, run: Run) -> str:
        return moment(run.started_at) or "not yet"

    # The page

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/live/", never_cache(self.live), name="evals_app_run_live"),
            path("<int:pk>/wrong/", never_cache(self.wrong), name="evals_app_run_wrong"),
            path(
                "<int:pk>/report/<slug:report_kind>/",
                view(self.report),
                name="evals_app_run_report",
            ),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **kwargs: object
    ) -> HttpResponse:
        run: Run = context["original"]
        context |= self._live_context(request, run) | {
            "title": f"Run {run.pk}",
            "frozen": snapshot_settings(run),
            "schedule": schedule_of(run),
            "transcripts": _transcripts(run),
            "pruned_at": _with_transcripts(run).pruned_at,
            **made_from(run),
            "show_history": False,
            "settlements": retest_context(request, run)["settlements"],
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Run | None:
        # The page needs what lists leave out.
        if not object_id.isdecimal():
            return None
        related = ("suite", "snapshot", "created_by", "rerun_of", "grades_of")
        whole = Run.objects.select_related(*related)
        return whole.defer("rerun_of__summary", "grades_of__summary").filter(pk=object_id).first()

    def live(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the part of the page that changes; it polls while the run is open."""
        if refused := self.refused_refresh(request):
            return refused
        rows = Run.objects.select_related("suite", "grades_of").defer("grades_of__summary")
        run = get_object_or_404(rows, pk=pk)
        context = self._live_context(request, run) | {"is_poll": True}
        return render(request, "admin/evals_app/runs/live.html", context)

    def wrong(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return what went wrong so far; it polls until the run has ended."""
        if refused := self.refused_refresh(request):
            return refused
        run = get_object_or_404(Run, pk=pk)
        if not run.is_open:
            return HttpResponse(status=_STOP_POLLING)
        return render(
            request, "admin/evals_app/runs/wrong.html", {"run": run, "causes": causes(run)}
        )

    def _live_context(self, request: HttpRequest, run: Run) -> dict[str, Any]:
        may_start = may_run(request)
        context = {
            "run": run,
            "badges": run_badges(run),
            "is_baseline": run.is_baseline,
            "has_scripted_judge": has_scripted_judge(run),
            "counters": counters(run),
            "regraded": regraded_line(run),
            "status_line": status_line(run),
            "may_start": may_start,
            "may_cancel": may_start and run.is_open and not run.stop_reason,
        }
        if run.is_open:
            return context | progress(run)
        return context | {
            **results(run),
            "people_note": people_note(run.reviewed),
            **results_context(run),
            "stopped": stopped_line(run),
            "go_on": go_on_label(run) if may_go_on(run) else "",
            "has_transcripts": _has_transcripts(run),
            "regrade_url": regrade_url(run.pk) if may_start and _has_transcripts(run) else "",
            "may_be_baseline": run.is_baseline or not why_no_baseline(run),
            "report_kinds": report_kinds(request),
            "retest_url": retest_url(request, run),
            "may_check_grades": may_check_grades(request, run),
        }

    def report(self, request: HttpRequest, pk: int, report_kind: str) -> HttpResponseBase:
        """Download a report of the run."""
        kind = next((name for name in KIND_NAMES if name == report_kind), None)
        if not self.has_view_permission(request):
            raise PermissionDenied
        if kind is None:
            raise Http404
        if not may_download(request, kind):
            raise PermissionDenied
        run = get_object_or_404(Run.objects.select_related("suite"), pk=pk)
        return sent_report(request, kind, run)


def run_name(run: Run) -> SafeString:
    """Return the name of a run in a list, with its coverage unless it was the whole suite."""
    name = f"{run.suite_name}, run {run.pk}"
    if not run.covers:
        return format_html("{}", name)
    return format_html('<div>{}<br><span class="quiet">{}</span></div>', name, capfirst(run.covers))


def _transcripts(run: Run) -> str:
    """Return how long the transcripts of a run are kept."""
    days = settings.EVALS_KEEP_TRANSCRIPTS_DAYS
    if not _has_transcripts(run):
        return "removed"
    if run.is_pinned or _with_transcripts(run).is_pinned:
        return "kept indefinitely"
    if run.is_baseline:
        return "kept while this run is the baseline"
    if not days:
        return "kept until someone removes them"
    return f"kept for at least {plural(days, 'day')}"


def _has_transcripts(run: Run) -> bool:
    """Whether any transcripts exist: a run may have continued after they were removed."""
    run = _with_transcripts(run)
    return run.pruned_at is None or run.finished_at is None or run.finished_at > run.pruned_at


def _with_transcripts(run: Run) -> Run:
    """Return the run that has the transcripts: the source, if this run grades it again."""
    return run.grades_of or run
