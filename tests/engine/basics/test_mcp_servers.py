"""MCP servers as the operator writes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals_app.engine.basics.mcp_servers import Address, McpServer, Program, read_servers

ENVIRON = {
    "DOCS_TOKEN": "hunter2-hunter2",
    "PORT": "8080",
    "HOST": "docs.example",
    "HOME": "/home/ada",
    "EMPTY": "",
}
DOCS = {"url": "https://docs.example/mcp"}


def read(written: Any) -> dict[str, McpServer]:
    return read_servers(written if isinstance(written, str) else json.dumps(written), ENVIRON)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("{}", {}, id="no server"),
        pytest.param({"docs": DOCS["url"]}, {"docs": Address(**DOCS)}, id="an address"),
        pytest.param(
            {"docs": "docs-server --all 'a b'"},
            {"docs": Program(command="docs-server", args=["--all", "a b"])},
            id="a command line",
        ),
        pytest.param({"docs": DOCS}, {"docs": Address(**DOCS)}, id="inner object"),
        pytest.param({"mcpServers": {"docs": DOCS}}, {"docs": Address(**DOCS)}, id="mcp.json"),
        pytest.param(
            {"docs": {"type": "sse", "url": "https://${HOST}/sse", "headers": {"X": "${NO:-a}"}}},
            {"docs": Address(type="sse", url="https://docs.example/sse", headers={"X": "a"})},
            id="variables",
        ),
        pytest.param(
            {"docs": {"command": "x", "args": ["${EMPTY:-a b}"], "env": {"A": "${EMPTY:-}"}}},
            {"docs": Program(command="x", args=["a b"], env={"A": ""})},
            id="an empty variable takes the default",
        ),
    ],
)
def test_servers_are_read(written: Any, expected: dict[str, McpServer]) -> None:
    assert {name: server.model_dump() for name, server in read(written).items()} == {
        name: server.model_dump() for name, server in expected.items()
    }


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"docs": DOCS}}))

    for text in ("mcp.json", "@mcp.json", str(tmp_path / "mcp.json")):
        assert list(read_servers(text, ENVIRON, folder=tmp_path)) == ["docs"]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        pytest.param("[1]", ["JSON object"], id="a list"),
        pytest.param("{", ["not valid JSON", "line 1"], id="no JSON"),
        pytest.param('{"a": "x", "a": "y"}', ["'a'"], id="the same name twice"),
        pytest.param("/nowhere/mcp.json", ["'/nowhere/mcp.json'"], id="no file"),
        pytest.param({"mcpServers": []}, ["mcpServers: "], id="a list of servers"),
        pytest.param({"mcpServers": {}, "inputs": []}, ["'inputs'"], id="more keys"),
        pytest.param({"docs": 1}, ["docs: "], id="a number"),
        pytest.param({"docs": ""}, ["docs: "], id="empty"),
        pytest.param({"docs": "run '"}, ["docs: ", "command line"], id="an open quote"),
        pytest.param({"My docs": DOCS}, ["My docs: "], id="a name that is not a slug"),
        pytest.param({"docs": {"comand": "x"}}, ["docs: ", "'command'"], id="misspelt command"),
        pytest.param({"docs": {**DOCS, "command": "x"}}, ["docs: ", "both"], id="both"),
        pytest.param({"docs": {**DOCS, "header": {}}}, ["docs.header: ", "'headers'"], id="key"),
        pytest.param({"docs": {**DOCS, "env": {}}}, ["docs.env: ", "url"], id="key of a program"),
        pytest.param({"docs": {"url": "ftp://x"}}, ["docs.url: ", "https://"], id="no address"),
        pytest.param({"docs": {**DOCS, "type": "ws"}}, ["docs.type: ", "sse"], id="type"),
        pytest.param(
            {"docs": {**DOCS, "headers": {"Authorization": "Bearer ${TOKEN}"}}},
            ["docs.headers.Authorization: ", "TOKEN is not set"],
            id="a variable that is not set",
        ),
        pytest.param(
            {"docs": {**DOCS, "headers": {"Authorization": "hunter2\n"}}},
            ["docs.headers.Authorization: ", "single line"],
            id="a header of two lines",
        ),
        pytest.param({"docs": {"command": "x", "args": "hunter2"}}, ["docs.args: "], id="args"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place_and_without_values(
    written: Any, words: list[str]
) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        read(written)

    assert all(word in str(refused.value) for word in words), refused.value
    assert "hunter2" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_values_are_secret_if_a_variable_or_a_header_for_signing_in_has_them() -> None:
    servers = read(
        {
            "a": {**DOCS, "headers": {"X-Key": "${DOCS_TOKEN}", "Accept": "text/plain"}},
            "b": {**DOCS, "headers": {"authorization": "Bearer written-out"}},
            "c": {"command": "x", "env": {"TOKEN": "${DOCS_TOKEN}", "AT": "${HOME}/${PORT}"}},
        }
    )

    assert {name: server.secrets for name, server in servers.items()} == {
        "a": ("hunter2-hunter2",),
        "b": ("written-out",),
        "c": ("hunter2-hunter2",),
    }
    assert not any("hunter2" in repr(server) for server in servers.values())
