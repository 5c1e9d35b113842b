"""What django-q2 calls, by dotted name: fetch, one call, no logic."""

from typing import Any

from evals_app.runs.drain import drain as drain_run
from evals_app.runs.retention import prune_as_scheduled


def drain(*, run_id: int, **_: Any) -> dict[str, int]:  # later tickets may carry more
    """Work on a run until nothing is left, somebody wants it to end, or the time box is full."""
    return drain_run(run_id)


def prune_transcripts(**_: Any) -> dict[str, int]:
    """Remove what was said in runs that are older than the settings say."""
    return prune_as_scheduled()
