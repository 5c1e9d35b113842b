"""How results are shown: a word and an icon for each state, numbers with their units."""

import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.trial import total_cost
from evals_app.models import Agent, Execution, Run
from evals_app.reports.figures import UNKNOWN, count, duration
from evals_app.reports.judges import has_script
from evals_app.reports.similarity import STAND_IN

LONGEST_JSON = 50_000  # characters of one tool result that a page shows


@dataclass(frozen=True, slots=True)
class Sign:
    """How a state is shown: never by colour alone. `tone` names the colours in review.css."""

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
    "informational": Sign("info", "Informational", "calm"),
    "not_applicable": Sign("remove_circle", "Not applicable", "calm"),
    "ungraded": Sign("help", "Ungraded", "warn"),
    "error": Sign("error", "Check error", "warn"),
    "unknown": Sign("help", "Unknown", "warn"),
    "not_set": Sign("remove_circle", "Not set", "calm"),
    "no_limit": Sign("remove_circle", "No limit", "calm"),
    "none": Sign("remove_circle", "No result yet", "calm"),
    "scripted": Sign("theater_comedy", "Scripted", "note"),
    "stand_in": Sign("straighten", STAND_IN, "warn"),
}

# What a cause means to a reader.
CAUSES = {
    "assertion": "A check did not pass",
    "limit": "A limit was exceeded",
    "agent": "The agent failed",
    "case": "Inconclusive: no check in this case could decide",
    "tool": "A tool failed",
    "judge": "The judge could not grade",
    "budget": "The cost ceiling was reached",
    "provider": "The model provider was unavailable",
    "harness": "Internal error in Touchstone",
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
    """Return the icon and the word of a state."""
    sign = SIGNS[state]
    return format_html(
        '<span class="badge tone-{}"><span class="material-symbols-outlined" aria-hidden="true">'
        "{}</span>{}</span>",
        sign.tone,
        sign.icon,
        word or sign.word,
    )


def verdict_state(passed: bool | None, *, otherwise: str) -> str:  # noqa: FBT001 - a verdict
    """Return the state of a verdict that may be missing."""
    if passed is None:
        return otherwise
    return "passed" if passed else "failed"


def run_state(run: Run) -> str:
    """Return the state of a run: its verdict once it has ended."""
    if run.is_open:
        return "stopping" if run.stop_reason else run.status
    return "cancelled" if run.status == Run.Status.CANCELLED else run.verdict


def execution_state(execution: Execution, *, run: Run) -> str:
    """Return the state of an execution; in a run that has ended, a queued one did not run."""
    if execution.verdict:
        return execution.verdict
    if execution.status == Execution.Status.QUEUED and not run.is_open:
        return "not_run"
    return execution.status


def scripted_badge(run: Run) -> SafeString | str:
    """Return the label of a run whose agent or judge is scripted, else nothing."""
    if run.is_scripted:
        return badge("scripted")
    return badge("scripted", word="Scripted judge") if has_scripted_judge(run) else ""


def has_scripted_judge(run: Run) -> bool:
    """Whether judged checks are scripted."""
    return has_script(run.judge)


def run_badges(run: Run) -> SafeString:
    """Return the badges of a run: its state and labels."""
    signs = [badge(run_state(run)), scripted_badge(run)]
    if run.is_similarity_stand_in:
        signs.append(badge("stand_in"))
    return format_html_join(" ", "{}", ((sign,) for sign in signs if sign))


def tokens(prompt: int | None, response: int | None) -> str:
    """Write how many tokens a model received and returned."""
    if prompt is None and response is None:
        return "unknown"
    return f"{count(prompt)} prompt + {count(response)} response"


def costs(agent: Decimal | None, judge: Decimal | None) -> list[tuple[str, str]]:
    """Return the costs of agent, judge and both, with labels."""
    return [
        ("Agent cost", usd_text(agent)),
        ("Judge cost", usd_text(judge)),
        ("Cost", usd_text(total_cost([agent, judge]))),
    ]


def between(start: datetime | None, end: datetime | None) -> str:
    """Write how long something took, or has taken so far."""
    if start is None or end is None:
        return UNKNOWN
    return duration(max(0.0, (end - start).total_seconds() * 1000))


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Write a number of things: 1 case, 2 cases."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def agent_label(agent: Agent) -> str:
    """Return name and slug: two agents may share a name, one as a model, one as a script."""
    return f"{agent.name} ({agent.slug})"


def json_text(value: Any) -> str:
    """Write a value as indented JSON, or a text as it is."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    if len(text) <= LONGEST_JSON:
        return text
    return f"{text[:LONGEST_JSON]}\n… {len(text) - LONGEST_JSON:,} more characters"


def first_words(text: str, *, most: int = 90) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[:most].rstrip()}…"
