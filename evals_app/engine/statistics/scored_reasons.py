"""The score at the end of a reason, where it decided or only informs: Because. Score 0.29, needs 0.80."""

import re

from evals_app.engine.statistics.rates import at_least

_MAX_PLACES = 6
_AT_END = re.compile(r" ?Score (\d\.\d+)(?:, needs \d+\.\d+)?\.$")


def with_score(reason: str, score: float, threshold: float | None) -> str:
    """Return a reason with its score, and the one that it needs."""
    written = f"{score:.2f}" if threshold is None else _comparison_text(score, threshold)
    ending = "" if not reason or reason.endswith((".", "!", "?", "…", "”", '"')) else "."
    return f"{reason}{ending} Score {written}.".lstrip()


def without_score(reason: str) -> tuple[str, float | None]:
    """Return a reason without its score, and the score; None if it has none."""
    found = _AT_END.search(reason)
    return (reason[: found.start()], float(found[1])) if found else (reason, None)


def _comparison_text(score: float, threshold: float) -> str:
    """Write a score and the one it needs; one that is too low never looks equal when rounded."""
    is_below = not at_least(score, threshold)
    places = 2
    while places < _MAX_PLACES and (
        (is_below and f"{score:.{places}f}" >= f"{threshold:.{places}f}")
        or round(threshold, places) != threshold
    ):
        places += 1
    return f"{score:.{places}f}, needs {threshold:.{places}f}"
