"""Remove what was said in a conversation, in all of a run, or the run itself."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse

from evals_app.admin.kit.pages import ask, person
from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_dialog import leave_dialog, run_url
from evals_app.models import Execution, Run
from evals_app.runs.forgetting.conversations import (
    FORGETTING,
    CannotForgetError,
    forget_conversation,
    forget_conversations_of,
)
from evals_app.runs.forgetting.whole_runs import DELETING_RUNS, delete_run

_WHAT = (
    "Messages, tool calls, quotes, what judges were asked, spans, and the comments of reviews are"
    " removed for good, also where the conversation was graded again, and in its copies in sets of real"
    " conversations. Verdicts, causes and figures stay. This cannot be undone."
)


def may_forget(request: HttpRequest, execution: Execution) -> bool:
    """Whether a person may remove what was said in a conversation, and it is still there."""
    has_right = request.user.has_perms(FORGETTING)
    return has_right and bool(execution.verdict) and execution.content_removed_at is None


@permission_required(FORGETTING, raise_exception=True)
def ask_to_forget(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then remove what was said in a conversation."""
    execution = get_object_or_404(Execution.objects.select_related("run"), pk=pk)
    if request.method != "POST":
        return ask(
            request,
            title="Remove what was said?",
            text=_WHAT,
            submit="Remove for good",
            dismiss="Cancel",
        )
    try:
        forget_conversation(execution, by=person(request))
    except CannotForgetError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "What was said was removed.")
    return leave_dialog(reverse("admin:evals_app_execution_change", args=[pk]))


@permission_required(FORGETTING, raise_exception=True)
def ask_to_forget_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then remove what was said in all conversations of a run."""
    run = get_object_or_404(Run.objects.defer("summary"), pk=pk)
    if request.method != "POST":
        return ask(
            request,
            title=f"Remove what was said in {plural(run.total, 'conversation')}?",
            text=_WHAT,
            submit="Remove for good",
            dismiss="Cancel",
        )
    try:
        count = forget_conversations_of(run, by=person(request))
    except CannotForgetError as error:
        messages.error(request, str(error))
    else:
        words = plural(count, "conversation")
        messages.success(request, f"What was said in {words} was removed.")
    return leave_dialog(run_url(run))


@permission_required(DELETING_RUNS, raise_exception=True)
def ask_to_delete_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then delete a run for good."""
    run = get_object_or_404(Run.objects.defer("summary"), pk=pk)
    if request.method != "POST":
        again = run.regrades.count()
        with_it = (
            f" {plural(again, 'run')} of grading it again will be deleted too." if again else ""
        )
        return ask(
            request,
            title=f"Delete run {run.pk} for good?",
            text=f"Its {plural(run.total, 'conversation')}, results and reviews are removed. What"
            f" it spent, and what people decided with it, stay.{with_it} This cannot be undone.",
            submit="Delete for good",
            dismiss="Cancel",
        )
    try:
        delete_run(run, by=person(request))
    except CannotForgetError as error:
        messages.error(request, str(error))
        return leave_dialog(run_url(run))
    messages.success(request, f"Run {pk} was deleted.")
    return leave_dialog(reverse("admin:evals_app_run_changelist"))
