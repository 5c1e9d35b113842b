"""One conversation as HTML: messages, tool calls, checks with their evidence, and changed data."""

from collections.abc import Iterable, Iterator

from evals_app.reports.answers.run_answers import Json
from evals_app.reports.renderers.conversations import (
    NO_CALLS,
    REMOVED,
    changed_data,
    grade_state,
    json_text,
    messages,
    quote_of,
    speaker,
    turn_errors,
    turn_of,
)
from evals_app.reports.words.figures import duration, score_text
from evals_app.reports.words.markup import Markup, scrolling_table, tag


def conversation(execution: Json, *, scale: str) -> Markup:
    """Return what happened in an execution, and how it was graded."""
    changes = changed_data(execution)
    return tag(
        "div",
        [tag("p", warning, class_="note") for warning in execution["warnings"] or ()],
        tag("h3", "Conversation"),
        _conversation(execution),
        _checks(execution["grades"] or (), scale=scale),
        (tag("h3", "Changed data"), _json(changes)) if changes else None,
    )


def _conversation(execution: Json) -> Iterator[Markup]:
    if execution["messages"] is None:
        yield tag("p", REMOVED, class_="quiet")
        return
    for message, calls in messages(execution):
        if message is not None:
            yield _message(message)
        yield from map(_call, calls)
    for label, error in turn_errors(execution):
        yield tag("p", f"{label}: {error}", class_="note written")
    if execution["tool_calls"] is None:
        yield tag("p", NO_CALLS, class_="quiet")


def _message(message: Json) -> Markup:
    return tag(
        "div",
        tag("p", speaker(message), class_="who"),
        _reasoning(message["reasoning"]) if message["reasoning"] else None,
        tag("p", json_text(message["content"]), class_="written"),
        class_="bubble user" if message["role"] == "user" else "bubble",
    )


def _reasoning(text: str) -> Markup:
    return tag(
        "details",
        tag("summary", "Reasoning"),
        tag("p", json_text(text), class_="written"),
        class_="call",
    )


def _call(call: Json) -> Markup:
    result: tuple[Markup, ...] = ()
    if call["error"] is not None:
        result = (tag("p", f"Error: {call['error']}", class_="note written"),)
    elif call["result"] is not None:
        result = (tag("p", "Result", class_="quiet"), _json(call["result"]))
    return tag(
        "details",
        tag("summary", f"Tool call {call['name']} ({duration(call['duration_ms'])})"),
        _json(call["args"]),
        result,
        class_="call",
    )


def _checks(grades: Iterable[Json], *, scale: str) -> Iterable[Markup]:
    rows = [_check(grade, scale=scale) for grade in grades]
    if not rows:
        return ()
    names = ("Check", "Turn", "Result", "Score", "Reason")
    return tag("h3", "Checks"), scrolling_table(names, rows, title="Checks")


def _check(grade: Json, *, scale: str) -> list[Markup]:
    state = grade_state(grade)
    word = state.replace("_", " ").capitalize()
    quotes = [tag("li", quote_of(evidence)) for evidence in grade["evidence"]]
    return [
        tag("td", grade["name"]),
        tag("td", turn_of(grade)),
        tag("td", tag("span", word, class_=f"badge {state}")),
        tag("td", score_text(grade["score"], scale=scale)),
        tag(
            "td",
            grade["reason"],
            tag("ul", quotes, class_="evidence") if quotes else None,
            class_="reason",
        ),
    ]


def _json(value: object) -> Markup:
    return tag("pre", json_text(value))
