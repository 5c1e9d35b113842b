"""The page that makes cases of several conversations of a set."""

from collections.abc import Iterator
from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from evals_app.admin.kit.pages import form_data, page_context
from evals_app.admin.kit.presentation import plural
from evals_app.admin.real_conversations.set_page import list_context
from evals_app.engine.basics.errors import CannotError
from evals_app.library.making.case_making import ADD_CASE, ADD_SUITE, COPY_AGENT
from evals_app.library.making.several import MAX_AT_ONCE, MadeCases, make_cases
from evals_app.models import ConversationSet, Execution, Suite

MAKING = ("evals_app.view_conversationset", "evals_app.view_execution", ADD_CASE)
_TEMPLATE = "admin/evals_app/real_conversations/cases.html"


class ManyCasesForm(forms.Form):
    """The suite that takes the cases, and what is checked in each."""

    suite = forms.ModelChoiceField(
        Suite.objects.current().select_related("agent").order_by("name"),
        label="Suite",
        empty_label="Choose a suite",
        widget=UnfoldAdminSelectWidget,
        help_text="Its checks for every turn apply to these cases, too.",
    )
    criteria = forms.CharField(
        label="What a right reply does",
        required=False,
        max_length=4000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="A judge checks it in the last reply of each case. May be blank.",
    )
    is_recorded = forms.BooleanField(
        required=False,
        label="Answer tools with what was recorded",
        help_text="The cases then run without calling your systems, in a copy of the suite and its"
        " agent.",
    )

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(form_data(request))
        if not request.user.has_perms((ADD_SUITE, *COPY_AGENT)):
            del self.fields["is_recorded"]


@permission_required(MAKING, raise_exception=True)
def make_cases_of_set(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask which conversations become cases, and make them."""
    target = get_object_or_404(ConversationSet, pk=pk)
    form = ManyCasesForm(request)
    if form.is_valid():
        given = form.cleaned_data
        try:
            made = make_cases(
                _ticked_conversations(request, target),
                given["suite"],
                criteria=given["criteria"].strip(),
                is_recorded=given.get("is_recorded", False),
                by=request.user,
            )
        except CannotError as error:
            form.add_error(None, list(error.problems))
        else:
            if made.cases:
                for sentence in _outcome(made):
                    messages.success(request, sentence)
                return redirect("admin:evals_app_suite_cases", made.cases[0].suite_id)
            left_out = list(_outcome(made)) or ["Tick the conversations that become cases."]
            form.add_error(None, left_out)
    context = page_context(request, ConversationSet, target) | list_context(request, target)
    context |= {
        "title": "Make cases",
        "target": target,
        "form": form,
        "ticked": request.POST.getlist("conversation"),
    }
    return render(request, _TEMPLATE, context)


def _ticked_conversations(request: HttpRequest, target: ConversationSet) -> list[Execution]:
    """Return the ticked conversations: as they were graded last, else as they were imported."""
    keys = [int(key) for key in request.POST.getlist("conversation") if key.isdecimal()]
    rows = target.conversations.filter(execution__in=keys[:MAX_AT_ONCE]).order_by("pk")
    own = list(rows.values_list("execution", flat=True))
    executions = Execution.objects.select_related("run__snapshot", "run__suite", "reviewed")
    graded = executions.filter(source__in=own).exclude(verdict="").order_by("pk")
    latest = {cast("int", again.source_id): again for again in graded}
    stored = executions.in_bulk([key for key in own if key not in latest])
    return [latest.get(key) or stored[key] for key in own]


def _outcome(made: MadeCases) -> Iterator[str]:
    if made.cases:
        yield f"Made {plural(len(made.cases), 'case')}."
    for conversation, case in made.repeated:
        yield f"{conversation} was left out: the case “{case}” asks the same."
    for conversation in made.unreadable:
        yield f"{conversation} was left out: its messages are no longer stored."
