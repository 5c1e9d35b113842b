"""End a run that has nothing left to do: sum it up, once."""

from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import Now

from evals_app.engine.scoring import Fact, RunSummary, summarise_run
from evals_app.engine.trial import Verdict
from evals_app.formats.snapshot import SnapshotSpec
from evals_app.models import Execution, Run


def close_if_over(run_id: int) -> bool:
    """End the run if nothing is left, or it was stopped and nothing runs; say if this call did."""
    run = Run.objects.filter(pk=run_id, status__in=Run.OPEN).select_related("snapshot").first()
    if run is None or not _is_over(run):
        return False
    summary = sum_up(run)
    is_cancelled = run.stop_reason == Run.StopReason.CANCELLED
    # Drainers and reapers may see the end at the same moment: this UPDATE has one winner.
    won = Run.objects.filter(pk=run_id, status__in=Run.OPEN).update(
        status=Run.Status.CANCELLED if is_cancelled else Run.Status.FINISHED,
        verdict=summary.verdict,
        score=summary.score,
        summary=summary.to_json(),
        finished_at=Now(),
        **_tokens(run),
    )
    return bool(won)


def _is_over(run: Run) -> bool:
    if run.not_run == 0:
        return True
    running = run.executions.filter(status=Execution.Status.RUNNING)
    if not run.stop_reason or running.exists():
        return False
    is_cancelled = run.stop_reason == Run.StopReason.CANCELLED
    return not (is_cancelled and run.executions.filter(status=Execution.Status.QUEUED).exists())


def sum_up(run: Run) -> RunSummary:
    """Compute a run's summary from its rows."""
    rows = run.executions.order_by("position", "trial").values_list(
        "case", "verdict", "score", "turn_ms"
    )
    facts = [
        Fact(case, Verdict(verdict) if verdict else None, score, tuple(turn_ms))
        for case, verdict, score, turn_ms in rows.iterator(chunk_size=2000)
    ]
    return summarise_run(facts, suite=SnapshotSpec.read(run.snapshot.content).suite)


def _tokens(run: Run) -> dict[str, Any]:
    """Add up tokens of finished executions; one that is unknown makes the sum unknown."""
    names = {
        "agent_prompt_tokens": "prompt_tokens",
        "agent_response_tokens": "response_tokens",
        "judge_prompt_tokens": "judge_prompt_tokens",
        "judge_response_tokens": "judge_response_tokens",
    }
    finished = Q(status=Execution.Status.FINISHED)
    found = run.executions.filter(finished).aggregate(
        **{f"sum_{name}": Sum(column) for name, column in names.items()},
        **{f"count_{name}": Count(column) for name, column in names.items()},
        rows=Count("pk"),
    )
    return {
        name: found[f"sum_{name}"] if found[f"count_{name}"] == found["rows"] else None
        for name in names
    }
