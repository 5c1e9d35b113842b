"""The shapes of OpenAI Evals: objects of its API as people save them, and the registry's YAML.

Sources: the types of the `openai` Python package, and https://github.com/openai/evals
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from evals_app.engine.specs.base_spec import Effort
from evals_app.formats.foreign.shapes import Foreign

Text = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class ApiPart(Foreign):
    """A part of a file; what a later version of the API adds is a loss, not an error."""

    overlooks: ClassVar[bool] = True


class Eval(ApiPart):
    """What is evaluated: criteria, and which data they are about."""

    id: Text | None = None
    name: str | None = None
    testing_criteria: Annotated[list[object], Field(min_length=1, description="What is checked.")]
    metadata: dict[str, object] | None = None
    # Known, and without a meaning for an import.
    object_: Annotated[object, Field(alias="object")] = None
    created_at: object = None
    updated_at: object = None
    last_used_at: object = None
    share_with_openai: object = None
    data_source_config: object = None
    runs: object = None


class Sampling(ApiPart):
    """Settings of a model."""

    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    top_p: Annotated[float | None, Field(ge=0, le=1)] = None
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    max_completion_tokens: Annotated[int | None, Field(ge=1)] = None
    # As the SDK calls it in graders.
    max_completions_tokens: Annotated[int | None, Field(ge=1)] = None
    seed: int | None = None
    reasoning_effort: Effort | None = None
    # The same in the Chat Completions API and in the Responses API.
    response_format: dict[str, object] | None = None
    text: dict[str, object] | None = None
    tools: list[object] | None = None

    def settings(self) -> dict[str, Any]:
        most = self.max_completion_tokens or self.max_completions_tokens or self.max_tokens
        settings = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": most,
            "seed": self.seed,
            "effort": self.reasoning_effort,
        }
        return {key: value for key, value in settings.items() if value is not None}


class Messages(ApiPart):
    """What is sent to the model: messages with variables, or the place of messages in an item."""

    type: Literal["template", "item_reference"]
    template: list[object] | None = None
    item_reference: Text | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if getattr(self, self.type) is None:
            raise ValueError(f"With type {self.type} the key `{self.type}` is needed.")
        return self


class DataSource(ApiPart):
    """What a run asked, and which model."""

    type: Text
    source: Any = None
    input_messages: Messages | None = None
    model: Text | None = None
    sampling_params: Sampling | None = None


class Run(ApiPart):
    """A run of an eval."""

    id: Text | None = None
    eval_id: Text | None = None
    name: str | None = None
    created_at: float | None = None
    data_source: Annotated[DataSource, Field(description="What was asked.")]
    model: str | None = None
    # Results, and what has no meaning for an import.
    object_: Annotated[object, Field(alias="object")] = None
    error: Any = None
    metadata: Any = None
    per_model_usage: object = None
    per_testing_criteria_results: object = None
    report_url: object = None
    result_counts: object = None
    shared_with_openai: object = None
    status: Any = None


class TestingCriterion(ApiPart):
    """Something that is checked."""

    type: Text
    name: str | None = None
    id: Any = None


class StringCheck(TestingCriterion):
    """Two texts are compared."""

    operation: Literal["eq", "ne", "like", "ilike"]
    input: str
    reference: str


class SimilarityCheck(TestingCriterion):
    """How much two texts share is measured."""

    evaluation_metric: Text
    input: str
    reference: str
    pass_threshold: Annotated[float, Field(ge=0, le=1)]


class Asking(TestingCriterion):
    """A model is asked."""

    input: Annotated[list[object], Field(min_length=1, description="The messages to the grader.")]
    model: Text | None = None
    sampling_params: Sampling | None = None


class ScoreModel(Asking):
    """A model gives a score."""

    range: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    pass_threshold: Number | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        least, best = self.range or (0.0, 1.0)
        return least, best

    @model_validator(mode="after")
    def _has_a_range(self) -> Self:
        least, best = self.bounds
        if least >= best:
            raise ValueError(
                "A range goes from the lowest to the highest score, for example [0, 10]."
            )
        if self.pass_threshold is not None and not least <= self.pass_threshold <= best:
            raise ValueError(
                f"The threshold {self.pass_threshold:g} is outside the range {least:g} to {best:g}."
            )
        return self


class LabelModel(Asking):
    """A model chooses a label."""

    labels: Annotated[list[Text], Field(min_length=1)]
    passing_labels: Annotated[list[Text], Field(min_length=1)]

    @model_validator(mode="after")
    def _labels_are_known(self) -> Self:
        if unknown := [label for label in self.passing_labels if label not in self.labels]:
            raise ValueError(f"{unknown[0]!r} is not one of the labels {', '.join(self.labels)}.")
        return self


class Alias(ApiPart):
    """A name of an eval in the registry."""

    id: Text
    description: str = ""
    disclaimer: object = None
    metrics: object = None


class RegistryEntry(ApiPart):
    """An eval in the registry: its class, and what it is called with."""

    class_: Annotated[Text, Field(alias="class")]
    args: dict[str, Any] = Field(default_factory=dict)
    description: str = ""
    registry_path: object = None


class Modelgraded(ApiPart):
    """How a model grades: a prompt with {variables}, and the choices that it has."""

    prompt: Any
    choice_strings: str | list[str]
    choice_scores: dict[str, Number] | str | None = None
    eval_type: object = None
    input_outputs: dict[str, str] = Field(default_factory=dict)
    args: Any = None
    format_type: object = None
    metaeval: object = None
    output_template: object = None
    completion_sample_templates: object = None
