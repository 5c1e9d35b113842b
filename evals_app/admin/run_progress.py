"""What a run is doing now: who works on it, since when, and why it may be waiting."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from django.utils.safestring import SafeString

from evals_app.admin.presentation import badge, between, plural
from evals_app.models import Execution, Lease, Run
from evals_app.runs import MOST_ATTEMPTS, live_workers

MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class RunningLine:
    """An execution that is being held."""

    name: str
    age: str
    attempt: str
    worker: str
    lost: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why nobody works on a run that has something to do."""

    since: datetime
    how_long: str
    workers: int


def counters(run: Run) -> list[tuple[SafeString, int]]:
    """Give the five kinds that add up to the total."""
    numbers = {
        "passed": run.passed,
        "failed": run.failed,
        "errored": run.errored,
        "cancelled": run.cancelled,
        "not_run": run.not_run,
    }
    # While it goes on, what has not been held may still be.
    words = {"not_run": "To do"} if run.is_open else {}
    return [(badge(kind, word=words.get(kind, "")), number) for kind, number in numbers.items()]


def status_line(run: Run) -> str:
    """Say in one line how a run stands, for people who listen to the page."""
    done = f"{run.done:,} of {run.total:,} done"
    trouble = [
        f"{n:,} {word}" for word, n in (("failed", run.failed), ("errored", run.errored)) if n
    ]
    if not run.is_open:
        ended = "Cancelled" if run.status == Run.Status.CANCELLED else "Finished"
        counts = ", ".join([f"{run.passed:,} passed", *trouble])
        return f"{ended}: {run.get_verdict_display().lower()}. {counts}."
    return f"{', '.join([done, *trouble])}."


def progress(run: Run) -> dict[str, Any]:
    """Collect what the page of an open run shows."""
    now = timezone.now()
    leases = {lease.token: lease for lease in Lease.objects.filter(run=run).order_by("created_at")}
    running = run.executions.filter(status=Execution.Status.RUNNING)
    rows = list(
        running.order_by("started_at", "pk").only(
            "run", "case", "trial", "attempts", "started_at", "lease_token"
        )[: MOST_ROWS + 1]
    )
    alive = [lease for lease in leases.values() if lease.until > now]
    waiting = None
    if not alive and not run.stop_reason:
        since = run.created_at if run.started_at is None else _idle_since(run, leases)
        waiting = Waiting(since, between(since, now), live_workers().count())
    return {
        "percent": round(100 * run.done / run.total) if run.total else 100,
        "running": [_line(row, leases, now=now) for row in rows[:MOST_ROWS]],
        "has_more": len(rows) > MOST_ROWS,
        "waiting": waiting,
        "drainers": plural(len(alive), "worker process", "worker processes") if alive else "",
    }


def _idle_since(run: Run, leases: Mapping[UUID, Lease]) -> datetime:
    ends = [lease.until for lease in leases.values()]
    return max(ends) if ends else run.ticketed_at or run.started_at or run.created_at


def _line(row: Execution, leases: Mapping[UUID, Lease], *, now: datetime) -> RunningLine:
    lease = leases.get(row.lease_token) if row.lease_token else None
    lost = ""
    if lease is not None and lease.until <= now:
        retried_at = lease.until + timedelta(seconds=settings.EVALS_REAP_S)
        lost = f"Worker lost, retried by {retried_at:%H:%M:%S} UTC"
    has_begun = row.attempts > 0 and row.started_at is not None
    return RunningLine(
        name=str(row),
        age=between(row.started_at, now) if has_begun else "about to begin",
        attempt=f"attempt {row.attempts} of {MOST_ATTEMPTS}" if has_begun else "",
        worker=f"{lease.host}, process {lease.pid}" if lease else "",
        lost=lost,
    )


def running_line(execution: Execution) -> RunningLine:
    """Give the line of one execution that is being held."""
    held = Lease.objects.filter(run=execution.run_id)
    leases = {lease.token: lease for lease in held}
    return _line(execution, leases, now=timezone.now())
