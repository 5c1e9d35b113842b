"""Which worker commands are alive."""

import os
import socket
from datetime import timedelta

from django.db.models import QuerySet
from django.db.models.functions import Now

from evals_app import __version__
from evals_app.models import Worker

FRESH = timedelta(seconds=30)


def live_workers() -> QuerySet[Worker]:
    """Give the worker commands that were seen lately and are not on their way out."""
    return Worker.objects.filter(seen_at__gt=Now() - FRESH, is_draining=False)


def somebody_works() -> bool:
    """Whether a worker is alive; one on this host must also still be a process."""
    here = socket.gethostname()
    return any(worker.host != here or is_process(worker.pid) for worker in live_workers())


def somebody_works_here() -> bool:
    """Whether a worker is alive on this very machine."""
    here = live_workers().filter(host=socket.gethostname())
    return any(is_process(worker.pid) for worker in here)


def is_process(pid: int) -> bool:
    """Whether a process with this number exists on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def announce(*, processes: int, is_draining: bool = False) -> None:
    """Say that this process's worker command is alive."""
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
    """Take this process's row away."""
    Worker.objects.filter(host=socket.gethostname(), pid=os.getpid()).delete()
