"""Tools of a real MCP server, over its standard streams and over HTTP."""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evals_app.engine.agents.tools import mcp_tools
from evals_app.engine.agents.tools.mcp_tools import McpTool, connect
from evals_app.engine.basics.errors import ConfigurationError, ToolError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.specs.tool_spec import McpTools
from tests.engine.permitting import permitting

pytest.importorskip("mcp", reason="the package for MCP is not installed")
pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("mcp_server.py")
INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
STDIO = shlex.join([sys.executable, str(SERVER), "stdio"])


@pytest.fixture(autouse=True)
def _permitted() -> Iterator[None]:
    with permitting(mcp_servers={"library": STDIO, "gone": "/nowhere/at-all", "cat": "cat"}):
        yield


def make_tools(*names: str, server: str = "library", **changes: Any) -> McpTools:
    written = {"mcp": server, "tools": list(names) or ["find", "greet", "fail"]}
    return McpTools.model_validate(written | changes, context=FROZEN)


async def call(tools: McpTools, name: str, **args: Any) -> Any:
    async with connect(tools) as offered:
        by_name: dict[str, McpTool] = {tool.name: tool for tool in offered}
        return await by_name[name].call(args)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def http_server(kind: str = "http") -> Iterator[str]:
    """The same server, over HTTP."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, str(SERVER), str(port)], env=os.environ | {"KIND": kind}
    ) as process:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
        process.kill()  # asked politely, it waits for streams that are open


async def test_named_tools_come_with_what_the_server_says_of_them_and_give_json_or_text() -> None:
    async with connect(make_tools("greet", "find", retrieval="books")) as offered:
        described = [(tool.name, tool.description, tool.retrieval) for tool in offered]
        greet, find = offered
        parameters = greet.parameters
        greeting = await greet.call({"name": "Ada"})
        books = await find.call({"title": "Rivers"})

    assert described == [
        ("library.greet", "Says hello.", "books"),
        ("library.find", "Finds books by a word of their title.", "books"),
    ]
    assert parameters["properties"]["name"]["type"] == "string"
    assert parameters["required"] == ["name"]
    assert greeting in ("Hello Ada", {"result": "Hello Ada"})
    assert books["books"] == [{"id": "b-1", "text": "All about Rivers"}]


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_tools_are_called_over_http_with_headers_that_no_result_repeats(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCS_TOKEN", "hunter2-hunter2")
    headers = {"Authorization": "Bearer ${DOCS_TOKEN}", "X-Team": "evals"}
    with (
        http_server(kind) as url,
        permitting(mcp_servers={"library": {"url": url, "headers": headers, "type": kind}}),
    ):
        async with connect(make_tools("find", "surroundings")) as (find, surroundings):
            books = await find.call({"title": "Rivers"})
            seen = json.loads((await surroundings.call({}))["result"])["headers"]

    assert books["books"][0]["text"] == "All about Rivers"
    assert seen["x-team"] == "evals"
    assert seen["authorization"].startswith("Bearer ")
    assert "hunter2" not in seen["authorization"]


async def test_a_program_gets_its_folder_and_only_the_variables_that_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCS_TOKEN", "hunter2-hunter2")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    command, *args = shlex.split(STDIO)
    server = {
        "command": command,
        "args": args,
        "env": {"TOKEN": "${DOCS_TOKEN}", "LEVEL": "${NO_SUCH:-debug}"},
        "cwd": str(tmp_path),
    }
    with permitting(mcp_servers={"mcpServers": {"library": server}}):
        seen = json.loads(
            (await call(make_tools("surroundings"), "library.surroundings"))["result"]
        )

    assert seen["cwd"] == str(tmp_path)
    assert seen["env"]["LEVEL"] == "debug"
    assert "hunter2" not in seen["env"]["TOKEN"]
    assert set(seen["env"]) <= {"TOKEN", "LEVEL", *INHERITED, "LC_CTYPE"}


async def test_a_refused_request_does_not_reveal_its_address_or_headers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DOCS_TOKEN", "hunter2-hunter2")
    server = {
        "url": f"http://127.0.0.1:{free_port()}/${{DOCS_TOKEN}}",
        "headers": {"X-Key": "${DOCS_TOKEN}"},
    }
    with permitting(mcp_servers={"library": server}), pytest.raises(ToolError) as refused:
        async with connect(make_tools()):
            pass

    assert "hunter2" not in str(refused.value)
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    ("tool", "args", "code", "words"),
    [
        pytest.param("fail", {}, "failed", "Error executing tool fail", id="it fails"),
        pytest.param("greet", {"nmae": "Ada"}, "failed", "name", id="wrong arguments"),
        pytest.param("much", {}, "too_long", "1,000,000 characters", id="too long"),
        pytest.param("die", {}, "unavailable", "", id="it dies"),
    ],
)
async def test_a_call_that_does_not_work_is_answered_with_an_error(
    tool: str, args: dict[str, Any], code: str, words: str
) -> None:
    result = await call(make_tools(tool), f"library.{tool}", **args)

    assert result["error"]["code"] == code
    assert words in result["error"]["message"]


async def test_a_tool_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_tools, "CALL_S", 0.5)

    result = await call(make_tools("wait"), "library.wait")

    assert result["error"]["code"] in ("timeout", "unavailable")


async def test_a_server_does_not_get_to_see_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")

    assert "secret" not in str(await call(make_tools("key"), "library.key"))


async def test_a_server_ends_with_the_conversation(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with permitting(mcp_servers={"library": f"{STDIO} {shlex.quote(str(note))}"}):
        async with connect(make_tools("greet")):
            pid = int(note.read_text())
            assert _is_alive(pid)

    assert not _is_alive(pid)


async def test_what_goes_wrong_in_a_conversation_is_not_hidden_by_its_tools() -> None:
    with pytest.raises(RuntimeError, match="broken"):
        async with connect(make_tools("greet")):
            raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        pytest.param(make_tools(server="mail"), "no MCP server 'mail'", id="unknown server"),
        pytest.param(make_tools("grete"), "has no tool 'grete'. Did you mean 'greet'?", id="tool"),
    ],
)
async def test_tools_that_nobody_has_are_a_mistake_in_what_was_written(
    tools: McpTools, words: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        async with connect(tools):
            pass

    assert words in str(refused.value)


async def test_a_server_that_does_not_start_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_tools, "START_S", 5.0)

    for server in ("gone", "cat"):
        with pytest.raises(ToolError, match=f"The MCP server {server} cannot be used"):
            async with connect(make_tools(server=server)):
                pass


async def test_without_the_package_it_is_shown_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)

    with pytest.raises(ConfigurationError, match="pip install 'mcp>="):
        async with connect(make_tools()):
            pass


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
