"""What a person writes about providers, models and agents.

Spec classes are the one authored schema: YAML, admin forms, REST and snapshots all meet here.
They are frozen, refuse unknown keys and coerce nothing.
"""

import re
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from evals_app.engine.key_places import address_problem, place_problem, variable_problem
from evals_app.engine.kinds import KINDS
from evals_app.engine.patterns import pattern_problem
from evals_app.engine.permits import is_frozen
from evals_app.engine.template import unknown_variable


class Spec(BaseModel):
    """Base of everything that people write."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    # Keys that a later version will understand: refused by name, never accepted and ignored.
    not_yet: ClassVar[frozenset[str]] = frozenset()

    def model_post_init(self, _context: Any, /) -> None:  # noqa: ANN401 - pydantic's
        """Share with other specs what is noted of the keys that were written; it never changes."""
        written = frozenset(self.__pydantic_fields_set__)
        object.__setattr__(self, "__pydantic_fields_set__", _shared(written))


@lru_cache(maxsize=10_000)
def _shared(written: frozenset[str]) -> set[str]:
    # A set of its own would be a fifth of what a case or a check takes in memory.
    return set(written)


def located(kind: str, message: str, loc: tuple[int | str, ...], value: Any) -> InitErrorDetails:  # noqa: ANN401
    """Give an error with its place, for a ValidationError of several."""
    return InitErrorDetails(type=PydanticCustomError(kind, message), loc=loc, input=value)


def taken_apart(error: ValidationError) -> list[InitErrorDetails]:
    """Give what an error holds, so that it can be raised again beside others."""
    return [
        located(each["type"], each["msg"], each["loc"], each["input"])
        for each in error.errors(include_url=False)
    ]


def _slug(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", value):
        msg = "A slug has lower-case letters, digits and single hyphens, for example refund-flow."
        raise ValueError(msg)
    return value


def _template(value: str) -> str:
    if problem := unknown_variable(value):
        raise ValueError(problem)
    return value


def _base_url(value: str, info: ValidationInfo) -> str:
    if not re.fullmatch(r"https?://\S+", value):
        msg = "Write the whole address, for example https://models.example.org."
        raise ValueError(msg)
    if re.match(r"https?://[^/?#]*@", value):
        msg = "Leave name and password out of the address; a key stays in the environment."
        raise ValueError(msg)
    if not is_frozen(info) and (problem := address_problem(value)):
        raise ValueError(problem)
    return value


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        msg = (
            "Write the name of an environment variable, for example ANTHROPIC_API_KEY; never a key."
        )
        raise ValueError(msg)
    return value


def _key_variable(value: str, info: ValidationInfo) -> str:
    if not is_frozen(info) and (problem := variable_problem(value)):
        raise ValueError(problem)
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


def _not_blank(value: str, info: ValidationInfo) -> str:
    if not is_frozen(info) and not value.strip():
        msg = "This is nothing but spaces; write what is meant."
        raise ValueError(msg)
    return value


Prose = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
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


ProviderKind = Literal[
    "anthropic",
    "openai",
    "azure_openai",
    "gemini",
    "groq",
    "openrouter",
    "ollama",
    "scripted",
]
MaxTokensParameter = Literal["max_tokens", "max_completion_tokens"]


class ProviderSpec(Spec):
    """A way to reach models. The key itself stays in the environment variable named here."""

    provider: Name = Field(description="Name shown to people.")
    slug: Annotated[Slug, Field(description="How models name it: slug/model.")]
    kind: Annotated[ProviderKind, Field(description="Which API it speaks.")]
    base_url: Annotated[
        Url | None,
        Field(
            description="Where its API is. Left out: the usual address of its kind, or what `ANTHROPIC_BASE_URL` or `OPENAI_BASE_URL` says; Azure OpenAI needs one, which ends in `/openai/v1/`."
        ),
    ] = None
    api_key_env: Annotated[
        Annotated[Variable, AfterValidator(_key_variable)] | None,
        Field(
            description="Name of the environment variable that holds the key, never the key. Left out: the usual one of its kind. The operator lists which variables may be named, and to which hosts their keys go."
        ),
    ] = None
    max_tokens_parameter: Annotated[
        MaxTokensParameter | None,
        Field(
            description="How its server names the limit of an answer. Left out: as its kind does; older servers that speak like OpenAI want `max_tokens`."
        ),
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

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if self.kind == "azure_openai" and self.base_url is None:
            message = (
                "Azure OpenAI needs its address: https://NAME.openai.azure.com/openai/v1/ with the "
                "name of your resource."
            )
            error = located("no_address", message, ("base_url",), None)
            raise ValidationError.from_exception_data("ProviderSpec", [error])
        return self

    @model_validator(mode="after")
    def _key_may_go_there(self, info: ValidationInfo) -> Self:
        kind = KINDS[self.kind]
        variable, base_url = self.api_key_env or kind.key_env, self.base_url or kind.base_url
        is_usual = self.api_key_env is None and self.base_url is None
        if is_usual or variable is None or base_url is None or is_frozen(info):
            return self
        problem = variable_problem(variable) or place_problem(self.kind, variable, base_url)
        if problem:
            place = "base_url" if self.base_url else "api_key_env"
            error = located("key_place", problem, (place,), getattr(self, place))
            raise ValidationError.from_exception_data("ProviderSpec", [error])
        return self
