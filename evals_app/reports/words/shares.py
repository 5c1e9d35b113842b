"""Shares in words: always with their total, and how much of it is not graded."""

from collections.abc import Mapping, Sequence
from typing import Any

from evals_app.engine.statistics.agreement import Proportion
from evals_app.reports.words.figures import (
    UNKNOWN,
    interval,
    percent,
    whole_interval,
    whole_percent,
)

_NB = "\u00a0"

# Keys of a run, its summary or its result with people's decisions: cases by their results.
CASE_COUNTS = ("cases_passed", "cases_failed", "cases_not_graded")
# Columns of the result of a case: trials by their results.
TRIAL_COUNTS = ("trials", "passed", "failed", "measured", "skipped")


def share_text(
    part: int, graded: int, *, not_graded: int = 0, bounds: Sequence[float] | None = None
) -> str:
    """Write a share: `80 % (8 of 10)`, or `100 % (5 of 5 graded, 5 not graded)`.

    `bounds` are its 95 % interval, where it is shown.
    """
    share = percent(part / graded) if graded else UNKNOWN
    count = f"{part:,} of {graded:,}" if graded else "0"
    parts = [count] if graded else []
    if not_graded:
        parts = [f"{count} graded", f"{not_graded:,} not graded"]
    words = ", ".join(parts)
    spread = interval(bounds)
    inside = "; ".join(filter(None, [words, spread and f"95{_NB}% interval: {spread}"]))
    return f"{share} ({inside})" if inside else share


def likely_text(rate: Proportion) -> str:
    """Write a share with its 95 % interval: `18 %, likely 10 to 31 %`."""
    if rate.share is None or rate.interval is None:
        return UNKNOWN
    return f"{whole_percent(rate.share)}, likely {whole_interval(rate.interval)}"


def rate_text(rate: Proportion) -> str:
    """Write a share with its n and what is likely: `9 of 50: 18 %, likely 10 to 31 %`."""
    if not rate.total:
        return "none yet"
    return f"{rate.count:,} of {rate.total:,}: {likely_text(rate)}"


def share_of_cases(run: Mapping[str, Any], *, bounds: Sequence[float] | None = None) -> str:
    """Write the share of a run's cases that passed, from its `CASE_COUNTS`."""
    passed, failed, not_graded = (run.get(name) for name in CASE_COUNTS)
    if passed is None or failed is None:  # it was never summed up
        return UNKNOWN
    return share_text(passed, passed + failed, not_graded=not_graded or 0, bounds=bounds)


def share_of_trials(case: Mapping[str, Any], *, bounds: Sequence[float] | None = None) -> str:
    """Write the share of a case's trials that passed; skipped ones could not change its verdict."""
    graded = case["passed"] + case["failed"]
    not_graded = case["trials"] - case["measured"] - case["skipped"] - graded
    return share_text(case["passed"], graded, not_graded=not_graded, bounds=bounds)
