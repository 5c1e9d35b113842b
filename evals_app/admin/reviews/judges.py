"""How each judge graded in the last months; tallies are read, not grades."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.db.models import Sum
from django.db.models.functions import TruncMonth
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from evals_app.admin.kit.charts import Chart, Series, line_chart
from evals_app.admin.kit.pages import page_context, viewers_of
from evals_app.admin.kit.permissions import AddedUp
from evals_app.admin.kit.presentation import badge
from evals_app.engine.llm.pricing import usd_text
from evals_app.models import JudgeTally, Spending
from evals_app.reports.words.figures import count
from evals_app.reports.words.judges import has_script
from evals_app.reports.words.shares import share_text
from evals_app.runs.ground.ledger import today
from evals_app.runs.judges.calibration import compared_judges

LAST_DAYS = 90
MAX_JUDGES = 50
CHART_JUDGES = 5  # more lines cannot be distinguished
_COUNTS = (
    *("graded", "passed", "failed", "not_graded", "calls", "uncounted_calls"),
    *("prompt_tokens", "response_tokens"),
)


@dataclass(slots=True)
class JudgeUsage:
    """The use of a judge in a period; the cost in USD, None if nothing was booked."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTS, 0))
    cost_usd: Decimal | None = None

    def add(self, other: "JudgeUsage") -> None:
        for name, number in other.counts.items():
            self.counts[name] += number
        if other.cost_usd is not None:
            self.cost_usd = (self.cost_usd or Decimal(0)) + other.cost_usd

    @property
    def pass_rate(self) -> float | None:
        return _share(self.counts["passed"], self.counts["failed"])

    @property
    def pass_rate_text(self) -> str:
        return share_text(self.counts["passed"], self.counts["passed"] + self.counts["failed"])

    @property
    def not_graded(self) -> str:
        missing = self.counts["not_graded"]
        return share_text(missing, missing + self.counts["graded"])

    @property
    def grades(self) -> str:
        return count(self.counts["graded"] + self.counts["not_graded"])

    @property
    def calls(self) -> str:
        return count(self.counts["calls"])

    @property
    def tokens(self) -> str:
        if self.counts["uncounted_calls"] == self.counts["calls"]:
            return "unknown"
        known = count(self.counts["prompt_tokens"] + self.counts["response_tokens"])
        return f"at least {known}" if self.counts["uncounted_calls"] else known

    @property
    def cost(self) -> str:
        return usd_text(self.cost_usd)


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None


@dataclass(slots=True)
class JudgeHistory:
    """A judge, in total and by month, the newest last.

    `compared` is the number of criteria on which it was compared with people.
    """

    model: str
    compared: int = 0
    total: JudgeUsage = field(default_factory=JudgeUsage)
    months: dict[date, JudgeUsage] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.model or "Unknown: one of several judges could not be reached"

    @property
    def label(self) -> SafeString | str:
        return badge("scripted") if has_script(self.model) else ""


admin.site.register(JudgeTally, AddedUp)


@require_GET
@viewers_of(JudgeTally)
def show_judges(request: HttpRequest) -> HttpResponse:
    """Show the judges in use."""
    judges = judges_since(today() - timedelta(days=LAST_DAYS))
    context = page_context(request, JudgeTally) | {
        "title": "Judges",
        "days": LAST_DAYS,
        "judges": judges[:MAX_JUDGES],
        "left_out": max(0, len(judges) - MAX_JUDGES),
        "chart": _chart(judges[:CHART_JUDGES]),
        "charted": min(len(judges), CHART_JUDGES),
        "sees_criteria": request.user.has_perm("evals_app.view_execution"),
    }
    return render(request, "admin/evals_app/reviews/judges.html", context)


def judges_since(first: date) -> list[JudgeHistory]:
    """Return the judges that graded since a day, those with most grades first."""
    found: dict[str, JudgeHistory] = {}
    for model, month, use in _uses(first):
        judge = found.setdefault(model, JudgeHistory(model))
        judge.total.add(use)
        judge.months.setdefault(month, JudgeUsage()).add(use)
    for judge in found.values():
        judge.months = dict(sorted(judge.months.items()))
    for model, criteria in compared_judges().items():
        if model in found:
            found[model].compared = criteria
    graded = [judge for judge in found.values() if judge.total.counts["calls"] or not judge.model]
    return sorted(graded, key=lambda judge: (-judge.total.counts["graded"], judge.model))


def _uses(first: date) -> list[tuple[str, date, JudgeUsage]]:
    """Return the usage by judge and month."""
    month = TruncMonth("day")
    tallies = JudgeTally.objects.filter(day__gte=first).values("model", month=month).order_by()
    costs = Spending.objects.filter(day__gte=first, role=Spending.Role.JUDGE).exclude(model="")
    by_month = costs.values("model", month=month).order_by().annotate(cost=Sum("spent_usd"))
    by_judge: Any = tallies.annotate(*map(Sum, _COUNTS))
    return [
        *(
            (
                row["model"],
                row["month"],
                JudgeUsage({name: row[f"{name}__sum"] for name in _COUNTS}),
            )
            for row in by_judge
        ),
        *((row["model"], row["month"], JudgeUsage(cost_usd=row["cost"])) for row in by_month),
    ]


def _chart(judges: Sequence[JudgeHistory]) -> Chart | None:
    """Draw the share that passed, month by month; None if there is only one month."""
    months = sorted({month for judge in judges for month in judge.months})
    if len(months) < 2:  # noqa: PLR2004 - one point is not a line
        return None
    series = [Series(judge.name, [_rate_in(judge, month) for month in months]) for judge in judges]
    names = [f"{month:%Y-%m}" for month in months]
    return line_chart(names, series, y="grades passed, %", is_percent=True)


def _rate_in(judge: JudgeHistory, month: date) -> float | None:
    use = judge.months.get(month)
    rate = use.pass_rate if use else None
    return None if rate is None else round(100 * rate, 1)
