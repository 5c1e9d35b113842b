"""The check of a group: its criterion, a trial on conversations that were read, and saving it."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from evals_app.admin.kit.pages import form_data, person
from evals_app.admin.readings.read_page import reading_context
from evals_app.admin.starting.run_choices import CeilingField
from evals_app.engine.basics.errors import CannotError
from evals_app.library.saving import add_general_check
from evals_app.models import NoteGroup, Suite
from evals_app.reports.answers.agreement import agreement_in_short, reasons_in_words
from evals_app.reports.answers.forecasts import all_in_words
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.recorded.group_checks import (
    MAX_CRITERION,
    MAX_OF_EACH,
    MIN_OF_EACH,
    CheckTrial,
    check_of,
    conversations_to_try,
    plan_trial,
    start_trial,
    store_labels,
    trial_of,
)
from evals_app.runs.recorded.judge_proposals import drafted_criterion, usual_judge
from evals_app.runs.recorded.readings import READING, CannotReadError
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.starting.freeze import CannotStartError

TRYING = (*READING, *RUNNING)
_SAVING = "evals_app.change_suite"


class GroupCheckForm(forms.Form):
    """What a judge should find, whose judge it is, and on how many conversations it is tried."""

    criterion = forms.CharField(
        label="What must be met",
        max_length=MAX_CRITERION,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
        help_text="A judge reads the whole conversation and decides whether all replies meet it.",
    )
    suite = forms.ModelChoiceField(
        Suite.objects.current().order_by("name"),
        label="Suite",
        empty_label="Choose a suite",
        widget=UnfoldAdminSelectWidget,
        help_text="Its judge is asked. The check becomes one of its checks when you save it.",
    )
    each = forms.IntegerField(
        label="On how many of each kind",
        min_value=MIN_OF_EACH,
        max_value=MAX_OF_EACH,
        initial=MIN_OF_EACH,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Conversations with a note of this group, and as many that were fine.",
    )
    max_cost_usd = CeilingField(required=False, help_text="Leave blank for no limit.")


def find_group(pk: int) -> NoteGroup:
    """Return a group that was not removed, with all that its check needs."""
    rows = NoteGroup.objects.select_related(
        "reading__conversation_set", "reading__run", "suite", "draft", "assertion"
    )
    rows = rows.defer("draft__summary", "reading__run__summary")
    return get_object_or_404(rows, pk=pk, removed_at=None)


@permission_required(TRYING, raise_exception=True)
def make_check(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for a criterion and try it; then show how the judge agrees, and save it."""
    group = find_group(pk)
    here = redirect("admin:evals_app_notegroup_check", pk)
    if request.method == "POST" and request.POST.get("action") == "save":
        _save(request, group)
        return here
    form = GroupCheckForm(form_data(request), initial=_begin(group))
    if form.is_valid():
        given = form.cleaned_data
        try:
            start_trial(
                group, given.pop("suite"), given.pop("criterion"), by=person(request), **given
            )
        except CannotError as error:
            form.add_error(None, list(error.problems))
        else:
            return here
    trial = trial_of(group)
    context = reading_context(request, group.reading) | {
        "title": f"A check of “{group}”",
        "group": group,
        "form": form,
        "too_few": "" if trial or form.is_bound else _why_too_few(group),
        "is_waiting": _is_waiting(group, trial),
        "may_propose": bool(usual_judge() or (group.suite and group.suite.judge_model)),
        "may_save": request.user.has_perm(_SAVING),
        **_result(trial),
    }
    return render(request, "admin/evals_app/readings/check.html", context)


def _why_too_few(group: NoteGroup) -> str:
    try:
        conversations_to_try(group)
    except CannotReadError as error:
        return str(error)
    return ""


def _begin(group: NoteGroup) -> dict[str, Any]:
    return {
        "criterion": group.criterion or drafted_criterion(group),
        "suite": group.suite,
        "each": MIN_OF_EACH,
    }


def _is_waiting(group: NoteGroup, trial: CheckTrial | None) -> bool:
    return bool((group.draft and group.draft.is_open) or (trial and trial.is_open))


def _result(trial: CheckTrial | None) -> dict[str, object]:
    """Return how the judge agrees with what people wrote."""
    if trial is None or trial.is_open:
        return {"trial": None}
    yardsticks = {one.grade.yardstick for one in trial.tried} - {None}
    return {
        "trial": trial,
        "in_short": agreement_in_short(trial.agreement),
        "words": reasons_in_words(trial.agreement),
        "yardstick": next(iter(yardsticks), None),
        "min_of_each": MIN_OF_EACH,
    }


def _save(request: HttpRequest, group: NoteGroup) -> None:
    if not request.user.has_perm(_SAVING):
        raise PermissionDenied
    by = person(request)
    try:
        if group.suite is None or group.assertion is not None:
            raise CannotReadError("Try the check first, with the suite that it is to join.")
        with transaction.atomic():
            labels = store_labels(group, by=by)
            check = check_of(group, group.criterion)
            group.assertion = add_general_check(group.suite, check, by=by)
            group.save(update_fields=["assertion"])
    except CannotError as error:
        messages.error(request, str(error))
    else:
        done = f"The check is part of {group.suite}. Its judge begins with {labels} labels."
        messages.success(request, done)


@require_POST
@permission_required(TRYING, raise_exception=True)
def price_check(request: HttpRequest, pk: int) -> HttpResponse:
    """Return what a trial would take."""
    group = find_group(pk)
    form = GroupCheckForm(request.POST)
    template = "admin/evals_app/kit/price_answer.html"
    if not form.is_valid():
        problems = ["Write what must be met and choose a suite to see the price."]
        return render(request, template, {"problems": problems})
    given = form.cleaned_data
    limit, by = given["max_cost_usd"], request.user.pk
    try:
        with plan_trial(
            group, given["suite"], given["criterion"], each=given["each"], by=by, max_cost_usd=limit
        ) as plans:
            forecasts = [forecast_regrade(plan) for plan in plans]
    except (CannotReadError, CannotStartError) as error:
        return render(request, template, {"problems": error.problems})
    sentence = all_in_words(forecasts, max_cost_usd=limit, month_left_usd=month_left(by))
    return render(request, template, {"sentence": sentence})


@require_GET
@permission_required(TRYING, raise_exception=True)
def check_live(request: HttpRequest, pk: int) -> HttpResponse:  # noqa: ARG001 - Django
    """Reload the page as soon as the judge has answered."""
    group = find_group(pk)
    return refresh_unless(_is_waiting(group, trial_of(group)))


def refresh_unless(is_waiting: bool) -> HttpResponse:  # noqa: FBT001 - a state
    """Return an answer that reloads the page, or one that changes nothing."""
    return HttpResponse(status=204, headers={} if is_waiting else {"HX-Refresh": "true"})
