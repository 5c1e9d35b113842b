from typing import Any

import pytest

from evals_app.engine.llm.pricing import Prices
from evals_app.engine.record.usage import Usage
from evals_app.formats.importing import SourceFile, read_files
from tests.formats.holodeck.projects import (
    MODEL,
    QUICK_START,
    THREE_LEVELS,
    agent_file,
    problems,
    read,
    suite,
    whole,
    written,
)


def test_the_judge_is_named_at_three_levels() -> None:
    data = written(suite(THREE_LEVELS))

    assert data["judge_model"] == {
        "provider": "ollama",
        "name": "llama3.2:latest",
        "temperature": 0,
    }
    assert data["assertions"] == [
        {"type": "faithfulness", "threshold": 0.9, "model": "openai/gpt-4"},
        {
            "type": "geval",
            "name": "Coherence",
            "criteria": "Evaluate response clarity.",
            "scale": "0-10",
            "threshold": 0.75,
        },
    ]
    assert data["cases"] == []
    assert written(suite(QUICK_START))["judge_model"] == "agent"


def test_an_endpoint_and_a_key_become_a_provider_that_names_the_variable() -> None:
    (provider,) = whole().providers

    assert written(provider.spec) == {
        "provider": "Azure OpenAI (ours.openai.azure.com)",
        "slug": "azure-openai-ours-openai-azure-com-support-key",
        "kind": "azure_openai",
        "base_url": "https://ours.openai.azure.com/openai/v1/",
        "api_key_env": "SUPPORT_KEY",
    }


@pytest.mark.parametrize(
    ("model", "name", "provider"),
    [
        (MODEL, "openai/m", None),
        ('{provider: openai, name: m, api_key: "${OPENAI_API_KEY}"}', "openai/m", None),
        (
            '{provider: anthropic, name: m, api_key: "${TEAM_KEY}"}',
            "anthropic-team-key/m",
            ("Anthropic (TEAM_KEY)", "anthropic", {"api_key_env": "TEAM_KEY"}),
        ),
        ("{provider: ollama, name: m, endpoint: 'http://localhost:11434'}", "ollama/m", None),
        (
            "{provider: ollama, name: m, endpoint: 'http://gpu:11434'}",
            "ollama-gpu-11434/m",
            ("Ollama (gpu:11434)", "ollama", {"base_url": "http://gpu:11434/v1"}),
        ),
        (
            "{provider: openai, name: m, endpoint: 'https://proxy.example.org/v2'}",
            "openai-proxy-example-org-v2/m",
            ("OpenAI (proxy.example.org)", "openai", {"base_url": "https://proxy.example.org/v2"}),
        ),
    ],
)
def test_only_an_address_or_a_key_of_its_own_makes_a_provider(
    model: str, name: str, provider: Any
) -> None:
    imported = read(agent_file(model))

    assert str(imported.agents[0].spec.asked_model) == name
    made = [written(item.spec) for item in imported.providers]
    if provider:
        title, kind, own = provider
        slug = name.removesuffix("/m")
        assert made == [{"provider": title, "slug": slug, "kind": kind, **own}]
    else:
        assert made == []


def test_models_on_an_ollama_server_of_ones_own_cost_nothing() -> None:
    imported = read(agent_file("{provider: ollama, name: m, endpoint: 'https://gpu.example.org'}"))

    (provider,) = imported.providers
    assert Prices.of(provider.spec).cost_usd("m", Usage(1000, 10, cache_read=5)) == 0


def test_an_address_that_several_files_name_is_one_provider() -> None:
    text = agent_file("{provider: openai, name: m, endpoint: 'https://proxy.example.org/v2'}")
    files = [
        SourceFile("a/agent.yaml", text.encode()),
        SourceFile("b/agent.yaml", text.replace("name: a", "name: b").encode()),
    ]

    imported = read_files(files)

    assert [provider.spec.slug for provider in imported.providers] == [
        "openai-proxy-example-org-v2"
    ]
    assert [agent.spec.slug for agent in imported.agents] == ["a", "b"]


def test_a_key_in_a_file_is_refused_and_not_repeated() -> None:
    text = agent_file("{provider: openai, name: m, api_key: sk-0123456789}")

    (problem,) = problems(text)

    assert problem.keys == "model.api_key"
    assert "environment variable" in problem.message
    assert "0123" not in str(problem)
