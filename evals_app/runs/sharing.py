"""How the worker processes share a run: how many work on it, and how much each takes."""

import math

MOST_SLOTS = 64  # conversations of one run that a process works on at once


def drainers_for(concurrency: int, *, executions: int, processes: int) -> int:
    """Return how many processes a run wants: two cores beat one even when one could do it all.

    One process stays free, so that a trial run of a case starts beside a long run.
    """
    wanted = 1 if concurrency == 1 else max(2, math.ceil(concurrency / MOST_SLOTS))
    free = max(1, processes - 1)
    return max(1, min(wanted, free, executions))


def slots_for(concurrency: int, *, drainers: int) -> int:
    """Return how many conversations each of a run's processes works on at once."""
    return min(MOST_SLOTS, math.ceil(concurrency / drainers))
