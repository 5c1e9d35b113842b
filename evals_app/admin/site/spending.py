"""What was spent in a month, and the monthly ceilings."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.formats import date_format
from django.views.decorators.http import require_GET
from unfold.decorators import display
from unfold.views import ChangeList

from evals_app.admin.kit.charts import MIN_CHART, Chart, Series, line_chart
from evals_app.admin.kit.pages import page_context, person, viewers_of
from evals_app.admin.kit.permissions import AddedUp, NotesEachDeletion
from evals_app.admin.starting.run_choices import CeilingField
from evals_app.engine.llm.pricing import usd_text
from evals_app.models import MonthlyCeiling, Spending
from evals_app.reports.answers.spending import By, SpentAmount, total_of
from evals_app.runs.ground.ledger import today
from evals_app.runs.money.ceilings import MonthlyLimit, ceilings_for, limits_of
from evals_app.runs.money.spending import (
    each_day,
    month_text,
    months,
    read_month,
    sees_all,
    spending,
)

MAX_ROWS = 100  # of each table
MAX_MONTHS = 60  # to choose from
_HEADS: dict[By, str] = {"agent": "Agent", "model": "Model", "person": "Person"}


admin.site.register(Spending, AddedUp)


@require_GET
@viewers_of(Spending)
def show_spending(request: HttpRequest) -> HttpResponse:
    """Show the ledger of a month."""
    reader = person(request)
    try:
        first = read_month(request.GET.get("month", ""))
    except ValueError as error:
        messages.error(request, str(error))
        first = read_month("")
    days = spending(first, by="day", reader=reader)
    is_now = first == today().replace(day=1)
    limits = list(limits_of(list(ceilings_for(reader.pk)))) if is_now else []
    context = page_context(request, Spending) | {
        "title": "Spending",
        "month": first,
        "month_text": month_text(first),
        "months": [(month_text(month), month) for month in _months(first)],
        "is_own": not sees_all(reader),
        "total": _amounts(total_of(days)),
        "limits": [(limit.ceiling.label, _of_limit(limit)) for limit in limits],
        "days": [{**_amounts(row), "name": _day(row.key)} for row in days],
        "chart": _chart(first, days),
        "tables": [
            (head, *_table(spending(first, by=by, reader=reader))) for by, head in _HEADS.items()
        ],
    }
    return render(request, "admin/evals_app/site/spending.html", context)


def _months(shown: date) -> list[date]:
    """Return the months to choose from, the one on the page included."""
    return sorted({*months()[:MAX_MONTHS], shown}, reverse=True)


def _amounts(row: SpentAmount) -> dict[str, str]:
    return {
        "name": row.name,
        "spent": usd_text(row.spent_usd),
        "agent": usd_text(row.agent_usd),
        "judge": usd_text(row.judge_usd),
        "unknown": usd_text(row.unknown_usd) if row.unknown_usd else "",
        "unsettled": usd_text(row.unsettled_usd) if row.unsettled_usd else "",
    }


def _day(text: str) -> str:
    return date_format(date.fromisoformat(text))


def _table(rows: Sequence[SpentAmount]) -> tuple[list[dict[str, str]], int]:
    """Return the rows to show, and the number of others, which are added up in one row."""
    shown, more = list(rows[:MAX_ROWS]), rows[MAX_ROWS:]
    if more:
        rest = total_of(list(more))
        rest.name = f"{len(more):,} more"
        shown.append(rest)
    return [_amounts(row) for row in shown], len(more)


def _of_limit(limit: MonthlyLimit) -> str:
    left = usd_text(limit.left_usd)
    return f"{usd_text(limit.max_usd)}, {left} left" if limit.left_usd else "used up"


def _chart(first: date, days: Sequence[SpentAmount]) -> Chart | None:
    """Return the chart of a month, from the first day on which something was spent; None for few days."""
    by_day = {row.key: row for row in days}
    sides = {"Agents": "agent_usd", "Judges": "judge_usd", "Unknown": "unknown_usd"}
    begun = min(by_day, default="")
    labels = [day for day in map(str, each_day(first)) if day >= begun]
    if len(labels) < MIN_CHART:
        return None
    series = [
        Series(name, [float(getattr(by_day.get(day), side, 0)) for day in labels])
        for name, side in sides.items()
        if side != "unknown_usd" or any(row.unknown_usd for row in days)
    ]
    return line_chart([str(int(label[-2:])) for label in labels], series, x="day", y="USD")


class CeilingForm(forms.ModelForm):
    """Whose ceiling, and how much."""

    max_usd = CeilingField(
        help_text="Calls that could exceed it are not made. Months begin on the first day, UTC."
    )

    class Meta:
        model = MonthlyCeiling
        fields = ("person", "max_usd")
        labels = {"person": "Person"}
        help_texts = {
            "person": "Counts the runs that this person starts. Leave blank for the site."
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "person" in self.fields:  # read-only pages have no fields
            person: Any = self.fields["person"]
            person.empty_label = "The whole site"
            self.fields["max_usd"].label = "Ceiling per month (USD)"


@admin.register(MonthlyCeiling)
class MonthlyCeilingAdmin(NotesEachDeletion):
    """The most that the site, or a person, may spend in a month."""

    form = CeilingForm
    list_display = ["scope", "ceiling", "month_spent", "month_left"]
    list_display_links = ["scope"]
    list_select_related = ["person"]
    ordering = ["pk"]
    list_per_page = 50
    when_empty = (
        "A monthly ceiling limits what all runs together may spend: those of the whole site, or "
        "those of one person."
    )

    # It shows names of people, so it also needs the right to see them.

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return super().has_view_permission(request, obj) and _may_see_people(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and _may_see_people(request)

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return super().has_change_permission(request, obj) and _may_see_people(request)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_see_people(request)

    @display(description="For")
    def scope(self, ceiling: MonthlyCeiling) -> str:
        return str(ceiling.person or "The whole site")

    @display(description="Ceiling per month")
    def ceiling(self, ceiling: MonthlyCeiling) -> str:
        return usd_text(ceiling.max_usd)

    @display(description="Spent this month")
    def month_spent(self, ceiling: Any) -> str:
        return usd_text(ceiling.limit.spent_usd)

    @display(description="Left")
    def month_left(self, ceiling: Any) -> str:
        return usd_text(ceiling.limit.left_usd)

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        return CeilingList


def _may_see_people(request: HttpRequest) -> bool:
    return request.user.has_perm("auth.view_user")


class CeilingList(ChangeList):
    """A page of the list, with what counts towards its ceilings."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        for ceiling, limit in zip(self.result_list, limits_of(self.result_list), strict=True):
            ceiling.limit = limit
