"""The dialogs in which people decide: shipped or not, and which cases may fail."""

from collections.abc import Mapping

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.forms import CheckboxSelectMultiple
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from evals_app.admin.kit.pages import form_data, person
from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_dialog import leave_dialog, run_url
from evals_app.engine.verdicts.release_check import CAN_ACCEPT
from evals_app.library.baselines import why_no_baseline
from evals_app.library.shipping import (
    DECIDING,
    MAX_CHARS,
    CannotDecideError,
    accept_failures,
    decide_shipping,
    withdraw_acceptance,
)
from evals_app.models import AcceptedFailure, Run, Suite
from evals_app.runs.release import SuiteRelease, release_of

# Anyone who decides must see what it is about.
SEEING_AND_DECIDING = ("evals_app.view_run", DECIDING)
_TEMPLATES = "admin/evals_app/comparing"
_DECISIONS = {"shipped": True, "not-shipped": False}


class _ReasonForm(forms.Form):
    reason = forms.CharField(
        label="Reason", max_length=MAX_CHARS, widget=UnfoldAdminTextareaWidget({"rows": 3})
    )

    def __init__(self, data: Mapping[str, object] | None = None) -> None:
        super().__init__(data, auto_id="decide_%s")


class ShipForm(_ReasonForm):
    """Why a version is shipped, or is not."""

    def __init__(self, data: Mapping[str, object] | None = None, *, needs_reason: bool) -> None:
        super().__init__(data)
        reason = self.fields["reason"]
        reason.required = needs_reason
        if not needs_reason:
            reason.label = "Reason (optional)"


class AcceptForm(_ReasonForm):
    """Which cases may fail, why, and until when."""

    cases = forms.MultipleChoiceField(widget=CheckboxSelectMultiple)
    until = forms.DateField(
        label="Until (optional)",
        required=False,
        widget=UnfoldAdminTextInputWidget({"type": "date"}),
        help_text="The last day. Leave blank to accept it until the case passes again.",
    )
    field_order = ("cases", "reason", "until")

    def __init__(self, release: SuiteRelease, data: Mapping[str, object] | None = None) -> None:
        super().__init__(data)
        names = [
            pair.name
            for reason in release.check.reasons
            if reason.kind in CAN_ACCEPT
            for pair in reason.cases
        ]
        cases = self.fields["cases"]
        cases.choices = [(name, name) for name in dict.fromkeys(names)]  # type: ignore[attr-defined]
        cases.initial = names


@permission_required(SEEING_AND_DECIDING, raise_exception=True)
def ask_to_ship(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """Ask for a reason, then note that the version of a run is shipped, or is not."""
    if what not in _DECISIONS:
        raise Http404("A version is shipped or not-shipped.")
    run, release = _find(pk)
    shipped, is_yes = _DECISIONS[what], release.check.answer == "yes"
    form = ShipForm(form_data(request), needs_reason=not (shipped and is_yes))
    if form.is_valid():
        try:
            decision = decide_shipping(
                run,
                shipped=shipped,
                answered=release.sentence,
                is_yes=is_yes,
                by=person(request),
                reason=form.cleaned_data["reason"],
            )
        except CannotDecideError as error:
            form.add_error(None, error.problems)
        else:
            messages.success(request, f"{decision.in_words}.{_what_follows(run, shipped=shipped)}")
            return leave_dialog(run_url(run))
    context = {"form": form, "release": release, "shipped": shipped, "run": run}
    return render(request, f"{_TEMPLATES}/ship.html", context)


def _what_follows(run: Run, *, shipped: bool) -> str:
    if not shipped:
        return ""
    if problem := why_no_baseline(run):
        return f" It is not the released version that later runs are compared with. {problem}"
    return " Later runs are compared with it."


@permission_required(SEEING_AND_DECIDING, raise_exception=True)
def ask_to_accept(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask which cases may fail and why, then accept it."""
    run, release = _find(pk)
    form = AcceptForm(release, form_data(request))
    if form.is_valid():
        given = form.cleaned_data
        try:
            rows = accept_failures(
                run,
                given["cases"],
                by=person(request),
                reason=given["reason"],
                until=given["until"],
            )
        except CannotDecideError as error:
            form.add_error(error.key if error.key in form.fields else None, error.problems)
        else:
            messages.success(request, f"{plural(len(rows), 'known failure')} accepted.")
            return leave_dialog(run_url(run))
    return render(request, f"{_TEMPLATES}/accept.html", {"form": form, "run": run})


@permission_required(SEEING_AND_DECIDING, raise_exception=True)
@require_POST
def stop_accepting(request: HttpRequest, pk: int) -> HttpResponse:
    """Accept no longer that a case fails."""
    accepted = get_object_or_404(AcceptedFailure.objects.select_related("suite"), pk=pk)
    withdraw_acceptance(accepted, by=person(request))
    messages.success(request, f"“{accepted.case}” counts again.")
    return redirect(reverse("admin:evals_app_suite_results", args=[accepted.suite_id]))


def _find(pk: int) -> tuple[Run, SuiteRelease]:
    """Return a run of a suite that still exists, and the answer about it."""
    suites = Suite.objects.select_related("agent", "baseline").defer("baseline__summary")
    suite = get_object_or_404(suites, runs=pk)
    run = get_object_or_404(Run.objects.select_related("suite"), pk=pk)
    if problem := run.why_no_answer:
        raise Http404(problem)
    return run, release_of(suite, run=run)
