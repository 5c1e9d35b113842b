"""Runs that grade again, in words."""

from collections.abc import Iterable, Mapping
from typing import Any

from evals_app.reports.words.figures import count_text, percent

_WHY = {
    "changed": "what the agent sees was edited",
    "gone": "they are no longer in the suite",
    "pruned": "their transcripts were removed",
}
_VERSIONS = {"current": "as they are now", "as_it_was": "as they were"}
_NAMED = 3  # in a sentence
_NEARLY_STEADY = 0.05
_UNSTEADY = 0.15  # from here on, a single grading says little

STEADINESS_HEADS = ("Check", "Conversations", "Gradings", "Flips", "What it means")


def regraded_in_words(covers: str, regrading: Mapping[str, Any]) -> str:
    """Return how a run grades again; `covers` begins with the number of the other run."""
    how = [f"with the checks {_VERSIONS[regrading['suite']]}"]
    if regrading["judge"]:
        how.append(f"judged by {regrading['judge']}")
    if regrading["trials"] > 1:
        how.append(f"each conversation {regrading['trials']} times")
    return f"{covers[:1].upper()}{covers[1:]}, {', '.join(how)}. The agent was not asked."


def left_out_in_words(left_out: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return which cases a run does not grade again, and why: `{why: {"count", "names"}}`.

    `is_about`: the number is that of a sample, scaled.
    """
    sentences = []
    for why, cases in left_out.items():
        count = count_text(cases["count"], "conversation")
        about = "about " if cases.get("is_about") else ""
        if why == "unanswered":
            sentences.append(f"Not graded: {about}{count} without a reply.")
            continue
        if about:
            sentences.append(f"Not graded, because {_WHY[why]}: {about}{count}.")
            continue
        named = ", ".join(f"“{name}”" for name in cases["names"][:_NAMED])
        more = cases["count"] - _NAMED
        names = f"{named} and {more:,} more" if more > 0 else named
        sentences.append(f"Not graded, because {_WHY[why]}: {names}.")
    return sentences


def steadiness_rows(noise: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return how steady each judged check is as rows of a table; `noise` is that of a run."""
    return [
        (
            check["name"],
            f"{check['conversations']:,}",
            f"{check['gradings']:,}",
            percent(check["flip_rate"]),
            steadiness(check["flip_rate"]),
        )
        for check in noise
    ]


def steadiness(flip_rate: float | None) -> str:
    """Return what a flip rate means for people who rely on the grades."""
    if flip_rate is None:
        return "Unknown: no conversation got two verdicts."
    if not flip_rate:
        return "Steady: always the same verdict on the same conversation."
    if flip_rate < _NEARLY_STEADY:
        return "Nearly steady: its verdict rarely changes."
    if flip_rate < _UNSTEADY:
        return "Wavers: take a single verdict with care."
    return "Unsteady: make the criterion more precise, or ask for several votes."
