"""Running several suites at once: those ticked in the list, of an agent, or with a tag."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET
from unfold.admin import ModelAdmin
from unfold.decorators import action

from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.permissions import requires
from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_choices import RunChoices
from evals_app.admin.starting.run_dialog import runs_url, size_sentence, try_start_runs
from evals_app.models import Agent, Suite
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.starting.select import RunPart

MAX_SUITES = 100


class RunSuitesForm(RunChoices):
    """Which suites to run, with the choices of each run."""

    suites = forms.ModelMultipleChoiceField(
        Suite.objects.none(),
        widget=Choices(),
        label="Suites",
        error_messages={"required": "Choose at least one suite."},
    )
    field_order = ("suites",)

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"auto_id": "run_%s"})
        self.offer(request)
        self._by = request.user.pk
        choice: Any = self.fields["suites"]
        choice.queryset = Suite.objects.current().select_related("agent").order_by("name", "slug")
        choice.label_from_instance = lambda suite: f"{suite.name} ({suite.agent.name})"

    def clean_suites(self) -> QuerySet[Suite]:
        suites: QuerySet[Suite] = self.cleaned_data["suites"]
        if len(suites) > MAX_SUITES:
            raise forms.ValidationError(f"Choose at most {MAX_SUITES} suites.")
        return suites

    def matching(self) -> list[Suite]:
        """Return the chosen suites that have a case which the filters match."""
        part = RunPart(cases=self.cleaned_data["cases"], tags=self.cleaned_data["tags"])
        return [suite for suite in self.cleaned_data["suites"] if part.has_case_of(suite)]

    def sentence(self) -> str:
        """Return the total size and price of the runs, or why none can start."""
        if not self.is_valid():
            return self.problem()
        if not (suites := self.matching()):
            return "No conversation: no case matches."
        left_out = len(self.cleaned_data["suites"]) - len(suites)
        skipped = f" {plural(left_out, 'suite')} without a matching case will not run."
        return size_sentence(suites, self, by=self._by) + (skipped if left_out else "")


_MAY_RUN = requires(*RUNNING, "evals_app.view_suite")


def _requested_choices(request: HttpRequest) -> dict[str, Any]:
    """Return the choices in an address: suites by key, or all, and tags."""
    keys = request.GET.getlist("suites")
    every = Suite.objects.current().values_list("pk", flat=True)
    return {"suites": keys or list(every), "tags": request.GET.getlist("tags")}


def _run_url(suites: QuerySet[Suite]) -> str:
    """Return the address of the page that runs these suites."""
    keys = suites.order_by("pk").values_list("pk", flat=True)[: MAX_SUITES + 1]
    query = urlencode({"suites": list(keys)}, doseq=True)
    return f"{reverse('admin:evals_app_suite_run_suites')}?{query}"


class RunsSuitesOfAgent(ModelAdmin):
    """Lets people run all suites of an agent from its page."""

    actions_detail = ["run_its_suites"]

    has_suites_permission = _MAY_RUN

    @action(
        description="Run its suites",
        icon="play_arrow",
        url_path="run-suites",
        permissions=["suites"],
    )
    def run_its_suites(self, request: HttpRequest, object_id: str) -> HttpResponse:
        agent = get_object_or_404(Agent, pk=object_id)
        suites = Suite.objects.current().filter(agent=agent)
        if not suites.exists():
            messages.warning(request, "No suite tests this agent.")
            return redirect("admin:evals_app_agent_change", agent.pk)
        return redirect(_run_url(suites))


class RunsSuites(ModelAdmin):
    """Lets people run several suites: from the list, and from the page of an agent."""

    has_run_permission = requires(*RUNNING)
    has_suites_permission = _MAY_RUN

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        size = require_GET(self.suites_size)
        return [
            path("run/", wrap(self.run_suites), name="evals_app_suite_run_suites"),
            path("run/size/", wrap(size), name="evals_app_suite_suites_size"),
            *super().get_urls(),
        ]

    @action(
        description="Run suites", icon="play_arrow", url_path="run-some", permissions=["suites"]
    )
    def run_some(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:evals_app_suite_run_suites")

    @admin.action(description="Run", permissions=["suites"])
    def run_ticked(self, request: HttpRequest, queryset: QuerySet[Suite]) -> HttpResponse:
        return redirect(_run_url(queryset))

    def run_suites(self, request: HttpRequest) -> HttpResponse:
        """Ask which suites to run, and start all of them or none."""
        if not self.has_suites_permission(request):
            raise PermissionDenied
        posted = request.method == "POST"
        form = RunSuitesForm(
            request, request.POST if posted else None, initial=_requested_choices(request)
        )
        if posted and form.is_valid():
            if suites := form.matching():
                if runs := try_start_runs(request, suites, form):
                    messages.success(request, f"{plural(len(runs), 'run')} started.")
                    return redirect(runs_url(runs))
            else:
                messages.error(request, "Nothing was started: no case matches.")
        context = self.admin_site.each_context(request) | {
            "opts": self.opts,
            "title": "Run suites",
            "form": form,
            "size_url": reverse("admin:evals_app_suite_suites_size"),
        }
        return render(request, "admin/evals_app/starting/run_suites.html", context)

    def suites_size(self, request: HttpRequest) -> HttpResponse:
        """Return the size and price of the chosen runs."""
        if not self.has_suites_permission(request):
            raise PermissionDenied
        sentence = RunSuitesForm(request, request.GET).sentence()
        return HttpResponse(sentence, content_type="text/plain")
