"""How the results of suites change from run to run: a chart, and the same numbers as a table.

A fixed number of queries, however many suites and runs there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from django.db.models import Case, F, Q, QuerySet, When, Window
from django.db.models.functions import RowNumber
from django.utils.safestring import SafeString

from evals_app.admin.kit.charts import MIN_CHART, Chart, Series, line_chart, sparkline
from evals_app.admin.kit.presentation import plural, run_badges
from evals_app.models import Agent, Run, Suite
from evals_app.models import Case as SuiteCase
from evals_app.reports.answers.decided import share_with_people
from evals_app.reports.words.changes import ChangedCases
from evals_app.reports.words.figures import score_text
from evals_app.reports.words.shares import share_text
from evals_app.reports.words.similarity import is_measured_differently
from evals_app.runs.reading.suite_verdict import (
    PassedOf,
    SuiteVerdict,
    case_changes,
    same_cases,
    standing,
    with_last_runs,
    with_pass_rates,
)
from evals_app.runs.release import Candidate, SuiteRelease, never_run, releases_of
from fixtures_app.editing.counting import count_of

MAX_SUITES = 100
TREND_RUNS = 10
SUITE_TREND_RUNS = 20
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

    @property
    def why_different(self) -> str:
        """How it was measured, where that differs from the last run."""
        texts = self.run.compared_by
        user = (
            "A model played the user" if self.run.is_simulated else "The user's words were written"
        )
        return f"{user}. Texts were compared by {texts}." if texts else f"{user}."

    def has_other_cases(self, before: "TrendPoint") -> bool:
        """Whether cases were edited, added or removed since another run; False if that is unknown."""
        digests = {self.run.cases_digest, before.run.cases_digest}
        return None not in digests and len(digests) > 1

    def differs_from(self, last: "TrendPoint") -> bool:
        """Whether the run compared texts in another way than the last one, or only one is simulated."""
        return self.run.is_simulated != last.run.is_simulated or is_measured_differently(
            self.run.similarity, last.run.similarity
        )


def _runs_with_edits(points: Sequence[TrendPoint]) -> frozenset[int]:
    """Return the keys of runs whose cases differ from those of the run before; the oldest is first."""
    return frozenset(
        point.run.pk for before, point in pairwise(points) if point.has_other_cases(before)
    )


def _sparkline(points: Sequence[TrendPoint]) -> SafeString | str:
    """Return the pass rates of runs as a small line, the oldest first."""
    edited = _runs_with_edits(points)
    breaks = [place for place, point in enumerate(points) if point.run.pk in edited]
    return sparkline([point.rate or 0.0 for point in points], breaks=breaks)


@dataclass(frozen=True, slots=True)
class SuiteLine:
    """A suite with its last full runs, the newest last, and whether it may be shipped.

    `changes` are those from the previous full run to the last one.
    """

    suite: Suite
    standing: SuiteVerdict
    points: tuple[TrendPoint, ...]
    release: SuiteRelease
    cases: int | None = None  # enabled ones, where no run says it
    open_runs: tuple[Run, ...] = ()
    changes: ChangedCases | None = None

    @property
    def id(self) -> int:
        return self.suite.pk

    @property
    def name(self) -> str:
        return self.suite.name

    @property
    def agent(self) -> str:
        return self.suite.agent.name

    @property
    def last(self) -> TrendPoint | None:
        return self.points[-1] if self.points else None

    @property
    def previous(self) -> TrendPoint | None:
        """The run before the last one, if it was measured in the same way."""
        is_known = len(self.points) > 1 and not self.differs(self.points[-2])
        return self.points[-2] if is_known else None

    @property
    def sparkline(self) -> SafeString | str:
        """The pass rates of its runs as a small line, and in words for screen readers."""
        shown = [p for p in self.points if p.rate is not None and not self.differs(p)]
        return _sparkline(shown)

    @property
    def edited_runs(self) -> frozenset[int]:
        """The keys of its runs whose cases differ from those of the run before."""
        return _runs_with_edits(self.points)

    def differs(self, point: TrendPoint) -> bool:
        """Whether that run was measured in another way than the last one."""
        return point.differs_from(self.points[-1])

    def padded_points(self, places: int) -> tuple[TrendPoint | None, ...]:
        """Return a place for each run of the trend, the oldest first."""
        return (None,) * (places - len(self.points)) + self.points


@dataclass(frozen=True, slots=True)
class Trend:
    """Several suites over their last runs: `rows` has a place for each run, the oldest first."""

    heads: Sequence[str]
    rows: Sequence[tuple[SuiteLine, Sequence[tuple[TrendPoint | None, bool]]]]
    chart: Chart | None  # None for a few runs

    @property
    def has_other_methods(self) -> bool:
        """Whether some runs are left out of the chart because they were measured differently."""
        return any(differs for _, points in self.rows for _, differs in points)

    @property
    def has_edits(self) -> bool:
        """Whether the cases of a suite changed from one of the runs to the next."""
        return any(line.edited_runs for line, _ in self.rows)


def suites_of(agent: Agent) -> list[SuiteLine]:
    """Return the suites of an agent with their last runs, and what runs now."""
    is_open = Q(status__in=Run.OPEN, suite__agent=agent)
    lines, _ = lines_next_to(Suite.objects.current().filter(agent=agent), is_open)
    return lines


def lines_next_to(suites: QuerySet[Suite], others: Q) -> tuple[list[SuiteLine], list[Run]]:
    """Return suites with their last runs, by name, and other runs from the same query."""
    current = with_last_runs(suites).select_related("agent").order_by("name", "pk")
    enabled = count_of(SuiteCase.objects.filter(enabled=True), "suite")
    current = current.annotate(cases_to_run=Case(When(verdict_run_id=None, then=enabled)))
    shown: list[Any] = list(current.only(*_SHOWN)[:MAX_SUITES])
    whole = Run.objects.suite_verdicts().filter(suite__in=shown)
    newest = Window(RowNumber(), partition_by=F("suite"), order_by=F("pk").desc())
    last = whole.annotate(back=newest).filter(back__lte=TREND_RUNS).values("pk")
    named = {key for suite in shown for key in (suite.last_run_id, suite.baseline_id)} - {None}
    beside = Case(When(others, then=True), default=False)
    rows = with_pass_rates(Run.objects.filter(Q(pk__in=last) | Q(pk__in=named) | others))
    found = rows.annotate(is_beside=beside).order_by("pk")
    runs: dict[int, Any] = {run.pk: run for run in found}
    points: dict[int | None, list[TrendPoint]] = {}
    for run in runs.values():
        if run.sets_verdict:
            points.setdefault(run.suite_id, []).append(TrendPoint(run))
    open_runs = [run for run in runs.values() if run.is_beside]
    releases = _releases(shown, runs)
    lines = [
        SuiteLine(
            suite,
            standing(suite, runs),
            tuple(points.get(suite.pk, ())[-TREND_RUNS:]),
            releases[suite.pk],
            suite.cases_to_run,
            tuple(run for run in open_runs if run.suite_id == suite.pk),
        )
        for suite in shown
    ]
    return _with_changes(lines), open_runs


# What answers and lists need of suites.
_SHOWN = (
    *("slug", "name", "score_scale", "run_rule", "max_regressions", "min_judge_agreement"),
    *("baseline", "agent__name", "agent__updated_at"),
)


def _releases(suites: Sequence[Any], runs: Mapping[int, Run]) -> dict[int, SuiteRelease]:
    """Answer about suites loaded `with_last_runs`, from their loaded runs."""
    tested = {suite.pk: runs.get(suite.verdict_run_id or suite.last_run_id) for suite in suites}
    candidates = [
        Candidate(suite, run, runs.get(suite.baseline_id))
        for suite in suites
        if (run := tested[suite.pk]) is not None
    ]
    return {suite.pk: never_run(suite) for suite in suites} | releases_of(candidates)


def _with_changes(lines: Sequence[SuiteLine]) -> list[SuiteLine]:
    """Compare the last run with the one before, of suites that are not compared with a released version."""
    pairs = {
        line.id: (line.previous.run, line.points[-1].run)
        for line in lines
        if line.previous and line.release.base is None
    }
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
    chart = _chart(lines, places=places) if places >= MIN_CHART else None
    return Trend(_heads(places), rows, chart)


@dataclass(frozen=True, slots=True)
class SuiteTrend:
    """The last full runs of a suite, the newest first; `chart` begins with the oldest.

    `left_out` counts those that were measured in another way than the last one; `changes` has by run
    what changed since the one before, over the cases that both have unchanged. `same` has by run how
    many passed of the cases that are the same in all of them; it is empty if all cases are.
    """

    points: Sequence[TrendPoint]
    left_out: int
    changes: Mapping[int, ChangedCases]
    same: Mapping[int, PassedOf]

    @property
    def chart(self) -> Chart | None:
        """The runs as lines, with a mark where cases were edited, added or removed; None for a few."""
        return _suite_chart(self) if len(self.points) >= MIN_CHART else None

    @property
    def sparkline(self) -> SafeString | str:
        """The pass rates as a small line."""
        return _sparkline([point for point in self.points[::-1] if point.rate is not None])

    @property
    def shares(self) -> str:
        """The shares of passed cases, the oldest first."""
        return ", ".join(point.result_text for point in reversed(self.points))

    @property
    def has_edits(self) -> bool:
        return bool(self.same)

    @property
    def same_count(self) -> int:
        """How many cases are the same in all of the runs."""
        return next((counts.of for counts in self.same.values()), 0)

    def same_text(self, run: int) -> str:
        """Return the share that passed of the cases that are the same in all runs; it may be empty."""
        counts = self.same.get(run)
        return share_text(*counts) if counts and counts.of else ""

    @property
    def same_shares(self) -> str:
        """The shares of the cases that are the same in all runs, the oldest first."""
        return ", ".join(self.same_text(point.run.pk) for point in reversed(self.points))


def suite_trend(suite: Suite) -> SuiteTrend | None:
    """Return how a suite did over its last full runs; None if there is none."""
    whole = Run.objects.suite_verdicts().filter(suite=suite)
    last = [TrendPoint(run) for run in with_pass_rates(whole).order_by("-pk")[:SUITE_TREND_RUNS]]
    points = [point for point in last if not point.differs_from(last[0])]
    if not points:
        return None
    oldest_first = [point.run for point in points[::-1]]
    changes = case_changes(pairwise(oldest_first))
    has_edits = any(changed.edits for changed in changes.values())
    same = same_cases(oldest_first) if has_edits else {}
    return SuiteTrend(points, len(last) - len(points), changes, same)


def _suite_chart(trend: SuiteTrend) -> Chart:
    points = trend.points[::-1]
    edits = [trend.changes[pk].edits if pk in trend.changes else "" for pk in map(_key, points)]
    series = [
        Series("Cases passed", [_in_percent(point.rate) for point in points]),
        Series("Score", [_in_percent(point.run.score) for point in points]),
    ]
    if count := trend.same_count:
        shares = [_in_percent(trend.same[pk].passed / count) for pk in map(_key, points)]
        series.insert(1, Series(f"Passed of the {plural(count, 'case')} in all of them", shares))
    return line_chart(
        [f"run {point.run.pk}" for point in points],
        series,
        y="%",
        is_percent=True,
        marks={place: words for place, words in enumerate(edits) if words},
        marked="other cases than in the run before",
    )


def _key(point: TrendPoint) -> int:
    key: int = point.run.pk
    return key


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
