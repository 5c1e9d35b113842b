"""Resume a run that was stopped: out of budget, out of time, or cancelled."""

from decimal import Decimal

from django.db import transaction
from django.db.models.functions import Now

from evals_app.engine.llm.pricing import usd_text
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import Execution, GradeResult, Run, Transcript
from evals_app.runs.ending.cancel import AT_ONCE
from evals_app.runs.ending.finish import TOTALS
from evals_app.runs.money.ceilings import is_paid, tightest_limit
from evals_app.runs.notices import drop_waiting
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.waiting import call_workers


def resume_run(run: Run, *, max_cost_usd: Decimal | None = None) -> None:
    """Run what did not run; results stay, and requeued executions keep replies already paid for.

    `max_cost_usd` is the new ceiling, of the whole run; None leaves it as it is.

    Raises:
        CannotStartError: the run was not stopped, nothing is left, or the ceiling is too low.
    """
    with transaction.atomic():
        locked = Run.objects.select_for_update().get(pk=run.pk)
        if problem := _why_not(locked, max_cost_usd):
            raise CannotStartError(problem)
        if max_cost_usd is not None:
            locked.max_cost_usd = max_cost_usd
        locked.status = Run.Status.RUNNING if locked.started_at else Run.Status.QUEUED
        locked.stop_reason, locked.reached_ceiling = "", ""
        locked.verdict, locked.score = "", None
        locked.summary, locked.reviewed = {}, {}
        locked.finished_at, locked.deadline_at = None, None
        for total in TOTALS:
            setattr(locked, total, None)
        locked.not_run += locked.cancelled
        locked.cancelled = 0
        locked.waiting_since = Now()
        locked.case_results.all().delete()  # they are summed up again
        _requeue_cancelled(locked)
        locked.save()
        drop_waiting(locked)
        transaction.on_commit(call_workers)
    run.refresh_from_db()


def _why_not(run: Run, max_cost_usd: Decimal | None) -> str:
    if run.settlement_id is not None:
        return (
            f"Run {run.pk} belongs to retest {run.settlement_id}, which cannot be continued. "
            "Start a new one."
        )
    if not run.stop_reason:
        return f"Run {run.pk} was not stopped; it {'goes on' if run.is_open else 'is complete'}."
    if run.is_open:
        return f"Run {run.pk} is still stopping; try again in a moment."
    if not run.cancelled + run.not_run:
        return f"Run {run.pk} has nothing left to run."
    return _too_low(run, max_cost_usd) or _used_up(run)


def _used_up(run: Run) -> str:
    """Return why the monthly budget is used up, if any of it is needed."""
    month = tightest_limit(run.created_by_id)
    if month is None or not month.is_used_up:
        return ""
    stopped_at_month = run.reached_ceiling in {Run.Ceiling.PERSON, Run.Ceiling.SITE}
    if stopped_at_month or is_paid(SnapshotSpec.read(run.snapshot.content).providers):
        return month.why_refused
    return ""


def _too_low(run: Run, max_cost_usd: Decimal | None) -> str:
    if run.max_cost_usd is None:
        if max_cost_usd is None:
            return ""
        return (
            f"Run {run.pk} was started without a ceiling, so the prices of its models were not"
            " checked. Resume it without a ceiling, or start a new run."
        )
    least = run.spent_usd + run.unsettled_usd
    if run.is_at_own_ceiling:
        least = max(least, run.max_cost_usd)  # below it the next call did not fit
    ceiling = run.max_cost_usd if max_cost_usd is None else max_cost_usd
    if ceiling > least:
        return ""
    return f"Run {run.pk} needs a ceiling above {usd_text(least, is_exact=True)} to resume."


def _requeue_cancelled(run: Run) -> None:
    """Reset conversations that were cut short: they run again."""
    cut_short = Execution.objects.filter(run=run, status=Execution.Status.CANCELLED)
    while ids := list(cut_short.order_by("pk").values_list("pk", flat=True)[:AT_ONCE]):
        Transcript.objects.filter(execution__in=ids).delete()
        GradeResult.objects.filter(execution__in=ids).delete()
        Execution.objects.filter(pk__in=ids).update(
            status=Execution.Status.QUEUED,
            attempts=0,  # no worker died: the run was cancelled
            reason="",
            agent_cost_usd=None,
            judge_cost_usd=None,
            turn_ms=[],
            started_at=None,
            finished_at=None,
        )
