"""What happens to runs, as lines of the log of a worker."""

import logging
from collections import Counter
from collections.abc import Iterable

from evals_app.engine.record.trial import Cause
from evals_app.engine.running.run_gateway import Outcome
from evals_app.models import Run

log = logging.getLogger(__name__)

MAX_LINES = 20  # of one run and cause, in one process
MAX_CHARACTERS = 300
_lines: Counter[tuple[int, Cause]] = Counter()


def be_quiet() -> None:
    """Write none of these lines: the command shows people what happens."""
    log.setLevel(logging.CRITICAL)


def run_begins(run: Run) -> None:
    """Write that the first executions of a run were claimed."""
    log.info(
        *("Run %d of %s begins: %d conversations, up to %d at once.", run.pk, run.suite_slug),
        *(run.total, run.concurrency),
        extra={"run": run.pk},
    )


def run_ended(run: Run, *, verdict: str) -> None:
    """Write how a run ended."""
    states = ("passed", "failed", "errored", "measured", "skipped", "cancelled", "not_run")
    counts = [
        f"{getattr(run, state)} {state.replace('_', ' ')}"
        for state in states
        if getattr(run, state) or state != "measured"
    ]
    log.info(
        *("Run %d of %s has ended: %s; %s.", run.pk, run.suite_slug, verdict, ", ".join(counts)),
        extra={"run": run.pk},
    )


def executions_ended(run_id: int, outcomes: Iterable[Outcome]) -> None:
    """Write what went wrong in executions, unless a check decided: that is an ordinary result."""
    for outcome in outcomes:
        cause = outcome.decision.cause if outcome.decision else None
        if outcome.decision is None or cause is None or cause is Cause.ASSERTION:
            continue
        _lines[run_id, cause] += 1
        if _lines[run_id, cause] == MAX_LINES + 1:
            text = "More conversations of run %d with cause %s are not logged."
            log.warning(text, run_id, cause.value, extra={"run": run_id})
        if _lines[run_id, cause] > MAX_LINES:
            continue
        reason = " ".join(outcome.decision.reason.split())[:MAX_CHARACTERS]
        log.log(
            logging.WARNING if cause.is_error else logging.INFO,
            *("Conversation %d has %s, cause %s: %s", outcome.job.id),
            *(outcome.decision.verdict.value, cause.value, reason),
            extra={"run": run_id, "execution": outcome.job.id},
        )
