"""What is accepted, and what is refused, of agents."""

from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.basics.permits import FROZEN, OUR_MODULE
from evals_app.engine.specs.agent_spec import AgentSpec, ModelAgent, ScriptedRule, misplaced_keys
from tests.engine.makers import refusals
from tests.engine.permitting import permitting

HTTP = {"driver": "http", "url": "https://agent.example.org/chat"}
MODEL = {"model": "claude-haiku-5-5"}
OAUTH: dict[str, Any] = {
    "token_url": "https://login.example.org/token",
    "client_id": "evalwell",
    "client_secret": {"env": "AGENT_SECRET"},
}


def make_agent(**changes: Any) -> AgentSpec:
    return AgentSpec.model_validate({"agent": "Juniper", "slug": "support"} | changes)


# Rules of scripted agents


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        pytest.param({}, "needs a reply or an error", id="says nothing"),
        pytest.param({"reply": "a", "error": "b"}, "both", id="replies and fails"),
        pytest.param({"reply": "a", "turn": 0}, "", id="turns count from 1"),
        pytest.param({"reply": "a", "delay_ms": -1}, "", id="back in time"),
        pytest.param({"reply": "a", "when": "a("}, "A group is not closed", id="broken"),
        pytest.param({"reply": "a", "when": "(?!x)"}, "lookahead", id="lookahead"),
        pytest.param({"reply": "a", "usage": {"input_tokens": 1}}, "", id="half a usage"),
        pytest.param({"reply": "a", "calls": [{"args": {}}]}, "", id="a call of nothing"),
        pytest.param({"reply": "a", "whne": "x"}, "Extra inputs", id="misspelt"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(rule: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ScriptedRule.model_validate(rule)

    assert words in str(refused.value)


@pytest.mark.parametrize(
    "rule",
    [
        {"reply": ""},
        {"error": "It broke."},
        {"reply": "a", "when": "(?i)order #[0-9]+", "turn": 2, "delay_ms": 5},
        {"reply": "a", "usage": {"input_tokens": 0, "output_tokens": 7}},
        {"error": "late", "calls": [{"tool": "entity.get", "args": {"id": "a"}}]},
    ],
)
def test_a_rule_that_makes_sense(rule: dict[str, Any]) -> None:
    assert ScriptedRule.model_validate(rule).model_dump(exclude_unset=True) == rule


# Agents


def test_an_agent_is_driven_as_it_says() -> None:
    agent = make_agent(**MODEL)

    assert isinstance(agent, ModelAgent)
    assert (agent.driver, str(agent.model)) == ("model", "anthropic/claude-haiku-5-5")
    assert agent.settings.max_tool_rounds == 25
    assert agent.settings.provider_patience_s == 600


@pytest.mark.parametrize(
    ("changes", "loc", "words"),
    [
        pytest.param({}, "model", "needs a model", id="no model"),
        pytest.param(MODEL | {"rules": [{"reply": "a"}]}, "rules", "driver scripted", id="rules"),
        pytest.param({"driver": "scripted"}, "rules", "at least one rule", id="no rules"),
        pytest.param({"driver": "http"}, "url", "needs an address", id="no address"),
        pytest.param({"driver": "python"}, "callable", "needs a callable", id="no callable"),
        pytest.param({"driver": "command"}, "command", "needs a program", id="no program"),
        pytest.param({"driver": "ftp"}, "driver", "'connected' or 'scripted'", id="no such driver"),
        pytest.param(HTTP | MODEL, "model", "driver model or scripted", id="whose model"),
        (HTTP | {"tools": ["entity.get"]}, "tools", "for driver model or"),
        pytest.param(
            HTTP | {"system_prompt": "Hi"},
            "system_prompt",
            "for driver model or http with protocol openai-chat or scripted",
            id="a prompt that is not sent",
        ),
        (HTTP | {"remote_model": "big"}, "remote_model", "protocol openai-chat"),
        pytest.param(
            HTTP | {"protocol": "openai-chat", "request": {"a": "{{input}}"}},
            "request",
            "protocol json",
            id="a request that is not sent",
        ),
        pytest.param(
            HTTP | {"request": {"a": "{{input}}", "b": "{{agent_session_id}}"}},
            "request",
            "where the reply has",
            id="a session from nowhere",
        ),
        pytest.param(
            HTTP | {"response": {"text": "a", "session_id": "b"}},
            "response.session_id",
            "in the request",
            id="a session for nothing",
        ),
        pytest.param(
            HTTP | {"poll": {"interval_s": 1, "url": "https://a.org/{{job}}"}},
            "poll.url",
            "has the id",
            id="a job without its id",
        ),
        (HTTP | {"poll": {"interval_s": 1, "job": "id"}}, "poll.job", "{{job}}"),
        pytest.param(
            HTTP | {"poll": {"interval_s": 1, "url": "https://{{job}}.org/", "job": "id"}},
            "poll.url",
            "after the host",
            id="a job as a host",
        ),
        (HTTP | {"poll": {"interval_s": 1, "url": "http://10.0.0.1/"}}, "poll.url", "private"),
        (HTTP | {"poll": {"interval_s": 1}, "stream": {"format": "sse"}}, "poll", "not both"),
        pytest.param(
            HTTP | {"oauth": OAUTH | {"client_secret": {"env": "HOME"}}},
            "oauth.client_secret",
            "does not permit HOME",
            id="a secret that is not permitted",
        ),
        (HTTP | {"oauth": OAUTH | {"client_secret": "s3cret"}}, "oauth.client_secret", ""),
        (HTTP | {"oauth": OAUTH | {"token_url": "http://10.0.0.1/"}}, "oauth.token_url", "private"),
        pytest.param(
            HTTP | {"oauth": OAUTH, "headers": {"authorization": {"env": "AGENT_A"}}},
            "headers.authorization",
            "Remove it",
            id="two tokens",
        ),
        (HTTP | {"protocol": "openai-chat", "poll": {"interval_s": 1}}, "poll", "protocol json"),
        (HTTP | {"pace": {"max_concurrency": 0}}, "pace.max_concurrency", "1"),
        pytest.param(
            HTTP | {"protocol": "openai-chat", "stream": {"format": "ndjson"}},
            "stream.format",
            "Write sse",
            id="chat in lines",
        ),
        pytest.param(
            HTTP | {"protocol": "openai-chat", "stream": {"format": "sse", "text_events": ["a"]}},
            "stream.text_events",
            "no names",
            id="named events of a chat",
        ),
        (HTTP | {"request": {"a": "{{imput}}"}}, "request", "'input'"),
        (HTTP | {"request": {"a": r"\{{input}} {{clock}}"}}, "request", "no message"),
        (HTTP | {"request": {"a": "{{input..b}}"}}, "request", "path"),
        (HTTP | {"response": {"text": "data[*]"}}, "response.text", "wildcards"),
        pytest.param(
            HTTP | {"response": {"text": "a", "tool_calls": "b"}},
            "response.name",
            "name of its tool",
            id="calls without a name",
        ),
        (HTTP | {"response": {"text": "a", "result": "b"}}, "response.result", "tool_calls"),
        (MODEL | {"headers": {"X-Tenant": "a"}}, "headers", "for driver http"),
        (HTTP | {"settings": {"max_tool_rounds": 3}}, "settings", "for driver model or scripted"),
        pytest.param(
            HTTP | {"url": "http://10.0.0.1/"},
            "url",
            "administrator lists 10.0.0.1 in EVALS_PRIVATE_HOSTS",
            id="an address of a private network",
        ),
        pytest.param(
            {"driver": "python", "callable": "os:system"},
            "callable",
            "does not permit the module os",
            id="a module that is not permitted",
        ),
        pytest.param(
            {"driver": "command", "command": ["rm", "-r"]},
            "command",
            "does not permit the program 'rm'",
            id="a program that is not permitted",
        ),
        pytest.param({"driver": "command", "command": "rm"}, "command", "list", id="no list"),
        pytest.param(
            {
                "driver": "scripted",
                "tools": ["entity.get"],
                "rules": [{"reply": "a"}, {"reply": "b", "calls": [{"tool": "entity.query"}]}],
            },
            "rules.1.calls.0.tool",
            "Rule 2 calls 'entity.query'",
            id="a tool that is not its own",
        ),
        pytest.param(
            {"model": "claude-haiku-5-5", "system_prompt": "Hi {{agentname}}"},
            "system_prompt",
            "Did you mean {{agentName}}?",
            id="unknown variable",
        ),
        pytest.param(
            {"model": "claude-haiku-5-5", "settings": {"max_tool_rounds": 0}},
            "settings.max_tool_rounds",
            "",
            id="no rounds",
        ),
        pytest.param(MODEL | {"url": "http://a"}, "url", "driver http", id="an address"),
        pytest.param(
            MODEL | {"tool_calls_from": "spans"},
            "tool_calls_from",
            "driver http or python or command",
            id="spans of a model",
        ),
        (HTTP | {"spans_wait_s": 5}, "spans_wait_s", "tool_calls_from"),
        pytest.param(
            MODEL | {"tools": ["entity.get", {"name": "entity.get", "rules": [{"result": 1}]}]},
            "tools.1",
            "'entity.get'",
            id="two tools of one name",
        ),
    ],
)
def test_an_agent_that_cannot_work_is_refused(
    changes: dict[str, Any], loc: str, words: str
) -> None:
    ((place, message),) = refusals(make_agent, **changes)

    assert place == loc
    assert words in message


def test_a_spec_cannot_be_changed() -> None:
    agent = AgentSpec.model_validate({"agent": "J", "slug": "j", "model": "claude-haiku-5-5"})

    with pytest.raises(ValidationError, match="frozen"):
        agent.slug = "k"  # type: ignore[misc]


@pytest.mark.parametrize("value", ["25", True, 25.5])
def test_nothing_is_coerced(value: object) -> None:
    written = {"agent": "J", "slug": "j", "model": "claude-haiku-5-5"}

    with pytest.raises(ValidationError):
        AgentSpec.model_validate(written | {"settings": {"max_tool_rounds": value}})


def test_everything_that_is_wrong_is_shown_at_once() -> None:
    wrong = {"url": "http://10.0.0.1/", "rules": [{"reply": "a"}], "headers": {"Key": "a"}, "x": 1}

    refused = refusals(make_agent, driver="http", **wrong)

    assert {loc for loc, _ in refused} == {"url", "rules", "headers.Key", "x"}


@pytest.mark.parametrize(
    "changes",
    [
        HTTP | {"headers": {"X-Tenant": "a"}, "protocol": "json"},
        HTTP | {"protocol": "openai-chat", "remote_model": "big", "system_prompt": "Be kind."},
        HTTP | {"stream": {"format": "sse"}, "oauth": OAUTH, "pace": {"max_concurrency": 2}},
        HTTP | {"request": {"a": ["{{messages}}"]}, "response": {"text": "$", "input_tokens": "n"}},
        {"driver": "python", "callable": f"{OUR_MODULE}.agents:analyst"},
        HTTP | {"tool_calls_from": "spans", "spans_wait_s": 5},
        {"driver": "scripted", "rules": [{"reply": "a"}], "system_prompt": "Hi", **MODEL},
        MODEL | {"tools": ["entity.get", {"name": "a", "rules": [{"error": "No."}]}]},
    ],
    ids=["http", "openai-chat", "stream", "own JSON", "python", "spans", "scripted", "model"],
)
def test_an_agent_of_each_kind_comes_back_from_json(changes: dict[str, Any]) -> None:
    agent = make_agent(**changes)

    assert AgentSpec.model_validate_json(agent.model_dump_json()) == agent


def test_what_was_permitted_when_it_was_written_is_read_again() -> None:
    written = {
        **HTTP,
        "url": "http://agent:8000/",
        "headers": {"Authorization": {"env": "AGENT_KEY"}},
    }
    with permitting(hosts=("10.0.0.1",), variables=("AGENT_*",)):
        agent = make_agent(**written | {"url": "http://10.0.0.1/"})

    again = AgentSpec.model_validate(agent.model_dump(), context=FROZEN)

    assert again == agent


def test_a_scripted_agent_calls_tools_of_its_own() -> None:
    agent = make_agent(
        driver="scripted",
        tools=["entity.get", {"name": "orders.find", "rules": [{"result": "found"}]}],
        rules=[{"calls": [{"tool": "orders.find"}], "reply": "a"}],
    )

    assert agent.tool_names == ["entity.get", "orders.find"]
    assert agent.world_tools == ["entity.get"]


@pytest.mark.parametrize(
    ("written", "place"),
    [
        pytest.param({"driver": "http", "settings": {}, "tools": [], "model": None}, {}, id="none"),
        pytest.param({"driver": "http", "settings": {"max_tool_rounds": 25}}, {}, id="a default"),
        pytest.param({"driver": "http", "protocol": "json"}, {}, id="the usual protocol"),
        pytest.param({"url": "http://a", "protocol": "json"}, {"url": ["http"]}, id="of a model"),
        ({"driver": "python", "tools": ["a"]}, {"tools": ["model", "scripted"]}),
    ],
)
def test_what_the_driver_does_not_read_is_named_with_those_that_do(
    written: dict[str, Any], place: dict[str, list[str]]
) -> None:
    assert misplaced_keys(written) == place
