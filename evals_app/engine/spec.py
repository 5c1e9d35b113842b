"""What a person writes about providers, models and agents.

Spec classes are the one authored schema: YAML, admin forms, REST and snapshots all meet here.
They are frozen, refuse unknown keys and coerce nothing.
"""

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from evals_app.engine.patterns import pattern_problem
from evals_app.engine.template import unknown_variable


class Spec(BaseModel):
    """Base of everything that people write."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    # Keys that a later version will understand: refused by name, never accepted and ignored.
    not_yet: ClassVar[frozenset[str]] = frozenset()


def located(kind: str, message: str, loc: tuple[int | str, ...], value: Any) -> InitErrorDetails:  # noqa: ANN401
    """Give an error with its place, for a ValidationError of several."""
    return InitErrorDetails(type=PydanticCustomError(kind, message), loc=loc, input=value)


def _slug(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", value):
        msg = "A slug has lower-case letters, digits and single hyphens, for example refund-flow."
        raise ValueError(msg)
    return value


def _template(value: str) -> str:
    if problem := unknown_variable(value):
        raise ValueError(problem)
    return value


def _base_url(value: str) -> str:
    if not re.fullmatch(r"https?://\S+", value):
        msg = "Write the whole address, for example https://models.example.org."
        raise ValueError(msg)
    if re.match(r"https?://[^/?#]*@", value):
        msg = "Leave name and password out of the address; a key stays in the environment."
        raise ValueError(msg)
    return value


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        msg = (
            "Write the name of an environment variable, for example ANTHROPIC_API_KEY; never a key."
        )
        raise ValueError(msg)
    return value


def _money(value: Any) -> Any:  # noqa: ANN401 - whatever was written
    # The shortest text that means a float is what was written: 0.1 is ten cents.
    if isinstance(value, float):
        return Decimal(repr(value))
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _date(value: Any) -> Any:  # noqa: ANN401 - whatever was written
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            msg = "Write the day as 2026-05-01."
            raise ValueError(msg) from None
    return value


def _model_pattern(value: str) -> str:
    if "*" in value[:-1]:
        msg = "A * stands at the end, for all models that begin so: claude-haiku-*."
        raise ValueError(msg)
    return value


def _pattern(value: str) -> str:
    if problem := pattern_problem(value):
        raise ValueError(problem)
    return value


Slug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_slug)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Template = Annotated[str, AfterValidator(_template)]
Url = Annotated[str, Field(max_length=500), AfterValidator(_base_url)]
Variable = Annotated[str, Field(max_length=100), AfterValidator(_variable)]
Pattern = Annotated[str, AfterValidator(_pattern)]

# USD, to a billionth: what one token of a cheap model costs. JSON has it as a number.
Usd = Annotated[
    Decimal,
    BeforeValidator(_money),
    Field(ge=0, le=1_000_000, max_digits=20, decimal_places=9),
    PlainSerializer(float),
    # pydantic's own also allows texts, which strict reading refuses.
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1_000_000}),
]
Day = Annotated[date, BeforeValidator(_date), PlainSerializer(date.isoformat)]

MOST = 2_147_483_647  # what a database column for whole numbers holds

# A bare model name tells its provider by how it begins.
PREFIXES = {"claude-": "anthropic", "gpt-": "openai", "gemini-": "gemini"}


class ModelSpec(Spec):
    """A model of a provider, with sampling settings that are sent only where accepted."""

    provider: Annotated[Slug, Field(description="Slug of a provider.")]
    name: Annotated[Name, Field(description="The model, as its provider calls it.")]
    temperature: Annotated[
        float | None, Field(description="Sent only to models that accept it.", ge=0, le=2)
    ] = None
    max_tokens: Annotated[int | None, Field(description="Most tokens of one answer.", ge=1)] = None
    top_p: Annotated[
        float | None, Field(description="Sent only to models that accept it.", ge=0, le=1)
    ] = None

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


def _model(value: Any) -> Any:  # noqa: ANN401 - whatever was written
    if not isinstance(value, str):
        return value
    provider, slash, name = value.partition("/")
    if not slash:
        provider = next((p for prefix, p in PREFIXES.items() if value.startswith(prefix)), "")
        name = value
    if not provider or not name:
        msg = f"Write the model as provider/model, for example anthropic/{value or 'claude-...'}."
        raise ValueError(msg)
    return {"provider": provider, "name": name}


def _model_text(model: ModelSpec) -> Any:  # noqa: ANN401 - a name, or a mapping with settings
    settings = model.model_dump(exclude_none=True)
    return str(model) if settings.keys() == {"provider", "name"} else settings


ModelRef = Annotated[ModelSpec, BeforeValidator(_model), PlainSerializer(_model_text)]
JudgeRef = Literal["agent"] | ModelRef


class PriceSpec(Spec):
    """What a model costs from a day on, in USD per million tokens of each kind.

    Of the prices of a model the youngest day that has come counts; of those the one with the
    largest `above_prompt_tokens` that a call's prompt exceeds.
    """

    model: Annotated[
        Name,
        AfterValidator(_model_pattern),
        Field(description="The model, as its provider calls it; may end in *."),
    ]
    valid_from: Annotated[Day, Field(description="First day, UTC.")]
    above_prompt_tokens: Annotated[
        int, Field(description="Only for calls with a longer prompt than this.", ge=0, le=MOST)
    ] = 0
    is_batch: Annotated[bool, Field(description="The price of calls that are sent in batches.")] = (
        False
    )
    input_usd: Annotated[Usd, Field(description="Prompt tokens that no cache knew.")]
    output_usd: Annotated[Usd, Field(description="Response tokens, reasoning included.")]
    cache_read_usd: Annotated[Usd | None, Field(description="Prompt tokens from a cache.")] = None
    cache_write_5m_usd: Annotated[
        Usd | None, Field(description="Prompt tokens kept in a cache for five minutes.")
    ] = None
    cache_write_1h_usd: Annotated[
        Usd | None, Field(description="Prompt tokens kept in a cache for an hour.")
    ] = None


def _prices(prices: list[PriceSpec]) -> list[PriceSpec]:
    """Refuse what could not be told apart; put the rest in order, for the list has none."""
    first: dict[tuple[Any, ...], int] = {}
    errors = []
    for n, price in enumerate(prices):
        key = (price.model, price.is_batch, price.valid_from, price.above_prompt_tokens)
        if (known := first.setdefault(key, n)) != n:
            message = (
                f"Price {known + 1} is for the same model, day, prompt length and mode; there can "
                "be one."
            )
            errors.append(located("duplicate_price", message, (n, "model"), price.model))
    for n, price in enumerate(prices):
        if price.above_prompt_tokens and (*_kind_and_day(price), 0) not in first:
            message = (
                "This leaves shorter prompts without a price: add one for all prompts "
                "(above_prompt_tokens 0) for the same model and day."
            )
            loc = (n, "above_prompt_tokens")
            errors.append(located("no_base", message, loc, price.above_prompt_tokens))
    if errors:
        raise ValidationError.from_exception_data("prices", errors)
    return sorted(prices, key=lambda each: (*_kind_and_day(each), each.above_prompt_tokens))


def _kind_and_day(price: PriceSpec) -> tuple[str, bool, date]:
    return price.model, price.is_batch, price.valid_from


class ProviderSpec(Spec):
    """A way to reach models. The key itself stays in the environment variable named here."""

    provider: Name = Field(description="Name shown to people.")
    slug: Annotated[Slug, Field(description="How models name it: slug/model.")]
    kind: Annotated[Literal["anthropic", "scripted"], Field(description="Which API it speaks.")]
    base_url: Annotated[
        Url | None, Field(description="Blank follows the SDK's own environment.")
    ] = None
    api_key_env: Annotated[
        Variable | None,
        Field(description="Name of the environment variable that holds the key, never the key."),
    ] = None
    max_concurrency: Annotated[
        int | None, Field(ge=1, le=MOST, description="Calls at once, of all workers together.")
    ] = None
    requests_per_minute: Annotated[
        int | None, Field(ge=1, le=MOST, description="Calls begun in a minute, of all workers.")
    ] = None
    prices: Annotated[list[PriceSpec], AfterValidator(_prices)] = Field(
        default_factory=list, description="What its models cost."
    )


class AgentSettings(Spec):
    """How the agent's model is driven."""

    max_tool_rounds: Annotated[
        int,
        Field(description="Rounds of tool calls in one turn; then it has failed.", ge=1, le=200),
    ] = 25
    max_output_tokens: Annotated[int, Field(description="Most tokens of one answer.", ge=1)] = 4096
    provider_patience_s: Annotated[
        float,
        Field(
            description="Seconds that a call may wait for its provider, retries included.",
            gt=0,
            le=3600,
        ),
    ] = 600.0


class ScriptedUsage(Spec):
    """Tokens that a scripted rule reports, so that limits can be tried offline."""

    input_tokens: Annotated[int, Field(description="Prompt tokens.", ge=0)]
    output_tokens: Annotated[int, Field(description="Response tokens.", ge=0)]


class ScriptedCall(Spec):
    """A tool call that a scripted rule makes."""

    tool: Annotated[Name, Field(description="One of the agent's tools.")]
    args: dict[str, Any] = Field(
        default_factory=dict, description="May hold {{input}} and {{result.N.path}}."
    )


class ScriptedRule(Spec):
    """When the message matches, call these tools, then say this or fail.

    `when` is an RE2 pattern searched in the message, case-insensitively; `turn` a 1-based
    position. In `reply` and in later `args`, `{{input}}` is the message and `{{result.N.path}}`
    the N-th result of this turn.
    """

    when: Annotated[
        Pattern | None,
        Field(
            description="RE2 pattern searched in the message, in any case; left out: every message."
        ),
    ] = None
    turn: Annotated[int | None, Field(description="Only in this turn, counted from 1.", ge=1)] = (
        None
    )
    calls: list[ScriptedCall] = Field(
        default_factory=list, description="Tool calls, made in this order."
    )
    reply: Annotated[
        str | None, Field(description="What it says; may hold {{input}} and {{result.N.path}}.")
    ] = None
    delay_ms: Annotated[int, Field(description="How long it takes.", ge=0, le=3_600_000)] = 0
    error: Annotated[str | None, Field(description="What it fails with, instead of a reply.")] = (
        None
    )
    usage: Annotated[
        ScriptedUsage | None, Field(description="Tokens it reports; left out: unknown.")
    ] = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.reply is None and self.error is None:
            msg = "A rule needs a reply or an error."
            raise ValueError(msg)
        if self.reply is not None and self.error is not None:
            msg = "A rule replies or fails, not both; leave out reply or error."
            raise ValueError(msg)
        return self


class AgentSpec(Spec):
    """What is tested: a driver with its settings, system prompt and tools."""

    not_yet = frozenset({"url", "headers", "protocol", "callable", "command"})

    agent: Name = Field(description="Name shown to people; {{agentName}} in prompts.")
    slug: Annotated[Slug, Field(description="How suites and commands name it.")]
    description: Annotated[str, Field(description="For people.")] = ""
    driver: Annotated[
        Literal["model", "scripted"],
        Field(description="How it is made to answer: by a model with tools, or by rules."),
    ] = "model"
    model: Annotated[ModelRef | None, Field(description="provider/model")] = None
    system_prompt: Annotated[
        Template,
        Field(
            description="May hold {{threadContext.channel}}, {{threadContext.params.NAME}}, {{agentName}} and {{datetime}}."
        ),
    ] = ""
    tools: list[Name] = Field(
        default_factory=list, description="Names of the world's tools that it may call."
    )
    settings: Annotated[AgentSettings, Field(description="How its model is driven.")] = (
        AgentSettings()
    )
    rules: list[ScriptedRule] = Field(
        default_factory=list, description="For driver scripted: the first rule that matches acts."
    )

    @model_validator(mode="after")
    def _fits_its_driver(self) -> Self:
        if self.driver == "model" and self.model is None:
            msg = (
                "An agent with driver model needs a model, for example anthropic/claude-haiku-5-5."
            )
            raise ValueError(msg)
        if self.driver == "model" and self.rules:
            msg = "rules belong to driver scripted; this agent has driver model."
            raise ValueError(msg)
        if self.driver == "scripted" and not self.rules:
            msg = "An agent with driver scripted needs at least one rule."
            raise ValueError(msg)
        for number, rule in enumerate(self.rules, 1):
            for call in rule.calls:
                if call.tool not in self.tools:
                    msg = f"Rule {number} calls {call.tool!r}, which is not in this agent's tools."
                    raise ValueError(msg)
        return self
