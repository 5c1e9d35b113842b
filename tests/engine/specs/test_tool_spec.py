"""What is accepted, and what is refused, of tools and headers."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.specs.tool_spec import (
    AnyTool,
    CannedTool,
    Headers,
    HttpTool,
    McpTools,
    header_variables,
    names_of,
    written_names,
)
from tests.engine.makers import refusals
from tests.engine.permitting import permitting

TOOL: TypeAdapter[Any] = TypeAdapter(AnyTool)
HEADERS: TypeAdapter[Any] = TypeAdapter(Headers)
CANNED = {"name": "orders.find", "rules": [{"result": {"status": "shipped"}}]}
HTTP = {"name": "weather", "url": "https://weather.example.org/v1", "method": "GET"}
ARGUMENT = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.mark.parametrize(
    ("written", "kind", "names"),
    [
        pytest.param("entity.get", str, ("entity.get",), id="of a world"),
        pytest.param(CANNED, CannedTool, ("orders.find",), id="canned"),
        pytest.param(HTTP, HttpTool, ("weather",), id="HTTP"),
        ({"mcp": "files", "tools": ["read", "list"]}, McpTools, ("files.read", "files.list")),
    ],
)
def test_a_tool_is_shown_by_its_keys(written: Any, kind: type, names: tuple[str, ...]) -> None:
    with permitting(mcp_servers={"files": "mcp-files"}):
        tool: Any = TOOL.validate_python(written)

    assert names_of(tool) == written_names(written) == names
    assert type(tool) is kind


@pytest.mark.parametrize(
    ("written", "loc", "words"),
    [
        pytest.param({"name": "a"}, "rules", "Field required", id="no answers"),
        pytest.param(CANNED | {"rules": []}, "rules", "at least 1", id="not one answer"),
        (CANNED | {"rules": [{"when": {}}]}, "rules.0", "result or an error"),
        (CANNED | {"rules": [{"result": 1, "error": "a"}]}, "rules.0", "either"),
        pytest.param(
            CANNED | {"rules": [{"when": {"a": {"regex": "("}}, "result": 1}]},
            "rules.0.when.a",
            "pattern cannot be used",
            id="matcher",
        ),
        pytest.param(
            CANNED | {"rules": [{"result": {"a": ["{{agentname}}"]}}]},
            "rules.0.result",
            "Did you mean {{agentName}}?",
            id="variable in a result",
        ),
        pytest.param(CANNED | {"name": "a b"}, "name", "orders.find", id="name"),
        (CANNED | {"parameters": {"type": "string"}}, "parameters", "object"),
        pytest.param(
            CANNED | {"parameters": {"type": "object", "properties": {"a": {"type": "txt"}}}},
            "parameters",
            "properties.a.type: ",
            id="no schema",
        ),
        pytest.param(
            CANNED | {"parameters": {"type": "object", "$ref": "http://127.0.0.1:9/schema"}},
            "parameters",
            "outside this schema",
            id="a schema that lies elsewhere",
        ),
        pytest.param(
            CANNED | {"parameters": {"type": "object", "$ref": "#/title", "title": "x"}},
            "parameters",
            "$ref: '#/title'",
            id="a reference to a text",
        ),
        pytest.param(
            CANNED | {"parameters": {"type": "object", "properties": {"a": {"pattern": "(?!x)"}}}},
            "parameters",
            "Negative lookahead",
            id="a pattern that could hang",
        ),
        pytest.param(CANNED | {"retrieval": "a..b"}, "retrieval", "pattern", id="path"),
        pytest.param(CANNED | {"ruels": 1}, "ruels", "Extra", id="misspelt"),
        pytest.param(HTTP | {"method": "HEAD"}, "method", "'GET'", id="method"),
        (HTTP | {"url": "http://10.0.0.1/x"}, "url", "private network"),
        (HTTP | {"url": "https://{city}.example.org/"}, "url", "after the host"),
        (HTTP | {"url": "https://a.org{{agentName}}/x"}, "url", "after the host"),
        pytest.param(HTTP | {"url": "https://a.org/{city}"}, "url", "{city}", id="argument"),
        (HTTP | {"url": "https://a.org/{{agentname}}"}, "url", "agentName"),
        (HTTP | {"headers": {"X-A": "{{agentname}}"}}, "headers.X-A", "agentName"),
        ({"mcp": "files", "tools": []}, "tools", "at least 1"),
        pytest.param({"mcp": "mail", "tools": ["a"]}, "mcp", "Known: files.", id="server"),
        pytest.param(3, "", "string", id="number"),
    ],
)
def test_a_tool_that_cannot_work_is_refused(written: Any, loc: str, words: str) -> None:
    with permitting(mcp_servers={"files": "mcp-files"}):
        ((place, message),) = refusals(TOOL.validate_python, written, strict=True)

    assert place.partition(".")[2] == loc  # after the kind of the tool
    assert words in message


@pytest.mark.parametrize(
    "url",
    [
        "https://a.org/{city}/{{agentName}}",
        "https://a.org/x?at={{ datetime }}&in={city}",
        "https://a.org/{{threadContext.params.tenant}}",
    ],
)
def test_arguments_and_variables_stand_after_the_host(url: str) -> None:
    tool = TOOL.validate_python(HTTP | {"url": url, "parameters": ARGUMENT})

    assert tool.url == url


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"Authorization": "Bearer abc"}, "write {env: NAME}"),
        ({"X-Api-Key": "abc"}, "write {env: NAME}"),
        ({"x-auth-token": "abc"}, "write {env: NAME}"),
        ({"Cookie": "session=1"}, "write {env: NAME}"),
        ({"X-Note": "Bearer abc"}, "write {env: NAME}"),
        ({"X-Note": "sk-abc123"}, "write {env: NAME}"),
        ({"X-Note": {"env": "HOME"}}, "does not permit HOME in headers"),
        ({"X-Note": {"env": "a-b"}}, "name of an environment variable"),
        ({"X Note": "a"}, "letters, digits and hyphens"),
        ({"X-Note": "a\r\nX-Other: b"}, "one line"),
        ({"X-Note": "ä"}, "ASCII"),
        ({"Host": "a.org"}, "Host"),
        ({"TraceParent": "a"}, "automatically"),
        ({"content-length": "1"}, "automatically"),
        ({"X-Note": 3}, "string"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(headers: dict[str, Any], words: str) -> None:
    with permitting(variables=("AGENT_*",)):
        place = refusals(HEADERS.validate_python, headers, strict=True)

    assert any(words in message for _, message in place)
    assert {loc.partition(".")[0] for loc, _ in place} == set(headers)


def test_a_header_stands_once_whatever_its_case() -> None:
    place = refusals(HEADERS.validate_python, {"X-A": "1", "x-a": "2"})

    assert [loc for loc, _ in place] == ["X-A", "x-a"]


def test_no_error_repeats_what_may_be_a_key() -> None:
    with pytest.raises(ValidationError) as refused:
        HEADERS.validate_python({"Authorization": "Bearer very-secret", "X-B": "sk-very-secret"})

    assert "very-secret" not in str(refused.value)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Tenant": "acme"},
        {"X-Monkey": "a"},
        {"X-Keyboard": "a b"},
        {"Accept-Language": "de, en;q=0.5"},
        {"Authorization": {"env": "AGENT_KEY"}},
    ],
)
def test_other_headers_are_sent(headers: dict[str, Any]) -> None:
    with permitting(variables=("AGENT_*",)):
        read = HEADERS.validate_python(headers)

    assert set(header_variables(read)) <= {"AGENT_KEY"}


def test_what_was_permitted_when_it_was_written_is_read_again() -> None:
    headers = {"Authorization": {"env": "GONE_KEY"}}

    HEADERS.validate_python(headers, context=FROZEN)
    TOOL.validate_python({"mcp": "gone", "tools": ["a"]}, context=FROZEN)
    TOOL.validate_python(HTTP | {"url": "http://10.0.0.1/"}, context=FROZEN)

    assert refusals(HEADERS.validate_python, headers)
