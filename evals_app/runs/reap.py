"""Reap: give back what dead workers held, and see to runs that nobody looks after.

Any number of reapers may run at the same time; each step has one winner.
"""

import socket
from datetime import timedelta

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django_q.models import Failure

from evals_app.engine.execution import Job, write_off
from evals_app.models import Execution, Lease, Run, Worker
from evals_app.runs.cancel import cancel_queued
from evals_app.runs.drain import plan_of
from evals_app.runs.finish import close_if_over
from evals_app.runs.record import write_outcomes
from evals_app.runs.tickets import drainers_for, issue_tickets
from evals_app.runs.workers import is_process

MOST_ATTEMPTS = 3  # at the third death of its worker an execution is given up
KEEP_FAILURES = timedelta(days=7)
FORGET_WORKERS = timedelta(hours=1)


def reap() -> int:
    """Do all that is due; give the number of leases that were taken back."""
    here = socket.gethostname()
    gone = [
        lease.pk
        for lease in Lease.objects.filter(host=here, until__gt=Now())
        if not is_process(lease.pid)
    ]
    dead = Lease.objects.filter(Q(until__lte=Now()) | Q(pk__in=gone))
    reaped = sum(_reap_lease(lease) for lease in dead.select_related("run"))
    for run in Run.objects.filter(status__in=Run.OPEN).order_by("pk"):
        run.pass_deadline()
        cancel_queued(run.pk)
        close_if_over(run.pk)
    _forget_workers(here)
    _issue_missing_tickets()
    Failure.objects.filter(stopped__lt=Now() - KEEP_FAILURES).delete()
    return reaped


def _reap_lease(lease: Lease) -> bool:
    with transaction.atomic():
        # One reaper wins: the others find no row. A late renewal before this line saves the lease.
        still_dead = Lease.objects.filter(pk=lease.pk, until=lease.until)
        if not still_dead.select_for_update(skip_locked=True).exists():
            return False
        held = Execution.objects.filter(
            lease_token=lease.pk, status=Execution.Status.RUNNING
        ).order_by("pk")
        rows = list(held.select_for_update())
        # Only a death after the conversation began counts against an execution.
        worn_out = [row for row in rows if row.started_at and row.attempts >= MOST_ATTEMPTS]
        if worn_out:
            _write_off(worn_out, lease=lease)
        held.exclude(pk__in=[row.pk for row in worn_out]).order_by().update(
            status=Execution.Status.QUEUED, lease_token=None
        )
        Lease.objects.filter(pk=lease.pk).delete()
        # Its tickets went with the worker: new ones are due at once.
        Run.objects.filter(pk=lease.run_id).update(ticketed_at=None)
    return True


def _write_off(rows: list[Execution], *, lease: Lease) -> None:
    run = Run.objects.select_related("snapshot").get(pk=lease.run_id)
    plan = plan_of(run)
    reason = f"Its worker died {MOST_ATTEMPTS} times, last on {lease.host}."
    outcomes = [
        async_to_sync(write_off)(plan, Job(row.pk, row.case, row.trial), reason=reason)
        for row in rows
    ]
    write_outcomes(outcomes, run_id=run.pk)


def _forget_workers(here: str) -> None:
    """Drop the rows of workers that are gone; tickets they had pulled into memory went with them."""
    died = [row.pk for row in Worker.objects.filter(host=here) if not is_process(row.pid)]
    gone = Worker.objects.filter(Q(pk__in=died) | Q(seen_at__lt=Now() - FORGET_WORKERS))
    if gone.delete()[0]:
        Run.objects.filter(status__in=Run.OPEN).update(ticketed_at=None)


def _issue_missing_tickets() -> None:
    """Ask again for open runs that wait: tickets may have been lost with a worker or a broker."""
    waits = Execution.objects.filter(run=OuterRef("pk"), status=Execution.Status.QUEUED)
    leased = Lease.objects.filter(run=OuterRef("pk"), until__gt=Now())
    overdue = Q(ticketed_at__isnull=True) | Q(
        ticketed_at__lt=Now() - timedelta(seconds=settings.EVALS_LEASE_S)
    )
    forgotten = Run.objects.filter(
        overdue, Exists(waits), ~Exists(leased), status__in=Run.OPEN, stop_reason=""
    )
    for run in forgotten:
        # One UPDATE: of several reapers one issues the tickets, once per lease time.
        if Run.objects.filter(overdue, pk=run.pk).update(ticketed_at=Now()):
            issue_tickets(run.pk, drainers_for(run.concurrency, executions=run.not_run))
