"""Record a batch of outcomes: verdicts, grades, transcripts and counters in one transaction."""

import logging
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.utils import timezone

from evals_app.engine.record.grade import GradedAssertion
from evals_app.engine.record.trial import Cause, Failure, Verdict
from evals_app.engine.running.outcome_columns import execution_columns, grade_columns
from evals_app.engine.running.run_gateway import Outcome
from evals_app.engine.verdicts.execution_verdict import Decision
from evals_app.models import Execution, GradeResult, Lease, PaidCalls, Run, Transcript, Yardstick
from evals_app.runs.ground import events
from evals_app.runs.ground.connections import forget_calls
from evals_app.runs.ground.patience import AWAY
from evals_app.runs.ground.tallies import count_outcomes
from evals_app.runs.judges.judge_tallies import count_grades
from evals_app.runs.work.skipping import skip_decided
from fixtures_app.ground.storable import storable

log = logging.getLogger(__name__)

# Columns of a grade with texts of agents, judges and people, which may be anything.
_WRITTEN_BY_OTHERS = ("label", "reason", "evidence", "details", "calls")


def record_outcomes(
    outcomes: Sequence[Outcome], *, run_id: int, token: uuid.UUID, min_pass_rate: float | None
) -> int | None:
    """Write outcomes whose executions are still leased to `token`; None if the lease is gone.

    `min_pass_rate` is the `stopping_rate` of the run.

    A batch that cannot be written is retried row by row; the row at fault is recorded as
    errored by the harness, so that its neighbours are not lost.
    """
    record = partial(_record, run_id=run_id, token=token, min_pass_rate=min_pass_rate)
    try:
        return record(outcomes)
    except AWAY:
        raise
    except Exception:  # the database, or what turns results into rows, refused one of them
        log.exception("A batch of %d outcomes was refused; retrying one by one.", len(outcomes))
    written = 0
    for outcome in outcomes:
        try:
            count = record([outcome])
        except AWAY:
            raise
        except Exception as exc:  # noqa: BLE001 - what cannot be stored is a result, too
            unstorable = _unstorable(outcome, f"The result could not be stored: {exc}")
            count = record([unstorable])
        if count is None:
            return None
        written += count
    return written


def _unstorable(outcome: Outcome, reason: str) -> Outcome:
    failure = Failure(Cause.HARNESS, reason)
    decision = Decision(Verdict.ERRORED, None, Cause.HARNESS, reason)
    trial = outcome.trial.but(turns=(), world_changes={}, world_journal=(), failure=failure)
    return Outcome(outcome.job, trial, (), decision)


def _record(
    outcomes: Sequence[Outcome], *, run_id: int, token: uuid.UUID, min_pass_rate: float | None
) -> int | None:
    with transaction.atomic():
        if not Lease.objects.filter(pk=token).update(until=end_of_lease()):
            return None
        ours = Execution.objects.filter(
            pk__in=[outcome.job.id for outcome in outcomes],
            lease_token=token,
            status=Execution.Status.RUNNING,
        )
        kept = set(ours.order_by("pk").select_for_update().values_list("pk", flat=True))
        outcomes = [outcome for outcome in outcomes if outcome.job.id in kept]
        write_outcomes(outcomes, run_id=run_id, min_pass_rate=min_pass_rate)
    events.executions_ended(run_id, outcomes)
    return len(outcomes)


def end_of_lease() -> Combinable:
    """Return until when a lease lasts that is renewed now."""
    return Now() + timedelta(seconds=settings.EVALS_LEASE_S)


def write_outcomes(
    outcomes: Sequence[Outcome], *, run_id: int, min_pass_rate: float | None
) -> None:
    """Write outcomes of executions that the caller has locked, and move the run's counters.

    With a `min_pass_rate`, trials are skipped that can no longer change the verdict of their case.
    """
    if not outcomes:
        return
    outcomes = sorted(outcomes, key=lambda outcome: outcome.job.id)
    _update_executions(outcomes)
    Transcript.objects.bulk_create(
        [
            Transcript(execution_id=o.job.id, trial=storable(o.trial.to_json()))
            for o in outcomes
            if o.job.stored is None  # else it is that of another execution
        ]
    )
    GradeResult.objects.bulk_create(_grade_rows(outcomes))
    if asked := [o.job.id for o in outcomes if o.trial.is_outside]:
        forget_calls(asked)
    if resumed := [o.job.id for o in outcomes if o.job.begun]:
        PaidCalls.objects.filter(execution__in=resumed).delete()
    moved = Counter(o.decision.verdict.value if o.decision else "cancelled" for o in outcomes)
    if min_pass_rate is not None:
        moved["skipped"] = _skip_the_rest(outcomes, run_id=run_id, min_pass_rate=min_pass_rate)
    Run.objects.filter(pk=run_id).update(
        not_run=F("not_run") - moved.total(),
        **{counter: F(counter) + count for counter, count in moved.items()},
    )
    count_grades(outcomes, run_id=run_id)
    count_outcomes(outcomes)


def _skip_the_rest(outcomes: Sequence[Outcome], *, run_id: int, min_pass_rate: float) -> int:
    """Skip queued executions of the cases that these outcomes decide; return how many."""
    ended = Execution.objects.filter(pk__in=[outcome.job.id for outcome in outcomes])
    return skip_decided(
        Execution.objects.filter(run_id=run_id, status=Execution.Status.QUEUED),
        run_id=run_id,
        positions=set(ended.values_list("position", flat=True)),
        min_pass_rate=min_pass_rate,
    )


def _update_executions(outcomes: Sequence[Outcome]) -> None:
    # executemany: bulk_update builds CASE expressions and costs four times the CPU.
    rows = [_columns(outcome) for outcome in outcomes]
    by_name = {field.name: field for field in Execution._meta.concrete_fields}  # noqa: SLF001 - Django's own way
    fields = [by_name[name] for name in rows[0]]
    quoted = connection.ops.quote_name
    assignments = ", ".join(f"{quoted(str(field.column))} = %s" for field in fields)
    table = quoted(Execution._meta.db_table)  # noqa: SLF001
    values = [
        [
            *(field.get_db_prep_save(row[field.name], connection=connection) for field in fields),
            outcome.job.id,
        ]
        for outcome, row in zip(outcomes, rows, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {table} SET {assignments} WHERE id = %s", values)  # noqa: S608 - names of ours


def _columns(outcome: Outcome) -> dict[str, object]:
    known = execution_columns(outcome)
    return {
        **known,
        "status": Execution.Status.FINISHED if outcome.decision else Execution.Status.CANCELLED,
        "reason": storable(known["reason"]),
        "summary": storable(known["summary"]),
        "lease_token": None,
        "finished_at": timezone.now(),
    }


def _grade_rows(outcomes: Sequence[Outcome]) -> list[GradeResult]:
    grades = [(o.job.id, graded) for o in outcomes for graded in o.graded]
    judged_by = (graded.judged_criterion for _, graded in grades)
    keys = Yardstick.objects.keys_of(spec for spec in judged_by if spec is not None)
    return [_grade_row(pk, graded, keys) for pk, graded in grades]


def _grade_row(
    execution_id: int, graded: GradedAssertion, yardsticks: Mapping[str, int]
) -> GradeResult:
    known = grade_columns(graded)
    known |= {name: storable(known[name]) for name in _WRITTEN_BY_OTHERS}
    criterion = graded.judged_criterion
    return GradeResult(
        execution_id=execution_id,
        yardstick_id=yardsticks[criterion.digest] if criterion else None,
        **known,
    )
