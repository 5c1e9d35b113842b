"""Which worker commands are alive, and how their processes share a run."""

import math
import os
import socket
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet, Sum
from django.db.models.functions import Now

from evals_app import __version__
from evals_app.models import Worker

FRESH = timedelta(seconds=30)
MAX_SLOTS = 64  # conversations of one run that a process works on at once


def live_workers() -> QuerySet[Worker]:
    """Return the worker commands that were seen recently and are not shutting down."""
    return Worker.objects.filter(seen_at__gt=Now() - FRESH, is_draining=False)


def processes() -> int:
    """Count the processes of all live workers; if there are none, those that one would have."""
    alive = live_workers().aggregate(processes=Sum("processes"))["processes"]
    return int(alive or settings.WORKERS)


def has_worker() -> bool:
    """Whether a worker is alive; one on this host must also still be a process."""
    here = socket.gethostname()
    return any(worker.host != here or is_process(worker.pid) for worker in live_workers())


def has_worker_here() -> bool:
    """Whether a worker is alive on this very machine."""
    here = live_workers().filter(host=socket.gethostname())
    return any(is_process(worker.pid) for worker in here)


def is_process(pid: int) -> bool:
    """Whether a process with this number works on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether a process has died and its parent has not noticed; in a container none may."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] == "Z"  # the name before it may contain anything


def announce(*, processes: int, is_draining: bool = False) -> None:
    """Record that this process's worker command is alive."""
    Worker.objects.update_or_create(
        host=socket.gethostname(),
        pid=os.getpid(),
        defaults={
            "version": __version__,
            "processes": processes,
            "is_draining": is_draining,
            "seen_at": Now(),
        },
    )


def retire() -> None:
    """Delete this process's row."""
    Worker.objects.filter(host=socket.gethostname(), pid=os.getpid()).delete()


def workers_for(concurrency: int, *, executions: int, processes: int) -> int:
    """Return how many processes a run can use: two cores beat one even when one could do it all.

    One process stays free, so that a try of a case starts beside a long run.
    """
    wanted = 1 if concurrency == 1 else max(2, math.ceil(concurrency / MAX_SLOTS))
    free = max(1, processes - 1)
    return max(1, min(wanted, free, executions))


def slots_for(concurrency: int, *, workers: int) -> int:
    """Return how many conversations each of a run's processes works on at once."""
    return min(MAX_SLOTS, math.ceil(concurrency / workers))
