"""Running several suites at once: those ticked in the list, of an agent, or with a tag."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.pages import page_context
from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_choices import RunChoices, SuiteRunChoices
from evals_app.admin.starting.run_dialog import (
    RUN_LABEL,
    problem_answer,
    runs_url,
    size_answer,
    try_start_runs,
)
from evals_app.models import Run, Suite
from evals_app.reports.answers.forecasts import NO_CASE
from evals_app.reports.answers.model_comparison import MAX_RUNS_IN_TABLE
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.starting.select import RunPart

MAX_SUITES = 100
RUNNING_SUITES = (*RUNNING, "evals_app.view_suite")


class RunSuitesForm(RunChoices):
    """Which suites to run, with the choices of each run."""

    suites = forms.ModelMultipleChoiceField(
        Suite.objects.none(),
        widget=Choices(),
        label="Suites",
        error_messages={"required": "Choose at least one suite."},
    )
    group = forms.UUIDField(required=False, widget=forms.HiddenInput())
    field_order = ("suites",)

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"auto_id": "run_%s"})
        self.offer(request)
        choice: Any = self.fields["suites"]
        choice.queryset = Suite.objects.current().select_related("agent").order_by("name", "slug")
        choice.label_from_instance = lambda suite: f"{suite.name} ({suite.agent.name})"

    def clean_suites(self) -> QuerySet[Suite]:
        suites: QuerySet[Suite] = self.cleaned_data["suites"]
        if len(suites) > MAX_SUITES:
            raise forms.ValidationError(f"Choose at most {MAX_SUITES} suites.")
        return suites

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not self.errors and (group := cleaned["group"]):
            if not (cleaned.get("agents") or cleaned["models"]):
                raise forms.ValidationError({"models": "Name the model to add, or an agent."})
            joined = Run.objects.filter(group=group).count()
            if not joined:
                raise forms.ValidationError("The runs of this table were deleted.")
            if joined + len(cleaned["suites"]) * len(self.variants()) > MAX_RUNS_IN_TABLE:
                raise forms.ValidationError(f"A table has at most {MAX_RUNS_IN_TABLE:,} runs.")
        return cleaned

    def how(self) -> dict[str, Any]:
        how = super().how()
        how["all_trials"] |= self.cleaned_data["group"] is not None
        return how

    def matching(self) -> list[Suite]:
        """Return the chosen suites that have a case which the filters match."""
        part = RunPart(cases=self.cleaned_data["cases"], tags=self.cleaned_data["tags"])
        return [suite for suite in self.cleaned_data["suites"] if part.has_case_of(suite)]


def run_suites_url(suites: QuerySet[Suite], **more: Any) -> str:
    """Return the address of the page that runs these suites; `more` are other choices."""
    keys = suites.order_by("pk").values_list("pk", flat=True)[: MAX_SUITES + 1]
    query = urlencode({"suites": list(keys), **more}, doseq=True)
    return f"{reverse('admin:evals_app_suite_run_suites')}?{query}"


@permission_required(RUNNING_SUITES, raise_exception=True)
def run_suites(request: HttpRequest) -> HttpResponse:
    """Ask which suites to run, and start all of them or none."""
    posted = request.POST if request.method == "POST" else None
    form = RunSuitesForm(request, posted, initial=_requested_choices(request))
    if form.is_valid():
        if suites := form.matching():
            group = form.cleaned_data["group"]
            if runs := try_start_runs(request, suites, form, group=group):
                messages.success(request, f"{plural(len(runs), 'run')} started.")
                return redirect(runs_url(runs))
        else:
            messages.error(request, "Nothing was started: no case matches.")
    context = page_context(request, Suite) | {
        "title": "Add a model" if form["group"].value() else "Run suites",
        "form": form,
        "run_label": RUN_LABEL,
        "size_url": reverse("admin:evals_app_suite_suites_size"),
    }
    return render(request, "admin/evals_app/starting/run_suites.html", context)


@require_GET
@permission_required(RUNNING_SUITES, raise_exception=True)
def suites_size(request: HttpRequest) -> HttpResponse:
    """Return the size and price of the chosen runs."""
    form = RunSuitesForm(request, request.GET)
    suites = form.matching() if form.is_valid() else []
    if form.is_valid() and not suites:
        return problem_answer(request, NO_CASE)
    left_out = len(form.cleaned_data.get("suites", ())) - len(suites)
    skipped = f"{plural(left_out, 'suite')} without a matching case will not run."
    return size_answer(request, suites, form, skipped=skipped if left_out else "")


@require_GET
@permission_required(RUNNING, raise_exception=True)
def run_size(request: HttpRequest, pk: int) -> HttpResponse:
    """Return how many conversations the dialog of a suite would start, and their price."""
    form = SuiteRunChoices(request.GET)
    form.offer(request, pk if "failed" in request.GET else None)
    return size_answer(request, [get_object_or_404(Suite, pk=pk)], form)


def _requested_choices(request: HttpRequest) -> dict[str, object]:
    """Return the choices in an address: suites by key, or all, tags, and the table to join."""
    given = request.GET
    every = Suite.objects.current().values_list("pk", flat=True)
    return {
        "suites": given.getlist("suites") or list(every),
        "tags": given.getlist("tags"),
        "trials": given.get("trials"),
        "group": given.get("group"),
    }
