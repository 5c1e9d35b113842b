"""Dialogs that ask a judge for groups or for a criterion, with the price, and what it proposed."""

from collections.abc import Callable

from django import forms
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from evals_app.admin.kit.model_choices import JudgeInput
from evals_app.admin.kit.pages import form_data, person
from evals_app.admin.readings.check_page import TRYING, find_group, refresh_unless
from evals_app.admin.readings.read_page import find_reading
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.engine.basics.errors import CannotError
from evals_app.models import Run
from evals_app.reports.answers.forecasts import in_words
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.questions import Question, forecast_question
from evals_app.runs.recorded.judge_proposals import (
    close_proposal,
    propose_criterion,
    propose_groups,
    question_of_criterion,
    question_of_groups,
    usual_judge,
)


class AskJudgeForm(forms.Form):
    """The judge that is asked."""

    judge = forms.CharField(label="Judge", max_length=300, widget=JudgeInput())


@permission_required(TRYING, raise_exception=True)
def ask_for_groups(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the price of groups that a judge proposes, and ask for them."""
    reading = find_reading(pk)
    by = person(request)
    return _ask(
        request,
        usual_judge(),
        title="Let a judge propose groups?",
        text="It reads the notes that are in no group. You decide which of its groups to use.",
        question=lambda: question_of_groups(reading),
        start=lambda judge: propose_groups(reading, judge, by=by),
        then=reverse("admin:evals_app_reading_groups", args=[pk]),
    )


@permission_required(TRYING, raise_exception=True)
def ask_for_criterion(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the price of a criterion that a judge drafts, and ask for it."""
    group = find_group(pk)
    by = person(request)
    return _ask(
        request,
        (group.suite.judge_model if group.suite else "") or usual_judge(),
        title="Let a judge draft what must be met?",
        text="It reads the notes of this group. You can change its words, and try them, before anything"
        " is saved.",
        question=lambda: question_of_criterion(group),
        start=lambda judge: propose_criterion(group, judge, by=by),
        then=reverse("admin:evals_app_notegroup_check", args=[pk]),
    )


def _ask(
    request: HttpRequest,
    judge: str,
    *,
    title: str,
    text: str,
    question: Callable[[], Question],
    start: Callable[[str], Run],
    then: str,
) -> HttpResponse:
    form = AskJudgeForm(form_data(request), initial={"judge": judge}, auto_id="ask_%s")
    context: dict[str, object] = {"title": title, "text": text, "form": form}
    try:
        if form.is_valid():
            start(form.cleaned_data["judge"])
            return leave_dialog(then)
        if judge and not form.is_bound:
            by = person(request)
            forecast = forecast_question(judge, question(), by=by)
            context["price"] = in_words(forecast, month_left_usd=month_left(by.pk))
    except CannotError as error:
        context["problems"] = error.problems
    return render(request, "admin/evals_app/readings/ask.html", context)


@permission_required(TRYING, raise_exception=True)
def proposals_live(request: HttpRequest, pk: int) -> HttpResponse:
    """Reload the page as soon as the judge has proposed groups; drop them if that is posted."""
    reading = find_reading(pk)
    if request.method == "POST":
        close_proposal(reading, by=person(request))
        return redirect("admin:evals_app_reading_groups", pk)
    return refresh_unless(bool(reading.proposal and reading.proposal.is_open))
