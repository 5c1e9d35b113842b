"""The shapes of a dataset of pydantic-evals, strictly as its documentation describes them."""

from typing import Annotated, Any

from pydantic import Field

from evals_app.formats.foreign.shapes import Foreign

Text = Annotated[str, Field(min_length=1)]

_WHOLE_RUN = "Evaluators of the whole report do not exist here. Set gates of the suite instead."


class EvaluatedDataset(Foreign):
    """The whole file."""

    lost = {"report_evaluators": _WHOLE_RUN}
    lost_checks = ("report_evaluators",)

    schema_: Annotated[object, Field(alias="$schema")] = None  # only for editors
    name: str | None = None
    cases: Annotated[list[Any], Field(min_length=1, description="The cases.")]
    evaluators: list[object] = Field(default_factory=list)


class Case(Foreign):
    """What goes in, and what should come out."""

    name: Text | None = None
    inputs: Annotated[Any, Field(description="What the agent is asked.")]
    metadata: Any = None
    expected_output: Any = None
    evaluators: list[object] = Field(default_factory=list)


class Evaluator(Foreign):
    """The options of an evaluator."""

    evaluation_name: Text | None = None


class EqualsExpected(Evaluator):
    """The output is the expected one."""


class Equals(Evaluator):
    """The output is a value."""

    value: Any


class ContainsValue(Evaluator):
    """The output contains a text, an entry or keys with values."""

    value: Any
    case_sensitive: bool = True
    as_strings: bool = False


class MaxDuration(Evaluator):
    """The task takes no longer."""

    seconds: object


class LLMJudge(Evaluator):
    """A judge decides by a rubric."""

    lost = {"model_settings": "A judge's model has no settings here."}

    rubric: Text
    model: Text | None = None
    include_input: bool = False
    include_expected_output: bool = False
    score: object = False
    assertion: object = None


KNOWN: dict[str, type[Evaluator]] = {
    "Contains": ContainsValue,
    "Equals": Equals,
    "EqualsExpected": EqualsExpected,
    "LLMJudge": LLMJudge,
    "MaxDuration": MaxDuration,
}
LOST = {
    "IsInstance": "A reply is always a text. If it should be JSON, use json_schema.",
    "HasMatchingSpan": "Checks read replies and tool calls, not spans. Use tool_called or tool_calls.",
}
OWN_CLASS = (
    "It is not an evaluator that is read here. Express it with other checks, or write a Python function "
    "that your administrator permits and use the check `code`."
)
