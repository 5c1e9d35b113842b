"""Tickets: notes in the queue that wake a worker process. It finds in the rows what there is to do."""

import logging

from django.db import Error
from django_q.brokers import get_broker
from django_q.tasks import async_task

from evals_app.runs.patience import queue_faults
from evals_app.runs.waiting import places_to_fill

log = logging.getLogger(__name__)


def call_workers() -> None:
    """Put as many tickets into the queue as processes would find work for.

    Those that are in it already count, so it never fills up however often this is called. Where the
    broker is away none are issued: reapers call again. Not to be called within a transaction, which
    would last as long as a broker keeps silent.
    """
    try:
        if not (places := places_to_fill()):
            return
        broker = get_broker()
        for _ in range(places - broker.queue_size()):
            async_task("evals_app.tasks.drain", task_name="drain", broker=broker)
    except queue_faults(Error) as error:
        log.warning("No ticket could be issued (%s); it is tried again.", error)
