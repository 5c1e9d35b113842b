"""Runs and executions read from rows into the JSON that REST and `run_evals --output` share."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from evals_app.models import CaseResult, Execution, GradeResult, Run, Transcript
from evals_app.reports.answers import Json, Row
from evals_app.reports.run_json import (
    CASE_COLUMNS,
    EXECUTION_COLUMNS,
    GRADE_COLUMNS,
    MEASURED_COLUMNS,
    RUN_COLUMNS,
    RUN_SUMMARY,
    case_json,
    document,
    documents,
    execution_json,
    run_details_json,
)

# Executions read at once; a transcript may have 200,000 characters.
CHUNK = 100
CASES_AT_ONCE = 2000


def run_rows() -> QuerySet[Run, dict[str, Any]]:
    """Return runs as `run_json` takes them, without their summaries."""
    rows: QuerySet[Run, dict[str, Any]] = Run.objects.values(*RUN_COLUMNS)
    return rows


def execution_rows() -> QuerySet[Execution, dict[str, Any]]:
    """Return executions as `execution_row_json` takes them."""
    rows: QuerySet[Execution, dict[str, Any]] = Execution.objects.values(*EXECUTION_COLUMNS)
    return rows


def run_details(run_id: int) -> Json | None:
    """Return a run with its cases and gates; None if it does not exist."""
    row = Run.objects.values(*RUN_COLUMNS, RUN_SUMMARY).filter(pk=run_id).first()
    if row is None:
        return None
    return run_details_json(row, list(case_results(run_id)))


def case_results(run_id: int) -> Iterator[Json]:
    """Return the result of each case of a run that has ended."""
    rows = CaseResult.objects.filter(run=run_id).order_by("position").values(*CASE_COLUMNS)
    return map(case_json, rows.iterator(chunk_size=CASES_AT_ONCE))


def execution_details(execution_id: int) -> Json | None:
    """Return everything about an execution; None if it does not exist."""
    rows = Execution.objects.values(*EXECUTION_COLUMNS, *MEASURED_COLUMNS)
    return next(_whole(rows.filter(pk=execution_id)), None)


def run_document(run: Run) -> Json:
    """Return `{"schema_version", "run", "executions"}`, whose lists are read while they are written."""
    row = Run.objects.values(*RUN_COLUMNS, RUN_SUMMARY).get(pk=run.pk)
    return document(row, cases=case_results(run.pk), executions=_executions_of(run))


def runs_document(runs: Sequence[Run]) -> Json:
    """Return the results of several runs: `{"schema_version", "total", "runs"}`."""
    rows = run_rows().filter(pk__in=[run.pk for run in runs])
    return documents((run_document(run) for run in runs), rows=rows)


def _executions_of(run: Run) -> Iterator[Json]:
    rows = Execution.objects.values(*EXECUTION_COLUMNS, *MEASURED_COLUMNS).filter(run=run)
    ids = list(rows.order_by("position", "trial").values_list("pk", flat=True))
    for start in range(0, len(ids), CHUNK):
        part = rows.filter(pk__in=ids[start : start + CHUNK])
        yield from _whole(part.order_by("position", "trial"))


def _whole(rows: Iterable[Row]) -> Iterator[Json]:
    executions = list(rows)
    ids = [row["id"] for row in executions]
    grades = _grades(ids)
    trials = dict(Transcript.objects.filter(pk__in=ids).values_list("pk", "trial"))
    for row in executions:
        yield execution_json(row, grades=grades[row["id"]], trial=trials.get(row["id"]))


def _grades(execution_ids: Sequence[int]) -> defaultdict[int, list[Row]]:
    grades: defaultdict[int, list[Row]] = defaultdict(list)
    rows = GradeResult.objects.filter(execution__in=execution_ids).values(*GRADE_COLUMNS)
    for row in rows.order_by("pk"):
        grades[row["execution_id"]].append(row)
    return grades
