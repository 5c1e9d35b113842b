"""Where settings of a model are written, and which format replies may have."""

from typing import Any

import pytest

from evals_app.engine.specs.agent_spec import AgentSpec, ModelAgent
from evals_app.engine.specs.model_settings import ANY_OBJECT, AgentSettings, schema_of
from tests.engine.makers import make_model_agent, refusals

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


def refused(**changes: Any) -> list[tuple[str, str]]:
    written = {"agent": "A", "slug": "a", "model": "openai/gpt-5", **changes}
    return refusals(AgentSpec.model_validate, written)


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        (
            {"temperature": 0},
            "temperature",
            "model: {provider: openai, name: gpt-5, temperature: 0}",
        ),
        ({"settings": {"temperature": 0}}, "settings.temperature", "temperature: 0}"),
        ({"settings": {"reasoning_effort": "low"}}, "settings.reasoning_effort", "effort: low}"),
        ({"config": {"seed": 1, "other": 2}}, "config", "seed: 1}"),
        ({"response_format": "json"}, "response_format", "settings: {response_format: json}"),
        ({"max_tool_rounds": 3}, "max_tool_rounds", "settings: {max_tool_rounds: 3}"),
        (
            {"model": {"provider": "openai", "name": "m", "response_format": "json"}},
            "model.response_format",
            "settings: {response_format: json}",
        ),
        (
            {"model": {"provider": "openai", "name": "m", "reasoning_effort": "high"}},
            "model.reasoning_effort",
            "{provider: openai, name: m, effort: high}",
        ),
        (
            {"driver": "connected", "model": None, "temperature": 0},
            "temperature",
            "only for driver model",
        ),
    ],
)
def test_a_setting_in_another_place_is_refused_with_the_right_one(
    changes: dict[str, Any], place: str, words: str
) -> None:
    ((where, why),) = refused(**changes)

    assert where == place
    assert words in why


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        (None, None),
        ("json", ANY_OBJECT),
        ({"type": "object"}, ANY_OBJECT),
        (SCHEMA, SCHEMA),
        # As OpenAI's APIs have it.
        ({"type": "json_object"}, ANY_OBJECT),
        ({"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}, SCHEMA),
        ({"type": "json_schema", "name": "a", "schema": SCHEMA}, SCHEMA),
    ],
)
def test_the_format_of_replies(written: object, schema: object) -> None:
    settings = AgentSettings.model_validate({"response_format": written})

    assert schema_of(settings) == schema
    assert AgentSettings.model_validate(settings.model_dump()) == settings


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("xml", "json"),
        ({"type": "objekt"}, "Write json, or a JSON Schema"),
        ({"type": "string"}, "type: object"),
    ],
)
def test_another_format_is_refused(written: object, words: str) -> None:
    assert any(words in why for _, why in refused(settings={"response_format": written}))


def test_models_with_equal_settings_are_equal() -> None:
    def models(**settings: object) -> ModelAgent:
        return make_model_agent(model={"provider": "openai", "name": "m", **settings})

    assert len({models(seed=1).model, models(seed=1).model, models(seed=2).model}) == 2


def test_agents_without_the_new_keys_are_written_as_before() -> None:
    written = make_model_agent().model_dump(mode="json")

    assert written["model"] == "anthropic/claude-haiku-5-5"
    assert written["settings"].keys() == {
        "max_tool_rounds", "max_output_tokens", "provider_patience_s",
    }  # fmt: skip
