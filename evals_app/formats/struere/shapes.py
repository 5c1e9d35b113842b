"""The shapes of Struere's files."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

JUDGE = "anthropic/claude-haiku-4-5-20251001"
CHANNELS = ("widget", "whatsapp", "api", "dashboard")

# Their final forms read the conversation; tool assertions see all calls anyway.
JUDGE_SCALE = "1-5"  # on which 3 passes
READS_TEXT = {"contains", "matches", "llm_judge"}
Type = Literal["llm_judge", "contains", "matches", "tool_called", "tool_not_called"]
# A fixture has the shape of ours, with fewer keys.
FIXTURE_KEYS = ("name", "slug", "entities", "relations")


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel)


class Assertion(_Written):
    """A check."""

    type: Type
    criteria: str | None = None
    value: str | None = None
    weight: Annotated[float, Field(ge=0)] = 1

    @model_validator(mode="after")
    def _has_its_option(self) -> Self:
        needed, foreign = (
            ("criteria", "value") if self.type == "llm_judge" else ("value", "criteria")
        )
        if getattr(self, needed) is None:
            raise ValueError(f"The check {self.type} needs the key `{needed}`.")
        if getattr(self, foreign) is not None:
            raise ValueError(f"The check {self.type} takes `{needed}` and not `{foreign}`.")
        return self


class Turn(_Written):
    """A turn; without `assertions` it is not scored."""

    user: str
    assertions: list[Assertion] | None = None


class Case(_Written):
    """A case."""

    name: str
    description: str = ""
    tags: list[str] = Field(default_factory=list)
    turns: list[Turn]
    final_assertions: list[Assertion] = Field(default_factory=list)
    channel: str | None = None
    context_params: dict[str, str | int | float | bool | None] = Field(default_factory=dict)


class Suite(_Written):
    """An eval file."""

    suite: str
    slug: str
    agent: str
    description: str = ""
    tags: list[str] = Field(default_factory=list)
    judge_model: str = JUDGE
    judge_prompt: str = ""
    judge_context: str = ""
    cases: list[Case]


# The keys of suites and cases that have another name than ours.
RENAMED = {
    name: info.alias
    for shape in (Suite, Case)
    for name, info in shape.model_fields.items()
    if info.alias and info.alias != name
}
