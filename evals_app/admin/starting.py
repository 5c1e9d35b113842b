"""Starting runs from a page."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.core.validators import MinValueValidator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.forms import BaseDialogForm
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextInputWidget,
)

from evals_app.admin.lines import TagsField
from evals_app.models import Run, Suite
from evals_app.models.money import PLACES
from evals_app.reports.forecasts import in_words
from evals_app.runs.forecast import forecast
from evals_app.runs.freeze import CannotStartError
from evals_app.runs.rights import RUNNING
from evals_app.runs.start import start_run

MOST_USD = 1_000_000


class CeilingField(forms.DecimalField):
    """The cost at which a run stops."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            max_value=MOST_USD,
            decimal_places=PLACES,
            label="Cost ceiling (USD)",
            widget=UnfoldAdminDecimalFieldWidget(attrs={"step": "any"}),
            # Not `min_value`, whose message would show 1E-9.
            validators=[MinValueValidator(Decimal(f"1e-{PLACES}"), "Enter an amount above 0.")],
            **kwargs,
        )


class RunForm(BaseDialogForm):
    """Which part of a suite to run, how often, and what it may cost."""

    form_after_template = "admin/evals_app/run_size.html"

    cases = TagsField(
        label="Filter by case name",
        widget=UnfoldAdminTextInputWidget(),
        help_text="Parts of names, separated by commas. Leave blank to run all cases.",
    )
    tags = TagsField(
        label="Filter by tag",
        widget=UnfoldAdminTextInputWidget(),
        help_text="Tags, separated by commas. Leave blank to run cases with any tag.",
    )
    trials = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        label="Trials per case",
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text="Leave blank to use what the suite and its cases set.",
    )
    max_cost_usd = CeilingField(
        required=False,
        help_text="The run stops before it would exceed this, and can be resumed later. Leave blank for no limit.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The page behind the dialog has fields of the same names.
        super().__init__(*args, auto_id="run_%s", **kwargs)

    def get_after_template_context(
        self, request: HttpRequest, object_id: int | str | None = None
    ) -> dict[str, Any]:
        return {"size_url": reverse("admin:evals_app_suite_run_size", args=[object_id])}

    def chosen(self) -> dict[str, Any]:
        """Return the arguments of `start_run`."""
        return {key: self.cleaned_data[key] for key in RunSizeForm.base_fields}


class RunSizeForm(forms.Form):
    """The same fields, for a forecast before anything starts."""

    cases = RunForm.base_fields["cases"]
    tags = RunForm.base_fields["tags"]
    trials = RunForm.base_fields["trials"]
    max_cost_usd = RunForm.base_fields["max_cost_usd"]


def size_sentence(suite: Suite, data: Any) -> str:
    """Return what a run would take, or why it cannot start."""
    form = RunSizeForm(data)
    if "trials" in form.errors:
        return "Trials: enter a whole number from 1 to 100."
    if form.errors:
        return "Cost ceiling: enter a number above 0, for example 2.50."
    try:
        estimate = forecast(suite, **form.cleaned_data)
    except CannotStartError as error:
        return f"The run cannot start. {' '.join(error.problems)}"
    return in_words(estimate, max_cost_usd=form.cleaned_data["max_cost_usd"])


def try_start(request: HttpRequest, suite: Suite, **choices: Any) -> Run | None:
    """Start a run with the choices of `start_run`, or show the person why it cannot start."""
    by = request.user if request.user.is_authenticated else None
    try:
        return start_run(suite, by=by, **choices)
    except CannotStartError as error:
        for problem in error.problems:
            messages.error(request, f"The run did not start. {problem}")
        return None


def run_url(run: Run) -> str:
    """Return the URL of a run's page."""
    return reverse("admin:evals_app_run_change", args=[run.pk])


def result_url(run: Run, request: HttpRequest) -> str:
    """Return the URL of the results: of a single conversation, its own page."""
    only = run.executions.first() if run.total == 1 else None
    if only is None or not request.user.has_perm("evals_app.view_execution"):
        return run_url(run)
    return reverse("admin:evals_app_execution_change", args=[only.pk])


def leave_dialog(url: str) -> HttpResponse:
    """Redirect the page behind a dialog."""
    return HttpResponse(headers={"HX-Redirect": url})


def may_run(request: HttpRequest) -> bool:
    """Whether a person may start and control runs."""
    return request.user.has_perms(RUNNING)
