"""What checks of tool calls share: how tools and arguments are written, and how a miss is explained."""

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field

from evals_app.engine.matchers import Matcher
from evals_app.engine.quoting import json_text, listed, shortened, times
from evals_app.engine.trial import Cause, Grade, ToolCall, View

_NAME_CHARS = 80
_DETAILED = 20

ToolName = Annotated[
    str, Field(min_length=1, max_length=200, title="Tool", description="For example entity.query")
]
Arguments = Annotated[
    dict[str, Matcher],
    Field(
        title="Arguments",
        description=(
            "What each argument must be: a value, or one of {fuzzy: x}, {regex: p},"
            " {any_of: [...]}, {contains: x}, {present: true|false}."
        ),
        json_schema_extra={"mono": True},
    ),
]


def unreported_calls() -> Grade:
    """Give the grade where a check would pass only because the agent keeps its calls to itself."""
    return Grade.ungraded(Cause.CASE, "The agent does not report its tool calls.")


def call_text(call: ToolCall) -> str:
    """Show a call as people know it: entity.query({"type": "order"})."""
    return f"{shortened(call.name, _NAME_CHARS)}({json_text(call.args)})"


def call_texts(calls: Sequence[ToolCall]) -> list[str]:
    """Show calls for the details of a grade; of many the first."""
    return [call_text(call) for call in calls[:_DETAILED]]


def called_instead(name: str, view: View) -> str:
    """Say what was called where a tool was not."""
    calls = view.tool_calls
    if not calls and not view.reports_calls:
        return "the agent does not report its tool calls."
    if not calls:
        return "the agent called no tool."
    counted = Counter(shortened(call.name, _NAME_CHARS) for call in calls)
    names = [f"{each} ({times(count)})" if count > 1 else each for each, count in counted.items()]
    near = difflib.get_close_matches(name, counted, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"the agent called {listed(names)}.{hint}"


def nearest_call(calls: Sequence[ToolCall], faults: Callable[[ToolCall], list[str]]) -> str:
    """Show the call with the fewest faults, and which those are."""
    wrong = [(call, faults(call)) for call in calls]
    call, found = min(wrong, key=lambda pair: len(pair[1]))
    return f"nearest call: {call_text(call)}, where {listed(found)}"
