"""Comparing runs: which ones, the page that shows what got worse, and one case in two runs."""

from dataclasses import dataclass

from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET
from unfold.admin import ModelAdmin

from evals_app.admin.comparing.comparison_page import comparison_page
from evals_app.admin.comparing.models_page import (
    cases_context,
    models_page,
    read_wanted,
)
from evals_app.admin.comparing.side_by_side import comparison_url, replies, side_by_side
from evals_app.admin.kit.pages import fragment_of, list_url, page_context, viewers_of
from evals_app.admin.kit.presentation import run_badges
from evals_app.admin.starting.run_dialog import models_url
from evals_app.engine.statistics.comparison import MAX_RUNS
from evals_app.library.importing.rights import Rights
from evals_app.models import Run
from evals_app.reports.words.kinds import COMPARISON_KINDS, COMPARISON_MEDIA_TYPES
from evals_app.runs.reading.compared_runs import CannotCompareError
from evals_app.runs.reading.model_comparison import NoTableError, table_runs
from evals_app.runs.reporting import comparison_content

MAX_CHOICES = 20
_TEMPLATES = "admin/evals_app/comparing"


@dataclass(frozen=True, slots=True)
class ComparableRun:
    """A run that can be compared with; `note` explains what is special about it."""

    run: Run
    badges: SafeString
    note: str
    is_chosen: bool


@admin.action(description="Compare the selected runs", permissions=["view"])
def compare_chosen(
    _page: ModelAdmin, _request: HttpRequest, queryset: QuerySet[Run]
) -> HttpResponse:
    """Redirect to the comparison, with the oldest run as the base."""
    chosen = queryset.order_by("pk").values_list("pk", flat=True)
    return redirect(comparison_url(chosen[: MAX_RUNS + 1]))


@require_GET
@viewers_of(Run)
def compare_runs(request: HttpRequest) -> HttpResponse:
    """Show what got worse from the first run to the others."""
    try:
        context = comparison_page(request)
    except CannotCompareError as error:
        messages.error(request, str(error))
        return redirect("admin:evals_app_run_changelist")
    context |= {
        "title": "Compare runs",
        "may_read": request.user.has_perm("evals_app.view_execution"),
    }
    return render(request, f"{_TEMPLATES}/runs.html", page_context(request, Run) | context)


@require_GET
@viewers_of(Run)
@permission_required("evals_app.view_execution", raise_exception=True)
def compare_case(request: HttpRequest) -> HttpResponse:
    """Show one case in two runs."""
    context = page_context(request, Run) | side_by_side(request.GET)
    context["title"] = context["case"]
    if url := context["compare_url"]:
        context["above"] = [("Results", list_url(Run)), ("Compare runs", url)]
    return render(request, f"{_TEMPLATES}/side_by_side.html", context)


@require_GET
@viewers_of(Run)
@permission_required("evals_app.view_execution", raise_exception=True)
def show_replies(request: HttpRequest) -> HttpResponse:
    """Return what was said about one case in two runs, to show below its row."""
    return render(request, f"{_TEMPLATES}/replies.html", replies(request.GET))


@require_GET
@viewers_of(Run)
def choose_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask which run to compare a run with."""
    run = get_object_or_404(Run.objects.defer("summary").select_related("suite"), pk=pk)
    context = {"run": run, "choices": _choices(run)}
    return render(request, f"{_TEMPLATES}/choose.html", context)


# Agents and models


@admin.action(description="Show the selected runs in one table", permissions=["view"])
def tabulate_chosen(
    _page: ModelAdmin, _request: HttpRequest, queryset: QuerySet[Run]
) -> HttpResponse:
    """Redirect to the table of agents and models."""
    return redirect(models_url(list(queryset.order_by("pk").values_list("pk", flat=True))))


@require_GET
@viewers_of(Run)
def compare_models(request: HttpRequest) -> HttpResponse:
    """Show runs in one table: a row for each suite, a column for each agent and model."""
    try:
        context = models_page(request, read_wanted(request.GET))
    except NoTableError as error:
        messages.error(request, str(error))
        return redirect("admin:evals_app_run_changelist")
    context |= {"title": "Agents and models"}
    return render(request, f"{_TEMPLATES}/models/page.html", page_context(request, Run) | context)


@require_GET
@fragment_of(Run)
def live_models(request: HttpRequest) -> HttpResponse:
    """Return how far the runs are; when all have ended, the whole table in its place."""
    try:
        context = models_page(request, read_wanted(request.GET)) | {"is_poll": True}
    except NoTableError:  # they were deleted
        return HttpResponse(headers={"HX-Refresh": "true"})
    if context["is_open"]:
        return render(request, f"{_TEMPLATES}/models/table.html", context)
    response = render(request, f"{_TEMPLATES}/models/results.html", context)
    response["HX-Retarget"], response["HX-Reswap"] = "#models-live", "innerHTML"
    return response


@require_GET
@fragment_of(Run)
def model_cases(request: HttpRequest) -> HttpResponse:
    """Return the rows of the cases of a suite, below that of the suite."""
    try:
        context = cases_context(request, read_wanted(request.GET))
    except NoTableError as error:
        raise Http404(str(error)) from error
    return render(request, f"{_TEMPLATES}/models/cases.html", context)


@require_GET
@viewers_of(Run)
def download_models(request: HttpRequest) -> StreamingHttpResponse:
    """Send the table as a file."""
    kind = next((kind for kind in COMPARISON_KINDS if kind == request.GET.get("kind")), None)
    if kind is None:
        raise Http404("There is no such kind of file.")
    if kind == "html" and not request.user.has_perm("evals_app.view_execution"):
        raise PermissionDenied
    try:
        runs = table_runs(read_wanted(request.GET))
    except NoTableError as error:
        raise Http404(str(error)) from error

    def link(model: str, pk: int) -> str:
        return request.build_absolute_uri(reverse(f"admin:evals_app_{model}_change", args=[pk]))

    shows_labels = Rights.of(request.user).may_see_everything()
    content = comparison_content(kind, runs, link=link, shows_labels=shows_labels)
    return StreamingHttpResponse(
        content,
        content_type=COMPARISON_MEDIA_TYPES[kind],
        headers={"Content-Disposition": f'attachment; filename="agents-and-models.{kind}"'},
    )


def _choices(run: Run) -> list[ComparableRun]:
    """Return the suite's baseline, its previous full run, and its last runs: the best one chosen.

    For a run that grades again, the best one is the run with the original conversations.
    """
    baseline = run.suite.baseline_id if run.suite else None
    graded = run.grades_of_id
    whole = Run.objects.suite_verdicts().filter(suite_slug=run.suite_slug, pk__lt=run.pk)
    previous = whole.order_by("-pk").values_list("pk", flat=True).first()
    others = Run.objects.exclude(status__in=Run.OPEN).exclude(pk=run.pk).defer("summary")
    last = others.filter(suite_slug=run.suite_slug).order_by("-pk")[:MAX_CHOICES]
    special = others.filter(Q(pk=graded) | Q(pk=baseline) | Q(pk=previous))
    rows = sorted({row.pk: row for row in (*last, *special)}.values(), key=lambda row: -row.pk)
    notes = {previous: "previous full run"} | {baseline: "released version of the suite"}
    notes |= {graded: "the same conversations"}
    keys = [row.pk for row in rows]
    chosen = next((pk for pk in (graded, baseline, previous, *keys) if pk in keys), None)
    return [
        ComparableRun(row, run_badges(row), notes.get(row.pk, ""), row.pk == chosen) for row in rows
    ]
