"""Schedules in the admin: suites that run automatically."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET
from pydantic import ValidationError
from unfold.decorators import display
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.model_choices import ModelInput
from evals_app.admin.kit.pages import may_view, person
from evals_app.admin.kit.permissions import NotesEachDeletion
from evals_app.admin.kit.presentation import agent_label, badge
from evals_app.admin.kit.spec_form import explain_errors
from evals_app.admin.people.profile import ZoneField, ZoneInput
from evals_app.admin.starting.run_choices import CeilingField
from evals_app.admin.starting.run_dialog import may_run, models_url
from evals_app.engine.specs.rhythm import Rhythm
from evals_app.models import DueRun, Schedule, Suite
from evals_app.models.people.profiles import zone_of
from evals_app.models.run_records.schedules import RHYTHM
from evals_app.runs.recorded.daily_imports import IMPORTING
from evals_app.runs.schedules import (
    last_due_runs,
    model_problem,
    next_times,
    problems_of,
    save_schedule,
)
from fixtures_app.editing.editor import Editor, VersionedForm
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.editing.times import day_and_time, moment

if TYPE_CHECKING:
    from collections.abc import Iterator

_ADDING = "evals_app.add_schedule"
_ABOUT = {name: field.description for name, field in Rhythm.model_fields.items()}


def check_rhythm(form: forms.BaseForm) -> None:
    """Note what is wrong with the time that a form has, input by input."""
    if form.errors.keys() & RHYTHM:
        return
    written = {name: form.cleaned_data.get(name, "") for name in RHYTHM}
    try:
        Rhythm.model_validate(written)
    except ValidationError as error:
        for loc, message in explain_errors(error, model=Rhythm, data=written):
            form.add_error(str(loc[0]), message)


class ScheduleForm(VersionedForm):
    """Which suites run, when and how; the time is validated by Rhythm."""

    suites = forms.ModelMultipleChoiceField(
        Suite.objects.none(),
        widget=Choices(is_short=True),
        label="Suites",
        error_messages={"required": "Choose at least one suite."},
    )
    at = forms.CharField(
        required=False,
        label="Time",
        initial="03:00",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "time"}),
    )
    time_zone = ZoneField(label="Time zone", max_length=100, widget=ZoneInput())
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
        help_text="Each run stops before it would cost more. Leave blank for no limit.",
    )

    class Meta:
        model = Schedule
        fields = (
            *("suites", "frequency", "at", "is_enabled", "name", "time_zone", "cron"),
            *("agent", "model", "trials", "max_cost_usd", "baseline"),
        )
        labels = {
            "frequency": "How often",
            "cron": "Cron expression",
            "is_enabled": "Enabled",
            "agent": "Other agent",
            "model": "Other model",
            "baseline": "Compare with",
        }
        help_texts = {
            "cron": f"Only for “{Schedule.Frequency.CRON.label}”. {_ABOUT['cron']}",
            "name": "Leave blank to name it after its time.",
            "agent": "Leave blank to test each suite's own agent.",
            "model": "Leave blank to use the agent's own.",
        }
        widgets = {"model": ModelInput()}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        if "agent" not in self.fields:  # a page that is read only
            return
        suites: Any = self.fields["suites"]
        suites.queryset = Suite.objects.current().select_related("agent").order_by("name", "slug")
        suites.label_from_instance = lambda suite: f"{suite.name} ({suite.agent.name})"
        agent: Any = self.fields["agent"]
        agent.label_from_instance = agent_label
        self.fields["at"].help_text = f"{_ABOUT['at']}"

    def clean_model(self) -> str:
        model: str = self.cleaned_data["model"]
        if problem := model_problem(model):
            raise forms.ValidationError(problem)
        return model

    def clean(self) -> dict[str, object]:
        cleaned = super().clean()
        check_rhythm(self)
        return cleaned


@admin.register(Schedule)
class ScheduleAdmin(NotesEachDeletion, Editor):
    """Schedules: people who may start runs may write them; each runs as the person who saved it last."""

    form = ScheduleForm
    change_form_template = "admin/evals_app/site/schedule.html"
    list_display = ["when", "show_suites", "next_run", "last_run", "runs_as", "state"]
    list_display_links = ["when"]
    list_select_related = ["owner"]
    search_fields = ["name", "suites__name"]
    ordering = ["-pk"]
    when_empty = "A schedule runs suites automatically, for example every night."
    fieldsets = [
        (None, {"fields": ["suites", "frequency", "at"]}),
        (
            "How its runs start",
            {
                "fields": ["agent", "model", "trials", "max_cost_usd", "baseline"],
                "classes": ["collapse"],
            },
        ),
        (
            "Name, time zone and cron expression",
            {"fields": ["name", "is_enabled", "time_zone", "cron"], "classes": ["collapse"]},
        ),
    ]

    class Media:
        css = {"all": ["evals_app/conversation/review.css"]}

    # What it starts costs money, so it also needs the right to start runs.

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and may_run(request)

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return super().has_change_permission(request, obj) and may_run(request)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return super().has_delete_permission(request, obj) and may_run(request)

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Schedule]:
        rows: QuerySet[Schedule] = super().get_queryset(request)
        return rows.prefetch_related("suites")

    @display(description="Schedule")
    def when(self, schedule: Schedule) -> str:
        return str(schedule)

    @display(description="Suites")
    def show_suites(self, schedule: Schedule) -> str:
        return ", ".join(sorted(suite.name for suite in schedule.suites.all()))

    @display(description="Next run")
    def next_run(self, schedule: Schedule) -> str:
        return moment(schedule.next_at)

    @display(description="Last run")
    def last_run(self, schedule: Schedule) -> SafeString:
        return _lines(map(_due_line, last_due_runs(schedule)))

    @display(description="Runs as")
    def runs_as(self, schedule: Schedule) -> str:
        return str(schedule.owner or "")

    @display(description="State")
    def state(self, schedule: Schedule) -> SafeString:
        if not schedule.is_enabled:
            return badge("none", word="Disabled")
        if problems := list(problems_of(schedule)):
            sign = badge("error", word="Will not start")
            return format_html("<div>{} {}</div>", sign, " ".join(problems))
        return badge("queued", word="Enabled")

    # The page

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        zone = zone_of(request.user)
        return {
            "time_zone": str(zone or timezone.get_default_timezone()),
            **super().get_changeform_initial_data(request),
        }

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        context["next_times_url"] = reverse("admin:evals_app_schedule_next_times")
        if (schedule := context.get("original")) is not None:
            last = last_due_runs(schedule)
            groups = {due.run.group for due in last if due.run and due.run.group}
            context |= {
                "problems_of_schedule": list(problems_of(schedule)) if schedule.is_enabled else [],
                "times": _next_times(schedule),
                "last": [_due_line(due) for due in last],
                "table_url": models_url(groups.pop()) if groups else "",
                "last_at": moment(
                    schedule.due_runs.order_by("-due_at").values_list("due_at", flat=True).first()
                ),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Schedule, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        save_schedule(obj, suites=form.cleaned_data["suites"], by=person(request))


@require_GET
def show_next_times(request: HttpRequest) -> HttpResponse:
    """Show when a schedule that is being edited would be due."""
    user = request.user
    if not (may_view(request, Schedule) or user.has_perm(_ADDING) or user.has_perm(IMPORTING)):
        raise PermissionDenied
    written = {name: request.GET.get(name, "").strip() for name in RHYTHM}
    context: dict[str, object] = {}
    try:
        written["time_zone"] = ZoneField(max_length=100).clean(written["time_zone"])
        rhythm = Rhythm.model_validate(written)
    except forms.ValidationError as error:
        context["problem"] = " ".join(error.messages)
    except ValidationError as error:
        context["problem"] = " ".join(
            message for _, message in explain_errors(error, model=Rhythm, data=written)
        )
    else:
        schedule = Schedule(**written)
        schedule.next_at = rhythm.next(after=timezone.now())
        context |= {"in_words": schedule.in_words, "times": _next_times(schedule)}
    return render(request, "admin/evals_app/site/schedule_times.html", context)


def _next_times(schedule: Schedule) -> list[str]:
    """Return the next times in the zone of the schedule."""
    zone = schedule.rhythm.zone if schedule.next_at else None
    return [day_and_time(at, zone) for at in next_times(schedule)]


def _due_line(due: DueRun) -> SafeString:
    """Return the result of a suite at a time when it was due."""
    if due.run is not None:
        url = reverse("admin:evals_app_run_change", args=[due.run.pk])
        return format_html(
            '{}: <a class="underlined" href="{}">{}</a>', due.suite, url, due.run.in_short
        )
    gone = "Its run was deleted." if due.state == DueRun.State.STARTED else ""
    return format_html("{}: {}. {}", due.suite, due.get_state_display(), due.why or gone)


def _lines(lines: "Iterator[SafeString]") -> SafeString:
    return format_html(
        "<div>{}</div>", format_html_join("", "<p>{}</p>", ((line,) for line in lines))
    )
