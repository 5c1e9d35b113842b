"""Tickets: notes in the queue that somebody should work on a run."""

import logging
import math

from django.conf import settings
from django.db import Error, transaction
from django.db.models import Sum
from django_q.tasks import async_task
from redis import RedisError

from evals_app.models import Run
from evals_app.runs.workers import live_workers

log = logging.getLogger(__name__)

MOST_SLOTS = 64  # conversations that one drainer holds at once


def processes() -> int:
    """Count the processes of all workers that are alive; none yet: those that one would have."""
    alive = live_workers().aggregate(processes=Sum("processes"))["processes"]
    return int(alive or settings.WORKERS)


def drainers_for(concurrency: int, *, executions: int, processes: int) -> int:
    """Say how many drainers a run wants: two cores beat one even when one could hold it all.

    One process stays free, so that a case tried by hand starts beside a long run.
    """
    wanted = 1 if concurrency == 1 else max(2, math.ceil(concurrency / MOST_SLOTS))
    free = max(1, processes - 1)
    return max(1, min(wanted, free, executions))


def slots_for(concurrency: int, *, drainers: int) -> int:
    """Say how many conversations each of a run's drainers holds at once."""
    return min(MOST_SLOTS, math.ceil(concurrency / drainers))


def ask_for_drainers(run_id: int, *, concurrency: int, executions: int) -> None:
    """Put as many tickets into the queue as a run wants drainers."""
    issue_tickets(run_id, drainers_for(concurrency, executions=executions, processes=processes()))


def issue_tickets(run_id: int, count: int) -> bool:
    """Put tickets into the queue, all in one transaction; say whether that worked.

    Where the broker is away none are issued and the run says so: the next reaper tries again.
    """
    try:
        with transaction.atomic():
            for _ in range(count):
                async_task("evals_app.tasks.drain", run_id=run_id, task_name=f"run-{run_id}")
    except (Error, RedisError, OSError) as error:
        log.warning("No ticket for run %d could be issued (%s); it is tried again.", run_id, error)
        Run.objects.filter(pk=run_id).update(ticketed_at=None)
        return False
    return True
