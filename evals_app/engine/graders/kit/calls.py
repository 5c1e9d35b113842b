"""What checks of tool calls share: how tools and arguments are written and misses explained."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, Protocol

from pydantic import BeforeValidator, Field, ValidationInfo

from evals_app.engine.basics.matchers import ABSENT, Matcher, matches, phrase
from evals_app.engine.basics.permits import is_frozen
from evals_app.engine.graders.kit.base import unanswered_turn
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause, ToolCall, TurnRecord
from evals_app.engine.record.view import View
from evals_app.engine.specs.inventory import CheckedName
from fixtures_app.ground.quoting import cut_middle, join_list, json_text, times
from fixtures_app.ground.strict_json import Json
from fixtures_app.ground.words import nearest

_NAME_CHARS = 80
_DETAILED = 20
_TAKE_TYPES = frozenset({"entity.query", "entity.create"})  # of the tools that worlds have


def _trim_call(name: Json, info: ValidationInfo) -> object:
    return name.strip() if isinstance(name, str) and not is_frozen(info) else name


ToolName = Annotated[
    str,
    BeforeValidator(_trim_call),
    Field(
        min_length=1,
        max_length=200,
        title="Tool",
        description="For example, entity.query",
        json_schema_extra={"names": "tool"},
    ),
]
_ARGUMENTS = Field(
    title="Arguments",
    description=(
        "What each argument must be: a value, or one of {fuzzy: x}, {regex: p},"
        " {any_of: [...]}, {contains: x}, {present: true|false}."
    ),
    json_schema_extra={"mono": True, "names": "argument"},
)
Arguments = Annotated[dict[str, Matcher], _ARGUMENTS]
OptionalArguments = Annotated[dict[str, Matcher] | None, _ARGUMENTS]
ArgsMatch = Annotated[
    Literal["subset", "exact"],
    Field(
        title="Other arguments",
        json_schema_extra={"words": {"subset": "May be passed too", "exact": "Must not be passed"}},
    ),
]


def unreported_calls(turns: Sequence[TurnRecord], what: str = "its tool calls") -> Grade:
    """Return the grade if the verdict depends on calls that the agent does not report.

    In a turn that the agent failed, it is to blame for the unknown calls.
    """
    if failed := unanswered_turn(turns):
        return failed.but(score=0.0)
    reason = f"The agent does not report {what}. docs/own-agents.md says how it can."
    return Grade.without_result(Cause.CASE, reason)


def missing_calls(why: str) -> Grade:
    """Return the grade if calls that the agent usually reports are unknown."""
    return Grade.without_result(Cause.CASE, f"The tool calls are unknown. {why}")


def call_text(call: ToolCall) -> str:
    """Show a call as people know it: entity.query({"type": "order"})."""
    return f"{cut_middle(call.name, _NAME_CHARS)}({json_text(call.args)})"


def call_texts(calls: Sequence[ToolCall]) -> list[str]:
    """Show calls for the details of a grade; of many the first."""
    return [call_text(call) for call in calls[:_DETAILED]]


def called_instead(name: str, view: View) -> str:
    """Describe what was called where a tool was not."""
    calls = view.tool_calls
    if not calls:
        return "the agent called no tools."
    counted = Counter(cut_middle(call.name, _NAME_CHARS) for call in calls)
    names = [f"{tool} ({times(count)})" if count > 1 else tool for tool, count in counted.items()]
    return f"the agent called {join_list(names)}.{_suggestion(name, counted, view)}"


def _suggestion(name: str, called: Iterable[str], view: View) -> str:
    """Suggest another name, but never for a tool that the agent has."""
    has_it = name in {tool.name for tool in view.trial.tools}
    # Of an agent whose tools are unknown, a name that is merely similar may be another tool.
    meant = "" if has_it else nearest(name, called, is_slip=not view.trial.tools)
    return f" Did you mean {meant!r}?" if meant else ""


def checked_names(
    tool: str, args: Mapping[str, object], loc: tuple[str | int, ...]
) -> Iterator[CheckedName]:
    """Find the arguments that a call is to pass, and the entity types among their values."""
    for name, matcher in args.items():
        if matcher != {"present": False}:
            yield CheckedName("argument", name, (*loc, "args", name), is_passed=True, owner=tool)
    wanted = args.get("type") if tool in _TAKE_TYPES else None
    options = wanted.get("any_of", ()) if isinstance(wanted, dict) else [wanted]
    for option in options if isinstance(options, list) else ():
        if isinstance(option, str):
            yield CheckedName("entity type", option, (*loc, "args", "type"), is_passed=True)


class ExpectedArguments(Protocol):
    """What a check expects of a call."""

    @property
    def args(self) -> Mapping[str, object] | None: ...

    def faults(self, call: ToolCall) -> list[str]: ...


def nearest_call(calls: Sequence[ToolCall], wanted: ExpectedArguments) -> str:
    """Return what the call with the fewest faults was like, and what was expected instead."""
    call = min(calls, key=lambda call: len(wanted.faults(call)))
    expected = [
        phrase(name, matcher)
        for name, matcher in (wanted.args or {}).items()
        if not matches(matcher, call.args.get(name, ABSENT))
    ]
    instead = f"; expected {join_list(expected)}" if expected else ""
    return f"{join_list(wanted.faults(call))}{instead}"


def not_as_wanted(tool: str, calls: Sequence[ToolCall], wanted: ExpectedArguments) -> str:
    """Return the sentence about a tool that was called, but never as it should have been."""
    nearest = nearest_call(calls, wanted)
    if len(calls) == 1:
        return f"{tool} was called, but {nearest}."
    return f"{tool} was called {times(len(calls))}, never as expected. Closest call: {nearest}."
