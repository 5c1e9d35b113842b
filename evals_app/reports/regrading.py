"""Runs that grade again, in words."""

from collections.abc import Mapping
from typing import Any

_WHY = {
    "changed": "what the agent sees was edited",
    "gone": "they are no longer in the suite",
    "pruned": "their transcripts were removed",
}
_NAMED = 3  # in a sentence


def left_out_in_words(left_out: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say which cases a run does not grade again, and why: `{why: {"count", "names"}}`."""
    sentences = []
    for why, cases in left_out.items():
        named = ", ".join(f"“{name}”" for name in cases["names"][:_NAMED])
        more = cases["count"] - _NAMED
        names = f"{named} and {more:,} more" if more > 0 else named
        sentences.append(f"Not graded, because {_WHY[why]}: {names}.")
    return sentences
