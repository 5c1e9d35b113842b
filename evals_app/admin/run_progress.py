"""What a run is doing now: who works on it, since when, what it waits for, and what is stuck."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.safestring import SafeString

from evals_app.admin.presentation import badge, between, duration, plural
from evals_app.admin.run_stops import ENDED, STOPPING, cost_line, was_cut_short
from evals_app.models import Execution, Lease, Provider, Run
from evals_app.runs import MOST_ATTEMPTS, live_workers
from evals_app.runs.health import (
    HeldRows,
    Stuck,
    StuckKind,
    held_rows,
    running_rows,
    stuck_in_queue,
    stuck_while_held,
    usual_s,
)

MOST_ROWS = 20
SLOW = 2  # times what 95 % of the conversations take
NOTICEABLE_S = 10  # below it nobody needs to know that something is slow


@dataclass(frozen=True, slots=True)
class RunningLine:
    """An execution that is being held; `slow` and `lost` say what is wrong, if anything."""

    name: str
    age: str
    attempt: str
    worker: str
    doing: str
    slow: str
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
        ended = ENDED[Run.StopReason(run.stop_reason)] if was_cut_short(run) else "Finished"
        counts = ", ".join([f"{run.passed:,} passed", *trouble])
        return f"{ended}: {run.get_verdict_display().lower()}. {counts}."
    return f"{', '.join([done, *trouble])}."


def progress(run: Run) -> dict[str, Any]:
    """Collect what the page of an open run shows."""
    now = timezone.now()
    this = Run.objects.filter(pk=run.pk)
    leases = {lease.token: lease for lease in Lease.objects.filter(run=run).order_by("created_at")}
    alive = [lease for lease in leases.values() if lease.until > now]
    workers = None if alive else live_workers().count()
    held = held_rows(this)
    problems = stuck_while_held(held).get(run.pk, [])
    waiting = None
    if not alive and not run.stop_reason:
        since = run.created_at if run.started_at is None else _idle_since(run, leases)
        waiting = Waiting(since, between(since, now), workers or 0)
        if workers:
            problems += stuck_in_queue(this).values()
    # Two looks at what moves meanwhile: a difference below 0 means none.
    queued = max(0, run.not_run - sum(each.number for each in held))
    return {
        "percent": round(100 * run.done / run.total) if run.total else 100,
        "cost": cost_line(run),
        "stopping": STOPPING[Run.StopReason(run.stop_reason)] if run.stop_reason else "",
        "waiting": waiting,
        "drainers": plural(len(alive), "worker process", "worker processes") if alive else "",
        "blocked": [] if run.stop_reason else blocked_providers(run),
        "queued": plural(queued, "conversation") if queued and not run.stop_reason else "",
        "retried": _retried(held, now=now) if workers != 0 else "",
        "stuck": stuck_lines(problems, has_workers=workers != 0),
        **_running(run, leases, now=now, has_workers=workers != 0),
    }


def _idle_since(run: Run, leases: Mapping[UUID, Lease]) -> datetime:
    ends = [lease.until for lease in leases.values()]
    return max(ends) if ends else run.waiting_since


def _retried(held: Iterable[HeldRows], *, now: datetime) -> str:
    """Say when what was lost with a worker is held again, while that is to be expected."""
    ends = [(each.until, each.number) for each in held if each.until and each.until <= now]
    soon = [(end, number) for end, number in ends if _taken_back_at(end) > now]
    if not soon:
        return ""
    last = _taken_back_at(max(end for end, _ in soon))
    number = plural(sum(number for _, number in soon), "conversation")
    return f"Lost with a worker, retried by {last:%H:%M:%S} UTC: {number}."


def _taken_back_at(end: datetime) -> datetime:
    return end + timedelta(seconds=settings.EVALS_REAP_S)


def blocked_providers(run: Run) -> list[str]:
    """Name the providers of a run that asked us to wait, until when, and why."""
    name = Provider.objects.filter(slug=OuterRef("slug")).values("name")
    blocked = run.providers.filter(blocked_until__gt=Now())
    return [
        f"{state.name or state.slug} asked us to wait until"
        f" {state.blocked_until:%H:%M:%S} UTC: {state.reason.rstrip('.') or 'no reason given'}."
        for state in blocked.annotate(name=Subquery(name)).order_by("slug")
    ]


def stuck_lines(problems: Sequence[Stuck], *, has_workers: bool) -> list[str]:
    """Say what is stuck; what a worker mends as soon as there is one is not."""
    return [
        f"{_what(each)}: {plural(each.executions, 'conversation')}."
        for each in problems
        if has_workers or each.kind != StuckKind.NOT_TAKEN_BACK
    ]


def _what(problem: Stuck) -> str:
    at = f"{problem.since:%Y-%m-%d %H:%M:%S} UTC" if problem.since else ""
    if problem.kind == StuckKind.NOT_TAKEN_BACK:
        return f"Held by a worker that was lost at {at}, and not taken back"
    if problem.kind == StuckKind.HELD_BY_NOBODY:
        return "Counted as being held, though nobody holds them"
    return "Waiting though a worker is free" + (f", since {at}" if at else "")


def _running(
    run: Run, leases: Mapping[UUID, Lease], *, now: datetime, has_workers: bool
) -> dict[str, Any]:
    """Give the lines of what is being held, the oldest first."""
    running = running_rows().filter(run=run)
    rows = list(
        running.order_by(F("started_at").asc(nulls_last=True), "pk").only(
            "run", "case", "trial", "attempts", "started_at", "lease_token"
        )[: MOST_ROWS + 1]
    )
    is_noticeable = any(row.started_at and _seconds(row, now=now) > NOTICEABLE_S for row in rows)
    usual = usual_s(run) if is_noticeable else None
    return {
        "running": [
            _line(row, leases, now=now, usual=usual, has_workers=has_workers)
            for row in rows[:MOST_ROWS]
        ],
        "has_more": len(rows) > MOST_ROWS,
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
    # Who is told to wait, for a provider or for money, is not slow.
    is_slow = is_late and not doing.startswith("Waits")
    return RunningLine(
        name=str(row),
        age=between(row.started_at, now) if has_begun else "about to begin",
        attempt=f"{row.attempts} of {MOST_ATTEMPTS}" if has_begun else "",
        worker=f"{lease.host}, process {lease.pid}" if lease else "",
        doing=doing,
        slow=f"Slow: 95 % end within {duration(usual * 1000)}" if usual and is_slow else "",
        lost=_lost(lease, now=now, has_workers=has_workers),
    )


def _doing(row: Execution, lease: Lease | None) -> str:
    """Read what the worker said at its last sign of life; it may not know the row yet."""
    held = lease.activity.get("held", {}) if lease else {}
    said = str(held.get(str(row.pk), ""))
    return f"{said[:1].upper()}{said[1:]}"


def _lost(lease: Lease | None, *, now: datetime, has_workers: bool) -> str:
    if lease is None:
        return "Nobody holds it"
    if lease.until > now:
        return ""
    if not has_workers:
        return "Worker lost, retried once a worker is alive"
    retried_at = _taken_back_at(lease.until)
    if retried_at <= now:
        return "Worker lost, not taken back yet"
    return f"Worker lost, retried by {retried_at:%H:%M:%S} UTC"


def running_line(execution: Execution) -> RunningLine:
    """Give the line of one execution that is being held."""
    token = execution.lease_token
    leases = Lease.objects.in_bulk([token]) if token else {}
    return _line(execution, leases, now=timezone.now(), usual=None, has_workers=True)
