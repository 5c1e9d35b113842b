"""Read runs for a comparison: their results, case by case, and what differs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from django.db.models import BigIntegerField

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.statistics.check_counts import turned_checks
from evals_app.engine.statistics.comparison import MAX_RUNS
from evals_app.formats.snapshots.snapshot_differences import (
    PartDifferences,
    UnreadableSnapshotError,
    snapshot_differences,
)
from evals_app.models import Run, Snapshot
from evals_app.reports.answers.compared_cases import (
    ComparedCase,
    ComparedCases,
    HeadCases,
    RunCases,
    compare_cases,
)
from evals_app.reports.answers.comparison import (
    AGREEMENT,
    MATRIX_COLUMNS,
    ChangedCheck,
    MatrixRow,
    matrix,
)
from evals_app.reports.answers.comparison_answers import (
    COMPARED_COLUMNS,
    ComparisonAnswer,
    compared_case_json,
    compared_head_json,
    compared_run_json,
    counts_json,
)
from evals_app.reports.answers.run_answers import Json
from evals_app.runs.ground.check_counts import counted_checks
from evals_app.runs.judges.calibration import agreements_in_runs
from evals_app.runs.reading.outcomes import MAX_RESULTS, outcomes_of
from fixtures_app.ground.memory import pause_collection


class CannotCompareError(CannotError):
    """Runs cannot be compared."""


@dataclass(frozen=True, slots=True)
class ComparisonRun:
    """A run of a comparison, and how many of its cases passed."""

    run: Run
    cases: RunCases


@dataclass(frozen=True, slots=True)
class ComparisonHead:
    """A run against the base; `differences` is None if their snapshots are unknown."""

    run: Run
    cases: HeadCases
    differences: tuple[PartDifferences, ...] | None

    def without_values(self) -> "ComparisonHead":
        """Return the same with the number of values that differ instead of the values."""
        if self.differences is None:
            return self
        return replace(self, differences=tuple(part.without_values() for part in self.differences))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs compared with the first of them, the base.

    `shows_values` is False for people who may not read prompts and data, or the labels of checks.
    """

    runs: tuple[ComparisonRun, ...]
    heads: tuple[ComparisonHead, ...]
    cases: ComparedCases
    shows_values: bool = True

    @property
    def base(self) -> Run:
        return self.runs[0].run

    @property
    def matrix(self) -> list[MatrixRow]:
        """The numbers of the runs side by side, in words."""
        known = agreements_in_runs([run.run.pk for run in self.runs])
        columns = (
            {name: getattr(run.run, name) for name in MATRIX_COLUMNS}
            | {AGREEMENT: known[run.run.pk]}
            for run in self.runs
        )
        return matrix(list(zip(columns, (run.cases for run in self.runs), strict=True)))

    def without_values(self) -> "Comparison":
        """Return the same for people who may not read prompts and data: what differs, no value of it."""
        heads = tuple(head.without_values() for head in self.heads)
        return replace(self, heads=heads, shows_values=False)

    @property
    def is_worse(self) -> bool:
        """Whether a case of any head got worse, or its suite certainly did."""
        return any(head.cases.is_worse for head in self.heads)


def compare_runs(ids: Sequence[int]) -> Comparison:
    """Compare runs that have ended with the first of them, or raise CannotCompareError."""
    runs = _runs(ids)
    loaded = _load(
        tuple(_Ended(run.pk, run.snapshot_id, run.finished_at, run.skipped > 0) for run in runs)
    )
    return Comparison(
        runs=tuple(map(ComparisonRun, runs, loaded.cases.runs)),
        heads=tuple(
            ComparisonHead(
                run,
                cases if run.is_simulated == runs[0].is_simulated else cases.as_mixed(),
                differences,
            )
            for run, cases, differences in zip(
                runs[1:], loaded.cases.heads, loaded.differences, strict=True
            )
        ),
        cases=loaded.cases,
    )


def _runs(ids: Sequence[int]) -> list[Run]:
    if len(ids) < 2:  # noqa: PLR2004 - the base and a head
        raise CannotCompareError("Choose at least two runs to compare.")
    if len(ids) > MAX_RUNS:
        raise CannotCompareError(f"At most {MAX_RUNS} runs can be compared at once.")
    runs = Run.objects.select_related("suite__agent")
    known = runs.in_bulk([pk for pk in ids if pk <= BigIntegerField.MAX_BIGINT])
    for number, pk in enumerate(ids):
        if pk not in known:
            raise CannotCompareError(f"There is no run {pk}.")
        if pk in ids[:number]:
            raise CannotCompareError(f"Run {pk} is named twice; choose another run.")
        if known[pk].is_open:
            raise CannotCompareError(f"Run {pk} has not ended yet. Compare it when it has ended.")
        if not known[pk].summary:
            raise CannotCompareError(
                f"Run {pk} was started by another version of Evalwell, which left no results of"
                " its cases. Run the suite again to compare it."
            )
    if (results := sum(run.case_count or 0 for run in known.values())) > MAX_RESULTS:
        raise CannotCompareError(
            f"These runs have {results:,} results of cases; at most {MAX_RESULTS:,} can be compared"
            " at once. Choose fewer runs."
        )
    return [known[pk] for pk in ids]


def changed_checks(
    comparison: Comparison, cases: Iterable[ComparedCase]
) -> dict[str, list[ChangedCheck]]:
    """Return the checks of cases that got worse or better, by case, those of the first head first."""
    turned = [
        (case, head.run.pk, checks)
        for case in cases
        if case.outcomes[0] is not None
        for head, outcome, step in zip(comparison.heads, case.outcomes[1:], case.steps, strict=True)
        if outcome is not None and step is not None and step.rate is not None
        if (checks := turned_checks(case.outcomes[0].checks, outcome.checks)).all
    ]
    base_names = {case.outcomes[0].name for case, _, _ in turned if case.outcomes[0]}
    names = base_names if comparison.shows_values else set()
    counted = counted_checks(comparison.base.pk, cases=names) if names else ()
    places = {(check.case, check.key): check.place for check in counted}
    changed: dict[str, list[ChangedCheck]] = {}
    for case, run, checks in turned:
        changed.setdefault(case.name, []).extend(
            ChangedCheck(run, place.label, place.turn, is_worse=key in checks.worse)
            for key in checks.all
            if (place := places.get((case.old_name or case.name, key)))
        )
    return changed


def comparison_json(comparison: Comparison, cases: Iterable[ComparedCase], **page: object) -> Json:
    """Return a comparison as REST answers it; `page` is the part of the cases to include."""
    cases = list(cases)
    checks = changed_checks(comparison, cases)
    ids = [run.run.pk for run in comparison.runs]
    rows = {row["id"]: row for row in Run.objects.filter(pk__in=ids).values(*COMPARED_COLUMNS)}
    return ComparisonAnswer.of(
        runs=[compared_run_json(rows[run.run.pk], run.cases) for run in comparison.runs],
        heads=[
            compared_head_json(head.run.pk, head.cases, head.differences)
            for head in comparison.heads
        ],
        counts=counts_json(comparison.cases.counts),
        cases=[compared_case_json(case, checks.get(case.name, ())) for case in cases],
        **page,
    )


class _Ended(NamedTuple):
    """A run as it ended; one that was resumed ends again, at another moment."""

    pk: int
    snapshot: str
    finished_at: datetime | None
    has_skipped: bool


class _Loaded(NamedTuple):
    cases: ComparedCases
    differences: tuple[tuple[PartDifferences, ...] | None, ...]


@lru_cache(maxsize=2)
@pause_collection()
def _load(runs: tuple[_Ended, ...]) -> _Loaded:
    """Read and compare the cases of runs; the last two are kept, because people turn pages."""
    outcomes = outcomes_of([run.pk for run in runs], reads_effort=True)
    base, *heads = runs
    contents = dict(
        Snapshot.objects.filter(pk__in={run.snapshot for run in runs}).values_list("pk", "content")
    )
    return _Loaded(
        compare_cases(
            *(outcomes[run.pk] for run in runs), by_verdict=any(run.has_skipped for run in runs)
        ),
        tuple(_differences(contents[base.snapshot], contents[head.snapshot]) for head in heads),
    )


def _differences(before: str, after: str) -> tuple[PartDifferences, ...] | None:
    try:
        return snapshot_differences(before, after)
    except UnreadableSnapshotError:
        return None
