"""Reap: return the work of dead workers. Any number of reapers may run; each step has one winner."""

import socket
from datetime import timedelta

from asgiref.sync import async_to_sync
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django_q.models import Failure

from evals_app.engine.running.execution import write_off
from evals_app.engine.running.run_gateway import ExecutionJob
from evals_app.models import Execution, Lease, Run, Settlement, Tally, Worker
from evals_app.runs.ending.cancel import cancel_queued
from evals_app.runs.ending.finish import close_if_over
from evals_app.runs.ground import events
from evals_app.runs.ground.connections import forget_connections
from evals_app.runs.ground.patience import others_go_on
from evals_app.runs.ground.workers import is_process
from evals_app.runs.money.budget import leave_unsettled
from evals_app.runs.retests.rounds import advance_safely
from evals_app.runs.starting.preparing import remove_abandoned
from evals_app.runs.starting.waiting import call_workers
from evals_app.runs.work.conversations import stored_conversations
from evals_app.runs.work.lease import cases_of
from evals_app.runs.work.record import write_outcomes
from evals_app.runs.work.run_worker import plan_of
from evals_app.runs.work.skipping import stopping_rate

MAX_ATTEMPTS = 3  # at the third death of its worker an execution is given up
KEEP_FAILURES = timedelta(days=7)
FORGET_WORKERS = timedelta(hours=1)
_CANNOT = "Run %d cannot be looked after."


def reap() -> int:
    """Do all that is due; return the number of leases that were taken back."""
    here = socket.gethostname()
    gone = [
        lease.pk
        for lease in Lease.objects.filter(host=here, until__gt=Now())
        if not is_process(lease.pid)
    ]
    dead = Lease.objects.filter(Q(until__lte=Now()) | Q(pk__in=gone))
    reaped = 0
    for lease in dead.select_related("run"):
        with others_go_on(_CANNOT, lease.run_id):
            reaped += reap_lease(lease)
    for run in Run.objects.filter(status__in=Run.OPEN).defer("summary").order_by("pk"):
        with others_go_on(_CANNOT, run.pk):
            run.pass_deadline()
            cancel_queued(run.pk)
            close_if_over(run.pk)
    settlements = Settlement.objects.filter(status=Settlement.Status.RUNNING)
    for settlement_id in settlements.values_list("pk", flat=True):
        advance_safely(settlement_id)
    died = [row.pk for row in Worker.objects.filter(host=here) if not is_process(row.pid)]
    Worker.objects.filter(Q(pk__in=died) | Q(seen_at__lt=Now() - FORGET_WORKERS)).delete()
    remove_abandoned()
    forget_connections()
    call_workers()
    Failure.objects.filter(stopped__lt=Now() - KEEP_FAILURES).delete()
    return reaped


def reap_lease(lease: Lease) -> bool:
    """Requeue the rows of a lease and end it; False if it is alive again or another process did."""
    with transaction.atomic():
        # One reaper wins: the others find no row. A late renewal before this line saves the lease.
        still_dead = Lease.objects.filter(pk=lease.pk, until=lease.until)
        if not still_dead.select_for_update(skip_locked=True).exists():
            return False
        leased = Execution.objects.filter(
            lease_token=lease.pk, status=Execution.Status.RUNNING
        ).order_by("pk")
        rows = list(leased.select_for_update())
        # Only a death after the conversation began counts against an execution.
        worn_out = [row for row in rows if row.started_at and row.attempts >= MAX_ATTEMPTS]
        if worn_out:
            _write_off(worn_out, lease=lease)
        leased.exclude(pk__in=[row.pk for row in worn_out]).order_by().update(
            status=Execution.Status.QUEUED, lease_token=None
        )
        leave_unsettled(still_dead.get())
        Lease.objects.filter(pk=lease.pk).delete()
        Run.objects.filter(pk=lease.run_id).update(waiting_since=Now())
        Tally.add(Tally.LEASES_REAPED, 1)
    return True


def _write_off(rows: list[Execution], *, lease: Lease) -> None:
    run = Run.objects.select_related("snapshot", "grades_of").get(pk=lease.run_id)
    plan = plan_of(run)
    at = f"{lease.until:%Y-%m-%d %H:%M:%S} UTC"
    reason = f"Its worker died {MAX_ATTEMPTS} times, last on {lease.host} before {at}."
    cases = cases_of(run.pk, {row.position for row in rows})
    stored = stored_conversations(run, [row.pk for row in rows])
    jobs = (
        ExecutionJob(row.pk, cases[row.position], row.trial, stored=stored.get(row.pk))
        for row in rows
    )
    outcomes = [async_to_sync(write_off)(plan, job, reason=reason) for job in jobs]
    write_outcomes(outcomes, run_id=run.pk, min_pass_rate=stopping_rate(run))
    events.executions_ended(run.pk, outcomes)
