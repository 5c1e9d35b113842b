"""What a run is doing now: which workers run it, what it waits for, and what is stuck."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Now
from django.utils import timezone

from evals_app.admin.kit.presentation import between, plural
from evals_app.admin.runs.run_counts import CountedCases, cases_so_far
from evals_app.admin.runs.run_stops import ENDED, STOPPING, cost_line, was_cut_short
from evals_app.models import Execution, Lease, Provider, Run
from evals_app.reports.words.figures import duration
from evals_app.runs.ending.health import (
    LeasedRows,
    Stuck,
    StuckKind,
    leased_rows,
    running_rows,
    stuck_in_queue,
    stuck_while_running,
    usual_s,
)
from evals_app.runs.ending.reap import MAX_ATTEMPTS
from evals_app.runs.ground.workers import live_workers
from fixtures_app.editing.times import clock, moment_text

MAX_ROWS = 20
SLOW = 2  # times the 95th percentile of the conversations
NOTICEABLE_S = 10  # shorter delays are not worth showing
MIN_ENDED = 5  # with fewer conversations, a pace is meaningless


@dataclass(frozen=True, slots=True)
class RunningLine:
    """A running execution; `slow` and `lost` explain what is wrong, if anything."""

    name: str
    age: str
    attempt: str
    worker: str
    doing: str
    slow: str
    lost: str


@dataclass(frozen=True, slots=True)
class QueueWait:
    """How long a run has been waiting for a worker."""

    since: datetime
    how_long: str
    workers: int


def ended_line(run: Run, counted: CountedCases) -> str:
    """Return how a run ended in one line, for screen readers."""
    ended = ENDED[Run.StopReason(run.stop_reason)] if was_cut_short(run) else "Finished"
    return f"{ended}: {run.get_verdict_display().lower()}. {counted.headline}."


def progress(run: Run) -> dict[str, Any]:
    """Collect what the page of an open run shows."""
    now = timezone.now()
    this = Run.objects.filter(pk=run.pk)
    leases = {lease.token: lease for lease in Lease.objects.filter(run=run).order_by("created_at")}
    alive = [lease for lease in leases.values() if lease.until > now]
    workers = None if alive else live_workers().count()
    leased = leased_rows(this)
    problems = stuck_while_running(leased).get(run.pk, [])
    waiting = None
    if not alive and not run.stop_reason:
        ends = [lease.until for lease in leases.values()] or [run.waiting_since]
        since = run.created_at if run.started_at is None else max(ends)
        waiting = QueueWait(since, between(since, now), workers or 0)
        if workers:
            problems += stuck_in_queue(this).values()
    # The rows change between the two queries: a negative difference means none.
    queued = max(0, run.not_run - sum(rows.number for rows in leased))
    counted = cases_so_far(run)
    return {
        "counted": counted,
        "status_line": f"{counted.headline}.",
        "cost": cost_line(run),
        "pace": pace_line(run, now=now) if alive and not run.stop_reason else "",
        "stopping": STOPPING[Run.StopReason(run.stop_reason)] if run.stop_reason else "",
        "waiting": waiting,
        "workers": plural(len(alive), "worker process", "worker processes") if alive else "",
        "blocked": [] if run.stop_reason else blocked_providers(run),
        "queued": plural(queued, "conversation") if queued and not run.stop_reason else "",
        "retried": _retry_time(leased, now=now) if workers != 0 else "",
        "stuck": stuck_lines(problems, has_workers=workers != 0),
        **_running(run, leases, now=now, has_workers=workers != 0),
    }


def pace_line(run: Run, *, now: datetime) -> str:
    """Return how many conversations ended in a minute, and how long the rest takes at that pace.

    Nothing of a run that has been waiting since it started: no worker was on it meanwhile.
    """
    if run.started_at is None or run.waiting_since > run.started_at or run.ended_count < MIN_ENDED:
        return ""
    seconds = (now - run.started_at).total_seconds()
    left = duration(1000 * seconds / run.ended_count * (run.total - run.ended_count))
    a_minute = 60 * run.ended_count / max(seconds, 1)
    return f"{a_minute:,.0f} conversations a minute. About {left} left."


def _retry_time(leased: Iterable[LeasedRows], *, now: datetime) -> str:
    """Return when interrupted conversations will be retried, as long as that is expected."""
    ends = [(rows.until, rows.number) for rows in leased if rows.until and rows.until <= now]
    soon = [(end, number) for end, number in ends if _taken_back_at(end) > now]
    if not soon:
        return ""
    last = _taken_back_at(max(end for end, _ in soon))
    number = plural(sum(number for _, number in soon), "conversation")
    return f"Interrupted by a worker crash, retry by {clock(last)}: {number}."


def _taken_back_at(end: datetime) -> datetime:
    return end + timedelta(seconds=settings.EVALS_REAP_S)


def blocked_providers(run: Run) -> list[str]:
    """Return the providers of a run that are rate-limiting us, until when, and why."""
    name = Provider.objects.filter(slug=OuterRef("slug")).values("name")
    blocked = run.providers.filter(blocked_until__gt=Now())
    return [
        f"{state.name or state.slug} asked us to wait until"
        f" {clock(state.blocked_until)}: {state.reason.rstrip('.') or 'no reason given'}."
        for state in blocked.annotate(name=Subquery(name)).order_by("slug")
    ]


def stuck_lines(problems: Sequence[Stuck], *, has_workers: bool) -> list[str]:
    """Describe what is stuck, except for what the next worker will fix."""
    return [
        f"{_what(problem)}: {plural(problem.executions, 'conversation')}."
        for problem in problems
        if has_workers or problem.kind != StuckKind.NOT_TAKEN_BACK
    ]


def _what(problem: Stuck) -> str:
    at = moment_text(problem.since) if problem.since else ""
    if problem.kind == StuckKind.NOT_TAKEN_BACK:
        return f"Stuck on a worker that disappeared at {at}"
    if problem.kind == StuckKind.NO_LEASE:
        return "Marked as running, but no worker has them"
    return "Not picked up although a worker is free" + (f", since {at}" if at else "")


def _running(
    run: Run, leases: Mapping[UUID, Lease], *, now: datetime, has_workers: bool
) -> dict[str, object]:
    """Return the running executions, the oldest first."""
    running = running_rows().filter(run=run)
    rows = list(
        running.order_by(F("started_at").asc(nulls_last=True), "pk").only(
            "run", "case", "trial", "attempts", "started_at", "lease_token"
        )[: MAX_ROWS + 1]
    )
    is_noticeable = any(row.started_at and _seconds(row, now=now) > NOTICEABLE_S for row in rows)
    usual = usual_s(run) if is_noticeable else None
    return {
        "running": [
            _line(row, leases, now=now, usual=usual, has_workers=has_workers)
            for row in rows[:MAX_ROWS]
        ],
        "has_more": len(rows) > MAX_ROWS,
    }


def _seconds(row: Execution, *, now: datetime) -> float:
    return (now - row.started_at).total_seconds() if row.started_at else 0.0


def _line(
    row: Execution,
    leases: Mapping[UUID, Lease],
    *,
    now: datetime,
    usual: float | None,
    has_workers: bool,
) -> RunningLine:
    lease = leases.get(row.lease_token) if row.lease_token else None
    has_begun = row.attempts > 0 and row.started_at is not None
    doing = _doing(row, lease)
    is_late = usual is not None and _seconds(row, now=now) > max(SLOW * usual, NOTICEABLE_S)
    # Waiting for a provider or for money is not slowness.
    is_slow = is_late and not doing.startswith("Wait")
    return RunningLine(
        name=str(row),
        age=between(row.started_at, now) if has_begun else "starting",
        attempt=f"{row.attempts} of {MAX_ATTEMPTS}" if has_begun else "",
        worker=f"{lease.host}, process {lease.pid}" if lease else "",
        doing=doing,
        slow=f"Slow: 95 % finish within {duration(usual * 1000)}" if usual and is_slow else "",
        lost=_lost_worker(lease, now=now, has_workers=has_workers),
    )


def _doing(row: Execution, lease: Lease | None) -> str:
    """Return what the worker reported in its last heartbeat; it may not know the row yet."""
    steps = lease.activity.get("doing", {}) if lease else {}
    step = str(steps.get(str(row.pk), ""))
    return f"{step[:1].upper()}{step[1:]}"


def _lost_worker(lease: Lease | None, *, now: datetime, has_workers: bool) -> str:
    if lease is None:
        return "No worker has it"
    if lease.until > now:
        return ""
    if not has_workers:
        return "Worker crashed, retry once a worker is running"
    retried_at = _taken_back_at(lease.until)
    if retried_at <= now:
        return "Worker crashed, retry is overdue"
    return f"Worker crashed, retry by {clock(retried_at)}"


def running_line(execution: Execution) -> RunningLine:
    """Return the line of one running execution."""
    token = execution.lease_token
    leases = Lease.objects.in_bulk([token]) if token else {}
    return _line(execution, leases, now=timezone.now(), usual=None, has_workers=True)
