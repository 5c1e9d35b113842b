"""Runs in one table: a row for each suite, a column for each agent with each model.

Nothing unknown counts as 0, and no share is without its number. What is open counts in no total.
"""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.check_counts import CheckCount, CheckIdentity, read_counts
from evals_app.engine.statistics.comparison import CaseOutcome, digests_of, match_names
from evals_app.engine.statistics.effort import P95
from evals_app.engine.statistics.rates import percentile, wilson_interval
from evals_app.engine.statistics.stratified import Stratum, compare_rates
from evals_app.reports.answers.compared_cases import HeadCases
from evals_app.reports.answers.run_answers import Row
from evals_app.reports.answers.run_json import (
    AT_LEAST,
    CASES_DIGEST,
    RUBRIC_BULLETS,
    RUN_SUMMARY,
    TOKEN_COLUMNS,
)

MAX_RUNS_IN_TABLE = 1000  # as many as can be started together
OWN_AGENTS = "each suite's own agent"
MAX_MISSED = 50  # checks and bullets that are listed

SUMMED = (*TOKEN_COLUMNS, "agent_cost_usd", "judge_cost_usd")
# The columns of a run that decide in which column and row it is.
COLUMN_COLUMNS = (
    *("suite_slug", "agent_slug", "agent_name", "model", "is_scripted", "is_simulated"),
    *("suite_agent_slug", "replaced_model"),
)
# Those that the table needs.
TABLE_COLUMNS = (
    *COLUMN_COLUMNS,
    *("id", "group", "suite_name", "judge"),
    *("score_scale", "status", "verdict", "score"),
    *("total", "passed", "failed", "errored", "measured", "skipped"),
    *("cancelled", "not_run", *SUMMED, "created_at", RUN_SUMMARY),
)
_COUNTS = ("passed", "failed", "errored", "measured", "skipped", "cancelled", "not_run")
_PENDING = ("queued", "running")


@dataclass(frozen=True, slots=True)
class TableRun:
    """A run: its TABLE_COLUMNS, and by name the outcomes of its cases, empty while it is open."""

    row: Row
    cases: Mapping[str, CaseOutcome]

    @property
    def is_open(self) -> bool:
        return self.row["status"] in _PENDING


class PassShare(NamedTuple):
    """How many passed of those that passed or failed; the others have no result."""

    passed: int
    graded: int
    not_graded: int = 0

    @property
    def rate(self) -> float | None:
        return self.passed / self.graded if self.graded else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the rate, both in 0..1."""
        return wilson_interval(self.passed, self.graded) if self.graded else None

    def plus(self, other: "PassShare") -> "PassShare":
        """Return both together."""
        return PassShare(*(one + two for one, two in zip(self, other, strict=True)))


_NOTHING = PassShare(0, 0)


@dataclass(frozen=True, slots=True)
class ModelColumn:
    """An agent with a model; `repeat` is 2 for a second run of a suite with the same two, and so on."""

    agent: str  # empty: that of each suite
    agent_name: str
    model: str  # empty: the agent has none that is known here, or each agent its own
    is_scripted: bool = False
    is_simulated: bool = False  # a model played the user in its runs
    repeat: int = 1

    @property
    def key(self) -> tuple[str, str, bool, int]:
        return self.agent, self.model, self.is_simulated, self.repeat


@dataclass(frozen=True, slots=True)
class SuiteCell:
    """A run in the table; `verdict` is empty and `cases` None while it is open."""

    run: int
    status: str
    verdict: str
    counts: Mapping[str, int]  # of its executions
    trials: PassShare
    cases: PassShare | None
    score: float | None

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended_count(self) -> int:
        return self.total - self.counts["not_run"]

    @property
    def is_open(self) -> bool:
        return not self.verdict


@dataclass(frozen=True, slots=True)
class SuiteInTable:
    """A suite; None where a column has no run of it."""

    slug: str
    name: str
    score_scale: str
    cells: tuple[SuiteCell | None, ...]
    has_same_cases: bool  # as far as is known; else its numbers are not comparable


@dataclass(frozen=True, slots=True)
class ColumnTotals:
    """A column over the runs that have ended. Times are of `replies`, scores of `scored` cases.

    `sums` are tokens and costs by column, None where one is unknown, and `at_least` what is known of
    those. `against` compares the cases with those of the first column; None for the first itself.
    """

    runs: int
    open: int
    verdicts: Mapping[str, int]
    trials: PassShare
    cases: PassShare
    score: float | None
    score_scale: str
    scored: int
    median_ms: float | None
    p95_ms: float | None
    replies: int
    sums: Mapping[str, int | Decimal | None]
    at_least: Mapping[str, float]
    against: HeadCases | None


class MissCount(NamedTuple):
    """How often a check or bullet was missed, and in how many trials that was decided."""

    missed: int
    decided: int


@dataclass(frozen=True, slots=True)
class MissedPoint:
    """A check, or a bullet of a rubric, that a column missed; None where it was not decided."""

    kind: Literal["check", "bullet"]
    label: str
    turn: int | None
    counts: tuple[MissCount | None, ...]


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """The whole table; the first column is the one that others are compared with.

    `missed` are the most missed first, `more_missed` how many more there are. `without_bullets` are
    the runs of older versions, which did not count the bullets of rubrics.
    """

    columns: tuple[ModelColumn, ...]
    rows: tuple[SuiteInTable, ...]
    totals: tuple[ColumnTotals, ...]
    missed: tuple[MissedPoint, ...]
    more_missed: int
    without_bullets: int
    judges: tuple[str, ...]
    shows_missed: bool = True

    def without_labels(self) -> "ModelComparison":
        """Return the same for people who may not read the labels of checks."""
        return replace(self, missed=(), more_missed=0, shows_missed=False)

    @property
    def is_open(self) -> bool:
        return any(total.open for total in self.totals)

    @property
    def cells(self) -> Iterator[SuiteCell]:
        for row in self.rows:
            yield from (cell for cell in row.cells if cell is not None)


class CaseInColumn(NamedTuple):
    """A case in one run."""

    run: int
    verdict: str
    trials: PassShare
    score: float | None


class CaseInTable(NamedTuple):
    """A case of a suite in all columns; None where one does not have it."""

    name: str
    cells: tuple[CaseInColumn | None, ...]

    @property
    def differs(self) -> bool:
        """Whether the columns do not all pass equally often."""
        return len({cell.trials.rate for cell in self.cells if cell}) > 1


class SeenCheck(NamedTuple):
    """A check by its key, and a case in a run that has it."""

    key: str
    run: int
    case: str


# Returns what checks are, by key; one that is not found is left out of the table.
FindChecks = Callable[[Sequence[SeenCheck]], Mapping[str, CheckIdentity]]


def compare_models(runs: Sequence[TableRun], find_checks: FindChecks) -> ModelComparison:
    """Put runs into one table; their columns come in the order of the runs, the suites too."""
    columns, grid = arrange(runs)
    by_column = [[row[place] for row in grid.values()] for place in range(len(columns))]
    ended = [[run for run in some if run and not run.is_open] for some in by_column]
    missed, more = _missed_points(ended, find_checks)
    return ModelComparison(
        columns=tuple(columns),
        rows=tuple(_suite_row(some) for some in grid.values()),
        totals=tuple(
            _totals([run for run in some if run], base=_base(columns, ended, place))
            for place, some in enumerate(by_column)
        ),
        missed=tuple(missed),
        more_missed=more,
        without_bullets=sum(_lacks_bullets(run.row) for some in ended for run in some),
        judges=tuple(dict.fromkeys(judge for run in runs if (judge := run.row["judge"]))),
    )


def arrange(
    runs: Iterable[TableRun],
) -> tuple[list[ModelColumn], dict[str, list[TableRun | None]]]:
    """Return the columns, and by suite its run in each of them.

    Simulated runs have columns of their own, after the others. First comes the suites' own agent with its
    own model, if one of the runs has it. Suites of several
    agents share a column for their own ones, unless these are also tested by suites of others.
    """
    runs = list(runs)
    is_shared = _shares_own_agents(runs)
    has_own_models = is_shared and _shares_own_models(runs)
    seen: Counter[tuple[str, str, str, bool]] = Counter()
    placed: dict[_Key, list[TableRun]] = {}
    for run in runs:
        row = run.row
        agent = "" if is_shared and _has_own_agent(row) else row["agent_slug"]
        model = "" if has_own_models and _has_own_model(row) else row["model"]
        same = (row["suite_slug"], agent, model, row["is_simulated"])
        seen[same] += 1
        placed.setdefault(_Key(*same[1:], seen[same]), []).append(run)
    keys = sorted(
        placed,
        key=lambda key: (
            key.is_simulated,
            not any(_has_own_model(run.row) for run in placed[key]),
        ),
    )
    grid: dict[str, list[TableRun | None]] = {
        run.row["suite_slug"]: [None] * len(keys) for run in runs
    }
    for place, key in enumerate(keys):
        for run in placed[key]:
            grid[run.row["suite_slug"]][place] = run
    return [_column(key, placed[key]) for key in keys], grid


class _Key(NamedTuple):
    agent: str
    model: str
    is_simulated: bool
    repeat: int


def _base(
    columns: Sequence[ModelColumn], ended: Sequence[Sequence[TableRun]], place: int
) -> Sequence[TableRun] | None:
    """Return what a column is compared with: the first one, unless only one of both is simulated."""
    if not place:
        return None
    return ended[0] if columns[place].is_simulated == columns[0].is_simulated else ()


def _column(key: _Key, runs: Sequence[TableRun]) -> ModelColumn:
    name = runs[0].row["agent_name"] if key.agent else ""
    is_scripted = all(run.row["is_scripted"] for run in runs)
    return ModelColumn(key.agent, name, key.model, is_scripted, key.is_simulated, key.repeat)


def _has_own_agent(row: Row) -> bool:
    return bool(row["agent_slug"] == row["suite_agent_slug"])


def _has_own_model(row: Row) -> bool:
    return _has_own_agent(row) and not row["replaced_model"]


def _shares_own_agents(runs: Iterable[TableRun]) -> bool:
    """Whether there are several own agents, each of which only its own suites test."""
    own = {run.row["agent_slug"] for run in runs if _has_own_agent(run.row)}
    others = {run.row["agent_slug"] for run in runs if not _has_own_agent(run.row)}
    return len(own) > 1 and not own & others


def _shares_own_models(runs: Iterable[TableRun]) -> bool:
    """Whether there are several own models, none of which replaces another one."""
    own = {run.row["model"] for run in runs if _has_own_model(run.row)}
    others = {run.row["model"] for run in runs if not _has_own_model(run.row)}
    return len(own) > 1 and not own & others


def column_names(columns: Sequence[ModelColumn]) -> list[str]:
    """Return a name for each column: its model, its agent, or both where that tells them apart."""
    agents = {column.agent: column.agent_name for column in columns}
    shared = Counter(agents.values())  # two agents may have one name
    models = {column.model for column in columns}
    return [
        _column_name(
            column.agent if shared[column.agent_name] > 1 else column.agent_name or OWN_AGENTS,
            column,
            has_agents=len(agents) > 1,
            has_models=len(models) > 1,
        )
        for column in columns
    ]


def _column_name(agent: str, column: ModelColumn, *, has_agents: bool, has_models: bool) -> str:
    model = column.model or ("no model" if column.agent else "own model")
    parts = [agent] if has_agents or not (column.model or has_models) else []
    parts += [model] if has_models or not parts else []
    again = f" ({column.repeat})" if column.repeat > 1 else ""
    simulated = ", simulated" if column.is_simulated else ""
    return ", ".join(parts) + simulated + again


def case_rows(runs: Sequence[TableRun | None]) -> list[CaseInTable]:
    """Return the cases of a suite in all columns: first where they differ, then the least passed."""
    names = dict.fromkeys(name for run in runs if run for name in run.cases)
    rows = [CaseInTable(name, tuple(_case_cell(run, name) for run in runs)) for name in names]
    return sorted(rows, key=_worth_reading)


def _worth_reading(row: CaseInTable) -> tuple[bool, float]:
    rates = [cell.trials.rate for cell in row.cells if cell and cell.trials.rate is not None]
    return not row.differs, min(rates, default=2.0)


def _case_cell(run: TableRun | None, name: str) -> CaseInColumn | None:
    if run is None or (case := run.cases.get(name)) is None:
        return None
    trials = PassShare(case.passed, case.graded_count, case.errored)
    return CaseInColumn(run.row["id"], case.verdict or "", trials, case.score)


def _suite_row(runs: Sequence[TableRun | None]) -> SuiteInTable:
    known = [run for run in runs if run]
    first = known[0].row
    digests = {run.row[RUN_SUMMARY].get(CASES_DIGEST) for run in known if run.row[RUN_SUMMARY]}
    return SuiteInTable(
        first["suite_slug"],
        first["suite_name"],
        first["score_scale"],
        tuple(_suite_cell(run) if run else None for run in runs),
        has_same_cases=len(digests - {None}) <= 1,
    )


def _suite_cell(run: TableRun) -> SuiteCell:
    row = run.row
    return SuiteCell(
        row["id"],
        row["status"],
        row["verdict"],
        {name: row[name] for name in _COUNTS},
        _trials(row),
        None if run.is_open else _cases(run),
        row["score"],
    )


def _trials(row: Row) -> PassShare:
    graded = row["passed"] + row["failed"]
    left = row["total"] - graded - row["measured"] - row["skipped"]
    return PassShare(row["passed"], graded, left)


def _cases(run: TableRun) -> PassShare:
    verdicts = Counter(case.verdict for case in run.cases.values())
    graded = verdicts[Verdict.PASSED] + verdicts[Verdict.FAILED]
    left = len(run.cases) - graded - verdicts[Verdict.MEASURED]
    return PassShare(verdicts[Verdict.PASSED], graded, left)


def _totals(runs: Sequence[TableRun], *, base: Sequence[TableRun] | None) -> ColumnTotals:
    ended = [run for run in runs if not run.is_open]
    scores = [case.score for run in ended for case in run.cases.values() if case.score is not None]
    scales = {run.row["score_scale"] for run in ended}
    median_ms, p95_ms, replies = _times(ended)
    trials = cases = _NOTHING
    for run in ended:
        trials, cases = trials.plus(_trials(run.row)), cases.plus(_cases(run))
    return ColumnTotals(
        runs=len(runs),
        open=len(runs) - len(ended),
        verdicts=Counter(run.row["verdict"] for run in ended),
        trials=trials,
        cases=cases,
        score=statistics.fmean(scores) if scores else None,
        score_scale=scales.pop() if len(scales) == 1 else "0-1",
        scored=len(scores),
        median_ms=median_ms,
        p95_ms=p95_ms,
        replies=replies,
        sums={name: _sum(ended, name) for name in SUMMED},
        at_least={name: least for name in SUMMED if (least := _least(ended, name))},
        against=None if base is None else _against(base, ended),
    )


def _times(runs: Sequence[TableRun]) -> tuple[float | None, float | None, int]:
    """Return median and 95th percentile of all replies, and their number; none if a run's are unknown."""
    times: list[float] = []
    for run in runs:
        of_run = [ms for case in run.cases.values() for ms in case.effort.turn_ms]
        # Runs of older versions noted only their own median.
        if not of_run and run.row[RUN_SUMMARY].get("median_ms") is not None:
            return None, None, 0
        times += [math.inf if ms is None else ms for ms in of_run]
    times.sort()
    median_ms, p95_ms = (percentile(times, rank) for rank in (0.5, P95))
    return _finite(median_ms), _finite(p95_ms), len(times)


def _finite(ms: float | None) -> float | None:
    """Return a time; None if it is that of a reply which never came."""
    return None if ms is None or math.isinf(ms) else ms


def _sum(runs: Sequence[TableRun], name: str) -> Any:
    values = [run.row[name] for run in runs]
    return None if None in values or not values else sum(values)


def _least(runs: Sequence[TableRun], name: str) -> float:
    """Return what is known of a sum that is not fully known; 0 if it is, or nothing is known."""
    if _sum(runs, name) is not None:
        return 0.0
    parts = (
        run.row[RUN_SUMMARY].get(AT_LEAST, {}).get(name, 0)
        if run.row[name] is None
        else run.row[name]
        for run in runs
    )
    return float(sum(map(float, parts)))


def _against(base: Sequence[TableRun], head: Sequence[TableRun]) -> HeadCases:
    """Compare the pass rates of the same cases; verdicts, where trials were skipped."""
    by_verdict = any(run.row["skipped"] for run in (*base, *head))
    known = {run.row["suite_slug"]: run for run in base}
    strata: Counter[Stratum] = Counter()
    unknown = 0
    for run in head:
        if (other := known.get(run.row["suite_slug"])) is None:
            continue
        names = match_names(digests_of(other.cases), digests_of(run.cases))
        for name, old in names.items():
            before, after = other.cases[old], run.cases[name]
            unknown += not (before.digest and after.digest)
            if before.digest and after.digest and before.digest != after.digest:
                continue  # it was edited in between
            if before.is_decided and after.is_decided:
                strata[_stratum(before, after, by_verdict=by_verdict)] += 1
    return HeadCases({}, compare_rates(strata), unknown, by_verdict)


def _stratum(before: CaseOutcome, after: CaseOutcome, *, by_verdict: bool) -> Stratum:
    if by_verdict:
        has_passed = [int(case.verdict is Verdict.PASSED) for case in (before, after)]
        return Stratum(has_passed[0], 1, has_passed[1], 1)
    return Stratum(before.passed, before.graded_count, after.passed, after.graded_count)


# What each column misses


def _missed_points(
    by_column: Sequence[Sequence[TableRun]], find_checks: FindChecks
) -> tuple[list[MissedPoint], int]:
    checks = [_count_checks(runs) for runs in by_column]
    keys = _most_missed([{key: _miss(count) for key, count in some.items()} for some in checks])
    seen = _where(keys[:MAX_MISSED], by_column)
    known = find_checks(seen) if seen else {}
    points = [
        MissedPoint(
            "check",
            known[key].label,
            known[key].turn,
            tuple(_miss(some[key]) if key in some else None for some in checks),
        )
        for key in keys[:MAX_MISSED]
        if key in known
    ]
    bullets = [_count_bullets(runs) for runs in by_column]
    texts = _most_missed(bullets)
    points += [
        MissedPoint("bullet", text, None, tuple(some.get(text) for some in bullets))
        for text in texts
    ]
    points.sort(key=lambda point: _loudness(point.counts))
    more = max(0, len(keys) - MAX_MISSED) + max(0, len(points) - MAX_MISSED)
    return points[:MAX_MISSED], more


def _miss(count: CheckCount) -> MissCount:
    return MissCount(count.failed, count.passed + count.failed)


def _most_missed(by_column: Sequence[Mapping[str, MissCount]]) -> list[str]:
    """Return what any column missed, the most missed first."""
    every = dict.fromkeys(key for some in by_column for key in some)
    counts = {key: [some.get(key) for some in by_column] for key in every}
    missed = [key for key in every if any(count and count.missed for count in counts[key])]
    return sorted(missed, key=lambda key: _loudness(counts[key]))


def _loudness(counts: Sequence[MissCount | None]) -> tuple[float, int]:
    """Order by the highest share that a column missed, then by how often all missed it."""
    known = [count for count in counts if count and count.decided]
    shares = [count.missed / count.decided for count in known]
    return -max(shares, default=0.0), -sum(count.missed for count in known)


def _count_checks(runs: Iterable[TableRun]) -> dict[str, CheckCount]:
    """Add up the counts of each check; most cases have the same text, which is read once."""
    texts = Counter(case.checks for run in runs for case in run.cases.values())
    sums: dict[str, CheckCount] = {}
    for text, times in texts.items():
        for key, count in read_counts(text).items():
            before = sums.get(key, CheckCount(0, 0))
            sums[key] = CheckCount(
                before.passed + times * count.passed, before.failed + times * count.failed
            )
    return sums


def _where(keys: Sequence[str], by_column: Sequence[Sequence[TableRun]]) -> list[SeenCheck]:
    """Return for each key a case that has this check."""
    wanted, read = set(keys), set[str]()
    seen: list[SeenCheck] = []
    for run in (run for runs in by_column for run in runs):
        for name, case in run.cases.items():
            if case.checks in read:
                continue
            read.add(case.checks)
            found = wanted.intersection(read_counts(case.checks))
            seen += [SeenCheck(key, run.row["id"], name) for key in sorted(found)]
            wanted -= found
    return seen


def _count_bullets(runs: Iterable[TableRun]) -> dict[str, MissCount]:
    sums: dict[str, MissCount] = {}
    for run in runs:
        for bullet in run.row[RUN_SUMMARY].get(RUBRIC_BULLETS) or ():
            before = sums.get(bullet["text"], MissCount(0, 0))
            sums[bullet["text"]] = MissCount(
                before.missed + bullet["missed"], before.decided + bullet["met"] + bullet["missed"]
            )
    return sums


def _lacks_bullets(row: Row) -> bool:
    """Whether a run graded rubrics, but did not count their bullets."""
    summary = row[RUN_SUMMARY]
    return RUBRIC_BULLETS not in summary and bool(summary.get("rubric_items"))
