"""What people do with a run: cancel, resume, requeue, keep it, compare others with it, re-run cases."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from evals_app.admin.kit.pages import ask, form_data, person
from evals_app.admin.kit.presentation import plural
from evals_app.admin.runs.run_stops import GOING_ON, ResumeForm, go_on_label
from evals_app.admin.starting.reruns import RERUNS, RerunForm
from evals_app.admin.starting.run_dialog import leave_dialog, run_url
from evals_app.library.baselines import NotABaselineError, set_baseline, unset_baseline
from evals_app.library.changes.edits import (
    CANCELLED,
    REQUEUED,
    RESUMED,
    note_edit,
    pin_note,
)
from evals_app.models import Run
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.health import requeue
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.rerun import rerun


@permission_required(RUNNING, raise_exception=True)
def ask_to_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then stop the run."""
    run = _find_run(pk)
    if request.method != "POST":
        return ask(
            request,
            title="Cancel this run?",
            text=f"{plural(run.not_run, 'conversation')} of {run.total:,} will not run or will"
            " be cut short. Results so far are kept.",
            submit="Cancel run",
            dismiss="Keep running",
        )
    if cancel_run(run):
        note_edit(run, user=request.user, note=CANCELLED)
        messages.success(request, f"Run {run.pk} is being cancelled.")
    else:
        messages.info(request, f"Run {run.pk} has already ended or is stopping.")
    return leave_dialog(run_url(run))


@permission_required(RUNNING, raise_exception=True)
def ask_to_resume(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for a ceiling, then resume a run that was stopped."""
    run = _find_run(pk)
    form = ResumeForm(run, form_data(request))
    if form.is_valid():
        try:
            resume_run(run, max_cost_usd=form.cleaned_data["max_cost_usd"])
        except CannotStartError as exc:
            form.add_error("max_cost_usd", list(exc.problems))
        else:
            note_edit(run, user=request.user, note=RESUMED)
            messages.success(request, f"Run {run.pk} resumed.")
            return leave_dialog(run_url(run))
    context = {"form": form, "label": go_on_label(run), "text": GOING_ON}
    return render(request, "admin/evals_app/runs/resume.html", context)


@permission_required(RUNNING, raise_exception=True)
def ask_to_requeue(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then queue stuck conversations again."""
    run = _find_run(pk)
    if request.method != "POST":
        return ask(
            request,
            title="Requeue stuck conversations?",
            text="The next worker runs them again from the beginning. Conversations that a worker"
            " is running now are not affected, and no result changes.",
            submit="Requeue",
            dismiss="Cancel",
        )
    moved = requeue(run)
    note_edit(run, user=request.user, note=REQUEUED)
    back = f"{plural(moved, 'conversation')} requeued. " if moved else ""
    messages.success(request, f"{back}Workers were asked to pick up run {run.pk}.")
    return leave_dialog(run_url(run))


@permission_required(RUNNING, raise_exception=True)
@require_POST
def change_pin(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep the transcripts of a run indefinitely, or stop doing so."""
    run = get_object_or_404(Run.objects.only("pk"), pk=pk)
    is_pinned = request.POST.get("is_pinned") == "1"
    Run.objects.filter(pk=pk).update(is_pinned=is_pinned)
    note_edit(run, user=request.user, note=pin_note(is_pinned=is_pinned))
    kept = "are kept indefinitely" if is_pinned else "are no longer kept indefinitely"
    messages.success(request, f"The transcripts of run {pk} {kept}.")
    return redirect(run_url(run))


@permission_required(RUNNING, raise_exception=True)
@require_POST
def change_baseline(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a run the baseline of its suite, or no longer."""
    run = _find_run(pk)
    if request.POST.get("is_baseline") != "1":
        unset_baseline(run, by=request.user)
        messages.success(
            request, f"Run {pk} is no longer the released version of {run.suite_name}."
        )
        return redirect(run_url(run))
    try:
        set_baseline(run, by=request.user)
    except NotABaselineError as error:
        messages.error(request, f"Run {pk} cannot be the released version. {error}")
    else:
        messages.success(request, f"Later runs of {run.suite_name} are compared with run {pk}.")
    return redirect(run_url(run))


@permission_required(RUNNING, raise_exception=True)
def ask_to_rerun(request: HttpRequest, pk: int, only: str) -> HttpResponse:
    """Ask which cases and which version, then start a new run of them."""
    if only not in RERUNS:
        raise Http404("Only failed, errored or all cases can be re-run.")
    run = _find_run(pk)
    form = RerunForm(
        run,
        only=RERUNS[only],
        case=_case_of(run, request.GET.get("execution", "")),
        data=form_data(request),
    )
    if form.is_valid():
        return leave_dialog(_start_again(request, form))
    return render(request, "admin/evals_app/runs/rerun.html", {"form": form, "run": run})


def _start_again(request: HttpRequest, form: RerunForm) -> str:
    """Start the run and return its URL; if it cannot start, report why and return the old URL."""
    try:
        new = rerun(
            form.run,
            only=form.only,
            cases=form.case_names,
            version=form.chosen_version,
            by=person(request),
        )
    except CannotStartError as exc:
        for problem in exc.problems:
            messages.error(request, problem)
        return run_url(form.run)
    return run_url(new)


def _find_run(pk: int) -> Run:
    return get_object_or_404(Run.objects.select_related("suite", "snapshot"), pk=pk)


def _case_of(run: Run, execution: str) -> str:
    """Return the case of an execution of the run, or an empty text."""
    rows = run.executions.filter(pk=execution) if execution.isdecimal() else run.executions.none()
    return rows.values_list("case", flat=True).first() or ""
