"""What has finished, counted for monitoring in the transaction that records it.

Counting the rows themselves would read all of them, and would miss those of deleted runs.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

from evals_app.engine.llm.budget import CallMetric
from evals_app.engine.running.run_gateway import Outcome
from evals_app.models import Tally
from evals_app.models.run_records.leases import series

RUNS = "runs_total"
EXECUTIONS = "executions_total"
EXECUTION_SECONDS = "execution_seconds"
MODEL_CALLS = "model_calls_total"
MODEL_TOKENS = "model_tokens_total"

# Upper ends; what takes longer is counted under `+Inf`.
BUCKETS_S = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
BUCKETS = (*(f"{end:g}" for end in BUCKETS_S), "+Inf")


def duration(name: str, took_ms: float) -> dict[str, int]:
    """Return the increments of one duration: of its bucket, and of the sum in ms."""
    bucket = BUCKETS[bisect_left(BUCKETS_S, took_ms / 1000)]
    return {series(f"{name}_bucket", le=bucket): 1, f"{name}_ms": round(took_ms)}


def count_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Count executions that have ended, by verdict and cause, and how long their agents took."""
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        if outcome.decision is None:
            continue
        cause = outcome.decision.cause.value if outcome.decision.cause else ""
        counts[series(EXECUTIONS, verdict=outcome.decision.verdict.value, cause=cause)] += 1
        # When a conversation is graded again, only the grades are new.
        took_ms = outcome.trial.time_ms if outcome.job.stored is None else None
        if took_ms is not None:
            counts.update(duration(EXECUTION_SECONDS, took_ms))
    Tally.add_all(counts)


def count_run(verdict: str) -> None:
    """Count a run that has ended."""
    Tally.add(series(RUNS, verdict=verdict), 1)


def count_calls(counts: Mapping[CallMetric, int]) -> None:
    """Count model calls and their tokens."""
    kinds = {"calls": (MODEL_CALLS, "status"), "tokens": (MODEL_TOKENS, "kind")}
    named = {}
    for counted, number in counts.items():
        name, label = kinds[counted.what]
        labels = {"model": counted.model, "role": counted.role, label: counted.kind}
        named[series(name, **labels)] = number
    Tally.add_all(named)
