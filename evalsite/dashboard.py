"""The first page: the result of every suite, running work, and what needs attention.

Every part is a fixed number of queries, however many suites and runs there are.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.http import HttpRequest
from django.utils.safestring import SafeString
from pydantic import ValidationError

from evals_app.admin.examples import may_load_examples
from evals_app.admin.presentation import badge, run_badges, scripted_badge
from evals_app.admin.standing import standing_text
from evals_app.engine.spec import read_model
from evals_app.library.rights import Rights
from evals_app.models import Agent, Execution, Provider, Run, Suite
from evals_app.reports.coverage import COVERAGE_COLUMNS
from evals_app.reports.figures import percent
from evals_app.reports.similarity import DIFFERENTLY, is_measured_differently
from evals_app.runs.standing import rated, standing, with_last_runs
from evals_app.runs.workers import live_workers

MOST_SUITES = 100
MOST_OPEN_RUNS = 10
MOST_FAILURES = 10
TREND_RUNS = 10
TREND_SUITES = 5  # more lines cannot be distinguished

# All have a contrast of 3:1 or more on white and on Unfold's dark ground; dashes also differ.
_LINES: tuple[tuple[str, list[int]], ...] = (
    ("#a855f7", []),
    ("#0d8a72", [6, 4]),
    ("#d9480f", [2, 3]),
    ("#2f6fdb", [10, 4, 2, 4]),
    ("#d6336c", [12, 6]),
)


@dataclass(frozen=True, slots=True)
class Point:
    """The result of a suite in one of its runs."""

    run: Any

    @property
    def rate(self) -> float | None:
        rate: float | None = self.run.pass_rate
        return rate

    @property
    def shown(self) -> str:
        return percent(self.rate)


@dataclass(frozen=True, slots=True)
class SuiteLine:
    """A suite with its most recent runs, the newest last."""

    id: int
    name: str
    agent: str
    standing: SafeString
    points: tuple[Point, ...]

    @property
    def last(self) -> Point | None:
        return self.points[-1] if self.points else None

    @property
    def change(self) -> str:
        """The last pass rate compared with the previous one, in percentage points."""
        rates = [point.rate for point in self.points[-2:]]
        if len(rates) < 2:  # noqa: PLR2004 - a pair
            return "first run"
        if self.differs(self.points[-2]):
            return DIFFERENTLY
        if rates[0] is None or rates[1] is None:
            return ""  # without a verdict there is nothing to compare
        points = round(100 * (rates[1] - rates[0]), 1)
        if not points:
            return "same as before"
        return f"{abs(points):g} points {'up' if points > 0 else 'down'}"

    @property
    def is_worse(self) -> bool:
        return self.change.endswith("down")

    @property
    def is_better(self) -> bool:
        return self.change.endswith("up")

    def differs(self, point: Point) -> bool:
        """Whether that run compared texts in another way than the last one."""
        return is_measured_differently(point.run.similarity, self.points[-1].run.similarity)

    def padded(self, places: int) -> tuple[Point | None, ...]:
        """Return a place for each run of the trend, the oldest first."""
        return (None,) * (places - len(self.points)) + self.points


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add what the first page shows, limited to what the person may see."""
    user = request.user
    sees_runs = user.has_perm("evals_app.view_run")
    sees_suites = user.has_perm("evals_app.view_suite")
    suites = _suites() if sees_runs and sees_suites else []
    trend = _trend(suites)
    places = max((len(line.points) for line in trend), default=0)
    return context | {
        "title": "Dashboard",
        "suites": suites,
        "has_suites": bool(suites) or Suite.objects.exists(),
        "open_runs": _open_runs() if sees_runs else [],
        "failures": _failures() if user.has_perm("evals_app.view_execution") else [],
        "has_worker": live_workers().exists(),
        "keyless": _keyless() if user.has_perm("evals_app.view_provider") else [],
        "trend": [
            (line, [(point, bool(point and line.differs(point))) for point in line.padded(places)])
            for line in trend
        ],
        "has_other_methods": any(line.differs(point) for line in trend for point in line.points),
        "trend_heads": _heads(places),
        "trend_chart": _chart(trend, places=places),
        "trend_options": json.dumps(_OPTIONS),
        "may_write": user.has_perm("evals_app.add_suite"),
        "may_load_examples": may_load_examples(request),
        "may_import": Rights.of(user).may_import(),
    }


def _suites() -> list[SuiteLine]:
    current = with_last_runs(Suite.objects.current()).select_related("agent").order_by("name", "pk")
    suites: list[Any] = list(current.only("name", "agent__name")[:MOST_SUITES])
    whole = Run.objects.suite_verdicts().filter(suite__in=suites)
    newest = Window(RowNumber(), partition_by=F("suite"), order_by=F("pk").desc())
    wanted = whole.annotate(back=newest).filter(back__lte=TREND_RUNS).values_list("pk", flat=True)
    of_trends = set(wanted)
    last = {suite.last_run_id for suite in suites} - {None}
    rows = rated(Run.objects.filter(pk__in=of_trends | last)).order_by("pk")
    runs: dict[int, Any] = {run.pk: run for run in rows}
    points: dict[int | None, list[Point]] = {}
    for pk, run in runs.items():
        if pk in of_trends:
            points.setdefault(run.suite_id, []).append(Point(run))
    return [
        SuiteLine(
            suite.pk,
            suite.name,
            suite.agent.name,
            standing_text(standing(suite, runs)),
            tuple(points.get(suite.pk, ())),
        )
        for suite in suites
    ]


def _open_runs() -> list[dict[str, Any]]:
    rows = Run.objects.filter(status__in=Run.OPEN).defer("summary").order_by("-pk")
    return [
        {
            "run": run,
            "badges": run_badges(run),
            "percent": round(100 * run.done / run.total) if run.total else 100,
        }
        for run in rows[:MOST_OPEN_RUNS]
    ]


def _failures() -> list[dict[str, Any]]:
    failures: list[Execution] = []
    # One verdict at a time is a range of an index; both at once would sort all rows.
    for verdict in ("failed", "errored"):
        rows = Execution.objects.filter(verdict=verdict, run__is_tryout=False)
        rows = rows.select_related("run").only(
            *("pk", "case", "trial", "verdict", "reason", "finished_at", "is_scripted"),
            *(f"run__{column}" for column in ("suite_name", "is_scripted", "judge")),
            *(f"run__{column}" for column in COVERAGE_COLUMNS),
        )
        failures += rows.order_by("-pk")[:MOST_FAILURES]
    newest = sorted(failures, key=lambda row: -row.pk)[:MOST_FAILURES]
    return [
        {
            "execution": row,
            "badge": badge(row.verdict),
            "scripted": scripted_badge(row.run) if row.is_scripted else "",
        }
        for row in newest
    ]


def _keyless() -> list[dict[str, str]]:
    """Return providers that an agent uses but whose key is not set in this process."""
    used = set()
    for name in Agent.objects.exclude(model="").values_list("model", flat=True).distinct():
        with suppress(ValidationError):  # the agent's own page reports it
            used.add(read_model(name).provider)
    return [
        {"provider": provider.name, "variable": provider.key_variable}
        for provider in Provider.objects.filter(slug__in=used).order_by("name")
        if provider.has_key is False
    ]


# The trend: lines, and the same numbers as a table


def _trend(suites: Sequence[SuiteLine]) -> list[SuiteLine]:
    """Return the suites that ran most recently and more than once."""
    several = [line for line in suites if len(line.points) > 1]
    several.sort(key=lambda line: -line.points[-1].run.pk)
    return several[:TREND_SUITES]


def _heads(places: int) -> list[str]:
    return [f"{back} before" if back else "last" for back in range(places - 1, -1, -1)]


def _chart(trend: Sequence[SuiteLine], *, places: int) -> str:
    names = [line.name for line in trend]
    datasets = [
        {
            "label": f"{line.name} ({line.agent})" if names.count(line.name) > 1 else line.name,
            "data": [
                None
                if point is None or point.rate is None or line.differs(point)
                else round(100 * point.rate, 1)
                for point in line.padded(places)
            ],
            "borderColor": colour,
            "backgroundColor": colour,
            "borderDash": dash,
            "borderWidth": 2,
            "pointRadius": 3,
            "spanGaps": True,
            "clip": False,
        }
        for line, (colour, dash) in zip(trend, _LINES, strict=False)
    ]
    return json.dumps({"labels": _heads(places), "datasets": datasets})


# Text takes its colour from the theme, in review.js.
_OPTIONS = {
    "animation": False,
    "maintainAspectRatio": False,
    "plugins": {
        "legend": {
            "position": "bottom",
            "labels": {"usePointStyle": True, "pointStyle": "line"},
        },
    },
    "scales": {
        "x": {"grid": {"display": False}},
        "y": {
            "min": 0,
            "max": 100,
            "grid": {"color": "rgba(127,127,127,.25)"},
            "ticks": {"stepSize": 25},
            "title": {"display": True, "text": "cases passed, %"},
        },
    },
}
