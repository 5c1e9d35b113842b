from typing import Any

import pytest
from django.test import Client

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.permits import OUR_COMMAND, OUR_MODULE
from evals_app.library.saving import save_agent
from evals_app.models import Agent
from tests.engine.permitting import permitting
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/agent/"
MODEL: dict[str, Any] = {
    "agent": "Helper",
    "slug": "helper",
    "description": "It helps.\n",
    "model": {
        "provider": "anthropic",
        "name": "claude-haiku-5-5",
        "temperature": 0.5,
        "max_tokens": 100,
    },
    "system_prompt": "You are {{agentName}}.\nIt is {{datetime}}.\n",
    "tools": ["knowledge.search", "entity.query"],
    "settings": {"max_tool_rounds": 3, "provider_patience_s": 5.5},
}
HTTP: dict[str, Any] = {
    "agent": "Outside",
    "slug": "outside",
    "driver": "http",
    "url": "https://agent.example/chat?a=b",
    "headers": {"X-Tenant": "acme", "Authorization": {"env": "AGENT_KEY"}},
}
NOT_HTTP = {"url": "", "headers-key": "", "headers-value": ""}
COMMAND: dict[str, Any] = {
    "agent": "Program",
    "slug": "program",
    "driver": "command",
    "command": [*OUR_COMMAND.split(), "--note", " a b ", "two\nlines", " "],
}
OWN_TOOLS: dict[str, Any] = {
    "agent": "Helper",
    "slug": "helper",
    "model": "anthropic/claude-haiku-5-5",
    "tools": [
        {
            "name": "orders.find",
            "rules": [{"when": {"n": {"fuzzy": 1}}, "result": [1, {"a": None}]}],
        },
        {"name": "weather", "url": "https://a.example/{{agentName}}", "method": "GET"},
        "entity.get",
    ],
}
SCRIPTED: dict[str, Any] = {
    "agent": "Script",
    "slug": "script",
    "driver": "scripted",
    "tools": ["entity.query"],
    "rules": [
        {
            "when": "order #\\d+",
            "turn": 2,
            "calls": [{"tool": "entity.query", "args": {"type": "order", "limit": 1}}],
            "reply": "Found {{result.1.total}}:\nline two\n",
            "delay_ms": 5,
            "usage": {"input_tokens": 3, "output_tokens": 4},
        },
        {"error": "no: idea"},
    ],
}


def write_agent(spec: dict[str, Any]) -> Agent:
    save_agent(AgentSpec.model_validate(spec))
    return Agent.objects.get(slug=spec["slug"])


def page_of(client: Client, agent: Agent) -> PageForm:
    return open_page(client, f"{LIST}{agent.pk}/change/")


@pytest.mark.parametrize(
    "spec",
    [MODEL, SCRIPTED, HTTP, COMMAND, OWN_TOOLS],
    ids=["model", "scripted", "http", "command", "own tools"],
)
def test_saving_an_agent_as_it_is_changes_nothing(
    admin_client: Client, spec: dict[str, Any]
) -> None:
    agent = write_agent(spec)
    before = agent.to_spec().model_dump(mode="json")

    saved = page_of(admin_client, agent).post()

    assert saved.is_saved, saved.problems
    assert Agent.objects.get().to_spec().model_dump(mode="json") == before


def test_tools_keep_their_order_beside_those_that_come_and_go(admin_client: Client) -> None:
    first, second = ({"name": name, "rules": [{"result": 1}]} for name in ("first", "second"))
    names = ("knowledge.search", "entity.query", "entity.get")
    tools = [names[0], first, names[1], second, names[2]]
    page = page_of(admin_client, write_agent(OWN_TOOLS | {"tools": tools}))

    third = "- name: third\n  rules: [{result: 1}]\n"
    page.fields["own_tools"][0] += third
    saved = page.post(tools=["entity.create", names[2], names[0]])

    assert saved.is_saved, saved.problems
    assert Agent.objects.get().tool_names == [
        *("knowledge.search", "first", "second", "entity.get", "third", "entity.create"),
    ]


def test_own_tools_that_are_no_list_are_not_taken_for_none(admin_client: Client) -> None:
    page = page_of(admin_client, write_agent(MODEL))

    for text in ("0", "false", "''", "{}", "name: a"):
        assert page.post(own_tools=text).problems == [
            "Own tools: Enter a list. Each entry begins with a dash."
        ]


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        pytest.param(
            {
                "model": "claude-haiku-5-5",
                "temperature": "0",
                "tools": ["entity.get"],
                "max_tool_rounds": "7",
            },
            {
                "model": {"provider": "anthropic", "name": "claude-haiku-5-5", "temperature": 0.0},
                "tools": ["entity.get"],
                "settings": {"max_tool_rounds": 7},
            },
            id="model",
        ),
        pytest.param(
            {
                "driver": "scripted",
                "tools": ["entity.get"],
                "rules": "- when: hello\n  calls: [{tool: entity.get, args: {id: a}}]\n  reply: Hi\n",
            },
            {
                "driver": "scripted",
                "tools": ["entity.get"],
                "rules": [
                    {
                        "when": "hello",
                        "calls": [{"tool": "entity.get", "args": {"id": "a"}}],
                        "reply": "Hi",
                    }
                ],
            },
            id="scripted",
        ),
        pytest.param(
            {
                "driver": "http",
                "url": "https://agent.example/chat",
                "headers-key": ["X-Tenant", "Authorization"],
                "headers-kind": ["text", "env"],
                "headers-value": ["acme", "AGENT_KEY"],
                "protocol": "openai-chat",
                "remote_model": "big",
                "system_prompt": "Be kind.",
            },
            {
                **{key: HTTP[key] for key in ("driver", "headers")},
                "url": "https://agent.example/chat",
                "protocol": "openai-chat",
                "remote_model": "big",
                "system_prompt": "Be kind.",
            },
            id="http",
        ),
        pytest.param(
            {"driver": "command", "command": [*OUR_COMMAND.split(), "--note", "a b"]},
            {"driver": "command", "command": [*OUR_COMMAND.split(), "--note", "a b"]},
            id="command",
        ),
        pytest.param(
            {"driver": "python", "callable": f"{OUR_MODULE}.agents:analyst"},
            {"driver": "python", "callable": f"{OUR_MODULE}.agents:analyst"},
            id="python",
        ),
    ],
)
def test_an_agent_is_written_from_nothing(
    admin_client: Client, typed: dict[str, Any], keys: dict[str, Any]
) -> None:
    saved = open_page(admin_client, f"{LIST}add/").post(name="New", slug="new", **typed)

    assert saved.is_saved, saved.problems
    spec = Agent.objects.get().to_spec().model_dump(mode="json", exclude_defaults=True)
    assert spec == {"agent": "New", "slug": "new", **keys}


def test_variables_of_another_system_are_kept_as_text_with_a_warning(admin_client: Client) -> None:
    save_agent(AgentSpec.model_validate(MODEL))

    page_of(admin_client, Agent.objects.get()).post(
        system_prompt="For {{organizationName}} at {{currentTime}}."
    )

    assert Agent.objects.get().system_prompt == r"For \{{organizationName}} at {{currentTime}}."
    assert "organizationName" in page_of(admin_client, Agent.objects.get()).text


@pytest.mark.parametrize(
    ("spec", "changes", "problem"),
    [
        pytest.param(
            MODEL,
            {"system_prompt": "{{agentname}}"},
            "System prompt: Unknown variable {{agentname}}. Did you mean {{agentName}}?",
            id="variable",
        ),
        pytest.param(
            MODEL,
            {"model": "", "temperature": "", "max_tokens": ""},
            "Model: An agent with driver model needs a model, for example",
            id="no model",
        ),
        pytest.param(MODEL, {"temperature": "3"}, "Temperature: ", id="temperature"),
        pytest.param(
            MODEL, {"max_tool_rounds": "0"}, "Max tool-call rounds per turn: ", id="settings"
        ),
        pytest.param(
            MODEL,
            {"rules": "- reply: x"},
            "Rules: Only “Scripted (offline)” uses this",
            id="rules of a model",
        ),
        pytest.param(
            MODEL,
            {"tools": ["entity.qery"]},
            "Tools of fixtures: Select a valid choice.",
            id="tool",
        ),
        pytest.param(
            SCRIPTED,
            {"rules": "- reply: a\n- replly: b"},
            "Rules: Line 2, replly: Unknown key `replly`. Did you mean 'reply'?",
            id="key",
        ),
        pytest.param(SCRIPTED, {"rules": "- reply: [a"}, "Rules: Line ", id="YAML"),
        pytest.param(SCRIPTED, {"rules": "reply: a"}, "Rules: Enter a list", id="no list"),
        pytest.param(
            SCRIPTED,
            {"rules": "- calls: [{tool: entity.get}]\n  reply: a"},
            "Rules: Line 1, calls[0].tool: Rule 1 calls 'entity.get', which is not",
            id="tool of a rule",
        ),
        pytest.param(
            HTTP,
            {"headers-key": "Authorization", "headers-kind": "text", "headers-value": "Bearer a"},
            "Headers: Authorization: This looks like a key.",
            id="key",
        ),
        pytest.param(
            HTTP,
            {"headers-key": "X-A", "headers-kind": "env", "headers-value": "HOME"},
            "Headers: X-A: The operator does not permit HOME",
            id="variable that is not permitted",
        ),
        pytest.param(
            HTTP,
            {"headers-key": ["X-A", "X-A"], "headers-kind": ["text"], "headers-value": ["a", "b"]},
            "Headers: Line 2: X-A appears twice.",
            id="header twice",
        ),
        pytest.param(
            HTTP,
            {"system_prompt": "Be kind."},
            "System prompt: Only “A model with tools” or “An agent over HTTP” or “Scripted",
            id="prompt of an agent that is sent none",
        ),
        pytest.param(
            MODEL,
            {"own_tools": "- name: a\n  rules:\n    - when: {x: {regex: '('}}\n      result: 1"},
            "Own tools: Line 3, rules[0].when.x: The pattern cannot be used",
            id="own tool",
        ),
    ],
)
def test_a_wrong_agent_is_refused_in_words_that_name_the_place(
    admin_client: Client, spec: dict[str, Any], changes: dict[str, Any], problem: str
) -> None:
    refused = page_of(admin_client, write_agent(spec)).post(**changes)

    assert len(refused.problems) == 1, refused.problems
    assert refused.problems[0].startswith(problem)
    typed = {name: refused.fields[name] for name in changes.keys() & {"rules", "own_tools"}}
    assert typed == {name: [changes[name]] for name in typed}


def test_own_tools_are_written_beside_those_of_fixtures(admin_client: Client) -> None:
    own = "- name: orders.find\n  rules:\n    - when: {number: '1042'}\n      result: shipped\n"

    saved = page_of(admin_client, write_agent(MODEL)).post(own_tools=own, tools=["entity.get"])

    assert saved.is_saved, saved.problems
    agent = Agent.objects.get()
    assert agent.tool_names == ["orders.find", "entity.get"]
    assert "shipped" in page_of(admin_client, agent).fields["own_tools"][0]


def test_the_page_says_what_the_operator_permits(admin_client: Client) -> None:
    with permitting(
        hosts=("agent:8000",),
        variables=("PROVIDER_MY_KEY",),
        modules=("my_agents",),
        commands=("my-agent",),
        mcp_servers={"files": "mcp-files"},
    ):
        text = open_page(admin_client, f"{LIST}add/").text

    for name in ("agent:8000", "PROVIDER_MY_KEY", "my_agents", "my-agent", "files"):
        assert f" {name}" in text


def test_a_tool_that_no_longer_exists_says_so_and_survives(admin_client: Client) -> None:
    agent = write_agent(MODEL)
    Agent.objects.update(tools=["entity.query", "telepathy"])

    page = page_of(admin_client, agent)
    assert page.post(name="Renamed").is_saved

    assert "telepathy (no longer available)" in page.text
    assert Agent.objects.get().tools == ["entity.query", "telepathy"]


def test_the_list_shows_what_an_agent_is(admin_client: Client) -> None:
    write_agent(MODEL)
    write_agent(SCRIPTED)

    text = admin_client.get(LIST).content.decode()

    assert "A model with tools" in text
    assert "Scripted (offline)" in text
    assert "knowledge.search, entity.query" in text
