"""The grader that gives a share of the score for each correct part of a tool call."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from evals_app.engine.basics.matchers import contains, matcher_warnings, mismatches, with_args
from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.graders.kit.calls import (
    ArgsMatch,
    OptionalArguments,
    ToolName,
    call_text,
    call_texts,
    called_instead,
    checked_names,
    not_as_wanted,
    unreported_calls,
)
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import ToolCall
from evals_app.engine.record.view import View
from evals_app.engine.specs.inventory import CheckedName
from fixtures_app.ground.quoting import in_quotes, says

# Shares of the score; if a part is not expected, the others share its weight.
_WEIGHTS = {"tool": 0.5, "args": 0.3, "output": 0.2}


class ToolUse(PlainGrader):
    """Pass when the tool was called with the right arguments and the reply contains the result.

    The score is weighted: tool 0.5, arguments 0.3 and output 0.2; without `expected_output`, tool
    0.625 and arguments 0.375. The weight of a part that is left out goes to the others. If there are
    several calls, the best one counts. Needs a `threshold` to have a verdict.
    """

    label: ClassVar[str] = "Tool was used correctly"
    in_words: ClassVar[str] = "The agent searched flights to Paris and said what it found."
    family: ClassVar[Literal["tools"]] = "tools"
    named_by: ClassVar[tuple[str, ...]] = ("Agentura",)
    only_scores: ClassVar[bool] = True
    example: ClassVar[dict[str, object]] = {
        "tool": "search_flights",
        "args": {"destination": "Paris"},
        "expected_output": "Paris",
    }

    tool: ToolName
    args: OptionalArguments = None
    args_match: ArgsMatch = "exact"
    expected_output: Annotated[
        str | None,
        Field(
            min_length=1,
            title="Reply contains",
            description="Text that the reply must contain. Upper and lower case are the same.",
        ),
    ] = None

    def grade(self, view: View) -> Grade:
        calls = view.tool_calls
        named = [call for call in calls if call.name == self.tool]
        fitting = [call for call in named if not self.faults(call)]
        if not fitting and not view.reports_calls:
            return unreported_calls(view.turns)
        is_met = {"tool": bool(named)}
        sentences = [self._about_calls(view, named, fitting)]
        if self.args is not None:
            is_met["args"] = bool(fitting)
        if self.expected_output is not None:
            is_met["output"] = contains(self.expected_output, view.reply)
            sentences.append(self._about_output(view.reply, is_met=is_met["output"]))
        total = sum(_WEIGHTS[part] for part in is_met)
        # Rounded: 0.5 / 0.8 + 0.3 / 0.8 is a little less than 1.
        score = round(sum(_WEIGHTS[part] for part, is_hit in is_met.items() if is_hit) / total, 12)
        details = {
            "parts": {part: float(is_hit) for part, is_hit in is_met.items()},
            "weights": {part: round(_WEIGHTS[part] / total, 4) for part in is_met},
            "called": call_texts(calls),
        }
        return Grade.of_score(score, " ".join(sentences), **details)

    def faults(self, call: ToolCall) -> list[str]:
        """State which arguments of a call are not as wanted."""
        return mismatches(self.args or {}, call.args, exact=self.args_match == "exact")

    def _about_calls(
        self, view: View, named: Sequence[ToolCall], fitting: Sequence[ToolCall]
    ) -> str:
        if not named:
            return f"Expected a call to {self._expected_text}; {called_instead(self.tool, view)}"
        if self.args is None:
            return f"{self.tool} was called, as expected: {call_text(named[0])}."
        if fitting:
            return f"{self._expected_text} was called, as expected: {call_text(fitting[0])}."
        return not_as_wanted(self.tool, named, self)

    def _about_output(self, reply: str, *, is_met: bool) -> str:
        output = in_quotes(self.expected_output or "")
        if is_met:
            return f"The reply contains {output}."
        return f"The reply does not contain {output}; {says(reply)}."

    @property
    def _expected_text(self) -> str:
        others = " and no other arguments" if self.args_match == "exact" else ""
        if self.args == {}:
            return f"{self.tool} without arguments" if others else self.tool
        return f"{self.tool}{with_args(self.args)}{others}" if self.args else self.tool

    def summary(self) -> str:
        output = f", and the reply contains {in_quotes(self.expected_output or '')}"
        return f"Uses {self._expected_text}{output if self.expected_output else ''}"

    def warnings(self) -> list[str]:
        return matcher_warnings(self.args or {})

    def mentions(self) -> Iterator[CheckedName]:
        yield from super().mentions()
        yield from checked_names(self.tool, self.args or {}, ())
