"""What reports show of one conversation, whatever their markup."""

import json
from collections.abc import Iterator, Sequence

from evals_app.engine.llm.pricing import usd_text
from evals_app.reports.answers.decided import verdict_with_people
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.words.causes import CAUSE_WORDS
from evals_app.reports.words.figures import duration, score_text, token_sum

MAX_JSON = 50_000  # characters of one tool result that is shown
REMOVED = "The transcript of this conversation was removed."
NO_CALLS = "The agent does not report its tool calls."


def facts(execution: Json, *, scale: str) -> list[tuple[str, str]]:
    """Return the numbers of an execution, with labels."""
    tokens, costs = execution["tokens"], execution["cost_parts_usd"]
    return [
        *([("Cause", CAUSE_WORDS[execution["cause"]])] if execution["cause"] else []),
        *([("Reviewed", people)] if (people := verdict_with_people(execution)) else []),
        ("Score", score_text(execution["score"], scale=scale)),
        ("Agent's time", duration(execution["time_ms"])),
        ("Agent tokens", token_sum(**tokens["agent"])),
        ("Judge tokens", token_sum(**tokens["judge"])),
        ("Agent cost", usd_text(costs["agent"])),
        ("Judge cost", usd_text(costs["judge"])),
    ]


def messages(execution: Json) -> Iterator[tuple[Json | None, Sequence[Json]]]:
    """Return each message with the tool calls that it made; None in place of an empty one."""
    calls: dict[int, list[Json]] = {}
    for call in execution["tool_calls"] or ():
        calls.setdefault(call["message"], []).append(call)
    for n, message in enumerate(execution["messages"] or ()):
        made = calls.get(n, [])
        is_empty = not (message["content"] or message["reasoning"])
        yield (None if made and is_empty else message), made


def speaker(message: Json) -> str:
    """Return who wrote a message and when."""
    who = "User" if message["role"] == "user" else "Agent"
    turn = "before the first turn" if message["turn"] is None else f"turn {message['turn']}"
    return f"{who}, {turn}"


def turn_errors(execution: Json) -> list[tuple[str, str]]:
    """Return the error of each turn in which the agent failed, with a label."""
    return [
        (f"Error in turn {turn['turn']}", turn["error"])
        for turn in execution["turns"] or ()
        if turn["error"]
    ]


def changed_data(execution: Json) -> Json:
    """Return what the conversation changed in its world, without kinds of which there is nothing."""
    changes: Json = execution["world_changes"] or {}
    return {kind: rows for kind, rows in changes.items() if rows}


def grade_state(grade: Json) -> str:
    """Return passed, failed, informational, or why a check has no result."""
    if grade["status"] != "ok":
        return str(grade["status"])
    return {True: "passed", False: "failed", None: "informational"}[grade["passed"]]


def turn_of(grade: Json) -> str:
    """Return which turn a check is about."""
    return "all" if grade["turn"] is None else str(grade["turn"])


def quote_of(evidence: Json) -> str:
    """Return a quote, and whether it is in the conversation."""
    missing = "" if evidence["is_verified"] else " (not found in the conversation)"
    return f"“{evidence['quote']}”{missing}"


def json_text(value: object) -> str:
    """Write a value as indented JSON, or a text as it is."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    if len(text) <= MAX_JSON:
        return text
    return f"{text[:MAX_JSON]}\n… {len(text) - MAX_JSON:,} more characters"
