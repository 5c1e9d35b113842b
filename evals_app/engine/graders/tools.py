"""Graders of the tools that the agent called."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from evals_app.engine.basics.matchers import contains, matcher_warnings, mismatches, with_args
from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.graders.kit.calls import (
    ArgsMatch,
    Arguments,
    ToolName,
    call_text,
    call_texts,
    called_instead,
    checked_names,
    nearest_call,
    not_as_wanted,
    unreported_calls,
)
from evals_app.engine.graders.kit.pairing import pair_up
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.tool_results import error_of
from evals_app.engine.record.trial import ToolCall
from evals_app.engine.record.view import View
from evals_app.engine.specs.base_spec import Spec
from evals_app.engine.specs.inventory import CheckedName
from fixtures_app.ground.quoting import cut_middle, in_quotes, join_list, json_text, times
from fixtures_app.ground.strict_json import Json, JsonObject

_RESULT_CHARS = 120
_RESULTS = "what its tools return"


def _with_others(args: Mapping[str, object], args_match: str) -> str:
    """Describe what the arguments must be, and whether others may be passed."""
    if args_match == "subset":
        return with_args(args)
    return f"{with_args(args)} and no other arguments" if args else " without arguments"


class _OneCall(PlainGrader):
    """What a single call must be like; the options that tool_called and tool_not_called share."""

    family: ClassVar[Literal["tools"]] = "tools"

    value: ToolName
    name_match: Annotated[
        Literal["exact", "contains"],
        Field(
            title="Name",
            json_schema_extra={
                "advanced": True,
                "words": {"exact": "Exactly this name", "contains": "Any name that contains it"},
            },
        ),
    ] = "exact"
    args: Arguments = Field(default_factory=dict)
    args_match: ArgsMatch = "subset"
    succeeded: Annotated[
        bool,
        Field(
            title="Only successful calls",
            description=(
                "Calls that failed do not count: those with an error, or whose result has error or"
                " MCP's isError: true."
            ),
            json_schema_extra={"advanced": True},
        ),
    ] = False
    output: Annotated[
        str | None,
        Field(
            min_length=1,
            title="Result contains",
            description="Text in the tool's result. Upper and lower case are the same.",
            json_schema_extra={"advanced": True},
        ),
    ] = None

    def warnings(self) -> list[str]:
        return matcher_warnings(self.args)

    def mentions(self) -> Iterator[CheckedName]:
        is_part = self.name_match == "contains"
        yield from (replace(named, is_part=is_part) for named in super().mentions())
        yield from checked_names(self.value, self.args, ())

    def _is_named(self, call: ToolCall) -> bool:
        return self.value in call.name if self.name_match == "contains" else self.value == call.name

    def faults(self, call: ToolCall) -> list[str]:
        """Explain why a call with the right name is not the expected one."""
        faults = self._faults_of_asking(call)
        if self.output is not None and not contains(self.output, call.result):
            result = json_text(call.result, _RESULT_CHARS)
            faults.append(f"its result {result} does not contain {in_quotes(self.output)}")
        return faults

    def _faults_of_asking(self, call: ToolCall) -> list[str]:
        """Describe what is wrong with a call, apart from its result."""
        faults = mismatches(self.args, call.args, exact=self.args_match == "exact")
        if self.succeeded and (error := error_of(call)):
            faults.append(f"it failed: {cut_middle(error)}")
        return faults

    def _count_open(self, calls: Sequence[ToolCall], view: View) -> int:
        """Count the calls whose result would decide, and which the agent does not report."""
        if self.output is None or not view.trial.is_outside:
            return 0
        unreported = (call for call in calls if call.result is None and call.error is None)
        return sum(self._is_named(call) and not self._faults_of_asking(call) for call in unreported)

    @property
    def _tool(self) -> str:
        return self.value if self.name_match == "exact" else f"a tool named …{self.value}…"

    @property
    def _subject(self) -> str:
        """The tool at the beginning of a sentence; the name of one stays as it is written."""
        return self._tool if self.name_match == "exact" else f"A tool named …{self.value}…"

    @property
    def _conditions(self) -> str:
        arguments = _with_others(self.args, self.args_match)
        error = " without an error" if self.succeeded else ""
        output = f" with a result that contains {in_quotes(self.output)}" if self.output else ""
        return " and".join(filter(None, [arguments, error, output]))


class ToolCalled(_OneCall):
    """Pass when the agent called the tool.

    Score 1 or 0. Without other options, one call with that name is enough. Arguments that are not
    listed may have any value unless `args_match` is exact.
    """

    label: ClassVar[str] = "Tool was called"
    in_words: ClassVar[str] = "The agent looked the order up before it answered."
    named_by: ClassVar[tuple[str, ...]] = ("Struere", "HoloDeck")
    example: ClassVar[dict[str, object]] = {
        "value": "entity.query",
        "args": {"type": "order", "limit": {"any_of": [1, 5]}},
    }

    min_count: Annotated[int, Field(ge=0, title="At least this many times")] = 1
    max_count: Annotated[int | None, Field(ge=1, title="At most this many times")] = None

    @field_validator("max_count", mode="before")
    @classmethod
    def _not_zero(cls, value: Json) -> object:
        if value == 0 and not isinstance(value, bool):
            raise ValueError("To require that the tool is not called, use tool_not_called.")
        return value

    @model_validator(mode="after")
    def _counts_say_something(self) -> Self:
        if self.max_count is None and self.min_count == 0:
            raise ValueError("min_count 0 without max_count passes whatever the agent does.")
        if self.max_count is not None and self.max_count < self.min_count:
            raise ValueError(f"max_count {self.max_count} is less than min_count {self.min_count}.")
        return self

    def grade(self, view: View) -> Grade:
        calls = view.tool_calls
        named = [call for call in calls if self._is_named(call)]
        missed = [call for call in named if self.faults(call)]
        count = len(named) - len(missed)
        details = {"count": count, "expected": self.summary(), "called": call_texts(calls)}
        if self.max_count is not None and count > self.max_count:
            reason = (
                f"{self._subject} was called {times(count)}{self._conditions};"
                f" expected at most {times(self.max_count)}."
            )
            return Grade.miss(reason, **details)
        if not view.reports_calls and (self.max_count is not None or count < self.min_count):
            return unreported_calls(view.turns)
        most = count + self._count_open(calls, view)
        if count < self.min_count <= most or (self.max_count is not None and most > self.max_count):
            return unreported_calls(view.turns, _RESULTS)
        if count < self.min_count:
            return Grade.miss(self._too_few(view, missed, count), **details)
        if not count:
            return Grade.hit(f"{self._subject} was not called{self._conditions}.", **details)
        return Grade.hit(f"{self._subject} was called {times(count)}{self._conditions}.", **details)

    def _too_few(self, view: View, missed: Sequence[ToolCall], count: int) -> str:
        if count:
            other = f"; in another call, {nearest_call(missed, self)}" if missed else ""
            return (
                f"{self._subject} was called {times(count)}{self._conditions}; expected at least"
                f" {times(self.min_count)}{other}."
            )
        if missed:
            return not_as_wanted(self._subject, missed, self)
        expected = f"Expected a call to {self._tool}{self._conditions}"
        return f"{expected}; {called_instead(self.value, view)}"

    def only_forbids(self) -> bool:
        return self.min_count == 0

    def summary(self) -> str:
        counts = ""
        if self.max_count is not None and self.max_count == self.min_count:
            counts = f", exactly {times(self.min_count)}"
        elif (self.min_count, self.max_count) != (1, None):
            least = f"at least {times(self.min_count)}" if self.min_count else ""
            most = f"at most {times(self.max_count)}" if self.max_count is not None else ""
            counts = ", " + " and ".join(filter(None, [least, most]))
        return f"Calls {self._tool}{self._conditions}{counts}"


class ToolNotCalled(_OneCall):
    """Pass when the agent did not call the tool.

    Score 1 or 0. With arguments or other conditions, only calls that meet all of them count.
    """

    label: ClassVar[str] = "Tool was not called"
    in_words: ClassVar[str] = "The agent did not delete anything."
    named_by: ClassVar[tuple[str, ...]] = ("Struere",)
    example: ClassVar[dict[str, object]] = {"value": "entity.delete"}

    def grade(self, view: View) -> Grade:
        calls = view.tool_calls
        fitting = [call for call in calls if self._is_named(call) and not self.faults(call)]
        details = {"count": len(fitting), "called": call_texts(calls)}
        if not fitting and not view.reports_calls:
            return unreported_calls(view.turns)
        if not fitting and self._count_open(calls, view):
            return unreported_calls(view.turns, _RESULTS)
        if not fitting:
            return Grade.hit(f"{self._subject} was not called{self._conditions}.", **details)
        reason = (
            f"{self._subject} was called {times(len(fitting))}{self._conditions},"
            f" which must not happen: {call_text(fitting[0])}."
        )
        return Grade.miss(reason, **details)

    def only_forbids(self) -> bool:
        return True

    def summary(self) -> str:
        return f"Does not call {self._tool}{self._conditions}"


class ExpectedCall(Spec):
    """A tool of a trajectory; in files its name alone is enough."""

    name: ToolName
    args: Arguments = Field(default_factory=dict)
    args_match: ArgsMatch = "subset"

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, data: Json) -> object:
        return {"name": data} if isinstance(data, str) else data

    @model_serializer(mode="wrap")
    def _to_name(self, handler: SerializerFunctionWrapHandler) -> object:
        dumped: JsonObject = handler(self)
        if self.args_match == "subset":
            dumped.pop("args_match", None)
        return dumped if len(dumped) > 1 and (self.args or "args_match" in dumped) else self.name

    def fits(self, call: ToolCall) -> bool:
        return call.name == self.name and not self.faults(call)

    def faults(self, call: ToolCall) -> list[str]:
        """State which arguments of a call are not as wanted."""
        return mismatches(self.args, call.args, exact=self.args_match == "exact")

    def __str__(self) -> str:
        return f"{self.name}{_with_others(self.args, self.args_match)}"


class ToolCalls(PlainGrader):
    """Pass when the agent called these tools.

    Score 1 or 0. A tool that is listed twice must be called twice.

    * neither `exact` nor `ordered`: all of them were called; others may be called too
    * `exact`: exactly these, in any order
    * `ordered`: these in this order; others may come in between
    * `exact` and `ordered`: exactly these, in this order
    """

    label: ClassVar[str] = "Tools were called"
    in_words: ClassVar[str] = "The agent found the order first, then refunded it."
    named_by: ClassVar[tuple[str, ...]] = ("Evolvable",)
    family: ClassVar[Literal["tools"]] = "tools"
    example: ClassVar[dict[str, object]] = {
        "tools": ["entity.query", {"name": "entity.update", "args": {"id": "order-123"}}],
        "ordered": True,
    }

    tools: Annotated[
        list[ExpectedCall],
        Field(
            max_length=200,
            title="Tools",
            description="A tool listed twice must be called twice. Arguments are optional.",
        ),
    ]
    exact: Annotated[bool, Field(title="No other calls")] = False
    ordered: Annotated[bool, Field(title="In this order")] = False

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.tools and not self.exact:
            raise ValueError(
                "An empty list passes whatever the agent does. With exact it means no calls at all."
            )
        return self

    def grade(self, view: View) -> Grade:
        calls = view.tool_calls
        details = {
            "expected": [str(tool) for tool in self.tools],
            "called": call_texts(calls),
        }
        problem = self._problem(view)
        is_open = not view.reports_calls and (self.exact or problem is not None)
        if is_open and not self._has_stranger(view):
            return unreported_calls(view.turns)
        if problem is None:
            return Grade.hit(f"The agent called {self._actual(calls)}, as expected.", **details)
        wanted = join_list([str(tool) for tool in self.tools], nothing="no tool at all")
        reason = f"Expected {self._manner}{wanted}; called: {self._actual(calls)}. {problem}"
        return Grade.miss(reason, **details)

    def _has_stranger(self, view: View) -> bool:
        """Return whether a reported call already fails the check."""
        reported = [call for turn in view.turns if turn.reports_calls for call in turn.tool_calls]
        return self.exact and any(
            not any(tool.fits(call) for tool in self.tools) for call in reported
        )

    @property
    def _manner(self) -> str:
        exactly = "exactly " if self.exact and self.tools else ""
        return f"{exactly}in this order: " if self.ordered and self.tools else exactly

    def _actual(self, calls: Sequence[ToolCall]) -> str:
        return join_list([cut_middle(call.name) for call in calls], nothing="no tool")

    def _problem(self, view: View) -> str | None:
        """Describe what differs from the expected calls; None if nothing does."""
        calls = view.tool_calls
        if self.exact and self.ordered:
            for number, (tool, call) in enumerate(zip(self.tools, calls, strict=False), 1):
                if not tool.fits(call):
                    faults = tool.faults(call) if call.name == tool.name else []
                    where = f", where {join_list(faults)}" if faults else ""
                    return f"Call {number} should be {tool}, but is {call_text(call)}{where}."
            return self._extra_or_missing(calls)
        if self.ordered:
            return self._out_of_order(view)
        partners = pair_up(
            [[p for p, call in enumerate(calls) if tool.fits(call)] for tool in self.tools]
        )
        missing = [
            tool for tool, partner in zip(self.tools, partners, strict=True) if partner is None
        ]
        if missing:
            return self._missing(missing[0], view)
        extra = [call for place, call in enumerate(calls) if place not in set(partners)]
        if self.exact and extra:
            return f"Not expected: {join_list([call_text(call) for call in extra])}."
        return None

    def _extra_or_missing(self, calls: Sequence[ToolCall]) -> str | None:
        if len(calls) > len(self.tools):
            return f"Not expected: {join_list([call_text(c) for c in calls[len(self.tools) :]])}."
        if len(calls) < len(self.tools):
            return f"Not called: {join_list([str(tool) for tool in self.tools[len(calls) :]])}."
        return None

    def _out_of_order(self, view: View) -> str | None:
        calls = view.tool_calls
        # The earliest fitting call leaves the most calls for the tools that follow.
        place = 0
        for tool in self.tools:
            position = next((p for p in range(place, len(calls)) if tool.fits(calls[p])), None)
            if position is None:
                if any(tool.fits(call) for call in calls[:place]):
                    return f"{tool} was called, but not after the tools listed before it."
                return self._missing(tool, view)
            place = position + 1
        return None

    def _missing(self, tool: ExpectedCall, view: View) -> str:
        named = [call for call in view.tool_calls if call.name == tool.name]
        if not named:
            return f"{tool} is missing; {called_instead(tool.name, view)}"
        if any(tool.fits(call) for call in named):
            wanted = sum(other.name == tool.name for other in self.tools)
            return f"{tool.name} was called {times(len(named))}, expected {times(wanted)}."
        return not_as_wanted(tool.name, named, tool)

    def only_forbids(self) -> bool:
        return not self.tools

    def summary(self) -> str:
        if not self.tools:
            return "Calls no tool at all"
        return f"Calls {self._manner}{join_list([str(tool) for tool in self.tools])}"

    def warnings(self) -> list[str]:
        return [warning for tool in self.tools for warning in matcher_warnings(tool.args)]

    def mentions(self) -> Iterator[CheckedName]:
        yield from super().mentions()
        for n, tool in enumerate(self.tools):
            yield from checked_names(tool.name, tool.args, ("tools", n))
