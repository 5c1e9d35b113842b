"""Grading the conversations of a run again: the dialog, its price, and the start."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import Max, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST
from pydantic import ValidationError
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.model_choices import JudgeInput
from evals_app.admin.kit.pages import form_data, person
from evals_app.admin.starting.reruns import MAX_LISTED
from evals_app.admin.starting.run_choices import CeilingField
from evals_app.admin.starting.run_dialog import leave_dialog, may_run, result_url
from evals_app.models import Case, Execution, Run, Suite
from evals_app.reports.answers.forecasts import in_words
from evals_app.reports.words.regrading import left_out_in_words
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.regrading.start_regrade import MAX_TRIALS, Version, plan_regrade, regrade
from evals_app.runs.starting.edits import MAX_COMPARED, checks_edited_since
from evals_app.runs.starting.freeze import CannotStartError, archived_text

_TEMPLATES = "admin/evals_app/regrading"
_TRIALS_ASKED = f"Enter a whole number from 1 to {MAX_TRIALS}."
_OF_JUDGES = ("judge", "trials", "max_cost_usd")


class RegradeForm(forms.Form):
    """Checks, judge, conversations, repetitions and cost limit of the new grading."""

    suite = forms.ChoiceField(label="Checks", required=False, widget=forms.RadioSelect)
    cases = forms.MultipleChoiceField(label="Cases", required=False, widget=Choices())
    judge = forms.CharField(
        label="Another judge",
        required=False,
        max_length=300,
        widget=JudgeInput(),
        help_text="Leave blank for the usual judge. Checks that name their own judge keep it.",
    )
    trials = forms.IntegerField(
        label="How often",
        required=False,
        min_value=1,
        max_value=MAX_TRIALS,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text="More than once shows how steady the judge is. Every grading then costs.",
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _TRIALS_ASKED),
    )
    max_cost_usd = CeilingField(
        required=False,
        help_text="Leave blank for no limit.",
    )

    def __init__(
        self,
        run: Run,
        *,
        execution: Execution | None = None,
        case: str = "",
        data: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(data, auto_id="regrade_%s")
        self.run, self.execution = run, execution
        self.case = execution.case if execution else case
        self.fields["trials"].initial = 1
        self._offer_versions()
        self._offer_cases()

    @property
    def title(self) -> str:
        """The question that the dialog asks."""
        if self.execution:
            return f"Grade this conversation of run {self.run.pk} again?"
        if self.case:
            return f"Grade case “{self.case}” of run {self.run.pk} again?"
        return f"Grade run {self.run.pk} again?"

    @cached_property
    def names(self) -> Sequence[str]:
        """The first cases that can be chosen."""
        if self.case:
            return [self.case]
        ended = self.run.executions.filter(status=Execution.Status.FINISHED)
        rows = ended.order_by("position").values_list("position", "case").distinct()
        return [case for _, case in rows[: MAX_COMPARED + 1]]

    @cached_property
    def why_not_current(self) -> str:
        """Why only the checks of the run can be used; empty if there are others."""
        suite = self.run.suite
        if suite is None:
            return f"Suite {self.run.suite_slug} was deleted, so its checks are used as they were."
        return archived_text(suite.slug) if suite.archived_at is not None else ""

    @cached_property
    def edits(self) -> Sequence[str]:
        """What was edited since the run."""
        suite = self.run.suite
        if suite is None or self.why_not_current:
            return []
        return _checks_edited(self.run, suite, self.names)

    @property
    def choices(self) -> dict[str, Any]:
        """The chosen arguments of `plan_regrade`."""
        chosen = self.cleaned_data
        cases = [self.case] if self.case else chosen.get("cases")
        return {
            "suite": self._version,
            "cases": None if self.execution else cases,
            "executions": [self.execution.pk] if self.execution else None,
            "judge": chosen["judge"],
            "trials": chosen["trials"] or 1,
            "max_cost_usd": chosen["max_cost_usd"],
        }

    @property
    def _version(self) -> Version:
        if "suite" not in self.fields:
            return "as_it_was" if self.why_not_current else "current"
        return "as_it_was" if self.cleaned_data["suite"] == "as_it_was" else "current"

    def _offer_versions(self) -> None:
        if not self.edits:
            del self.fields["suite"]  # both are the same, or there is only one
            return
        field: Any = self.fields["suite"]
        field.choices = [
            ("current", "As they are now"),
            ("as_it_was", f"As they were in run {self.run.pk}"),
        ]
        field.initial = "current"

    def _offer_cases(self) -> None:
        if self.case or not 1 < len(self.names) <= MAX_LISTED:
            del self.fields["cases"]
            return
        field: Any = self.fields["cases"]
        field.choices = [(name, name) for name in self.names]
        field.initial = self.names
        field.required = True
        field.error_messages["required"] = "Choose at least one case."


def _checks_edited(run: Run, suite: Suite, names: Sequence[str]) -> Sequence[str]:
    try:
        return checks_edited_since(run, names, suite=suite)
    except ValidationError:  # another version made the run; planning reports that
        return []


@permission_required(RUNNING, raise_exception=True)
def ask_to_regrade(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask what to grade again and with what, then start the run."""
    form = _form(request, pk)
    if form.is_valid():
        try:
            run = regrade(form.run, by=person(request), **form.choices)
        except CannotStartError as exc:
            form.add_error(None, list(exc.problems))
        else:
            return leave_dialog(result_url(run, request))
    url = reverse("admin:evals_app_run_regrade_size", args=[pk])
    context = {
        "form": form,
        "fields": [form[name] for name in _OF_JUDGES],
        "is_open": not form.errors.keys().isdisjoint(_OF_JUDGES),
        "size_url": f"{url}?{request.GET.urlencode()}",
    }
    return render(request, f"{_TEMPLATES}/start.html", context)


@require_POST
@permission_required(RUNNING, raise_exception=True)
def regrade_size(request: HttpRequest, pk: int) -> HttpResponse:
    """Return what the dialog would start, with its price and what is left out."""
    size = _size(_form(request, pk), by=request.user.pk)
    return render(request, f"{_TEMPLATES}/size.html", size)


def _form(request: HttpRequest, pk: int) -> RegradeForm:
    run = get_object_or_404(
        Run.objects.select_related("suite", "snapshot", "grades_of")
        .defer("summary", "grades_of__summary")
        .exclude(status__in=Run.OPEN),
        pk=pk,
    )
    return RegradeForm(
        run,
        execution=_execution(run, request.GET.get("execution", "")),
        case=request.GET.get("case", ""),
        data=form_data(request),
    )


def _execution(run: Run, key: str) -> Execution | None:
    if not key:
        return None
    rows = run.executions.filter(pk=key) if key.isascii() and key.isdecimal() else None
    if rows is None or (execution := rows.only("case").first()) is None:
        raise Http404
    return execution


def _size(form: RegradeForm, *, by: int | None) -> dict[str, Any]:
    if not form.is_valid():
        errors = form.errors.items()
        return {
            "problems": [
                f"{form.fields[name].label}: {text}" for name, texts in errors for text in texts
            ]
        }
    chosen = form.choices
    try:
        with plan_regrade(form.run, by=by, **chosen) as regrading:
            expected = forecast_regrade(regrading)
    except CannotStartError as exc:
        return {"problems": exc.problems}
    limit, left = chosen["max_cost_usd"], month_left(by)
    return {
        "sentence": in_words(expected, max_cost_usd=limit, month_left_usd=left),
        "left_out": left_out_in_words(regrading.to_json()["left_out"]),
    }


def regrade_label(run_id: int) -> str:
    """Return the label of a button on another page that opens the dialog."""
    return f"Try the checks on run {run_id}"


def regrade_url(run_id: int, **of: Any) -> str:
    """Return the address of the dialog; `of` is the case or the execution that is graded alone."""
    url = reverse("admin:evals_app_run_regrade", args=[run_id])
    return f"{url}?{urlencode(of)}" if of else url


def last_to_try(case: Case) -> Max:
    """Return what finds, among executions of a case, the last full run that has a result of it."""
    whole = Q(run__is_whole=True, run__status=Run.Status.FINISHED, run__cancelled=0, run__not_run=0)
    return Max("run", filter=whole & Q(run__suite=case.suite_id, status="finished"))


def try_context(request: HttpRequest, run_id: int | None, *, case: Case) -> dict[str, object]:
    """Return the button that tries the checks of a case on its conversations in a run."""
    if run_id is None or not may_run(request):
        return {}
    return {
        "regrade_url": regrade_url(run_id, case=case.name),
        "regrade_label": regrade_label(run_id),
    }


def offer_to_try(request: HttpRequest, suite: Suite, *, case: Case | None = None) -> None:
    """After a save, offer to try checks that are not those of the last conversations."""
    run = _conversations_to_try(request, suite, case=case)
    if run is None or not _checks_edited(run, suite, [] if case is None else [case.name]):
        return
    url = regrade_url(run.pk, **({} if case is None else {"case": case.name}))
    messages.info(request, render_to_string(f"{_TEMPLATES}/offer.html", {"url": url, "run": run}))


def _conversations_to_try(
    request: HttpRequest, suite: Suite, *, case: Case | None = None
) -> Run | None:
    """Return the last full run of a suite, with a result of the case; None if a person may not run."""
    if not may_run(request):
        return None
    whole = Run.objects.suite_verdicts().filter(suite=suite).defer("summary")
    run = whole.select_related("snapshot").order_by("-pk").first()
    if run is None or case is None:
        return run
    return run if run.executions.filter(case=case.name, status="finished").exists() else None
