"""Grading a set of real conversations: the suite, how many, the price, and the start."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.kit.pages import ask, form_data, page_context, person
from evals_app.admin.starting.run_choices import CeilingField
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.models import ConversationGrading, ConversationSet, Suite
from evals_app.reports.answers.forecasts import all_in_words
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.recorded.grade_conversations import (
    WantedConversations,
    left_out_of,
    plan_grading,
)
from evals_app.runs.recorded.waiting_gradings import ask_for_grading, cancel_grading
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.starting.freeze import CannotStartError

_TEMPLATES = "admin/evals_app/real_conversations"
_GRADING = (*RUNNING, "evals_app.view_conversationset")
_USUAL = 100  # conversations


class GradeConversationsForm(forms.Form):
    """The suite whose general checks apply, and which conversations are graded."""

    suite = forms.ModelChoiceField(
        Suite.objects.current().order_by("name"),
        label="Suite",
        empty_label="Choose a suite",
        widget=UnfoldAdminSelectWidget,
        help_text="Its checks for every turn and its rubric apply, as far as they need no expected"
        " answer.",
    )
    count = forms.IntegerField(
        label="How many",
        required=False,
        min_value=1,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="At most. Leave blank for all.",
    )
    a_day = forms.IntegerField(
        label="At most of each day",
        required=False,
        min_value=1,
        widget=UnfoldAdminIntegerFieldWidget,
    )
    since = forms.DateField(
        label="From", required=False, widget=UnfoldAdminTextInputWidget({"type": "date"})
    )
    until = forms.DateField(
        label="To", required=False, widget=UnfoldAdminTextInputWidget({"type": "date"})
    )
    topic = forms.CharField(
        label="Topic", required=False, max_length=200, widget=UnfoldAdminTextInputWidget
    )
    max_cost_usd = CeilingField(required=False, help_text="Leave blank for no limit.")

    _NARROWING = ("a_day", "since", "until", "topic")

    def usual_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self._NARROWING]

    def narrowing_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self._NARROWING]

    def narrows(self) -> bool:
        """Whether fewer than all were asked for by a field that is folded at first."""
        return any(self[name].value() for name in self._NARROWING)

    def choices(self) -> tuple[Suite, WantedConversations, dict[str, Any]]:
        """Return the suite, the conversations, and the limit of the cost."""
        given = self.cleaned_data
        wanted = WantedConversations(**{name: given[name] for name in ("count", *self._NARROWING)})
        return given["suite"], wanted, {"max_cost_usd": given["max_cost_usd"]}


@permission_required(_GRADING, raise_exception=True)
def grade(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for a suite and a sample, then start grading."""
    target = get_object_or_404(ConversationSet, pk=pk)
    chosen = request.GET.get("suite", "")
    begin: dict[str, object] = {"suite": chosen} if chosen else {"count": _USUAL}
    form = GradeConversationsForm(form_data(request), initial=begin)
    if form.is_valid():
        suite, wanted, limit = form.choices()
        try:
            started = ask_for_grading(target, suite, wanted, by=person(request), **limit)
        except CannotStartError as error:
            form.add_error(None, list(error.problems))
        else:
            if isinstance(started, ConversationGrading):
                messages.success(request, "A worker starts the run. This page shows how far it is.")
                return redirect("admin:evals_app_conversationset_change", pk)
            return redirect("admin:evals_app_run_change", started[0].pk)
    context = page_context(request, ConversationSet, target)
    context |= {"title": "Grade", "target": target, "form": form}
    return render(request, f"{_TEMPLATES}/grade.html", context)


@require_POST
@permission_required(_GRADING, raise_exception=True)
def price(request: HttpRequest, pk: int) -> HttpResponse:
    """Return what grading would take, and which checks do not apply."""
    target = get_object_or_404(ConversationSet, pk=pk)
    form = GradeConversationsForm(request.POST)
    if not form.is_valid():
        problems = ["Choose a suite to see its checks and the price."]
        return render(request, f"{_TEMPLATES}/price.html", {"problems": problems})
    suite, wanted, limit = form.choices()
    try:
        with plan_grading(target, suite, wanted, by=request.user.pk, **limit) as plans:
            forecasts = [forecast_regrade(plan) for plan in plans]
            head = plans[0].head.suite
            context: dict[str, Any] = {
                "checks": [check.label for check in head.assertions],
                "has_rubric": head.rubric_check is not None,
                "unused": plans[0].unused,
                "left_out": left_out_of(plans),
                "sentence": all_in_words(
                    forecasts, month_left_usd=month_left(request.user.pk), **limit
                ),
            }
    except CannotStartError as error:
        context = {"problems": error.problems}
    return render(request, f"{_TEMPLATES}/price.html", context)


@permission_required(_GRADING, raise_exception=True)
def ask_to_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then cancel a grading that a worker has not started yet."""
    row = get_object_or_404(ConversationGrading.objects.select_related("suite"), pk=pk)
    if request.method != "POST":
        return ask(
            request,
            title=f"Cancel grading by {row.suite}?",
            text="No more conversations are prepared. Runs of it that have begun are cancelled, too.",
            submit="Cancel grading",
            dismiss="Go on",
        )
    if cancel_grading(row, by=person(request)):
        messages.success(request, "Grading was cancelled.")
    else:
        messages.error(request, "Grading has started. Cancel its run.")
    return leave_dialog(
        reverse("admin:evals_app_conversationset_change", args=[row.conversation_set_id])
    )
