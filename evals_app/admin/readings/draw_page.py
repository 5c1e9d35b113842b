"""The page that draws conversations to read, of a set or of a run."""

from django import forms
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from evals_app.admin.kit.pages import form_data, page_context, person
from evals_app.models import ConversationSet, Reading, Run
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.recorded.readings import MAX_ITEMS, READING, USUAL, CannotReadError, draw

OF_SETS = (*READING, "evals_app.view_conversationset")
OF_RUNS = (*READING, "evals_app.view_run")


class DrawForm(forms.Form):
    """How many conversations to read."""

    count = forms.IntegerField(
        label="How many",
        min_value=1,
        max_value=MAX_ITEMS,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="50 show most of what goes wrong. They are drawn by chance, and stay the same.",
    )


class DrawOfSetForm(DrawForm):
    """Which conversations of a set to read, too."""

    since = forms.DateField(
        label="From", required=False, widget=UnfoldAdminTextInputWidget({"type": "date"})
    )
    until = forms.DateField(
        label="To", required=False, widget=UnfoldAdminTextInputWidget({"type": "date"})
    )
    topic = forms.CharField(
        label="Topic", required=False, max_length=200, widget=UnfoldAdminTextInputWidget
    )


@permission_required(OF_SETS, raise_exception=True)
def read_set(request: HttpRequest, pk: int) -> HttpResponse:
    """Lead to the conversations of a set that people read; first ask how many."""
    target = get_object_or_404(ConversationSet, pk=pk)
    return _draw(request, target, Reading.objects.filter(conversation_set=target).first())


@permission_required(OF_RUNS, raise_exception=True)
def read_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Lead to the conversations of a run that people read; first ask how many."""
    run = get_object_or_404(Run.objects.defer("summary"), pk=pk)
    return _draw(request, run, Reading.objects.filter(run=run).first())


def _draw(request: HttpRequest, of: ConversationSet | Run, known: Reading | None) -> HttpResponse:
    if known is not None and request.method == "GET" and "more" not in request.GET:
        return redirect("admin:evals_app_reading", known.pk)
    kind = DrawForm if isinstance(of, Run) else DrawOfSetForm
    form = kind(form_data(request), initial={"count": USUAL})
    if form.is_valid():
        wanted = WantedConversations(**form.cleaned_data)
        try:
            reading = draw(of, wanted, by=person(request))
        except CannotReadError as error:
            form.add_error(None, list(error.problems))
        else:
            return redirect("admin:evals_app_reading", reading.pk)
    context = page_context(request, type(of), of)
    context |= {"title": "Read more" if known else "Read", "of": of, "form": form}
    return render(request, "admin/evals_app/readings/draw.html", context)
