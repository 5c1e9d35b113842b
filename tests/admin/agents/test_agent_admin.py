from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from evals_app.admin.agents.agent_rules import RuleRow
from evals_app.admin.agents.agent_tools import ToolRow
from evals_app.admin.kit.item_rows import ItemRow
from evals_app.engine.agents.scripted import fill
from evals_app.engine.basics.permits import OUR_COMMAND, OUR_MODULE
from evals_app.engine.record.trial import ToolCall
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.library.saving import save_agent
from evals_app.models import Agent, Suite
from tests.engine.permitting import permitting
from tests.page_form import PageForm, open_page
from tests.runs.suites import make_agent

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
        "seed": 0,
        "effort": "low",
    },
    "system_prompt": "You are {{agentName}}.\nIt is {{datetime}}.\n",
    "tools": ["knowledge.search", "entity.query"],
    "settings": {
        "max_tool_rounds": 3,
        "provider_patience_s": 5.5,
        "response_format": {"type": "object", "properties": {"answer": {"type": "string"}}},
    },
}
HTTP: dict[str, Any] = {
    "agent": "Outside",
    "slug": "outside",
    "driver": "http",
    "url": "https://agent.example/chat?a=b",
    "headers": {"X-Tenant": "acme", "Authorization": {"env": "AGENT_KEY"}},
}
OWN_JSON: dict[str, Any] = HTTP | {
    "request": {"question": "{{input}}", "with": [1, 1.0, True, None, {"a b": "{{clock}}"}]},
    "response": {
        "text": "data[0].answer",
        "tool_calls": "steps",
        "name": "tool",
        "arguments": "$",
        "result": "out['a b']",
        "input_tokens": "in",
        "output_tokens": "out",
    },
}
LATER: dict[str, Any] = {
    "agent": "Later",
    "slug": "later",
    "driver": "http",
    "url": "https://agent.example/jobs",
    "poll": {"interval_s": 1.5, "state": "state", "done": ["ready"], "failed": ["lost"]},
    "oauth": {
        "token_url": "https://login.example/token",
        "client_id": "evalwell",
        "client_secret": {"env": "AGENT_SECRET"},
        "secret_in": "body",
    },
    "pace": {"max_concurrency": 3, "requests_per_minute": 60},
}
SENT: dict[str, Any] = HTTP | {
    "method": "PUT",
    "query": {"q": "{{input}}", "n": 1, "list": ["a", "b"]},
    "request": {"question": "{{input}}", "upload": "{{files}}"},
    "request_format": "multipart",
    "client_certificate": {
        "certificate": {"env": "AGENT_CERT"},
        "key": {"env": "AGENT_CERT_KEY"},
        "password": {"env": "AGENT_CERT_PASSWORD"},
    },
    "keeps_cookies": True,
}
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
    [MODEL, SCRIPTED, HTTP, OWN_JSON, SENT, LATER, COMMAND, OWN_TOOLS],
    ids=["model", "scripted", "http", "own JSON", "sent", "later", "command", "own tools"],
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

    add_tool(page, "third")
    saved = page.post(tools=["entity.create", names[2], names[0]])

    assert saved.is_saved, saved.problems
    assert Agent.objects.get().tool_names == [
        *("knowledge.search", "first", "second", "entity.get", "third", "entity.create")
    ]


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        pytest.param(
            {
                "model": "claude-haiku-5-5",
                "temperature": "0",
                "effort": "xhigh",
                "response_format": "JSON",
                "tools": ["entity.get"],
                "max_tool_rounds": "7",
            },
            {
                "model": {
                    "provider": "anthropic",
                    "name": "claude-haiku-5-5",
                    "temperature": 0.0,
                    "effort": "xhigh",
                },
                "tools": ["entity.get"],
                "settings": {"max_tool_rounds": 7, "response_format": "json"},
            },
            id="model",
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
            {
                "driver": "http",
                "url": "https://agent.example/chat",
                "request": '{"question": "{{input}}"}',
                "response_text": "data.answer",
                "stream_format": "sse",
                "stream_text_events": ["token", "answer"],
            },
            {
                "driver": "http",
                "url": "https://agent.example/chat",
                "request": {"question": "{{input}}"},
                "response": {"text": "data.answer"},
                "stream": {"format": "sse", "text_events": ["token", "answer"]},
            },
            id="own JSON",
        ),
        pytest.param(
            {
                "driver": "http",
                "url": "https://agent.example/search",
                "method": "GET",
                "query-key": ["q"],
                "query-kind": ["text"],
                "query-value": ["{{input}}"],
                "keeps_cookies": "on",
                "client_certificate_certificate": "AGENT_CERT",
            },
            {
                "driver": "http",
                "url": "https://agent.example/search",
                "method": "GET",
                "query": {"q": "{{input}}"},
                "keeps_cookies": True,
                "client_certificate": {"certificate": {"env": "AGENT_CERT"}},
            },
            id="by GET, with cookies and a certificate",
        ),
        pytest.param(
            {
                "driver": "http",
                "url": "https://agent.example/chat",
                "poll_interval_s": "2 s",
                "poll_done": ["ready"],
                "oauth_token_url": "https://login.example/token",
                "oauth_client_id": "evalwell",
                "oauth_client_secret": "AGENT_SECRET",
                "pace_requests_per_minute": "60",
            },
            {
                "driver": "http",
                "url": "https://agent.example/chat",
                "poll": {"interval_s": 2.0, "done": ["ready"]},
                "oauth": {
                    "token_url": "https://login.example/token",
                    "client_id": "evalwell",
                    "client_secret": {"env": "AGENT_SECRET"},
                },
                "pace": {"requests_per_minute": 60},
            },
            id="later, with a token and a pace",
        ),
        pytest.param(
            {"driver": "command", "command": [*OUR_COMMAND.split(), "--note", "a b"]},
            {"driver": "command", "command": [*OUR_COMMAND.split(), "--note", "a b"]},
            id="command",
        ),
        pytest.param(
            {
                "driver": "python",
                "callable": f"{OUR_MODULE}.agents:analyst",
                "tool_calls_from": "spans",
                "spans_wait_s": "20 s",
            },
            {
                "driver": "python",
                "callable": f"{OUR_MODULE}.agents:analyst",
                "tool_calls_from": "spans",
                "spans_wait_s": 20.0,
            },
            id="python",
        ),
    ],
)
def test_an_agent_is_written_from_nothing(
    admin_client: Client, typed: dict[str, Any], keys: dict[str, Any]
) -> None:
    saved = open_page(admin_client, f"{LIST}add/?start=form").post(name="New", slug="new", **typed)

    assert saved.is_saved, saved.problems
    spec = Agent.objects.get().to_spec().model_dump(mode="json", exclude_defaults=True)
    assert spec == {"agent": "New", "slug": "new", **keys}


def test_a_rule_that_is_never_reached_is_saved_with_a_warning(admin_client: Client) -> None:
    rules = [{"reply": "Hello"}, {"when": "bye", "reply": "Bye"}]
    written = {"agent": "Echo", "slug": "echo", "driver": "scripted", "rules": rules}
    save_agent(AgentSpec.model_validate(written))

    assert page_of(admin_client, Agent.objects.get()).post(name="Other").is_saved
    assert "never reached" in page_of(admin_client, Agent.objects.get()).text


def test_variables_of_another_system_are_kept_as_text_with_a_warning(admin_client: Client) -> None:
    save_agent(AgentSpec.model_validate(MODEL))

    page_of(admin_client, Agent.objects.get()).post(
        system_prompt="For {{organizationName}} at {{currentTime}}.{% if gold %} Hi.{% endif %}"
    )

    kept = r"For \{{organizationName}} at {{currentTime}}.{% if gold %} Hi.{% endif %}"
    assert Agent.objects.get().system_prompt == kept
    page = page_of(admin_client, Agent.objects.get()).text
    assert "organizationName" in page
    assert "runs {% if gold %}, so the agent" in page


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
        (MODEL, {"max_tool_rounds": "0"}, "Max tool-call rounds per turn: "),
        (MODEL, {"tools": ["entity.qery"]}, "Test data tools: Select a valid choice."),
        pytest.param(
            HTTP,
            {"headers-key": "Authorization", "headers-kind": "text", "headers-value": "Bearer a"},
            "Headers: Authorization: This looks like a key.",
            id="key",
        ),
        pytest.param(
            HTTP,
            {"headers-key": "X-A", "headers-kind": "env", "headers-value": "HOME"},
            "Headers: X-A: Your administrator does not permit HOME",
            id="variable that is not permitted",
        ),
        pytest.param(
            HTTP,
            {"headers-key": ["X-A", "X-A"], "headers-kind": ["text"], "headers-value": ["a", "b"]},
            "Headers: Line 2: X-A appears twice.",
            id="header twice",
        ),
        (HTTP, {"request": '{"a": "{{inputt}}"}'}, "Request: Unknown variable"),
        pytest.param(HTTP, {"spans_wait_s": "5 s"}, "Max wait for spans (s): ", id="no spans"),
        (HTTP, {"response_tool_calls": "data", "response_name": "tool"}, "Text: "),
        pytest.param(
            LATER,
            {"oauth_client_secret": "HOME"},
            "Client secret: Your administrator does not permit HOME",
            id="secret that is not permitted",
        ),
        pytest.param(LATER, {"poll_job": "id"}, "Job id: Write {{job}}", id="job"),
        pytest.param(HTTP, {"poll_state": "state"}, "Interval: ", id="no interval"),
        pytest.param(HTTP, {"stream_text_events": ["a"]}, "Reply arrives: ", id="no stream"),
        (OWN_JSON, {"response_text": "data[*]"}, "Text: The path cannot be read"),
        pytest.param(
            HTTP,
            {"system_prompt": "Be kind."},
            "System prompt: Only “A model with tools” or “An agent over HTTP” or “Scripted",
            id="prompt of an agent that is sent none",
        ),
    ],
)
def test_a_wrong_agent_is_refused_in_words_that_name_the_place(
    admin_client: Client, spec: dict[str, Any], changes: dict[str, Any], problem: str
) -> None:
    refused = page_of(admin_client, write_agent(spec)).post(**changes)

    assert len(refused.problems) == 1, refused.problems
    assert refused.problems[0].startswith(problem)


RULE = {"match": "contains", "words": "hello", "reply": "Hi"}
# What the page of a rule or a tool posts, and the object that is stored.
RULES = [
    pytest.param(RULE, {"when": "hello", "reply": "Hi"}, id="contains"),
    pytest.param(
        RULE | {"words": "a.b (c)"}, {"when": r"a\.b \(c\)", "reply": "Hi"}, id="punctuation"
    ),
    pytest.param(
        RULE | {"match": "any_of", "words": "hi, hello"},
        {"when": "hi|hello", "reply": "Hi"},
        id="one of several",
    ),
    pytest.param(
        RULE | {"match": "exactly", "words": "Stop."},
        {"when": r"^Stop\.$", "reply": "Hi"},
        id="exactly",
    ),
    pytest.param(RULE | {"match": "always", "words": ""}, {"reply": "Hi"}, id="always"),
    pytest.param(
        RULE | {"match": "pattern", "words": r"\d+"}, {"when": r"\d+", "reply": "Hi"}, id="pattern"
    ),
    pytest.param(
        RULE
        | {"reply": "", "error": "Down", "turn": 2, "delay_ms": 5, "input_tokens": 0}
        | {"output_tokens": 3},
        {
            "when": "hello",
            "error": "Down",
            "turn": 2,
            "delay_ms": 5,
            "usage": {"input_tokens": 0, "output_tokens": 3},
        },
        id="advanced",
    ),
]


@pytest.mark.parametrize(("typed", "rule"), RULES)
def test_a_rule_is_written_in_fields(
    admin_client: Client, typed: dict[str, Any], rule: dict[str, Any]
) -> None:
    page = open_page(admin_client, f"{LIST}add/?start=form")
    add_rule(page, **typed)

    saved = page.post(name="New", slug="new", driver="scripted")

    assert saved.is_saved, saved.problems
    agent = Agent.objects.get()
    assert agent.connection["rules"] == [rule]
    again = page_of(admin_client, agent)
    assert {name: again.fields[f"rules-0-{name}"] for name in typed} == {
        name: [str(value)] for name, value in typed.items()
    }


def test_a_rule_calls_tools_with_typed_arguments(admin_client: Client) -> None:
    page = open_page(admin_client, f"{LIST}add/?start=form")
    rule = add_rule(page, **RULE)
    call = page.row(
        f"{rule}-calls",
        tool="entity.get",
        args__key=["id", "n", "all", "tags"],
        args__kind=["text", "number", "yes", "json"],
        args__value=["5", "5", "", '["a"]'],
    )

    saved = page.post(name="New", slug="new", driver="scripted", tools=["entity.get"])

    assert saved.is_saved, saved.problems
    (stored,) = Agent.objects.get().connection["rules"][0]["calls"]
    assert stored == {"tool": "entity.get", "args": {"id": "5", "n": 5, "all": True, "tags": ["a"]}}
    assert call == "rules-0-calls-0"


def test_rules_suggest_the_arguments_of_tools(admin_client: Client) -> None:
    page: Any = admin_client.get(f"{LIST}add/?start=scripted")

    assert page.context["parts"]["ew-argument"]["entity.get"] == {"id": "entity"}
    for suggested in ("ew-tool", "ew-argument"):
        assert f'<datalist id="{suggested}">' in page.content.decode()


TOOL = {"source": "canned", "name": "orders.find"}
CANNED_TOOL = {
    "name": "orders.find",
    "description": "Finds an order.",
    "parameters": {
        "type": "object",
        "properties": {
            "number": {"type": "string", "description": "As on the bill"},
            "deep": {"type": "boolean"},
        },
        "required": ["number"],
    },
    "rules": [
        {"when": {"number": {"fuzzy": "1042"}}, "result": {"state": "shipped"}},
        {"when": {"number": 7}, "result": "gone"},
        {"error": "No such order."},
    ],
    "retrieval": "data.chunks",
}


def test_a_tool_with_fixed_answers_is_written_in_fields(admin_client: Client) -> None:
    page = page_of(admin_client, write_agent(MODEL))
    tool = page.row(
        "own_tools",
        **TOOL,
        description="Finds an order.",
        retrieval="data.chunks",
        parameters__key=["number", "deep"],
        parameters__kind=["string", "boolean"],
        parameters__need=["required", ""],
        parameters__about=["As on the bill", ""],
    )
    conditions = [("fuzzy", "text", "1042"), ("equals", "number", "7")]
    answers = [("json", '{"state": "shipped"}'), ("text", "gone")]
    for (must, of, value), (kind, answer) in zip(conditions, answers, strict=True):
        when = {"must": must, "kind": of, "value": value, "key": "number"}
        fields = {f"when__{name}": text for name, text in when.items()}
        page.row(f"{tool}-answers", kind=kind, answer=answer, **fields)
    page.row(f"{tool}-answers", kind="error", answer="No such order.")

    saved = page.post(tools=["entity.get"])

    assert saved.is_saved, saved.problems
    assert Agent.objects.get().tools == [CANNED_TOOL, "entity.get"]


@pytest.mark.parametrize(
    ("row", "item"),
    [
        pytest.param(RuleRow, {"reply": ""}, id="empty reply"),
        pytest.param(ToolRow, {"name": "a", "rules": [{"result": ""}]}, id="empty answer"),
        pytest.param(
            ToolRow,
            {
                "name": "a",
                "rules": [{"result": 1}],
                "parameters": {"type": "object", "additionalProperties": False},
            },
            id="schema",
        ),
    ],
)
def test_what_fields_cannot_express_stays_yaml(
    admin_client: Client, row: type[ItemRow], item: dict[str, Any]
) -> None:
    assert not row.expresses(item)
    agent = write_agent(SCRIPTED)
    column = "rules" if row is RuleRow else "tools"
    rest = SCRIPTED[column] if row is ToolRow else []
    items = [item, *rest]
    Agent.objects.update(**{"connection": {column: items}} if row is RuleRow else {column: items})

    page = page_of(admin_client, agent)
    assert page.post().is_saved
    assert Agent.objects.get().to_mapping()[column][0] == item

    field = f"{column if row is RuleRow else 'own_tools'}-0-yaml"
    refused = page_of(admin_client, agent).set(**{field: "- a"}).post()
    assert "keys" in refused.problems[0]
    assert refused.fields[field] == ["- a"]


@pytest.mark.parametrize(
    ("typed", "place", "word"),
    [
        pytest.param({"words": " "}, "Rule 1, words", "anything", id="no words"),
        pytest.param({"match": "always"}, "Rule 1, words", "Remove", id="words for any message"),
        pytest.param({"reply": ""}, "Rule 1, then answer", "answer", id="no answer"),
        pytest.param({"match": "pattern", "words": "("}, "Rule 1, words", "group", id="pattern"),
        pytest.param({"error": "Down"}, "", "both", id="answer and error"),
        pytest.param({"turn": "0"}, "Rule 1, only in turn", "1", id="turn"),
    ],
)
def test_a_wrong_rule_is_refused_at_its_field(
    admin_client: Client, typed: dict[str, Any], place: str, word: str
) -> None:
    page = open_page(admin_client, f"{LIST}add/?start=form")
    add_rule(page, **RULE | typed)

    refused = page.post(name="New", slug="new", driver="scripted")

    (problem,) = refused.problems
    assert problem.startswith(place)
    assert word in problem
    assert not Agent.objects.exists()
    kept = {name: refused.fields[f"rules-0-{name}"] for name in RULE | typed}
    assert kept == {name: [str(value)] for name, value in (RULE | typed).items()}


@pytest.mark.parametrize(
    ("calls", "place"),
    [
        pytest.param({"tool": "entity.gett"}, "Rule 1, call 1, tool: ", id="unknown tool"),
        pytest.param({"tool": ""}, "Rule 1, call 1, tool: ", id="no tool"),
        pytest.param(
            {"tool": "entity.get", "args__key": "n", "args__kind": "number", "args__value": "x"},
            "Rule 1, call 1, arguments: Line 1: ",
            id="no number",
        ),
    ],
)
def test_a_wrong_call_is_refused_at_its_field(
    admin_client: Client, calls: dict[str, Any], place: str
) -> None:
    page = open_page(admin_client, f"{LIST}add/?start=form")
    page.row(f"{add_rule(page, **RULE)}-calls", **calls)

    refused = page.post(name="New", slug="new", driver="scripted", tools=["entity.get"])

    (problem,) = refused.problems
    assert problem.startswith(place)


def test_rules_of_another_kind_of_agent_are_refused_and_kept(admin_client: Client) -> None:
    page = page_of(admin_client, write_agent(MODEL))
    add_rule(page, **RULE)

    refused = page.post()

    assert refused.problems[0].startswith("Rules: Only")
    assert refused.fields["rules-0-words"] == ["hello"]


def test_every_placeholder_that_the_page_offers_is_filled_in() -> None:
    results = [
        ToolCall("a", {}, result={"total": 7}),
        ToolCall("b", {}, result={"entities": [{"id": "order-1"}]}),
    ]

    filled = [fill(text, message="Hi", results=results) for text in RuleRow.placeholders]

    assert filled == ["Hi", {"total": 7}, 7, "order-1"]


def test_rules_are_moved_and_removed(admin_client: Client) -> None:
    rules = [{"when": name, "reply": name} for name in "abc"]
    page = page_of(admin_client, write_agent(SCRIPTED | {"rules": rules}))

    page.set(**{"rules-0-position": 2, "rules-2-position": 0, "rules-1-DELETE": "on"})

    assert page.post().is_saved
    assert [rule["reply"] for rule in Agent.objects.get().connection["rules"]] == ["c", "a"]


def add_rule(page: PageForm, **typed: Any) -> str:
    return page.row("rules", **typed)


def add_tool(page: PageForm, name: str) -> None:
    page.row(f"{page.row('own_tools', **TOOL | {'name': name})}-answers", kind="json", answer="1")


def test_the_page_says_what_the_operator_permits(admin_client: Client) -> None:
    with permitting(
        hosts=("agent:8000",),
        variables=("PROVIDER_MY_KEY",),
        modules=("my_agents",),
        commands=("my-agent",),
        mcp_servers={"files": "mcp-files"},
    ):
        text = open_page(admin_client, f"{LIST}add/?start=form").text

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


def test_readers_see_rules_and_tools_but_cannot_change_them(client: Client) -> None:
    agent = write_agent(SCRIPTED | {"tools": [*OWN_TOOLS["tools"][:2], "entity.query"]})
    reader = User.objects.create_user("reader", is_staff=True)
    reader.user_permissions.set(Permission.objects.filter(codename="view_agent"))
    client.force_login(reader)

    page = page_of(client, agent)

    assert "Message matches" in page.text
    assert "orders.find" in page.text
    assert not any(name.startswith(("rules-", "own_tools-")) for name in page.fields)


def test_an_agent_without_suites_leads_to_the_first_case_of_its_first_one(
    admin_client: Client,
) -> None:
    agent = make_agent("desk", name="Desk")
    url = f"/admin/evals_app/suite/add/?agent={agent.pk}"
    page = open_page(admin_client, f"{LIST}{agent.pk}/change/")
    assert "No suite tests this agent yet." in page.text
    assert url in page.html

    form = open_page(admin_client, url)
    form.post(name="Questions", slug="questions")

    suite = Suite.objects.get()
    assert suite.agent == agent
    response = admin_client.post(url, form.fields | {"name": ["Two"], "slug": ["two"]})
    two = Suite.objects.get(slug="two")
    assert response.headers["Location"] == f"/admin/evals_app/case/add/?suite={two.pk}"
