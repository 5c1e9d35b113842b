"""The pages that copy conversations of runs into a set: those of a run, or some of the list."""

from collections.abc import Callable, Sequence
from copy import copy

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth.decorators import permission_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from evals_app.admin.kit.pages import form_data, page_context, person
from evals_app.admin.kit.presentation import plural
from evals_app.admin.real_conversations.set_page import ADDING
from evals_app.engine.basics.errors import CannotError
from evals_app.models import ConversationSet, Execution, Run
from evals_app.runs.reading.newest_rows import end_of, newest_keys
from evals_app.runs.recorded.copied_runs import (
    MAX_CHOSEN,
    CannotCopyError,
    CopiedConversations,
    copy_conversations,
)
from evals_app.runs.recorded.sets import find_or_make_set

COPYING = (ADDING, "evals_app.view_run", "evals_app.view_execution")
_VERDICTS = ("passed", "failed", "errored", "measured")
_KEYS = "chosen"  # of the address, beside the filter of the list
_LIST = "list"


class CopyForm(forms.Form):
    """Which conversations of runs are copied, and where to."""

    name = forms.CharField(
        label="Set",
        max_length=200,
        widget=UnfoldAdminTextInputWidget(attrs={"list": "known-sets"}),
        help_text="It is made if there is none of this name.",
    )
    which = forms.ChoiceField(label="Which", required=False, widget=UnfoldAdminSelectWidget)
    is_masked = forms.BooleanField(
        label="Mask names, addresses and numbers",
        required=False,
        initial=True,
        widget=UnfoldBooleanWidget(),
        help_text="In the copies: what they are copies of stays as it is.",
    )

    @classmethod
    def on(cls, request: HttpRequest, choices: Sequence[tuple[str, str]]) -> "CopyForm":
        form = cls(form_data(request), initial={"which": request.GET.get("verdict", "")})
        form.fields["which"].choices = choices  # type: ignore[attr-defined]
        return form


@permission_required(COPYING, raise_exception=True)
def copy_of_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask where to, then copy conversations of a run."""
    run = get_object_or_404(Run.objects.defer("summary"), pk=pk)
    form = CopyForm.on(request, [("", "All"), *((word, word.capitalize()) for word in _VERDICTS)])
    context = page_context(request, Run, run) | {"of": f"Conversations of run {run.pk}"}
    return _copy(request, form, lambda verdict: CopiedConversations.of_run(run, verdict), context)


@admin.action(description="Copy into real conversations", permissions=["copy"])
def copy_chosen(
    _page: ModelAdmin, request: HttpRequest, queryset: QuerySet[Execution]
) -> HttpResponse:
    """Redirect to the page that asks where to; the address keeps the filter of the list."""
    query = request.GET.copy()
    query[_KEYS] = ",".join(map(str, queryset.order_by("pk").values_list("pk", flat=True)))
    return redirect(f"{reverse('admin:evals_app_execution_copy')}?{query.urlencode(safe=',')}")


@permission_required(COPYING, raise_exception=True)
def copy_of_list(request: HttpRequest) -> HttpResponse:
    """Ask where to, then copy the chosen conversations of the list, or all of it."""
    keys = [int(key) for key in request.GET.get(_KEYS, "").split(",") if key.isdecimal()]
    chosen = f"The {plural(len(keys), 'conversation')} that you chose"
    every = f"All in the list as it was filtered: the newest {MAX_CHOSEN:,} at most"
    form = CopyForm.on(request, [("", chosen), (_LIST, every)])

    def find(which: str) -> CopiedConversations:
        return CopiedConversations.of(_keys_of_list(request) if which == _LIST else keys)

    context = page_context(request, Execution) | {"of": "Conversations of runs"}
    return _copy(request, form, find, context)


def _keys_of_list(request: HttpRequest) -> Sequence[int]:
    """Return what the list shows with the filter in the address, the newest first."""
    query = request.GET.copy()
    query.pop(_KEYS, None)
    asked = copy(request)
    asked.GET = query  # type: ignore[assignment]  # a copy is as good
    page = admin.site.get_model_admin(Execution)
    try:
        rows = page.get_changelist_instance(asked).queryset
    except IncorrectLookupParameters as error:
        raise CannotCopyError("The list cannot be filtered like this.") from error
    return newest_keys(
        rows, count=MAX_CHOSEN, enough=MAX_CHOSEN, below=end_of(Execution.objects.all())
    )


def _copy(
    request: HttpRequest,
    form: CopyForm,
    find: Callable[[str], CopiedConversations],
    context: dict[str, object],
) -> HttpResponse:
    """Copy what was asked for, or show the form."""
    if form.is_valid():
        given, by = form.cleaned_data, person(request)
        try:
            chosen = find(given["which"])
            target = find_or_make_set(given["name"], by=by)
            row = copy_conversations(chosen, target, is_masked=given["is_masked"], by=by)
        except CannotError as error:
            form.add_error(None, list(error.problems))
        else:
            text = f"{plural(row.added, 'conversation')} copied."
            if row.known:
                text += f" {plural(row.known, 'conversation')} here already."
            waits = "A worker copies the conversations. This page shows how far it is."
            messages.success(request, text if row.finished_at else waits)
            return redirect("admin:evals_app_conversationset_change", row.conversation_set_id)
    context |= {"title": "Copy into real conversations", "form": form}
    context |= {"known": ConversationSet.objects.order_by("name")[:100]}
    return render(request, "admin/evals_app/real_conversations/copy.html", context)
