from typing import Any

import pytest
from django.test import Client

from evals_app.engine.spec import AgentSpec
from evals_app.library import save_agent
from evals_app.models import Agent
from tests.authored import client_who_may
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


@pytest.mark.parametrize("spec", [MODEL, SCRIPTED], ids=["model", "scripted"])
def test_saving_an_agent_as_it_is_changes_nothing(
    admin_client: Client, spec: dict[str, Any]
) -> None:
    agent = write_agent(spec)
    before = agent.to_spec().model_dump(mode="json")

    saved = page_of(admin_client, agent).post()

    assert saved.is_saved, saved.problems
    after = Agent.objects.get().to_spec().model_dump(mode="json")
    assert after | {"tools": sorted(after["tools"])} == before | {"tools": sorted(before["tools"])}


def test_an_agent_with_a_model_is_written_from_nothing(admin_client: Client) -> None:
    page = open_page(admin_client, f"{LIST}add/")

    saved = page.post(
        name="New",
        slug="new",
        driver="model",
        model="claude-haiku-5-5",
        temperature="0",
        tools=["entity.get"],
        max_tool_rounds="7",
    )

    assert saved.is_saved, saved.problems
    assert Agent.objects.get().to_spec().model_dump(mode="json", exclude_defaults=True) == {
        "agent": "New",
        "slug": "new",
        "model": {"provider": "anthropic", "name": "claude-haiku-5-5", "temperature": 0.0},
        "tools": ["entity.get"],
        "settings": {"max_tool_rounds": 7},
    }


def test_a_scripted_agent_is_written_in_yaml(admin_client: Client) -> None:
    page = open_page(admin_client, f"{LIST}add/")

    saved = page.post(
        name="New",
        slug="new",
        driver="scripted",
        tools=["entity.get"],
        rules="- when: hello\n  calls: [{tool: entity.get, args: {id: a}}]\n  reply: Hi\n",
    )

    assert saved.is_saved, saved.problems
    (rule,) = Agent.objects.get().to_spec().rules
    assert (rule.when, rule.reply, rule.calls[0].args) == ("hello", "Hi", {"id": "a"})


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
            "An agent with driver model needs a model, for example",
            id="no model",
        ),
        pytest.param(
            MODEL, {"model": "gemma"}, "Model: Write the model as provider/model", id="no provider"
        ),
        pytest.param(MODEL, {"temperature": "3"}, "Temperature: ", id="temperature"),
        pytest.param(
            MODEL,
            {"max_tool_rounds": "0"},
            "Most rounds of tool calls: ",
            id="settings",
        ),
        pytest.param(
            MODEL, {"rules": "- reply: x"}, "What it is: It has rules", id="rules of a model"
        ),
        pytest.param(MODEL, {"slug": "A"}, "Slug: A slug has lower-case letters", id="slug"),
        pytest.param(MODEL, {"tools": ["entity.qery"]}, "Tools: Select a valid choice.", id="tool"),
        pytest.param(
            SCRIPTED,
            {"rules": ""},
            "An agent with driver scripted needs at least one rule.",
            id="no rules",
        ),
        pytest.param(
            SCRIPTED,
            {"rules": "- reply: a\n- replly: b"},
            "Rules: Line 2, replly: Unknown key `replly`. Did you mean 'reply'?",
            id="key",
        ),
        pytest.param(
            SCRIPTED, {"rules": "- reply: a\n  turn: zero"}, "Rules: Line 2, turn: ", id="type"
        ),
        pytest.param(
            SCRIPTED,
            {"rules": "- reply: [a"},
            "Rules: Line ",
            id="YAML",
        ),
        pytest.param(SCRIPTED, {"rules": "reply: a"}, "Rules: Line 1: ", id="no list"),
        pytest.param(
            SCRIPTED, {"rules": "- when: (\n  reply: a"}, "Rules: Line 1, when: ", id="pattern"
        ),
        pytest.param(
            SCRIPTED,
            {"rules": "- calls: [{tool: entity.get}]\n  reply: a"},
            "Rule 1 calls 'entity.get', which is not in this agent's tools.",
            id="tool of a rule",
        ),
        pytest.param(
            SCRIPTED,
            {"rules": "- when: a"},
            "Rules: Line 1: A rule needs a reply or an error.",
            id="rule without reply",
        ),
    ],
)
def test_a_wrong_agent_is_refused_in_words_that_name_the_place(
    admin_client: Client, spec: dict[str, Any], changes: dict[str, Any], problem: str
) -> None:
    refused = page_of(admin_client, write_agent(spec)).post(**changes)

    assert len(refused.problems) == 1, refused.problems
    assert refused.problems[0].startswith(problem)


def test_what_was_typed_survives_an_error(admin_client: Client) -> None:
    refused = page_of(admin_client, write_agent(SCRIPTED)).post(rules="- reply: [a")

    assert refused.fields["rules"] == ["- reply: [a"]


def test_a_tool_that_no_longer_exists_says_so_and_survives(admin_client: Client) -> None:
    agent = write_agent(MODEL)
    Agent.objects.update(tools=["entity.query", "telepathy"])

    page = page_of(admin_client, agent)
    assert page.post(name="Renamed").is_saved

    assert "telepathy (no longer available)" in page.text
    assert Agent.objects.get().tools == ["entity.query", "telepathy"]


def test_what_a_person_may_not_do_is_refused() -> None:
    agent = write_agent(MODEL)
    client = client_who_may("view_agent")

    assert "Save" not in page_of(client, agent).text
    assert client.post(f"{LIST}{agent.pk}/change/", {}).status_code == 403


def test_the_list_shows_what_an_agent_is(admin_client: Client) -> None:
    write_agent(MODEL)
    write_agent(SCRIPTED)

    text = admin_client.get(LIST).content.decode()

    assert "A model with tools" in text
    assert "Scripted (offline)" in text
    assert "knowledge.search, entity.query" in text
