"""Read runs for the table of agents and models: those of a group, or any others."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple
from uuid import UUID

from django.db.models import BigIntegerField, Q

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.statistics.check_counts import CheckIdentity, check_key, number_checks
from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.models import Execution, GradeResult, Run
from evals_app.reports.answers.model_comparison import (
    MAX_RUNS_IN_TABLE,
    TABLE_COLUMNS,
    CaseInTable,
    ModelColumn,
    ModelComparison,
    SeenCheck,
    TableRun,
    arrange,
    case_rows,
    column_names,
    compare_models,
)
from evals_app.reports.answers.model_comparison_answers import model_comparison_json
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.renderers.model_tables import MAX_FAILED, FailedTrial
from evals_app.reports.renderers.results import WENT_WRONG
from evals_app.runs.reading.outcomes import MAX_RESULTS, outcomes_of
from fixtures_app.ground.memory import pause_collection

_OF_FAILED = ("verdict", "reason")


class NoTableError(CannotError):
    """Runs cannot be put into one table."""


# What a table is asked for by: the group of its runs, or their numbers.
Wanted = UUID | Sequence[int]


def table_runs(wanted: Wanted) -> list[TableRun]:
    """Return runs with the outcomes of their cases, in the order of their start.

    Raises:
        NoTableError: there are none or too many, one does not exist, or one is named twice.
    """
    return _with_cases(run_columns(wanted))


def run_columns(wanted: Wanted) -> list[TableRun]:
    """Return the same without their cases, which is enough to follow them.

    Raises:
        NoTableError: as above.
    """
    if isinstance(wanted, UUID):
        if found := _read(Q(group=wanted)):
            return found
        raise NoTableError(f"No runs were started together as {wanted}. They may be deleted.")
    if not wanted:
        raise NoTableError("Choose at least one run.")
    if len(wanted) > MAX_RUNS_IN_TABLE:
        raise NoTableError(_too_many(len(wanted)))
    if twice := next((pk for place, pk in enumerate(wanted) if pk in wanted[:place]), None):
        raise NoTableError(f"Run {twice} is named twice; choose another run.")
    found = _read(Q(pk__in=[pk for pk in wanted if pk <= BigIntegerField.MAX_BIGINT]))
    if missing := set(wanted) - {run.row["id"] for run in found}:
        raise NoTableError(f"There is no run {min(missing)}.")
    return found


class SuiteCases(NamedTuple):
    """The cases of a suite in the columns of a table; none of an unknown suite."""

    columns: list[ModelColumn]
    rows: list[CaseInTable]
    score_scale: str


def suite_cases(wanted: Wanted, suite: str) -> SuiteCases:
    """Return the cases of one suite of a table.

    Raises:
        NoTableError: as above.
    """
    columns, grid = arrange(run_columns(wanted))
    cells = grid.get(suite, [])
    known = {run.row["id"]: run for run in _with_cases([run for run in cells if run])}
    scale = next((run.row["score_scale"] for run in known.values()), "0-1")
    return SuiteCases(columns, case_rows([run and known[run.row["id"]] for run in cells]), scale)


def model_comparison(runs: Sequence[TableRun]) -> ModelComparison:
    """Return the table of runs."""
    return compare_models(runs, _find_checks)


def comparison_of(ids: Sequence[int]) -> Json | None:
    """Return the table of runs as JSON; None if they do not fit into one."""
    try:
        return table_json(table_runs(ids))
    except NoTableError:
        return None


def table_json(
    runs: Sequence[TableRun], *, suites: Collection[str] = (), shows_labels: bool = True
) -> Json:
    """Return the table of runs as JSON, with the cases of these suites."""
    comparison = model_comparison(runs)
    groups = {run.row["group"] for run in runs}
    grid = arrange(runs)[1] if suites else {}
    return model_comparison_json(
        comparison if shows_labels else comparison.without_labels(),
        group=groups.pop() if len(groups) == 1 else None,
        cases={slug: case_rows(grid[slug]) for slug in suites if slug in grid} if suites else None,
    )


def failed_trials(
    runs: Sequence[TableRun], *, link: Callable[[str, int], str]
) -> tuple[list[FailedTrial], int]:
    """Return the first trials that did not pass, run by run, and how many more there are."""
    columns, grid = arrange(runs)
    of_run = {
        run.row["id"]: (run.row["suite_name"], name)
        for cells in grid.values()
        for name, run in zip(column_names(columns), cells, strict=True)
        if run is not None
    }
    rows = Execution.objects.filter(run__in=of_run, verdict__in=WENT_WRONG)
    shown = rows.order_by("run", "position", "trial").only("run", "case", "trial", *_OF_FAILED)
    trials = [
        FailedTrial(
            *(row.pk, row.run_id, *of_run[row.run_id], str(row), row.verdict, row.reason),
            url=link("execution", row.pk),
        )
        for row in shown[:MAX_FAILED]
    ]
    return trials, sum(run.row["failed"] + run.row["errored"] for run in runs) - len(trials)


def _read(wanted: Q) -> list[TableRun]:
    columns = (*TABLE_COLUMNS, "finished_at", "case_count")
    rows = Run.objects.filter(wanted).order_by("pk").values(*columns)
    found = [TableRun(row, {}) for row in rows[: MAX_RUNS_IN_TABLE + 1]]
    if len(found) > MAX_RUNS_IN_TABLE:
        raise NoTableError(_too_many(len(found)))
    return found


def _with_cases(runs: Sequence[TableRun]) -> list[TableRun]:
    if (results := sum(run.row["case_count"] or 0 for run in runs)) > MAX_RESULTS:
        raise NoTableError(
            f"These runs have {results:,} results of cases; at most {MAX_RESULTS:,} fit into one"
            " table. Choose fewer runs."
        )
    ended = tuple((run.row["id"], run.row["finished_at"]) for run in runs if not run.is_open)
    outcomes = _outcomes(ended) if ended else {}
    return [TableRun(run.row, outcomes.get(run.row["id"], {})) for run in runs]


@lru_cache(maxsize=4)  # people open the same table again and again
@pause_collection()
def _outcomes(
    ended: tuple[tuple[int, datetime | None], ...],
) -> dict[int, dict[str, CaseOutcome]]:
    return outcomes_of([pk for pk, _ in ended], reads_grades=False, reads_effort=True)


def _too_many(number: int) -> str:
    return f"These are {number:,} runs; at most {MAX_RUNS_IN_TABLE:,} fit into one table."


def _find_checks(seen: Sequence[SeenCheck]) -> Mapping[str, CheckIdentity]:
    """Return what checks are, from the grades of the cases in which they were seen."""
    cases: Collection[tuple[int, str]] = {(check.run, check.case) for check in seen}
    where = reduce(or_, (Q(execution__run=run, execution__case=case) for run, case in cases))
    graded = GradeResult.objects.filter(
        where, execution__verdict__in=("passed", "failed"), weight__gt=0
    )
    rows = graded.order_by("execution", "position").values_list("execution", *CheckIdentity._fields)
    by_execution: dict[int, list[CheckIdentity]] = {}
    for execution, *place in rows:
        by_execution.setdefault(execution, []).append(CheckIdentity(*place))
    return {
        check_key(check, number): check
        for checks in by_execution.values()
        for check, number in number_checks(checks)
    }
