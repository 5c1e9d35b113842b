"""What a person writes about providers and models, and the base of all specs.

Spec classes are the one authored schema: YAML, admin forms, REST and snapshots all use them. They
are frozen, refuse unknown keys and coerce nothing.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo

from evals_app.engine.basics.permits import is_frozen, must_match, refuse_if
from evals_app.engine.basics.template import unknown_variable
from evals_app.engine.network.key_places import address_problem, place_problem, variable_problem
from evals_app.engine.network.provider_kinds import KINDS
from fixtures_app.ground.patterns import pattern_problem
from fixtures_app.ground.spec_errors import error_at


class Spec(BaseModel):
    """Base of everything that people write."""

    # Built when it is first used: a command uses few of them.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @classmethod
    def members(cls) -> "Iterable[type[Spec]]":
        """Return the classes that this one is the union of, if it is one."""
        return ()

    def model_post_init(self, _context: Any, /) -> None:
        """Share the set of written keys with other specs; it never changes."""
        written = frozenset(self.__pydantic_fields_set__)
        object.__setattr__(self, "__pydantic_fields_set__", _shared_keys(written))


@lru_cache(maxsize=10_000)
def _shared_keys(written: frozenset[str]) -> set[str]:
    # A set of its own would take a fifth of the memory of a case or check.
    return set(written)


@cache
def fields_of(spec: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """Return the fields of a spec; of a union, those of all its members."""
    fields = dict(spec.model_fields)
    for member in spec.members() if issubclass(spec, Spec) else ():
        fields |= {key: info for key, info in member.model_fields.items() if key not in fields}
    return fields


def _money(value: object) -> object:
    # repr: the shortest text of a float is what was written, so 0.1 is ten cents.
    if isinstance(value, float):
        return Decimal(repr(value))
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _date(value: object) -> object:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ValueError("Write the date like this: 2026-05-01.") from None
    return value


Prose = Annotated[
    str,
    Field(min_length=1),
    refuse_if(
        lambda text: None if text.strip() else "This contains only spaces. Enter a text.", once=True
    ),
]
Slug = Annotated[
    str,
    Field(min_length=1, max_length=100),
    must_match(
        r"[a-z0-9]+(?:[-_][a-z0-9]+)*",
        "A slug has lower-case letters, digits and single hyphens, for example refund-flow.",
    ),
]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Template = Annotated[str, refuse_if(unknown_variable)]
Url = Annotated[
    str,
    Field(max_length=500),
    must_match(r"https?://\S+", "Enter the whole address, for example https://models.example.org."),
    must_match(
        r"(?!https?://[^/?#]*@)\S+",
        "Leave name and password out of the address; keep the key in an environment variable.",
    ),
    refuse_if(address_problem, once=True),
]
Variable = Annotated[
    str,
    Field(max_length=100),
    must_match(
        "[A-Za-z_][A-Za-z0-9_]*",
        "Enter the name of an environment variable, for example ANTHROPIC_API_KEY, never a key.",
    ),
]
Pattern = Annotated[str, refuse_if(pattern_problem)]

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

# What a number is, for forms and reference pages: `Field(json_schema_extra=SHARE)`.
SHARE: Any = {"unit": "share"}
MILLISECONDS: Any = {"unit": "ms"}
SECONDS: Any = {"unit": "s"}


def mark_of(info: FieldInfo, mark: str) -> Any:
    """Return what the schema of a field states about it; "" if nothing."""
    extra = info.json_schema_extra
    return extra.get(mark, "") if isinstance(extra, dict) else ""


def is_unset(value: object) -> bool:
    """Return whether a key was left out: later keys of stored specs change no digest of older ones."""
    return value in (None, [], {}, False)


MAX_INTEGER = 2_147_483_647  # the range of a database column for whole numbers

# Prefixes by which a model name without provider names one.
PREFIXES = {"claude-": "anthropic", "gpt-": "openai", "gemini-": "gemini"}


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ModelSpec(Spec):
    """A model of a provider, with sampling settings that are sent only to models that accept them."""

    provider: Slug = Field(description="Slug of a provider.")
    name: Name = Field(description="The model, as its provider calls it.")
    temperature: float | None = Field(
        default=None,
        title="Temperature",
        description="Sent only to models that accept it.",
        ge=0,
        le=2,
    )
    max_tokens: int | None = Field(
        default=None, title="Max tokens", description="The most tokens in one answer.", ge=1
    )
    top_p: float | None = Field(
        default=None, title="Top p", description="Sent only to models that accept it.", ge=0, le=1
    )
    seed: int | None = Field(
        default=None,
        title="Seed",
        description="Asks for the same reply to the same question. Not for Anthropic's models.",
        ge=-(2**63),
        le=2**63 - 1,
    )
    effort: Effort | None = Field(
        default=None,
        title="Reasoning effort",
        description="How long the model may think. Sent only to models that accept it.",
        json_schema_extra={
            "words": {word: word.capitalize() for word in get_args(Effort)}
            | {"xhigh": "Extra high"},
            "none": "The model's default",
        },
    )

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


def _model(value: object) -> object:
    if not isinstance(value, str):
        return value
    provider, slash, name = value.partition("/")
    if not slash:
        provider = next((p for prefix, p in PREFIXES.items() if value.startswith(prefix)), "")
        name = value
    if not provider or not name:
        example = "claude-..." if not value or " " in value else value
        raise ValueError(f"Write the model as provider/model, for example anthropic/{example}.")
    return {"provider": provider, "name": name}


def _model_text(model: ModelSpec) -> object:
    settings = model.model_dump(exclude_none=True)
    return str(model) if settings.keys() == {"provider", "name"} else settings


ModelRef = Annotated[ModelSpec, BeforeValidator(_model), PlainSerializer(_model_text)]
JudgeRef = Literal["agent"] | ModelRef


@cache
def _references() -> TypeAdapter[ModelSpec]:
    return TypeAdapter(ModelRef)


def read_model(written: object) -> ModelSpec:
    """Return the model that a reference such as `provider/model` names.

    Raises:
        pydantic.ValidationError: it names none.
    """
    return _references().validate_python(written)


class PriceSpec(Spec):
    """What a model costs from a date on, in USD per million tokens of each kind.

    The most recent date that is not in the future counts, and of its prices the one with the
    largest `above_prompt_tokens` that the prompt of a call exceeds.
    """

    model: Annotated[
        Name,
        must_match(
            r"[^*]*\*?",
            "A * is allowed only at the end, for all models with that prefix: claude-haiku-*.",
        ),
        Field(
            title="Model",
            description="As the provider calls it. `claude-haiku-*` matches all with that prefix.",
        ),
    ]
    valid_from: Day = Field(
        title="From", description="First day, UTC. It replaces the earlier price."
    )
    above_prompt_tokens: int = Field(
        default=0,
        title="Applies above (prompt tokens)",
        description="Only for calls with a longer prompt. By default, for all.",
        ge=0,
        le=MAX_INTEGER,
    )
    is_batch: bool = Field(
        default=False, title="Batch API price", description="Only for calls of the batch API."
    )
    input_usd: Usd = Field(title="Input", description="Prompt tokens that are not cached.")
    output_usd: Usd = Field(title="Output", description="Response tokens, including reasoning.")
    cache_read_usd: Usd | None = Field(
        default=None, title="Cache read", description="By default, unknown."
    )
    cache_write_5m_usd: Usd | None = Field(
        default=None, title="Cache write, 5 minutes", description="By default, unknown."
    )
    cache_write_1h_usd: Usd | None = Field(
        default=None, title="Cache write, 1 hour", description="By default, unknown."
    )


def _prices(prices: list[PriceSpec]) -> list[PriceSpec]:
    """Refuse ambiguous prices; sort the others, because their order means nothing."""
    first: dict[tuple[Any, ...], int] = {}
    errors = []
    for n, price in enumerate(prices):
        key = (price.model, price.is_batch, price.valid_from, price.above_prompt_tokens)
        if (known := first.setdefault(key, n)) != n:
            message = (
                f"Price {known + 1} has the same model, date, prompt length and mode. Remove one "
                "of them."
            )
            errors.append(error_at("duplicate_price", message, (n, "model"), price.model))
    for n, price in enumerate(prices):
        if price.above_prompt_tokens and (*_kind_and_day(price), 0) not in first:
            message = (
                "Shorter prompts have no price. Add one for all prompts (above_prompt_tokens 0) "
                "with the same model and date."
            )
            loc = (n, "above_prompt_tokens")
            errors.append(error_at("no_base", message, loc, price.above_prompt_tokens))
    if errors:
        raise ValidationError.from_exception_data("prices", errors)
    return sorted(prices, key=lambda price: (*_kind_and_day(price), price.above_prompt_tokens))


def _kind_and_day(price: PriceSpec) -> tuple[str, bool, date]:
    return price.model, price.is_batch, price.valid_from


if TYPE_CHECKING:
    ProviderKind = str
else:
    ProviderKind = Literal[tuple(KINDS)]
MaxTokensParameter = Literal["max_tokens", "max_completion_tokens"]


class ProviderSpec(Spec):
    """A way to reach models. The key itself stays in an environment variable."""

    provider: Name = Field(title="Name", description="For example, OpenAI.")
    slug: Slug = Field(title="Slug", description="Models are named by it: slug/model.")
    kind: ProviderKind = Field(
        title="Kind",
        description="Which API it has. Most self-hosted servers are OpenAI-compatible.",
    )
    base_url: Url | None = Field(
        default=None,
        title="Base URL",
        description="Address of its API. By default the address of its kind, or the value of"
        " ANTHROPIC_BASE_URL or OPENAI_BASE_URL. Azure OpenAI needs one:"
        " https://NAME.openai.azure.com/openai/v1/",
    )
    api_key_env: Annotated[Variable, refuse_if(variable_problem, once=True)] | None = Field(
        default=None,
        title="Variable with the key",
        description="Name of the environment variable with the key, never the key itself. By"
        " default, the one of its kind. Your administrator permits variables, and the hosts that their"
        " keys may be sent to.",
    )
    max_tokens_parameter: MaxTokensParameter | None = Field(
        default=None,
        title="Name of the max-tokens parameter",
        description="By default, the one of its kind. Older OpenAI-compatible servers expect"
        " max_tokens.",
    )
    max_concurrency: int | None = Field(
        default=None,
        title="Parallel calls",
        ge=1,
        le=MAX_INTEGER,
        description="Of all workers together. By default, no limit but the run's own.",
    )
    requests_per_minute: int | None = Field(
        default=None,
        title="Calls per minute",
        ge=1,
        le=MAX_INTEGER,
        description="Of all workers together, evenly spread. By default, no limit.",
    )
    prices: Annotated[list[PriceSpec], AfterValidator(_prices)] = Field(
        default_factory=list, title="Prices", description="What its models cost."
    )

    @model_validator(mode="after")
    def _key_may_go_there(self, info: ValidationInfo) -> Self:
        if self.kind == "azure_openai" and self.base_url is None:
            message = (
                "Azure OpenAI needs a base URL: https://NAME.openai.azure.com/openai/v1/ with the "
                "name of your resource."
            )
            error = error_at("no_address", message, ("base_url",), None)
            raise ValidationError.from_exception_data("ProviderSpec", [error])
        kind = KINDS[self.kind]
        variable, base_url = self.api_key_env or kind.key_env, self.base_url or kind.base_url
        is_usual = self.api_key_env is None and self.base_url is None
        if is_usual or variable is None or base_url is None or is_frozen(info):
            return self
        problem = variable_problem(variable) or place_problem(self.kind, variable, base_url)
        if problem:
            place = "base_url" if self.base_url else "api_key_env"
            error = error_at("key_place", problem, (place,), getattr(self, place))
            raise ValidationError.from_exception_data("ProviderSpec", [error])
        return self
