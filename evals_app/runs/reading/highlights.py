"""What is worth a look in a suite's last runs: flaky or expensive cases, checks that never failed.

Only as many runs are read as a page can wait for; of a single run that is too large, the first
part.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

from django.db.models import Avg, Count, F, Max, Min, Q, QuerySet

from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Verdict
from evals_app.formats.snapshots.snapshot_differences import (
    SnapshotPart,
    UnreadableSnapshotError,
    snapshot_differences,
)
from evals_app.models import CaseResult, Execution, GradeResult, Run, Snapshot, Suite

MAX_RUNS = 10
MAX_EXECUTIONS = 20_000
MAX_RESULTS = 30_000  # of cases; they are smaller
SHOWN = 10  # of each list
MIN_GRADES = 5  # fewer prove nothing about a check

_CANDIDATES = 100  # cases whose verdict changes are counted
_DECIDED = (Verdict.PASSED, Verdict.FAILED)


@dataclass(frozen=True, slots=True)
class RunSpan:
    """The runs that are looked at, the newest first; `most` of the last one alone if it is larger."""

    runs: Sequence[Run]
    most: int | None = None

    @property
    def ids(self) -> list[int]:
        return [run.pk for run in self.runs]


@dataclass(frozen=True, slots=True)
class FlakyCase:
    """A case whose verdict changes although no one edits it."""

    name: str
    runs: int  # that decided it
    passed: int
    changes: int  # of its verdict, from run to run
    mixed: int  # runs in which some trials passed and some failed


@dataclass(frozen=True, slots=True)
class Costly:
    """A case that takes much time or money: on average over its conversations, and at most."""

    name: str
    average: float
    highest: float
    execution: int  # the one that took the most


@dataclass(frozen=True, slots=True)
class SureCheck:
    """A check that never failed; `case` is one of those that have it."""

    type: str
    label: str
    graded: int
    case: str
    has_more_cases: bool


@dataclass(frozen=True, slots=True)
class Notable:
    """The lists, each with the runs that it is about."""

    span: RunSpan
    flaky_span: RunSpan
    flaky: Sequence[FlakyCase]
    sure: Sequence[SureCheck]
    slowest: Sequence[Costly]
    costliest: Sequence[Costly]


def notable(suite: Suite) -> Notable | None:
    """Return what is worth a look in a suite; None if it has not run as a whole yet."""
    # A run that grades again asks no agent.
    whole = Run.objects.suite_verdicts().filter(suite=suite, grades_of=None)
    runs = list(whole.defer("summary").order_by("-pk")[:MAX_RUNS])
    alike = tuple(run for run in runs if run.is_simulated == runs[0].is_simulated)
    return _notable(alike, tuple(run.finished_at for run in alike)) if runs else None


@lru_cache(maxsize=200)  # results of runs that have ended do not change, and are many
def _notable(runs: Sequence[Run], _: Sequence[datetime | None]) -> Notable:
    """Return what is worth a look in runs; they end at another time if they went on."""
    span = _span(runs, [run.total for run in runs], MAX_EXECUTIONS)
    flaky_span = _span(runs, [run.case_count or run.total for run in runs], MAX_RESULTS)
    decided = Execution.objects.filter(_in_span(span), verdict__in=_DECIDED)
    slowest, costliest = (
        _costliest_cases(decided, column) for column in ("time_ms", "agent_cost_usd")
    )
    most = _costliest_executions(span, {name for name, _, _ in [*slowest, *costliest]})
    return Notable(
        span=span,
        flaky_span=flaky_span,
        flaky=_flaky_cases(flaky_span),
        sure=_sure_checks(span),
        slowest=[Costly(*row, most["time_ms", row[0]]) for row in slowest],
        costliest=[Costly(*row, most["agent_cost_usd", row[0]]) for row in costliest],
    )


def _span(runs: Sequence[Run], sizes: Sequence[int], most: int) -> RunSpan:
    if sizes[0] > most:
        return RunSpan(runs[:1], most)
    taken = 0
    while taken < len(runs) and sum(sizes[: taken + 1]) <= most:
        taken += 1
    return RunSpan(runs[:taken])


def _in_span(span: RunSpan, prefix: str = "") -> Q:
    """Find the executions of a span, or what belongs to them."""
    if span.most is None:
        return Q(**{f"{prefix}run__in": span.ids})
    rows = Execution.objects.filter(run__in=span.ids).order_by("position", "trial")
    return Q(**{f"{prefix}pk__in": rows.values("pk")[: span.most]})


# Flaky cases


def _flaky_cases(span: RunSpan) -> list[FlakyCase]:
    results = CaseResult.objects.filter(run__in=span.ids)
    if span.most is not None:
        results = results.filter(position__lt=span.most)
    is_mixed = Q(passed__gt=0, failed__gt=0)
    # An edited case is a new one: only runs with its newest content count.
    candidates = (
        results.values("name", "digest")
        .annotate(
            last=Max("run"),
            good=Count("pk", filter=Q(verdict=Verdict.PASSED)),
            bad=Count("pk", filter=Q(verdict=Verdict.FAILED)),
            mixed=Count("pk", filter=is_mixed),
        )
        .filter(Q(good__gt=0, bad__gt=0) | Q(mixed__gt=0), last=span.ids[0])
        .order_by("-mixed", (F("good") * F("bad")).desc(), "name")
    )
    digests = dict(candidates.values_list("name", "digest")[:_CANDIDATES])
    of_case: defaultdict[str, list[CaseResult]] = defaultdict(list)
    for row in results.filter(name__in=digests).order_by("run"):
        if row.digest == digests[row.name]:
            of_case[row.name].append(row)
    settings = _Settings(span)
    cases = [_flakiness(name, rows, settings) for name, rows in of_case.items()]
    flaky = [case for case in cases if case is not None]
    return sorted(flaky, key=lambda case: (-case.mixed - case.changes, case.name))[:SHOWN]


def _flakiness(name: str, rows: Sequence[CaseResult], settings: "_Settings") -> FlakyCase | None:
    """Return how flaky a case is; None: a change of the agent may be the reason."""
    decided = [row for row in rows if row.verdict in _DECIDED]
    changes = [pair for pair in pairwise(decided) if pair[0].verdict != pair[1].verdict]
    mixed = sum(row.outcome.is_mixed for row in rows)
    unexplained = sum(settings.are_equal(one.run_id, two.run_id) for one, two in changes)
    # One change may be an agent that was edited elsewhere, two an edit and its removal.
    if not mixed and unexplained < 2 and len(changes) < 3:  # noqa: PLR2004 - see above
        return None
    passed = sum(row.verdict == Verdict.PASSED for row in decided)
    return FlakyCase(name, len(decided), passed, len(changes), mixed)


class _Settings:
    """Return what the runs were started with, except their cases."""

    def __init__(self, span: RunSpan) -> None:
        self._names = {run.pk: run.snapshot_id for run in span.runs}
        rows = Snapshot.objects.filter(pk__in=set(self._names.values()))
        self._contents = dict(rows.values_list("pk", "content"))
        self._known: dict[tuple[str, str], bool] = {}

    def are_equal(self, one: int, two: int) -> bool:
        """Whether no verdict can differ because of the settings of two runs."""
        names = self._names[one], self._names[two]
        if names not in self._known:
            self._known[names] = self._compare(*names)
        return self._known[names]

    def _compare(self, one: str, two: str) -> bool:
        try:
            parts = snapshot_differences(self._contents[one], self._contents[two])
        except UnreadableSnapshotError:
            return False
        return {part.part for part in parts} <= {SnapshotPart.PRICES, SnapshotPart.RUN}


# Slow and expensive cases


def _costliest_cases(
    executions: QuerySet[Execution], column: str
) -> list[tuple[str, float, float]]:
    """Return the cases whose executions take the most, with the average and the highest of each."""
    # What takes less than a millisecond is not slow; free cases cannot be expensive.
    least = {"time_ms__gte": 1} if column == "time_ms" else {f"{column}__gt": 0}
    rows = executions.filter(**least).values("case")
    rows = rows.annotate(average=Avg(column), highest=Max(column)).order_by("-average", "case")
    columns = rows.values_list("case", "average", "highest")
    return [(case, float(average), float(highest)) for case, average, highest in columns[:SHOWN]]


def _costliest_executions(span: RunSpan, names: Iterable[str]) -> dict[tuple[str, str], int]:
    """Return the execution that took the most, by column and case."""
    rows = Execution.objects.filter(run__in=span.ids, case__in=names)
    most: dict[tuple[str, str], tuple[Any, int]] = {}
    for row in rows.values("pk", "case", "verdict", "time_ms", "agent_cost_usd"):
        if row["verdict"] not in _DECIDED:
            continue
        for column in ("time_ms", "agent_cost_usd"):
            key, value = (column, row["case"]), row[column]
            if value is not None and (key not in most or value > most[key][0]):
                most[key] = (value, row["pk"])
    return {key: pk for key, (_, pk) in most.items()}


# Checks that never failed


def _sure_checks(span: RunSpan) -> list[SureCheck]:
    # The executions of a run are contiguous, so a database need not read the grades of others.
    runs = Execution.objects.filter(run__in=span.ids).order_by().values("run")
    near = Q(pk__in=[])
    for ends in runs.annotate(first=Min("pk"), last=Max("pk")):
        near |= Q(execution__gte=ends["first"], execution__lte=ends["last"])
    grades = GradeResult.objects.filter(
        near, _in_span(span, "execution__"), status=GradeStatus.OK, passed__isnull=False
    )
    checks = (
        grades.values("type", "label")
        .annotate(
            graded=Count("pk"),
            failed=Count("pk", filter=Q(passed=False)),
            first=Min("execution__case"),
            last=Max("execution__case"),
        )
        .filter(failed=0, graded__gte=MIN_GRADES)
        .order_by("-graded", "label", "type")
    )
    return [
        SureCheck(
            row["type"], row["label"], row["graded"], row["first"], row["first"] != row["last"]
        )
        for row in checks[:SHOWN]
    ]
