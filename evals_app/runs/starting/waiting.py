"""Which runs wait for a process, which of them it takes next, and the tickets that wake it."""

import logging
import os
import socket
from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict

from django.db import Error
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.aggregates import Aggregate
from django.db.models.functions import Coalesce, Now
from django_q.brokers import get_broker
from django_q.tasks import async_task

from evals_app.models import Execution, Lease, ProviderState, Run
from evals_app.runs.ground.patience import queue_faults
from evals_app.runs.ground.workers import processes, workers_for

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

log = logging.getLogger(__name__)

ADOPT_AFTER = timedelta(seconds=0.5)  # an idle process would have taken the run by then
MAKE_ROOM_AFTER = timedelta(seconds=10)


class Staff(TypedDict):
    """The valid leases of a run: their number, and their share of its concurrency."""

    workers: int
    slots_taken: int


def waiting_runs(
    *, blocked_since: timedelta = timedelta()
) -> "QuerySet[WithAnnotations[Run, Staff]]":
    """Return the open runs that have room for one more process, oldest first.

    A run whose provider is rate-limiting us, or was within `blocked_since`, is not among them: a
    process could only wait with it.
    """
    queued = Execution.objects.filter(run=OuterRef("pk"), status=Execution.Status.QUEUED)
    blocked = ProviderState.objects.filter(
        runs=OuterRef("pk"), blocked_until__gt=Now() - blocked_since
    )
    return (
        Run.objects.filter(Exists(queued), ~Exists(blocked), status__in=Run.OPEN, stop_reason="")
        .annotate(workers=_of_leases(Count("pk")), slots_taken=_of_leases(Sum("slots")))
        .filter(slots_taken__lt=F("concurrency"))
        .order_by("pk")
        .defer("summary")
    )


def _of_leases(total: Aggregate) -> Coalesce:
    leases = Lease.objects.filter(run=OuterRef("pk"), until__gt=Now()).order_by()
    return Coalesce(Subquery(leases.values("run").annotate(total=total).values("total")), 0)


def _short_of_workers(
    runs: "QuerySet[WithAnnotations[Run, Staff]]", *, processes: int
) -> Iterator[tuple[int, int]]:
    """Return the runs that want more processes than they have, and how many more."""
    rows = runs.values_list("pk", "concurrency", "total", "workers")
    for pk, concurrency, total, workers in rows.iterator():
        wanted = workers_for(concurrency, executions=total, processes=processes)
        if workers < wanted:
            yield pk, wanted - workers


def places_to_fill() -> int:
    """Return how many processes would find work, at most the number that exists."""
    most, places = processes(), 0
    for _, missing in _short_of_workers(waiting_runs(), processes=most):
        places += missing
        if places >= most:
            return most
    return places


def call_workers() -> None:
    """Issue a ticket for each process that would find work.

    Tickets that are queued already count, so the queue never fills up. While the broker is
    unavailable none are issued: reapers call again. Call it outside of transactions: an
    unresponsive broker would prolong them.
    """
    try:
        if not (places := places_to_fill()):
            return
        broker = get_broker()
        for _ in range(places - broker.queue_size()):
            async_task("evals_app.tasks.work_on_runs", task_name="work on runs", broker=broker)
    except queue_faults(Error) as error:
        log.warning("No ticket could be issued (%s); it is tried again.", error)


def next_run(*, is_busy: bool, except_for: Collection[int] = ()) -> int | None:
    """Return the run that this process takes next; None if there is none for it.

    An idle process takes the oldest that waits; the last idle one takes only a run that has no
    process at all. A busy process, whose conversations may do nothing but wait, adopts what no idle
    one has taken: a run that has no process, and once idle ones are short one that wants another.
    """
    # Cheap, and usually the answer: a process asks four times a second.
    if not Run.objects.filter(status__in=Run.OPEN).exclude(pk__in=except_for).exists():
        return None
    runs, most = waiting_runs().exclude(pk__in=except_for), processes()
    busy = Lease.objects.filter(until__gt=Now()).values("host", "pid").distinct().count()
    are_idle_short = most - busy <= 1
    if is_busy:
        if _must_make_room():
            return None
        runs = runs.filter(_has_fresh(), waiting_since__lt=Now() - ADOPT_AFTER)
    if is_busy != are_idle_short:
        runs = runs.filter(workers=0)
    return next((pk for pk, _ in _short_of_workers(runs, processes=most)), None)


def _has_fresh() -> Exists:
    """Match runs with queued conversations that have never crashed a worker."""
    fresh = Execution.objects.filter(run=OuterRef("pk"), status=Execution.Status.QUEUED, attempts=0)
    return Exists(fresh)


def _must_make_room() -> bool:
    """Whether this busy process has to become idle, for a run that needs a process of its own.

    Suspects run apart from everything else, and would wait forever if every process kept adopting
    runs; so the one that has been busy longest takes nothing new.
    """
    suspects = waiting_runs().filter(~_has_fresh(), waiting_since__lt=Now() - MAKE_ROOM_AFTER)
    if not suspects.filter(workers=0).exists():
        return False
    leases = Lease.objects.filter(until__gt=Now()).order_by("created_at", "pk")
    return leases.values_list("host", "pid").first() == (socket.gethostname(), os.getpid())
