"""How results read on screen: a word and an icon for each state, numbers with their units."""

import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.trial import total_cost
from evals_app.models import Execution, Run
from evals_app.reports.judges import has_script
from evals_app.reports.similarity import STAND_IN

UNKNOWN = "—"
_NB = "\u00a0"  # keeps a number and its unit on one line
LONGEST_JSON = 50_000  # characters of one tool result that a page shows


@dataclass(frozen=True, slots=True)
class Sign:
    """A state as people see it: never colour alone. `tone` names the colours in review.css."""

    icon: str
    word: str
    tone: str


SIGNS = {
    "passed": Sign("check_circle", "Passed", "good"),
    "failed": Sign("cancel", "Failed", "bad"),
    "errored": Sign("error", "Errored", "warn"),
    "inconclusive": Sign("help", "Inconclusive", "warn"),
    "cancelled": Sign("block", "Cancelled", "calm"),
    "not_run": Sign("pending", "Not run", "calm"),
    "queued": Sign("schedule", "Queued", "calm"),
    "running": Sign("play_circle", "Running", "busy"),
    "stopping": Sign("stop_circle", "Stopping", "busy"),
    "informational": Sign("info", "For information", "calm"),
    "not_applicable": Sign("remove_circle", "Not applicable", "calm"),
    "ungraded": Sign("help", "Could not be graded", "warn"),
    "error": Sign("error", "Check broke", "warn"),
    "unknown": Sign("help", "Unknown", "warn"),
    "not_set": Sign("remove_circle", "Not set", "calm"),
    "no_limit": Sign("remove_circle", "No limit", "calm"),
    "none": Sign("remove_circle", "No result yet", "calm"),
    "scripted": Sign("theater_comedy", "Scripted", "note"),
    "stand_in": Sign("straighten", STAND_IN, "warn"),
}

# What a cause means for a person who was not there.
CAUSES = {
    "assertion": "A check did not pass",
    "limit": "A limit was exceeded",
    "agent": "The agent failed",
    "case": "The case cannot decide",
    "tool": "A tool broke",
    "judge": "The judge could not grade",
    "budget": "The budget was spent",
    "provider": "The model provider was not available",
    "harness": "The evaluation itself broke",
}

SUMMARY_LABELS = {
    "overall_passed": "Overall",
    "prompt_tokens_passed": "Prompt tokens within the limit",
    "response_tokens_passed": "Response tokens within the limit",
    "time_passed": "Time within the limit",
    "response_criteria_passed": "Response criteria (judged checks)",
    "trajectory_criteria_passed": "Trajectory criteria (tools and retrieval)",
}


def badge(state: str, *, word: str = "") -> SafeString:
    """Give the icon and the word of a state."""
    sign = SIGNS[state]
    return format_html(
        '<span class="badge tone-{}"><span class="material-symbols-outlined" aria-hidden="true">'
        "{}</span>{}</span>",
        sign.tone,
        sign.icon,
        word or sign.word,
    )


def verdict_state(passed: bool | None, *, otherwise: str) -> str:  # noqa: FBT001 - a verdict
    """Name the state of a verdict that may be missing."""
    if passed is None:
        return otherwise
    return "passed" if passed else "failed"


def run_state(run: Run) -> str:
    """Name the state of a run: its verdict once it has ended."""
    if run.is_open:
        return "stopping" if run.stop_reason else run.status
    return "cancelled" if run.status == Run.Status.CANCELLED else run.verdict


def execution_state(execution: Execution, *, run: Run) -> str:
    """Name the state of an execution; queued in a run that has ended means it was not run."""
    if execution.verdict:
        return execution.verdict
    if execution.status == Execution.Status.QUEUED and not run.is_open:
        return "not_run"
    return execution.status


def scripted_badge(run: Run) -> SafeString | str:
    """Give the label of a run whose agent or judge follows a script; empty for any other."""
    if run.is_scripted:
        return badge("scripted")
    return badge("scripted", word="Scripted judge") if has_scripted_judge(run) else ""


def has_scripted_judge(run: Run) -> bool:
    """Say whether judged checks follow a script."""
    return has_script(run.judge)


def run_badges(run: Run) -> SafeString:
    """Give the state of a run with the labels that belong to it."""
    signs = [badge(run_state(run)), scripted_badge(run)]
    if run.is_similarity_stand_in:
        signs.append(badge("stand_in"))
    return format_html_join(" ", "{}", ((sign,) for sign in signs if sign))


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


def tokens(prompt: int | None, response: int | None) -> str:
    """Write what a model was sent and what it answered."""
    if prompt is None and response is None:
        return "unknown"
    return f"{count(prompt)} prompt + {count(response)} response"


def costs(agent: Decimal | None, judge: Decimal | None) -> list[tuple[str, str]]:
    """Name what agent and judge cost, and both together."""
    return [
        ("Agent cost", usd_text(agent)),
        ("Judge cost", usd_text(judge)),
        ("Cost", usd_text(total_cost([agent, judge]))),
    ]


def duration(ms: float | None) -> str:
    """Write milliseconds as people say them."""
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


def between(start: datetime | None, end: datetime | None) -> str:
    """Write how long something took, or has taken so far."""
    if start is None or end is None:
        return UNKNOWN
    return duration(max(0.0, (end - start).total_seconds() * 1000))


def count(number: float | None) -> str:
    """Write a number with thousands apart; None is unknown, which is not 0."""
    return "unknown" if number is None else f"{number:,.0f}"


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Write a number of things: 1 case, 2 cases."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def json_text(value: Any) -> str:  # noqa: ANN401 - JSON of any shape
    """Write JSON to read; a text stands as it is."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    if len(text) <= LONGEST_JSON:
        return text
    return f"{text[:LONGEST_JSON]}\n… {len(text) - LONGEST_JSON:,} more characters"


def first_words(text: str, *, most: int = 90) -> str:
    """Give the beginning of a text on one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[:most].rstrip()}…"
