"""The page that copies conversations of a run into a set of real conversations."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from evals_app.admin.kit.pages import form_data, page_context, person
from evals_app.admin.real_conversations.set_page import ADDING
from evals_app.engine.basics.errors import CannotError
from evals_app.models import ConversationSet, Run
from evals_app.runs.recorded.copied_runs import copy_run
from evals_app.runs.recorded.sets import find_or_make_set

COPYING = (ADDING, "evals_app.view_run", "evals_app.view_execution")
_VERDICTS = ("passed", "failed", "errored", "measured")


class CopyRunForm(forms.Form):
    """Which conversations of a run are copied, and where to."""

    name = forms.CharField(
        label="Set",
        max_length=200,
        widget=UnfoldAdminTextInputWidget(attrs={"list": "known-sets"}),
        help_text="It is made if there is none of this name.",
    )
    verdict = forms.ChoiceField(
        label="Which",
        required=False,
        choices=[("", "All"), *((word, word.capitalize()) for word in _VERDICTS)],
        widget=UnfoldAdminSelectWidget,
    )
    is_masked = forms.BooleanField(
        label="Mask names, addresses and numbers",
        required=False,
        initial=True,
        widget=UnfoldBooleanWidget(),
        help_text="In the copies: the run stays as it is.",
    )


@permission_required(COPYING, raise_exception=True)
def copy_of_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask where to, then copy conversations of a run."""
    run = get_object_or_404(Run.objects.defer("summary"), pk=pk)
    form = CopyRunForm(form_data(request), initial={"verdict": request.GET.get("verdict", "")})
    if form.is_valid():
        given = form.cleaned_data
        how = {"verdict": given["verdict"], "is_masked": given["is_masked"]}
        by = person(request)
        try:
            row = copy_run(run, find_or_make_set(given["name"], by=by), by=by, **how)
        except CannotError as error:
            form.add_error(None, list(error.problems))
        else:
            text = f"{row.added:,} conversations were copied."
            waits = "A worker copies the conversations. This page shows how far it is."
            messages.success(request, text if row.finished_at else waits)
            return redirect("admin:evals_app_conversationset_change", row.conversation_set_id)
    context = page_context(request, Run, run) | {"title": "Copy into real conversations"}
    context |= {"run": run, "form": form, "known": ConversationSet.objects.order_by("name")[:100]}
    return render(request, "admin/evals_app/real_conversations/copy.html", context)
