"""The parts of a run's page: what changes while it is open, its causes so far, and its reports."""

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    StreamingHttpResponse,
)
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from evals_app.admin.comparing.release_box import release_box
from evals_app.admin.comparing.side_by_side import comparison_url
from evals_app.admin.kit.pages import fragment_of, viewers_of
from evals_app.admin.kit.presentation import plural
from evals_app.admin.regrading.regrade_dialog import regrade_url
from evals_app.admin.regrading.regrade_results import results_context
from evals_app.admin.retests.retest_dialog import retest_url
from evals_app.admin.reviews.review_tasks import may_check_grades
from evals_app.admin.runs.run_causes import causes_so_far
from evals_app.admin.runs.run_progress import ended_line, progress
from evals_app.admin.runs.run_related import relations_of
from evals_app.admin.runs.run_results import results
from evals_app.admin.runs.run_stops import go_on_label, may_go_on, stopped_line
from evals_app.admin.starting.run_dialog import may_run
from evals_app.library.baselines import why_no_baseline
from evals_app.models import Run
from evals_app.reports.answers.decided import people_note
from evals_app.reports.words.kinds import ReportKind
from evals_app.reports.words.report_plugins import all_kinds, own_kind
from evals_app.requests.permissions import shown_to
from evals_app.runs.reporting import report
from evals_app.runs.sent_decisions import CannotSendError

_STOP_POLLING = 286  # of htmx


def with_suite(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Read runs with what their pages need of the suite and of its released version."""
    others = ("grades_of", "suite__baseline")
    return runs.select_related("suite__agent", "conversation_set", *others).defer(
        *(f"{name}__summary" for name in others)
    )


@fragment_of(Run)
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the part of the page that changes; it polls while the run is open."""
    run = get_object_or_404(with_suite(Run.objects.all()), pk=pk)
    context = live_context(request, run) | {"is_poll": True}
    return render(request, "admin/evals_app/runs/live.html", context)


@fragment_of(Run)
def wrong(request: HttpRequest, pk: int) -> HttpResponse:
    """Return what went wrong so far; it polls until the run has ended."""
    run = get_object_or_404(Run, pk=pk)
    if not run.is_open:
        return HttpResponse(status=_STOP_POLLING)
    context = {"run": run, "causes": causes_so_far(run)}
    return render(request, "admin/evals_app/runs/wrong.html", context)


@fragment_of(Run)
def show_related(request: HttpRequest, pk: int) -> HttpResponse:
    """Return what belongs to a run, which the page loads after itself."""
    rows = Run.objects.select_related(
        "rerun_of", "grades_of", "baseline", "conversation_set"
    ).defer("summary")
    run = get_object_or_404(rows, pk=pk)
    return render(request, "admin/evals_app/runs/related.html", relations_of(request, run))


def live_context(request: HttpRequest, run: Run) -> dict[str, object]:
    """Return what changes during a run, and what can be done with it."""
    may_start = may_run(request)
    context: dict[str, object] = {
        "run": run,
        "is_baseline": run.is_baseline,
        "may_start": may_start,
        "may_cancel": may_start and run.is_open and not run.stop_reason,
    }
    if run.is_open:
        return context | progress(run)
    box = release_box(request, run.suite, run=run) if run.suite and not run.why_no_answer else None
    shown = results(run, changes=box.changes if box else None)
    return context | {
        **shown,
        "status_line": ended_line(run, shown["counted"]),
        "release": box,
        "people_note": people_note(run.reviewed),
        **results_context(run),
        **_comparison(run),
        "stopped": stopped_line(run),
        "go_on": go_on_label(run) if may_go_on(run) else "",
        "has_transcripts": _has_transcripts(run),
        "regrade_url": regrade_url(run.pk) if may_start and _has_transcripts(run) else "",
        "may_be_baseline": run.is_baseline or not why_no_baseline(run),
        "report_kinds": report_kinds(request, run),
        "retest_url": retest_url(request, run),
        "may_check_grades": may_check_grades(request, run),
    }


def _comparison(run: Run) -> dict[str, str]:
    """Return the comparison with the released version; empty if there is none, or if this is it."""
    released = run.suite.baseline if run.suite else None
    if released is None or released.pk == run.pk:
        return {}
    return {
        "compare_url": comparison_url([released.pk, run.pk]),
        "compare_label": f"Compare with {released.short_name}, the released version",
    }


# Reports


@viewers_of(Run)
def download_report(request: HttpRequest, pk: int, report_kind: str) -> HttpResponseBase:
    """Send a report of the run, written while it is sent."""
    kinds = all_kinds()
    if report_kind not in kinds:
        raise Http404
    if not _may_download(request, kinds[report_kind]):
        raise PermissionDenied
    run = get_object_or_404(Run.objects.select_related("suite"), pk=pk)

    def link(model: str, pk: int) -> str:
        return request.build_absolute_uri(reverse(f"admin:evals_app_{model}_change", args=[pk]))

    try:
        file = report(report_kind, run, link=link, shown=shown_to(request.user))
    except CannotSendError as error:
        if own_kind(report_kind):
            raise Http404(str(error)) from error
        messages.error(request, str(error))
        return redirect("admin:evals_app_run_change", run.pk)
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return StreamingHttpResponse(file.content, content_type=file.media_type, headers=headers)


def report_kinds(request: HttpRequest, run: Run) -> list[tuple[str, str]]:
    """Return the kinds that the page of a run offers to this person, with their titles."""
    is_decided = not run.why_no_answer
    return [
        (name, kind.title)
        for name, kind in all_kinds().items()
        if kind.is_offered and _may_download(request, kind) and (is_decided or name != "decision")
    ]


def _may_download(request: HttpRequest, kind: ReportKind) -> bool:
    """Whether someone who may see a run may download this kind of report."""
    return not kind.has_conversations or request.user.has_perm("evals_app.view_execution")


# Transcripts


def how_long_kept(run: Run) -> str:
    """Return how long the transcripts of a run are kept."""
    days = settings.EVALS_KEEP_TRANSCRIPTS_DAYS
    if not _has_transcripts(run):
        return "removed"
    if run.is_pinned or with_transcripts(run).is_pinned:
        return "kept indefinitely"
    if run.is_baseline:
        return "kept while this run is the released version"
    if not days:
        return "kept until someone removes them"
    return f"kept for at least {plural(days, 'day')}"


def _has_transcripts(run: Run) -> bool:
    """Whether any transcripts exist: a run may have continued after they were removed."""
    run = with_transcripts(run)
    return run.pruned_at is None or run.finished_at is None or run.finished_at > run.pruned_at


def with_transcripts(run: Run) -> Run:
    """Return the run that has the transcripts: the source, if this run grades it again."""
    return run.grades_of or run
