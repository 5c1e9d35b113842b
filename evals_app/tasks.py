"""What django-q2 calls, by dotted name: fetch, one call, no logic."""

from evals_app.runs.process.retention import prune_as_scheduled
from evals_app.runs.process.worker_loop import work


def work_on_runs(**_: object) -> dict[str, int]:  # tickets of other versions carry more
    """Work on the runs that wait."""
    return work()


def prune_transcripts(**_: object) -> dict[str, int]:
    """Remove the transcripts of runs that are older than the settings allow."""
    return prune_as_scheduled()
