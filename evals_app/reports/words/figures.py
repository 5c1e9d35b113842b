"""Writes scores, rates and times for people, the same on every page and in every report."""

from collections.abc import Sequence
from typing import Any

UNKNOWN = "—"
_NB = "\u00a0"  # keeps a number and its unit on one line


def score_text(score: float | None, *, scale: str) -> str:
    """Write a score in 0..1 on the suite's scale."""
    if score is None:
        return UNKNOWN
    return f"{1 + 4 * score:.1f}{_NB}of{_NB}5" if scale == "1-5" else f"{score:.2f}"


def percent(rate: float | None) -> str:
    """Write a rate in 0..1; not rounded up to 100 nor down to 0 unless it is exactly that."""
    if rate is None:
        return UNKNOWN
    value = 100 * rate
    if abs(value - round(value)) < 1e-9:  # noqa: PLR2004 - 0.9 * 100 is not quite 90
        return f"{round(value)}{_NB}%"
    return f"{min(99.9, max(0.1, value)):.1f}{_NB}%"


def rise_text(share: float) -> str:
    """Write by what share something rose, which may be more than 100 %."""
    return f"{100 * share:,.1f}".removesuffix(".0") + f"{_NB}%"


def duration(ms: float | None) -> str:
    """Write milliseconds in a readable unit."""
    if ms is None:
        return UNKNOWN
    if ms < 1000:  # noqa: PLR2004 - a second
        return f"{ms:.0f}{_NB}ms"
    seconds = ms / 1000
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f}{_NB}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes}{_NB}min {rest}{_NB}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{_NB}h {minutes}{_NB}min"


def interval(bounds: Sequence[float] | None) -> str:
    """Write the lowest and the highest rate that chance can explain; empty if unknown."""
    return "" if bounds is None else f"{percent(bounds[0])} to {percent(bounds[1])}"


def whole_percent(share: float) -> str:
    """Write a share in whole percents; 0 and 100 are exactly that."""
    percents = 100 * share
    if 0 < share < 1:
        percents = min(99, max(1, percents))
    return f"{percents:.0f}{_NB}%"


def whole_interval(bounds: Sequence[float]) -> str:
    """Write a range of shares in whole percents: `70 to 97 %`."""
    low, high = map(whole_percent, bounds)
    return f"{low.removesuffix(f'{_NB}%')} to {high}"


def token_sum(prompt: int | None, response: int | None) -> str:
    """Write how many tokens went either way; unknown if one of them is."""
    return count(None if prompt is None or response is None else prompt + response)


def moment(text: str | None) -> str:
    """Write a time of UTC in ISO 8601, without fractions of a second."""
    return f"{text[:10]} {text[11:19]}{_NB}UTC" if text else UNKNOWN


def count(number: float | None) -> str:
    """Write a number with thousands apart; None is unknown, which is not 0."""
    return "unknown" if number is None else f"{number:,.0f}"


def count_text(number: int, noun: str, nouns: str = "") -> str:
    """Write a number of things: 1 case, 2 cases."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def decided_after(trials: int, skipped: int) -> str:
    """Write after how many trials a case was decided; nothing if all of them ran."""
    return f"decided after {trials - skipped} of {trials}" if skipped else ""


def counts_of(run: Any) -> str:
    """Write how the conversations of a run, or of several added up, ended: 4 passed, 2 failed."""
    counts = {
        "passed": run.passed,
        "failed": run.failed,
        "errored": run.errored,
        "measured": run.measured,
        "skipped": run.skipped,
        "cancelled": run.cancelled,
        "not run": run.not_run if not run.is_open else 0,
    }
    return ", ".join(f"{n:,} {word}" for word, n in counts.items() if n or word == "passed")
