"""Runs in the admin: the list, and the page of one run from its first moment to its end."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from evals_app.admin.presentation import (
    between,
    has_scripted_judge,
    plural,
    run_badges,
    score_text,
)
from evals_app.admin.run_progress import counters, progress, status_line
from evals_app.admin.run_results import frozen, headline, results
from evals_app.models import Run, Suite
from evals_app.reports import run_json as as_json
from evals_app.reports.markdown import run_markdown
from evals_app.runs import CannotStartError, cancel_run, rerun
from evals_app.runs.rerun import Only, cases_to_rerun

if TYPE_CHECKING:
    from django.contrib.auth.models import User

RERUNS: dict[str, Only] = {"failed": "failed", "errored": "errored", "all": "all"}


class SuiteFilter(admin.SimpleListFilter):
    """Runs of one suite, by its slug: that survives the suite."""

    title = "suite"
    parameter_name = "suite_slug"
    column: ClassVar[str] = "suite_slug"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> Iterable[tuple[str, str]]:
        return list(Suite.objects.order_by("name").values_list("slug", "name"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.column: self.value()}) if self.value() else queryset


@admin.register(Run)
class RunAdmin(ModelAdmin):
    """Runs are started elsewhere and never edited; here they are watched and read."""

    list_display = (
        "name",
        "verdict_badge",
        "counts",
        "score_shown",
        "agent_shown",
        "took",
        "started",
    )
    list_filter = (SuiteFilter, "verdict", "status")
    list_select_related = ("suite",)
    sortable_by = ()  # newest first; no other order has an index
    ordering = ("-id",)
    actions = None
    paginator = InfinitePaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would count the table
    list_per_page = 50
    change_form_template = "admin/evals_app/run/page.html"
    when_empty = "A run holds the cases of a suite. Open a suite and press Run."

    class Media:
        css = {"all": ["evals_app/review.css"]}

    # Rights: whoever may start runs may also stop and repeat them.

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False

    def has_start_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("evals_app.add_run")

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        # A summary grows with its cases: a list reads none, the page of a run its own.
        return super().get_queryset(request).defer("summary")

    @display(description="Run")
    def name(self, run: Run) -> str:
        return f"{run.suite_name}, run {run.pk}"

    @display(description="Verdict")
    def verdict_badge(self, run: Run) -> SafeString:
        return run_badges(run)

    @display(description="Executions")
    def counts(self, run: Run) -> str:
        kinds = {
            "passed": run.passed,
            "failed": run.failed,
            "errored": run.errored,
            "cancelled": run.cancelled,
            "to do" if run.is_open else "not run": run.not_run,
        }
        shown = [f"{number:,} {kind}" for kind, number in kinds.items() if number]
        return f"{', '.join(shown)} of {run.total:,}" if len(shown) > 1 else ", ".join(shown)

    @display(description="Score")
    def score_shown(self, run: Run) -> str:
        return score_text(run.score, scale=run.score_scale)

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

    @display(description="Started", empty_value="not yet")
    def started(self, run: Run) -> datetime | None:
        return run.started_at

    # The page

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/live/", never_cache(self.live), name="evals_app_run_live"),
            path("<int:pk>/cancel/", view(self.cancel), name="evals_app_run_cancel"),
            path("<int:pk>/rerun/<str:only>/", view(self.rerun), name="evals_app_run_rerun"),
            path("<int:pk>/report.md", view(self.report), name="evals_app_run_report"),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **kwargs: object
    ) -> HttpResponse:
        run: Run = context["original"]
        context |= self._live_context(request, run) | {
            "title": f"Run {run.pk}",
            "frozen": frozen(run),
            "reruns": list(run.reruns.order_by("pk").only("rerun_of")[:20]),
            "show_history": False,
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Run | None:
        # The page needs what lists leave out; one query brings it.
        if not object_id.isdecimal():
            return None
        whole = Run.objects.select_related("suite", "snapshot", "created_by", "rerun_of")
        return whole.defer("rerun_of__summary").filter(pk=object_id).first()

    def live(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Answer the part of the page that changes; it asks again for as long as the run is open."""
        # Without a session the page itself must ask for the password, not this part of it.
        if not (self.admin_site.has_permission(request) and self.has_view_permission(request)):
            return HttpResponse(status=403, headers={"HX-Refresh": "true"})
        run = get_object_or_404(Run.objects.select_related("suite"), pk=pk)
        context = self._live_context(request, run) | {"is_poll": True}
        return render(request, "admin/evals_app/run/live.html", context)

    def _live_context(self, request: HttpRequest, run: Run) -> dict[str, Any]:
        context = {
            "run": run,
            "badges": run_badges(run),
            "has_scripted_judge": has_scripted_judge(run),
            "counters": counters(run),
            "status_line": status_line(run),
            "may_start": self.has_start_permission(request),
        }
        if run.is_open:
            return context | progress(run)
        return context | results(run) | {"headline": headline(run), "rerun_buttons": _buttons(run)}

    # What a person can do

    def cancel(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask, then stop the run."""
        run = self._run_to_act_on(request, pk)

        def act() -> str:
            if cancel_run(run):
                messages.success(request, f"Run {run.pk} is being cancelled.")
            else:
                messages.info(request, f"Run {run.pk} had already ended or been stopped.")
            return reverse("admin:evals_app_run_change", args=[run.pk])

        return self._ask(
            request,
            act,
            title="Cancel this run?",
            text=f"{plural(run.not_run, 'conversation')} of {run.total:,} will not be held or will"
            " be cut short. Results so far are kept.",
            submit="Cancel the run",
            dismiss="Let it go on",
        )

    def rerun(self, request: HttpRequest, pk: int, only: str) -> HttpResponse:
        """Ask, then start a new run of some of the cases, or all."""
        if only not in RERUNS:
            message = "A run can be repeated for what failed, what errored, or all."
            raise Http404(message)
        run = self._run_to_act_on(request, pk)

        def act() -> str:
            try:
                # admin_view() lets nobody in who has not signed in.
                new = rerun(run, only=RERUNS[only], by=cast("User", request.user))
            except CannotStartError as exc:
                for problem in exc.problems:
                    messages.error(request, problem)
                return reverse("admin:evals_app_run_change", args=[run.pk])
            return reverse("admin:evals_app_run_change", args=[new.pk])

        chosen = cases_to_rerun(run, only=RERUNS[only]).order_by().values("case")
        held = run.executions.filter(case__in=chosen).count()
        return self._ask(
            request,
            act,
            title=f"{_rerun_label(run, only)}?",
            text=f"A new run holds {plural(held, 'conversation')}: all trials of these cases, with"
            " the agent, the checks and the fixtures as they were frozen then."
            + ("" if run.is_scripted else " It calls the model again, which may cost money."),
            submit=f"Hold {plural(held, 'conversation')}",
            dismiss="Not now",
        )

    def _run_to_act_on(self, request: HttpRequest, pk: int) -> Run:
        # admin_view() asks only whether the person is staff.
        if not (self.has_view_permission(request) and self.has_start_permission(request)):
            raise PermissionDenied
        return get_object_or_404(Run.objects.select_related("suite", "snapshot"), pk=pk)

    def _ask(self, request: HttpRequest, act: Callable[[], str], **dialog: str) -> HttpResponse:
        """Answer a dialog, or once it is confirmed do it and tell HTMX where to go."""
        if request.method == "POST":
            return HttpResponse(headers={"HX-Redirect": act()})
        return render(request, "admin/evals_app/dialog.html", {"dialog": dialog})

    def report(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Download the run as Markdown."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        run = get_object_or_404(Run.objects.select_related("suite"), pk=pk)
        text = run_markdown(
            _document(run, request), [_execution(row, request) for row in _rows(run)]
        )
        filename = f"run-{run.pk}-{run.suite_slug}.md"
        return HttpResponse(
            text,
            content_type="text/markdown; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{filename}"'},
        )


def _document(run: Run, request: HttpRequest) -> dict[str, Any]:
    """Give the run with the names of REST, and what only people need."""
    row = {column: getattr(run, column) for column in as_json.RUN_COLUMNS}
    return {
        **as_json.run_json(row),
        **as_json.run_details_json(run.summary),
        "suite": run.suite_name,
        "agent": run.agent_name,
        "score_scale": run.score_scale,
        "snapshot": run.snapshot_id,
        "url": _link(request, "run", run.pk),
    }


def _rows(run: Run) -> Iterator[dict[str, Any]]:
    rows = run.executions.order_by("position", "trial").values(*as_json.EXECUTION_COLUMNS)
    return rows.iterator(chunk_size=2000)


def _execution(row: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
    return as_json.execution_row_json(row) | {"url": _link(request, "execution", row["id"])}


def _link(request: HttpRequest, model: str, pk: int) -> str:
    return request.build_absolute_uri(reverse(f"admin:evals_app_{model}_change", args=[pk]))


def _buttons(run: Run) -> list[tuple[str, str]]:
    """Give the ways to repeat a run that make sense."""
    wanted = {"failed": run.failed, "errored": _not_decided(run), "all": run.total}
    return [(only, _rerun_label(run, only)) for only, number in wanted.items() if number]


def _not_decided(run: Run) -> int:
    return run.errored + run.cancelled + run.not_run


def _rerun_label(run: Run, only: str) -> str:
    if only == "failed":
        return f"Re-run {run.failed:,} failed"
    if only == "all":
        return f"Re-run all {run.total:,}"
    if _not_decided(run) == run.errored:
        return f"Re-run {run.errored:,} errored"
    return f"Re-run {_not_decided(run):,} errored or not held"
