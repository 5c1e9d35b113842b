import json
from typing import Any

import pytest

from tests.formats.promptfoo.projects import (
    CHAT,
    CONFIG,
    HEAD,
    QUICK_START,
    dumped,
    problems,
    read,
    suite,
    with_tests,
)


def agent(provider: str, **options: Any) -> Any:
    """Return the agent that a provider becomes."""
    config = f"prompts: [Hi]\nproviders: [{provider}]\ntests: [{{vars: {{}}}}]\n"
    imported = read(config, **options)
    return dumped(imported.agents[0].spec) if imported.agents else imported.suites[0].spec.agent


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai:gpt-5", "openai/gpt-5"),
        ("openai:chat:gpt-5", "openai/gpt-5"),
        ("openai:responses:gpt-5", "openai/gpt-5"),
        ("openai:chat:ft:gpt-4.1:acme::ID", "openai/ft:gpt-4.1:acme::ID"),
        ("anthropic:messages:claude-opus-4-6", "anthropic/claude-opus-4-6"),
        ("anthropic:claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"),
        ("google:gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("groq:openai/gpt-oss-120b", "groq/openai/gpt-oss-120b"),
        ("openrouter:openai/gpt-5.4", "openrouter/openai/gpt-5.4"),
        ("ollama:chat:llama3.3", "ollama/llama3.3"),
    ],
)
def test_a_model_is_named_in_our_words(provider: str, model: str) -> None:
    assert agent(provider)["model"] == model


def test_settings_of_a_model_are_kept() -> None:
    config = (
        "{temperature: 0, top_p: 0.5, max_completion_tokens: 100, seed: 5,"
        " reasoning: {effort: low}, response_format: {type: json_object}}"
    )

    assert agent(f"{{id: openai:gpt-5, label: Five, config: {config}}}") == {
        "agent": "Five",
        "slug": "demo-five",
        "model": {
            "provider": "openai",
            "name": "gpt-5",
            "temperature": 0.0,
            "top_p": 0.5,
            "max_tokens": 100,
            "seed": 5,
            "effort": "low",
        },
        "settings": {"response_format": "json"},
    }


def test_a_provider_may_be_the_key_of_its_settings() -> None:
    assert agent("{openai:gpt-5: {config: {temperature: 1}}}")["model"]["temperature"] == 1


def test_a_provider_may_are_in_a_file() -> None:
    file = "id: openai:gpt-5\nlabel: Foo bar\nconfig: {temperature: 0.9}\n"

    spec = agent("file://p.yaml", files={"p.yaml": file})

    assert (spec["slug"], spec["model"]["temperature"]) == ("demo-foo-bar", 0.9)


def test_targets_are_providers() -> None:
    assert suite(with_tests("  - {vars: {what: hi}}\n", HEAD.replace("providers", "targets")))[
        "agent"
    ] == ("demo-echo")


def test_echo_is_an_agent_that_repeats_what_it_hears() -> None:
    assert agent("echo") == {
        "agent": "echo",
        "slug": "demo-echo",
        "driver": "scripted",
        "rules": [{"reply": "{{input}}"}],
    }


def test_one_model_with_two_settings_is_two_agents() -> None:
    config = QUICK_START.replace(
        "[openai:gpt-5-mini]",
        "[{id: openai:gpt-5, config: {temperature: 0}}, {id: openai:gpt-5, config: {temperature: 1}}]",
    )

    imported = read(config)

    assert [item.spec.slug for item in imported.agents] == ["demo-gpt-5", "demo-gpt-5-2"]
    assert [item.spec.slug for item in imported.suites] == ["demo-gpt-5", "demo-gpt-5-2"]


@pytest.mark.parametrize(
    ("config", "keys"),
    [
        (
            (
                "{url: 'https://a.example/chat', method: POST, headers: {Content-Type: application/json,"
                " X-Tenant: acme}, body: {q: '{{prompt}}', v: 1}, transformResponse: json.data.answer}"
            ),
            {
                "headers": {"X-Tenant": "acme"},
                "request": {"q": "{{input}}", "v": 1},
                "response": {"text": "data.answer"},
            },
        ),
        (
            "{url: 'https://a.example/chat?v=2', queryParams: {q: '{{ prompt }}'}}",
            {"method": "GET", "query": {"v": "2", "q": "{{input}}"}},
        ),
        (
            "{url: 'https://a.example/{{prompt}}/chat', method: DELETE}",
            {"url": "https://a.example/{{input}}/chat", "method": "DELETE"},
        ),
        (
            (
                "{url: 'https://a.example/chat', method: PUT, body: {q: '{{prompt}}',"
                " s: '{{sessionId}}'}, headers: {content-type: application/x-www-form-urlencoded}}"
            ),
            {
                "method": "PUT",
                "request": {"q": "{{input}}", "s": "{{session_id}}"},
                "request_format": "form",
            },
        ),
        (
            (
                """{url: 'https://a.example/chat', body: '{"q": "{{prompt}}"}',"""
                " transformResponse: \"(json) => json['a b'][0]?.text\"}"
            ),
            {"request": {"q": "{{input}}"}, "response": {"text": "['a b'][0].text"}},
        ),
    ],
    ids=["json", "query", "path", "form", "body as text"],
)
def test_an_http_provider_is_an_agent_at_an_address(config: str, keys: dict[str, Any]) -> None:
    made = agent(f"{{id: https, label: Web, config: {config}}}")

    about = {"agent": "Web", "slug": "demo-web", "driver": "http", "url": "https://a.example/chat"}
    assert made == {**about, **keys}


def test_what_an_http_provider_cannot_say_here_is_a_loss() -> None:
    config = (
        "{url: 'https://a.example/', body: {q: '{{prompt}}'}, tls: {certPath: a.pem}, maxRetries: 3,"
        " headers: {Authorization: 'Bearer abc'}, transformResponse: 'json.choices.map(f)'}"
    )
    text = f"prompts: [Hi]\nproviders: [{{id: https, config: {config}}}]\ntests: [{{vars: {{}}}}]\n"

    lost = {loss.keys.rpartition(".")[2]: loss.message for loss in read(text).losses}

    assert lost.keys() == {"tls", "maxRetries", "Authorization", "transformResponse"}
    assert "client_certificate" in lost["tls"]
    assert "{env: NAME}" in lost["Authorization"]


@pytest.mark.parametrize(
    "provider", ["{id: file://book.py, label: phrase-book}", "{id: echo, label: Phrase book}"]
)
def test_a_provider_with_the_name_of_an_agent_that_is_here_is_that_agent(provider: str) -> None:
    assert agent(provider) == "phrase-book"


@pytest.mark.parametrize(
    "provider",
    [
        "file://custom.py",
        "'exec: python chain.py'",
        "https://example.com/generate",
        "{id: https, config: {url: 'https://example.com'}}",
        "{id: https, config: {url: 'https://{{prompt}}.example.com'}}",
        "{id: https, config: {url: 'https://example.com', method: DELETE, body: {q: '{{prompt}}'}}}",
        "vertex:gemini-2.5-pro",
        "openai:embedding:text-embedding-3-small",
        "openai:chat",
        "anthropic:claude-agent-sdk",
        "{id: openai:chat:local, config: {apiBaseUrl: 'http://localhost:8000/v1'}}",
    ],
)
def test_what_has_no_equal_is_the_agent_that_the_person_names(provider: str) -> None:
    config = f"prompts: [Hi]\nproviders: [{provider}]\ntests: [{{vars: {{}}}}]\n"

    (error,) = problems(config)
    imported = read(config, agent="desk")

    assert "--agent" in error.message
    assert (error.line, error.keys.startswith("providers[0]")) == (2, True)
    assert (imported.agents, imported.suites[0].spec.agent) == ([], "desk")
    assert "agent" in imported.losses[0].message


def test_the_agent_that_the_person_names_is_asked_in_place_of_a_model() -> None:
    config = "prompts: [Hi]\nproviders: [openai:gpt-5, echo]\ntests: [{vars: {}}]\n"

    imported = read(config, agent="desk")

    assert (imported.agents, [item.spec.agent for item in imported.suites]) == ([], ["desk"])
    assert [loss.keys for loss in imported.losses] == ["providers[0]", "providers[1]"]


def test_without_providers_the_agent_is_the_one_that_the_person_names() -> None:
    config = "prompts: [Hi]\ntests: [{vars: {}}]\n"

    assert "--agent" in problems(config)[0].message
    assert suite(config, agent="desk")["agent"] == "desk"


def test_an_agent_that_is_here_keeps_its_system_prompt() -> None:
    config = f"prompts: [{json.dumps(CHAT)}]\nproviders: [{{id: echo, label: desk}}]\ntests: [{{vars: {{what: x}}}}]\n"

    imported = read(config)

    assert imported.agents == []
    assert "system" in imported.losses[0].message


def test_a_key_is_never_kept_nor_shown() -> None:
    imported = read(
        QUICK_START.replace(
            "[openai:gpt-5-mini]", "[{id: openai:gpt-5, config: {apiKey: sk-secret}}]"
        )
    )

    assert "sk-secret" not in repr(imported)
    assert [loss.keys for loss in imported.losses] == ["providers[0].config.apiKey"]


def test_what_is_in_an_address_is_not_repeated() -> None:
    config = "prompts: [Hi]\nproviders: ['https://ana:secret@example.com/x']\ntests: [{vars: {}}]\n"

    assert "secret" not in str(problems(config)) + str(read(config, agent="desk").losses)


TOOLS = """\
- type: function
  function:
    name: get_weather
    description: Get weather
    parameters: {type: object, properties: {city: {type: string}}}
- {name: book, input_schema: {type: object}}
- {type: mcp}
"""


def test_tools_are_kept_without_answers() -> None:
    config = QUICK_START.replace(
        "[openai:gpt-5-mini]", "[{id: openai:gpt-5, config: {tools: file://tools.yaml}}]"
    )

    imported = read(config, {"tools.yaml": TOOLS})
    tools = dumped(imported.agents[0].spec)["tools"]

    assert [(tool["name"], tool["rules"]) for tool in tools] == [
        ("get_weather", [{"error": "There is no canned answer for this tool yet."}]),
        ("book", [{"error": "There is no canned answer for this tool yet."}]),
    ]
    assert tools[0]["parameters"]["properties"] == {"city": {"type": "string"}}
    assert [(loss.path, loss.keys) for loss in imported.losses] == [
        (CONFIG, "providers[0].config.tools"),
        ("demo/tools.yaml", "[2]"),
    ]


def test_code_that_changes_replies_is_a_loss_where_another_agent_is_asked_and_of_judges() -> None:
    config = (
        "prompts: [Hi]\n"
        "providers: [{id: openai:gpt-5, transform: output.x()}]\n"
        "defaultTest: {options: {provider: {id: openai:gpt-5, transform: output.x()}}}\n"
        "tests: [{assert: [{type: contains, value: Hello}, {type: llm-rubric, value: Kind}]}]\n"
    )

    imported = read(config, agent="desk")

    assert [(loss.keys, loss.checks) for loss in imported.losses if "transform" in loss.keys] == [
        ("providers[0].transform", 0),
        ("defaultTest.options.provider.transform", 0),
    ]
    (case,) = imported.suites[0].spec.cases
    assert len(case.turns[0].assertions or []) == 2
