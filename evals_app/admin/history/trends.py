"""How the results of suites change from run to run: a chart, and the same numbers as a table.

A fixed number of queries, however many suites and runs there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, When, Window
from django.db.models.functions import RowNumber
from django.utils.safestring import SafeString

from evals_app.admin.history.suite_verdict import standing_text
from evals_app.admin.kit.charts import Chart, Series, line_chart, sparkline
from evals_app.admin.kit.presentation import plural, run_badges
from evals_app.models import Agent, Run, Suite
from evals_app.models import Case as SuiteCase
from evals_app.reports.answers.decided import share_with_people
from evals_app.reports.words.changes import ChangedCases
from evals_app.reports.words.figures import score_text
from evals_app.reports.words.similarity import DIFFERENTLY, is_measured_differently
from evals_app.runs.reading.suite_verdict import (
    case_changes,
    standing,
    with_last_runs,
    with_pass_rates,
)

MAX_SUITES = 100
TREND_RUNS = 10
SUITE_TREND_RUNS = 20
MIN_CHART = 5  # runs; fewer are a line of words
TREND_SUITES = 5  # more lines cannot be distinguished


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The result of a suite in one of its runs."""

    run: Any

    @property
    def rate(self) -> float | None:
        rate: float | None = self.run.pass_rate
        return rate

    @property
    def result_text(self) -> str:
        return share_with_people(vars(self.run), self.run.reviewed)

    @property
    def score_shown(self) -> str:
        return score_text(self.run.score, scale=self.run.score_scale)

    @property
    def badges(self) -> SafeString:
        return run_badges(self.run)

    def has_other_cases(self, before: "TrendPoint") -> bool:
        """Whether cases were edited, added or removed since another run; False if that is unknown."""
        digests = {self.run.cases_digest, before.run.cases_digest}
        return None not in digests and len(digests) > 1

    def differs_from(self, last: "TrendPoint") -> bool:
        """Whether the run compared texts in another way than the last one."""
        return is_measured_differently(self.run.similarity, last.run.similarity)


def _runs_with_edits(points: Sequence[TrendPoint]) -> frozenset[int]:
    """Return the keys of runs whose cases differ from those of the run before; the oldest is first."""
    return frozenset(
        point.run.pk for before, point in pairwise(points) if point.has_other_cases(before)
    )


@dataclass(frozen=True, slots=True)
class SuiteLine:
    """A suite with its most recent runs, the newest last."""

    id: int
    name: str
    description: str
    agent: str
    standing: SafeString
    points: tuple[TrendPoint, ...]
    cases: str = ""  # how many it has
    open_runs: tuple[Run, ...] = ()
    changes: ChangedCases | None = None  # from the previous run to the last one

    @property
    def last(self) -> TrendPoint | None:
        return self.points[-1] if self.points else None

    @property
    def change(self) -> str:
        """The difference between the last two runs, over the cases that both have."""
        if len(self.points) < 2:  # noqa: PLR2004 - a pair
            return "first run"
        if self.differs(self.points[-2]):
            return DIFFERENTLY
        return self.changes.in_short if self.changes else ""

    @property
    def previous(self) -> TrendPoint | None:
        """The run before the last one, if it compared texts in the same way."""
        is_known = len(self.points) > 1 and not self.differs(self.points[-2])
        return self.points[-2] if is_known else None

    @property
    def sparkline(self) -> SafeString | str:
        """The pass rates of its runs as a small line, and in words for screen readers."""
        shown = [p for p in self.points if p.rate is not None and not self.differs(p)]
        edited = _runs_with_edits(shown)
        breaks = [place for place, point in enumerate(shown) if point.run.pk in edited]
        return sparkline([point.rate or 0.0 for point in shown], breaks=breaks)

    @property
    def edited_runs(self) -> frozenset[int]:
        """The keys of its runs whose cases differ from those of the run before."""
        return _runs_with_edits(self.points)

    @property
    def is_worse(self) -> bool:
        return bool(self.changes and (self.changes.worse or self.changes.points < 0))

    @property
    def is_better(self) -> bool:
        return bool(self.changes and self.changes.points > 0 and not self.changes.worse)

    def differs(self, point: TrendPoint) -> bool:
        """Whether that run compared texts in another way than the last one."""
        return point.differs_from(self.points[-1])

    def padded_points(self, places: int) -> tuple[TrendPoint | None, ...]:
        """Return a place for each run of the trend, the oldest first."""
        return (None,) * (places - len(self.points)) + self.points


@dataclass(frozen=True, slots=True)
class Trend:
    """Several suites over their last runs: `rows` has a place for each run, the oldest first."""

    heads: Sequence[str]
    rows: Sequence[tuple[SuiteLine, Sequence[tuple[TrendPoint | None, bool]]]]
    chart: Chart

    @property
    def has_other_methods(self) -> bool:
        """Whether some runs are left out of the chart because they compared texts differently."""
        return any(differs for _, points in self.rows for _, differs in points)

    @property
    def has_edits(self) -> bool:
        """Whether the cases of a suite changed from one of the runs to the next."""
        return any(line.edited_runs for line, _ in self.rows)


def suites_of(agent: Agent) -> list[SuiteLine]:
    """Return the suites of an agent with their last runs, what runs now, and how many cases they have."""
    is_open = Q(status__in=Run.OPEN, suite__agent=agent)
    lines, open_runs = lines_next_to(Suite.objects.current().filter(agent=agent), is_open)
    cases = SuiteCase.objects.filter(suite__in=[line.id for line in lines]).order_by()
    disabled = Count("pk", filter=Q(enabled=False))
    counts = {
        suite: plural(total, "case") + (f", {off:,} disabled" if off else "")
        for suite, total, off in cases.values_list("suite").annotate(
            total=Count("pk"), off=disabled
        )
    }
    return [
        replace(
            line,
            cases=counts.get(line.id, plural(0, "case")),
            open_runs=tuple(run for run in open_runs if run.suite_id == line.id),
        )
        for line in lines
    ]


def lines_next_to(suites: QuerySet[Suite], others: Q) -> tuple[list[SuiteLine], list[Run]]:
    """Return suites with their last runs, by name, and other runs from the same query."""
    current = with_last_runs(suites).select_related("agent").order_by("name", "pk")
    shown: list[Any] = list(current.only("name", "description", "agent__name")[:MAX_SUITES])
    whole = Run.objects.suite_verdicts().filter(suite__in=shown)
    newest = Window(RowNumber(), partition_by=F("suite"), order_by=F("pk").desc())
    wanted = whole.annotate(back=newest).filter(back__lte=TREND_RUNS).values_list("pk", flat=True)
    of_trends = set(wanted)
    last = {suite.last_run_id for suite in shown} - {None}
    beside = Case(When(others, then=True), default=False)
    rows = with_pass_rates(Run.objects.filter(Q(pk__in=of_trends | last) | others)).order_by("pk")
    runs: dict[int, Any] = {run.pk: run for run in rows.annotate(is_beside=beside)}
    points: dict[int | None, list[TrendPoint]] = {}
    for pk, run in runs.items():
        if pk in of_trends:
            points.setdefault(run.suite_id, []).append(TrendPoint(run))
    lines = [
        SuiteLine(
            suite.pk,
            suite.name,
            suite.description,
            suite.agent.name,
            standing_text(standing(suite, runs)),
            tuple(points.get(suite.pk, ())),
        )
        for suite in shown
    ]
    return _with_changes(lines), [run for run in runs.values() if run.is_beside]


def _with_changes(lines: Sequence[SuiteLine]) -> list[SuiteLine]:
    """Compare the last run of each suite with the one before."""
    pairs = {line.id: (line.previous.run, line.points[-1].run) for line in lines if line.previous}
    changes = case_changes(pairs.values())
    return [
        replace(line, changes=changes[pairs[line.id][1].pk]) if line.id in pairs else line
        for line in lines
    ]


def trend_of(suites: Sequence[SuiteLine]) -> Trend | None:
    """Return the trend of the suites that ran most recently and more than once, or None."""
    several = [line for line in suites if len(line.points) > 1]
    several.sort(key=lambda line: -line.points[-1].run.pk)
    lines = several[:TREND_SUITES]
    places = max((len(line.points) for line in lines), default=0)
    if not lines:
        return None
    rows = [
        (
            line,
            [(point, bool(point and line.differs(point))) for point in line.padded_points(places)],
        )
        for line in lines
    ]
    return Trend(_heads(places), rows, _chart(lines, places=places))


@dataclass(frozen=True, slots=True)
class SuiteTrend:
    """The last whole runs of a suite, the newest first; `chart` begins with the oldest.

    `left_out` counts those that compared texts in another way than the last one; `changes` has by run
    what changed since the one before, over the cases that both have unchanged.
    """

    points: Sequence[TrendPoint]
    left_out: int
    changes: Mapping[int, ChangedCases]
    chart: Chart | None

    @property
    def shares(self) -> str:
        """The shares of passed cases, the oldest first."""
        return ", ".join(point.result_text for point in reversed(self.points))

    @property
    def has_edits(self) -> bool:
        return any(changes.edits for changes in self.changes.values())


def suite_trend(suite: Suite) -> SuiteTrend | None:
    """Return how a suite did over its last whole runs; None if there is none."""
    whole = Run.objects.suite_verdicts().filter(suite=suite)
    last = [TrendPoint(run) for run in with_pass_rates(whole).order_by("-pk")[:SUITE_TREND_RUNS]]
    points = [point for point in last if not point.differs_from(last[0])]
    if not points:
        return None
    oldest_first = points[::-1]
    pairs = [(before.run, point.run) for before, point in pairwise(oldest_first)]
    changes = case_changes(pairs)
    has_chart = len(points) >= MIN_CHART
    chart = _suite_chart(oldest_first, changes) if has_chart else None
    return SuiteTrend(points, len(last) - len(points), changes, chart)


def _suite_chart(points: Sequence[TrendPoint], changes: Mapping[int, ChangedCases]) -> Chart:
    """Draw the runs, the oldest first, with a mark where cases were edited, added or removed."""
    edits = [changes[point.run.pk].edits if point.run.pk in changes else "" for point in points]
    return line_chart(
        [f"run {point.run.pk}" for point in points],
        [
            Series("Cases passed", [_in_percent(point.rate) for point in points]),
            Series("Score", [_in_percent(point.run.score) for point in points]),
        ],
        y="%",
        is_percent=True,
        marks={place: words for place, words in enumerate(edits) if words},
        marked="other cases than in the run before",
    )


def _in_percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


def _heads(places: int) -> list[str]:
    return [f"{back} before" if back else "last" for back in range(places - 1, -1, -1)]


def _chart(trend: Sequence[SuiteLine], *, places: int) -> Chart:
    names = [line.name for line in trend]
    series = [
        Series(
            f"{line.name} ({line.agent})" if names.count(line.name) > 1 else line.name,
            [
                None if point is None or line.differs(point) else _in_percent(point.rate)
                for point in line.padded_points(places)
            ],
        )
        for line in trend
    ]
    return line_chart(_heads(places), series, y="cases passed, %", is_percent=True)
