"""The page on which people say where the conversations of a set come from every day."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from evals_app.admin.kit.pages import form_data, page_context, person
from evals_app.admin.people.profile import ZoneField, ZoneInput
from evals_app.admin.site.schedules import check_rhythm
from evals_app.admin.starting.run_choices import CeilingField
from evals_app.engine.basics.permits import permits
from evals_app.engine.specs.rhythm import Rhythm
from evals_app.formats.conversations.tables import MEANINGS
from evals_app.models import ConversationSet, DailyImport, Schedule, Suite
from evals_app.models.people.profiles import zone_of
from evals_app.models.run_records.schedules import RHYTHM
from evals_app.reports.answers.forecasts import in_words
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.recorded.daily_imports import (
    IMPORTING,
    CannotSaveDailyImportError,
    save_daily_import,
)
from evals_app.runs.recorded.daily_sources import permitted_folders
from evals_app.runs.recorded.grade_conversations import (
    left_out_of,
    new_of_a_day,
    plan_grading_of_new,
)
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.starting.freeze import CannotStartError

_USUAL = 100  # conversations that are graded
_VARIABLE = re.compile(r"\{\s*env:\s*(\w+)\s*\}")
_ABOUT = {name: field.description for name, field in Rhythm.model_fields.items()}
_PARTS = (
    ("Where from", ("folder", "url", "headers")),
    ("How files are read", ("is_masked", "columns")),
    ("When", ("frequency", "at", "time_zone", "cron")),
    ("Grade what is new", ("suite", "count", "max_cost_usd")),
)


class DailyImportForm(forms.Form):
    """Where files come from, how they are read, when, and by what new conversations are graded."""

    folder = forms.CharField(
        label="Folder on the server",
        required=False,
        max_length=1000,
        widget=UnfoldAdminTextInputWidget(attrs={"list": "permitted-folders"}),
    )
    url = forms.CharField(
        label="Or an address",
        required=False,
        max_length=2000,
        widget=UnfoldAdminTextInputWidget(
            attrs={"placeholder": "https://helpdesk.example.org/export.csv"}
        ),
        help_text="It answers with a file. Only what is new is asked for, if the server can tell.",
    )
    headers = forms.CharField(
        label="Headers",
        required=False,
        widget=UnfoldAdminTextareaWidget(
            attrs={"rows": 2, "placeholder": "Authorization: {env: AGENT_EXPORT_KEY}"}
        ),
    )
    is_masked = forms.BooleanField(
        label="Mask names, addresses and numbers",
        required=False,
        initial=True,
        widget=UnfoldBooleanWidget(),
        help_text="They are replaced before anything is stored, and cannot be brought back.",
    )
    columns = forms.CharField(
        label="What columns are",
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "id = Ticket"}),
        help_text=f"One a line, for tables. Others are guessed. {', '.join(MEANINGS)}.",
    )
    frequency = forms.ChoiceField(
        label="How often",
        choices=Schedule.Frequency,
        initial=Schedule.Frequency.DAILY,
        widget=UnfoldAdminSelectWidget,
    )
    at = forms.CharField(
        label="Time",
        required=False,
        initial="03:00",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "time"}),
        help_text=f"{_ABOUT['at']}",
    )
    time_zone = ZoneField(label="Time zone", max_length=100, widget=ZoneInput())
    cron = forms.CharField(
        label="Cron expression",
        required=False,
        max_length=100,
        widget=UnfoldAdminTextInputWidget,
        help_text=f"Only for “{Schedule.Frequency.CRON.label}”. {_ABOUT['cron']}",
    )
    suite = forms.ModelChoiceField(
        Suite.objects.current().order_by("name"),
        label="Suite",
        required=False,
        empty_label="Do not grade",
        widget=UnfoldAdminSelectWidget,
        help_text="Its checks for every turn and its rubric apply, as far as they need no expected"
        " answer.",
    )
    count = forms.IntegerField(
        label="How many of the new conversations",
        required=False,
        min_value=1,
        max_value=1_000_000,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="At most, each time, drawn by chance. Leave blank for all.",
    )
    max_cost_usd = CeilingField(
        required=False,
        help_text="Each time stops before it would cost more. Leave blank for no limit.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if folders := permitted_folders():
            known = f"Permitted: {', '.join(folders)}, and folders in them."
        else:
            known = "Your administrator permits no folder yet (EVALWELL_IMPORT_FOLDERS)."
        self.fields["folder"].help_text = (
            f"Files stay where they are. {known} If agents send conversations to this set, you can leave"
            " folder and address blank."
        )
        variables = ", ".join(permits().variables) or "none"
        self.fields[
            "headers"
        ].help_text = f"One a line. Keys stay in the environment. Permitted variables: {variables}."

    @property
    def parts(self) -> Iterator[tuple[str, Sequence[BoundField]]]:
        """The inputs, in parts with a title."""
        return ((title, [self[name] for name in names]) for title, names in _PARTS)

    def clean_headers(self) -> dict[str, object]:
        headers: dict[str, object] = {}
        for name, value in self._lines("headers", ":", "Authorization: {env: AGENT_EXPORT_KEY}"):
            found = _VARIABLE.fullmatch(value)
            headers[name] = {"env": found[1]} if found else value
        return headers

    def clean_columns(self) -> dict[str, str]:
        columns = {}
        for what, column in self._lines("columns", "=", "id = Ticket"):
            if what not in MEANINGS:
                raise forms.ValidationError(
                    f"A column cannot be {what[:80]!r}. It can be {', '.join(MEANINGS)}."
                )
            columns[column] = what
        return columns

    def _lines(self, name: str, sign: str, example: str) -> Iterator[tuple[str, str]]:
        for number, line in enumerate(self.cleaned_data[name].splitlines(), 1):
            what, is_there, value = (part.strip() for part in line.partition(sign))
            if not line.strip():
                continue
            if not (what and is_there and value):
                raise forms.ValidationError(f"Line {number}: write it like this: {example}")
            yield what, value

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        check_rhythm(self)
        return cleaned


@permission_required(IMPORTING, raise_exception=True)
def edit_daily_import(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask where conversations come from, and store it; it then runs as this person."""
    target = get_object_or_404(ConversationSet, pk=pk)
    row = DailyImport.objects.filter(conversation_set=target).select_related("suite").first()
    form = DailyImportForm(form_data(request), initial=_begin(request, target, row))
    if not request.user.has_perms(RUNNING):
        form.fields["suite"].help_text = "Grading takes the right to start runs."
    if form.is_valid():
        try:
            save_daily_import(target, by=person(request), **form.cleaned_data)
        except CannotSaveDailyImportError as error:
            for name, problem in error.wrong:
                form.add_error(name, problem)
        else:
            messages.success(request, "The daily import was saved.")
            return redirect("admin:evals_app_conversationset_change", pk)
    context = page_context(request, ConversationSet, target) | {
        "title": "Import every day",
        "target": target,
        "form": form,
        "folders": permitted_folders(),
        "may_grade": request.user.has_perms(RUNNING),
    }
    return render(request, "admin/evals_app/site/daily_import.html", context)


@require_POST
@permission_required((IMPORTING, *RUNNING), raise_exception=True)
def price_of_a_day(request: HttpRequest, pk: int) -> HttpResponse:
    """Return what grading the new conversations of a day would take, as a guess."""
    target = get_object_or_404(ConversationSet, pk=pk)
    form = DailyImportForm(request.POST)
    form.full_clean()
    suite = form.cleaned_data.get("suite")
    context = _price(target, suite, form, request.user) if suite else {}
    return render(request, "admin/evals_app/site/daily_price.html", context)


def _price(
    target: ConversationSet, suite: Suite, form: DailyImportForm, user: Any
) -> dict[str, object]:
    limit, a_day = form.cleaned_data.get("max_cost_usd"), new_of_a_day(target)
    count = form.cleaned_data.get("count") or a_day
    if count is None:
        return {"problems": ["The price is unknown: how many will come on a day is unknown."]}
    how = {"by": user.pk, "max_cost_usd": limit}
    try:
        with plan_grading_of_new(target, suite, count, **how) as plan:
            sentence = in_words(
                forecast_regrade(plan), max_cost_usd=limit, month_left_usd=month_left(user.pk)
            )
            read = len(plan.planned)
            head = plan.head.suite
    except CannotStartError as error:
        return {"problems": error.problems}
    return {
        "sentence": sentence,
        "is_most": form.cleaned_data.get("count"),
        "a_day": a_day,
        "read": read,
        "checks": [check.label for check in head.assertions],
        "has_rubric": head.rubric_check is not None,
        "unused": plan.unused,
        "left_out": left_out_of([plan]),
    }


def _begin(
    request: HttpRequest, target: ConversationSet, row: DailyImport | None
) -> dict[str, object]:
    """Return what the form begins with: what is stored, else how the last file was read."""
    if row is None:
        last = target.imports.order_by("-pk").first()
        zone = zone_of(request.user) or timezone.get_default_timezone()
        begin = {"time_zone": str(zone), "count": _USUAL}
        return begin | {"columns": _column_lines(last.columns) if last else ""}
    names = (*RHYTHM, "folder", "url", "is_masked", "suite", "count")
    limit = row.max_cost_usd
    headers = (
        f"{name}: {{env: {value['env']}}}" if isinstance(value, dict) else f"{name}: {value}"
        for name, value in row.headers.items()
    )
    return {name: getattr(row, name) for name in names} | {
        "max_cost_usd": None if limit is None else f"{limit:f}".rstrip("0").rstrip("."),
        "headers": "\n".join(headers),
        "columns": _column_lines(row.columns),
    }


def _column_lines(columns: dict[str, str]) -> str:
    return "\n".join(f"{what} = {column}" for column, what in columns.items() if what)
