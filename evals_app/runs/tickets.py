"""Tickets: notes in the queue that somebody should work on a run."""

import math

from django.conf import settings
from django.db import transaction
from django_q.tasks import async_task

MOST_SLOTS = 64  # conversations that one drainer holds at once


def drainers_for(concurrency: int, *, executions: int) -> int:
    """Say how many drainers a run wants: two cores beat one even when one could hold it all.

    One process stays free, so that a case tried by hand starts beside a long run.
    """
    wanted = 1 if concurrency == 1 else max(2, math.ceil(concurrency / MOST_SLOTS))
    free = max(1, int(settings.WORKERS) - 1)
    return max(1, min(wanted, free, executions))


def slots_for(concurrency: int, *, executions: int) -> int:
    """Say how many conversations each of a run's drainers holds at once."""
    return min(
        MOST_SLOTS, math.ceil(concurrency / drainers_for(concurrency, executions=executions))
    )


def issue_tickets(run_id: int, count: int) -> None:
    """Put tickets into the queue, all in one transaction."""
    with transaction.atomic():
        for _ in range(count):
            async_task("evals_app.tasks.drain", run_id=run_id, task_name=f"run-{run_id}")
