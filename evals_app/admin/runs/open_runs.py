"""Runs in progress as rows: how far each is, in one unit, and how long the rest takes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.utils import timezone

from evals_app.admin.kit.presentation import plural, run_state
from evals_app.admin.runs.run_progress import MIN_ENDED
from evals_app.models import Execution, Run
from evals_app.reports.words.figures import duration

MAX_COUNTED = 5_000  # conversations of runs whose cases are counted

_OPEN = Q(status__in=[Execution.Status.QUEUED, Execution.Status.RUNNING])


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run in progress: the parts of its bar, and the same in words."""

    run: Run
    parts: Sequence[tuple[str, int]]
    done: str
    left: str

    @property
    def about(self) -> str:
        """The agent, the part of the suite, and what it waits for."""
        parts = [self.run.agent_name, f"run {self.run.pk}", self.run.covers]
        state = run_state(self.run)
        return ", ".join(filter(None, [*parts, "" if state == "running" else state]))


def open_rows(runs: Sequence[Run]) -> list[OpenRun]:
    """Return the rows of open runs, in one query."""
    several = [run for run in runs if run.case_count and run.case_count < run.total <= MAX_COUNTED]
    cases = _count_cases(several)
    now = timezone.now()
    return [_row(run, cases.get(run.pk), now=now) for run in runs]


def _count_cases(runs: Iterable[Run]) -> dict[int, Counter[str]]:
    """Count the cases of runs by the tone of what their trials say so far."""
    counts: dict[int, Counter[str]] = {run.pk: Counter() for run in runs}
    if not counts:
        return {}
    cases = Execution.objects.filter(run__in=counts).order_by().values_list("run", "position")
    rows = cases.annotate(
        remaining=Count("pk", filter=_OPEN),
        failed=Count("pk", filter=Q(verdict="failed")),
        ended=Count("pk", filter=~Q(verdict="") & ~Q(verdict="errored")),
    )
    for pk, _, remaining, failed, ended in rows:
        counts[pk][_tone(remaining=remaining, failed=failed, ended=ended)] += 1
    return counts


def _tone(*, remaining: int, failed: int, ended: int) -> str:
    if remaining:
        return "calm"
    if failed:
        return "bad"
    return "good" if ended else "warn"


def _row(run: Run, cases: Counter[str] | None, *, now: datetime) -> OpenRun:
    unit = "case" if cases is not None or run.case_count == run.total else "conversation"
    if cases is None:
        cases = Counter(
            good=run.passed + run.measured,
            bad=run.failed,
            warn=run.errored + run.cancelled + run.skipped,
            calm=run.not_run,
        )
    total = sum(cases.values())
    bad = "failed" if unit == "conversation" or run.case_count == run.total else "with a failure"
    words = [
        f"{total - cases['calm']:,} of {plural(total, unit)}",
        f"{cases['bad']:,} {bad}" if cases["bad"] else "",
    ]
    parts = [(tone, cases[tone]) for tone in ("good", "bad", "warn", "calm")]
    return OpenRun(run, parts, ", ".join(filter(None, words)), _time_left(run, now=now))


def _time_left(run: Run, *, now: datetime) -> str:
    """Return how long the rest takes at the pace so far; empty while that is unknown."""
    has_waited = run.started_at is None or run.waiting_since > run.started_at
    if run.started_at is None or has_waited or run.stop_reason or run.ended_count < MIN_ENDED:
        return ""
    seconds = (now - run.started_at).total_seconds()
    return f"about {duration(1000 * seconds / run.ended_count * run.not_run)} left"
