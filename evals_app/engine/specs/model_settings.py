"""Settings of an agent's model besides the model itself, and where each setting belongs."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import InitErrorDetails

from evals_app.engine.basics.permits import refuse_if
from evals_app.engine.specs.base_spec import SECONDS, ModelSpec, Spec, is_unset
from fixtures_app.ground.schema_problems import schema_problems
from fixtures_app.ground.spec_errors import error_at

# As a JSON Schema: what APIs call JSON mode.
ANY_OBJECT: dict[str, object] = {"type": "object"}

# What other tools call the same.
_OTHER_NAMES = {
    "reasoning_effort": "effort",
    "max_completion_tokens": "max_tokens",
    "max_new_tokens": "max_tokens",
}
_OF_MODEL = frozenset({*ModelSpec.model_fields} - {"provider", "name"})


def _read_format(written: object) -> object:
    """Read the forms that OpenAI's API has, too."""
    if not isinstance(written, dict):
        return written
    if written == ANY_OBJECT:
        return "json"
    match written.get("type"):
        case "json_object":
            return "json"
        case "json_schema":
            inner = written.get("json_schema", written)
            return inner.get("schema", written) if isinstance(inner, dict) else written
    return written


def _format_problem(written: object) -> str | None:
    if not isinstance(written, dict):
        return None
    if problems := schema_problems(written):
        return f"Write json, or a JSON Schema. {problems[0]}"
    if written.get("type") != "object":
        return "The reply must be an object: begin the schema with type: object."
    return None


ResponseFormat = Annotated[
    Literal["json"] | dict[str, object],
    BeforeValidator(_read_format),
    refuse_if(_format_problem, once=True),
]


class AgentSettings(Spec):
    """Limits of an agent's model, and the format of its replies."""

    max_tool_rounds: int = Field(
        default=25,
        title="Max tool-call rounds per turn",
        description="An agent that exceeds it has failed.",
        ge=1,
        le=200,
    )
    max_output_tokens: int = Field(
        default=4096,
        title="Max answer length (tokens)",
        description="Of one call of the model.",
        ge=1,
    )
    provider_patience_s: float = Field(
        default=600.0,
        title="Max wait for an overloaded provider (s)",
        description="Of one call, including retries.",
        json_schema_extra=SECONDS,
        gt=0,
        le=3600,
    )
    response_format: ResponseFormat | None = Field(
        default=None,
        title="Reply format",
        description="json for any JSON object, or the JSON Schema that replies must fit. By default,"
        " text.",
        exclude_if=is_unset,
    )


def schema_of(settings: AgentSettings) -> dict[str, object] | None:
    """Return the JSON Schema that replies must fit, if the model is asked for one."""
    written = settings.response_format
    return ANY_OBJECT if written == "json" else written


def setting_problems(written: Mapping[str, object]) -> Iterator[InitErrorDetails]:
    """Yield an error for each setting that belongs to another place of an agent."""
    yield from _problems_in(written, (), written)
    for part in ("settings", "model"):
        if isinstance(inner := written.get(part), dict):
            yield from _problems_in(inner, (part,), written)
    config = written.get("config")
    if isinstance(config, dict) and (known := [name for name in config if _home_of(name)]):
        places = " ".join(_sentence(name, written, config[name]) for name in known)
        yield error_at("misplaced_setting", f"Agents have no config. {places}", ("config",), config)


def _problems_in(
    part: Mapping[str, object], at: tuple[str, ...], written: Mapping[str, object]
) -> Iterator[InitErrorDetails]:
    for name, value in part.items():
        home = _home_of(name)
        if home and (at != (home,) or name in _OTHER_NAMES):
            message = _sentence(name, written, value)
            yield error_at("misplaced_setting", message, (*at, name), value)


def _home_of(name: object) -> str:
    """Return the part of an agent that a setting belongs to; empty if it is not a setting."""
    if name in _OF_MODEL or name in _OTHER_NAMES:
        return "model"
    return "settings" if name in AgentSettings.model_fields else ""


def _sentence(name: str, written: Mapping[str, object], value: object) -> str:
    ours = _OTHER_NAMES.get(name, name)
    if (driver := written.get("driver", "model")) != "model":
        return f"{name} is only for driver model, but this agent has driver {driver}."
    short = value if isinstance(value, str | int | float) else "..."
    if _home_of(name) == "settings":
        return f"Write {name} under settings: settings: {{{ours}: {short}}}."
    provider, name_of_model = _model_in(written.get("model"))
    example = f"{{provider: {provider}, name: {name_of_model}, {ours}: {short}}}"
    return f"{name} is a setting of the model. Write model: {example}."


def _model_in(model: object) -> tuple[object, object]:
    """Return provider and name of a model as it was written, or those of an example."""
    if isinstance(model, dict):
        return model.get("provider", "openai"), model.get("name", "NAME")
    provider, slash, name = model.partition("/") if isinstance(model, str) else ("", "", "")
    return (provider, name) if slash else ("openai", provider or "NAME")
