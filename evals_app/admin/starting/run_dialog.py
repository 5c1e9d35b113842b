"""Starting runs from a page."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import messages
from django.forms import BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.text import get_text_list as text_list
from unfold.forms import BaseDialogForm

from evals_app.admin.kit.model_choices import judge_link
from evals_app.admin.starting.run_choices import RunChoices, SuiteRunChoices
from evals_app.models import Run, Suite
from evals_app.models.people.roles import people_with
from evals_app.reports.answers.forecasts import NO_CASE, figures, notes, run_label
from evals_app.runs.ground.rights import RUNNING, SETTING_UP
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.reading.model_comparison import Wanted
from evals_app.runs.starting.forecast import forecast
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.start_run import start_run, start_runs

if TYPE_CHECKING:
    from django.contrib.auth.models import User


# What the button says; the answer about the size of the runs replaces it.
RUN_LABEL = format_html('<span id="{}">{}</span>', "run-label", "Run")


class RunForm(BaseDialogForm, SuiteRunChoices):
    """The dialog that starts runs of one suite: what it takes comes first, the choices are folded."""

    form_before_template = "admin/evals_app/starting/run_size.html"
    form_after_template = "admin/evals_app/starting/run_options.html"

    def __init__(self, *args: object, **kwargs: object) -> None:
        # The page behind the dialog has fields of the same names.
        super().__init__(*args, **kwargs | {"auto_id": "run_%s"})
        self.offer(self.request, int(self.object_id) if self.object_id else None)

    def __iter__(self) -> Iterator[BoundField]:
        """Yield what the dialog shows by itself; the choices are in the template after it."""
        return (field for field in super().__iter__() if field.name not in RunChoices.base_fields)

    def get_before_template_context(
        self, request: HttpRequest, object_id: int | str | None = None
    ) -> dict[str, object]:
        return {"size_url": reverse("admin:evals_app_suite_run_size", args=[object_id])}

    def get_after_template_context(
        self, request: HttpRequest, object_id: int | str | None = None
    ) -> dict[str, object]:
        return {"form": self}


def size_answer(
    request: HttpRequest, suites: Sequence[Suite], form: RunChoices, *, skipped: str = ""
) -> HttpResponse:
    """Answer with the size and price of the runs, or why they cannot start and who can help."""
    if not form.is_valid():
        return problem_answer(request, form.problem())
    by = request.user.pk
    variants, how = form.variants(), form.how()
    how["all_trials"] |= len(variants) > 1
    try:
        forecasts = [
            forecast(suite, by=by, **how | variant.to_arguments())
            for suite, variant in product(suites, variants)
        ]
    except CannotStartError as error:
        others = [] if request.user.has_perm(SETTING_UP) else [*people_with(SETTING_UP)[:3]]
        return problem_answer(request, f"The run cannot start. {error}", ask=others)
    if not any(forecast.conversations for forecast in forecasts):
        return problem_answer(request, NO_CASE)
    left = month_left(by)
    more = notes(forecasts, max_cost_usd=how["max_cost_usd"], month_left_usd=left)
    context = {
        "run_label": run_label(forecasts),
        "figures": figures(forecasts, month_left_usd=left),
        "notes": [*more, skipped] if skipped else more,
    }
    return render(request, "admin/evals_app/starting/run_figures.html", context)


def problem_answer(request: HttpRequest, problem: str, *, ask: Sequence[str] = ()) -> HttpResponse:
    """Answer with why nothing can start; `ask` are the people who may be able to change that."""
    context = {"problem": problem, "ask": text_list(list(ask), "or")}
    return render(request, "admin/evals_app/starting/run_figures.html", context)


def try_start_runs(
    request: HttpRequest, suites: Sequence[Suite], form: RunChoices, *, group: UUID | None = None
) -> Sequence[Run]:
    """Start all chosen runs, or none and show the person why; with a `group` they join its table."""
    chosen = {"variants": form.variants(), "group": group, **form.how()}
    try:
        return start_runs(suites, by=_person(request), **chosen)
    except CannotStartError as error:
        _explain(request, error)
        return []


def runs_url(runs: Sequence[Run]) -> str:
    """Return the URL of the page of a run, of the table of a group, or of the list of several runs."""
    if group := runs[0].group:
        return models_url(group)
    if len(runs) == 1:
        return run_url(runs[0])
    url = reverse("admin:evals_app_run_changelist")
    slugs = {run.suite_slug for run in runs}
    return f"{url}?{urlencode({'suite_slug': slugs.pop()})}" if len(slugs) == 1 else url


def models_url(wanted: Wanted, *, name: str = "run_models", **more: str) -> str:
    """Return the address of the table of a group, or of runs by number."""
    if isinstance(wanted, UUID):
        keys = [("group", str(wanted))]
    else:
        keys = [("run", str(pk)) for pk in wanted]
    return f"{reverse(f'admin:evals_app_{name}')}?{urlencode([*keys, *more.items()])}"


def try_start(request: HttpRequest, suite: Suite, **choices: Any) -> Run | None:
    """Start a run with the choices of `start_run`, or show the person why it cannot start."""
    try:
        return start_run(suite, by=_person(request), **choices)
    except CannotStartError as error:
        _explain(request, error)
        return None


def _person(request: HttpRequest) -> "User | None":
    return request.user if request.user.is_authenticated else None


def _explain(request: HttpRequest, error: CannotStartError) -> None:
    for problem in error.problems:
        messages.error(request, f"The run did not start. {problem}")
    for suite in error.without_judge:
        if request.user.has_perm("evals_app.change_suite"):
            messages.info(request, judge_link(suite))


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
