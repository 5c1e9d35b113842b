"""Runs and executions read from rows into the JSON that REST and `run_evals --output` share."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.fields.json import KT

from evals_app.engine.statistics.retest import Suspect
from evals_app.models import (
    CaseResult,
    Execution,
    GradeResult,
    Review,
    Run,
    Settlement,
    Transcript,
    of_each_conversation,
)
from evals_app.models.judging.reviews import IS_LABEL
from evals_app.reports.answers.retests import SETTLEMENT_COLUMNS, settlement_details_json
from evals_app.reports.answers.run_answers import Json, Row
from evals_app.reports.answers.run_json import (
    CASE_COLUMNS,
    DETAIL_COLUMNS,
    EXECUTION_COLUMNS,
    GRADE_COLUMNS,
    IS_COMPARED,
    MEASURED_COLUMNS,
    REUSED,
    REVIEW_COLUMNS,
    RUN_COLUMNS,
    TOKEN_COLUMNS,
    case_json,
    document,
    documents,
    execution_json,
    run_details_json,
)
from evals_app.runs.reading.model_comparison import comparison_of
from fixtures_app.ground.memory import pause_collection

# Executions read at once; a transcript may have 200,000 characters.
CHUNK = 100
CASES_AT_ONCE = 2000
_GROUP = ("position", "case")


def run_rows() -> QuerySet[Run, Row]:
    """Return runs as `run_json` takes them, without their summaries."""
    rows: QuerySet[Run, Row] = Run.objects.values(*RUN_COLUMNS)
    return rows


def execution_rows() -> QuerySet[Execution, Row]:
    """Return executions as `execution_row_json` takes them."""
    rows: QuerySet[Execution, Row] = Execution.objects.values(*EXECUTION_COLUMNS)
    return rows


@pause_collection()
def run_details(run_id: int) -> Json | None:
    """Return a run with its cases and gates; None if it does not exist."""
    row = Run.objects.values(*DETAIL_COLUMNS).filter(pk=run_id).first()
    if row is None:
        return None
    return run_details_json(row, list(case_results(run_id)))


def case_results(run_id: int) -> Iterator[Json]:
    """Return the result of each case of a run that has ended."""
    rows = CaseResult.objects.filter(run=run_id).order_by("position").values(*CASE_COLUMNS)
    # Both are in the order of the cases.
    return map(case_json, rows.iterator(chunk_size=CASES_AT_ONCE), _tokens_of_cases(run_id))


def _tokens_of_cases(run_id: int) -> Iterator[Row]:
    """Return the tokens of each case by column, None where they are unknown for a trial."""
    counted = {name: of_each_conversation(name) for name in TOKEN_COLUMNS}
    ended = Q(status=Execution.Status.FINISHED)
    unknown = {
        f"unknown_{name}": Count("pk", filter=ended & where & Q(**{name: None}))
        for name, where in counted.items()
    }
    sums = {name: Sum(name, filter=where) for name, where in counted.items()}
    cases: QuerySet[Execution, Row] = Execution.objects.values(*_GROUP)
    rows = cases.filter(run=run_id).annotate(**unknown).annotate(**sums)
    for row in rows.order_by("position").iterator(CASES_AT_ONCE):
        yield {name: None if row[f"unknown_{name}"] else row[name] for name in TOKEN_COLUMNS}


def settlement_rows() -> QuerySet[Settlement, Row]:
    """Return retests as `settlement_json` takes them, without their cases."""
    runs = Run.objects.filter(settlement=OuterRef("pk")).order_by()
    spent = runs.values("settlement").annotate(sum=Sum("spent_usd")).values("sum")
    settlements = Settlement.objects.annotate(spent_usd=Subquery(spent))
    rows: QuerySet[Settlement, Row] = settlements.values(*SETTLEMENT_COLUMNS)
    return rows


def settlement_details(settlement_id: int) -> Json | None:
    """Return a retest with its cases; None if it does not exist."""
    row = settlement_rows().filter(pk=settlement_id).first()
    if row is None:
        return None
    cases = Settlement.objects.values_list("cases", flat=True).get(pk=settlement_id)
    runs = Run.objects.filter(settlement=settlement_id).order_by("pk").values_list("pk", flat=True)
    return settlement_details_json(row, [*map(Suspect.from_json, cases)], list(runs))


def execution_details(execution_id: int) -> Json | None:
    """Return everything about an execution; None if it does not exist."""
    rows = Execution.objects.values(*EXECUTION_COLUMNS, *MEASURED_COLUMNS)
    return next(_whole(rows.filter(pk=execution_id)), None)


def run_document(run: Run) -> Json:
    """Return `{"schema_version", "run", "executions"}`, whose lists are read while they are written."""
    row = Run.objects.values(*DETAIL_COLUMNS).get(pk=run.pk)
    return document(row, cases=case_results(run.pk), executions=_executions_of(run))


def runs_document(runs: Sequence[Run]) -> Json:
    """Return the results of several runs: `{"schema_version", "total", "comparison", "runs"}`."""
    ids = [run.pk for run in runs]
    return documents(
        (run_document(run) for run in runs),
        rows=run_rows().filter(pk__in=ids),
        comparison=comparison_of(ids),
    )


def whole_executions(ids: Sequence[int]) -> Iterator[Json]:
    """Return everything about executions of a run, in the order of its cases."""
    rows = Execution.objects.values(*EXECUTION_COLUMNS, *MEASURED_COLUMNS)
    for start in range(0, len(ids), CHUNK):
        part = rows.filter(pk__in=ids[start : start + CHUNK])
        yield from _whole(part.order_by("position", "trial"))


def _executions_of(run: Run) -> Iterator[Json]:
    rows = Execution.objects.filter(run=run).order_by("position", "trial")
    yield from whole_executions(list(rows.values_list("pk", flat=True)))


def _whole(rows: Iterable[Row]) -> Iterator[Json]:
    executions = list(rows)
    ids = [row["id"] for row in executions]
    grades, reviews = _grades(ids), _reviews(ids)
    transcripts = Transcript.objects.of_all({row["id"]: row["source_id"] for row in executions})
    for row in executions:
        stored = transcripts.get(row["id"])
        trial = None if stored is None else stored.trial
        yield execution_json(row, grades=grades[row["id"]], reviews=reviews[row["id"]], trial=trial)


def review_rows() -> QuerySet[Review, Row]:
    """Return reviews as `review_json` takes them, oldest first."""
    rows: QuerySet[Review, Row] = Review.objects.values(*REVIEW_COLUMNS)
    return rows.order_by("pk")


def _reviews(execution_ids: Sequence[int]) -> defaultdict[int, list[Row]]:
    reviews: defaultdict[int, list[Row]] = defaultdict(list)
    for row in review_rows().filter(execution__in=execution_ids, withdrawn_at=None):
        reviews[row["execution_id"]].append(row)
    return reviews


def _grades(execution_ids: Sequence[int]) -> defaultdict[int, list[Row]]:
    grades: defaultdict[int, list[Row]] = defaultdict(list)
    compared = Exists(Review.objects.filter(IS_LABEL, yardstick=OuterRef("yardstick")))
    graded = GradeResult.objects.filter(execution__in=execution_ids)
    reused = KT("calls__0__is_reused")  # the calls themselves are long
    rows = graded.annotate(**{IS_COMPARED: compared, REUSED: reused}).values(*GRADE_COLUMNS)
    for row in rows.order_by("pk"):
        grades[row["execution_id"]].append(row)
    return grades
