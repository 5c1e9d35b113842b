"""Tools of MCP servers, over the standard streams of a program or over HTTP."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from evals_app.engine.agents.headers import forms_of
from evals_app.engine.agents.tools.tool_calls import json_or_text, tool_error, tool_result
from evals_app.engine.basics.errors import ConfigurationError, ToolError
from evals_app.engine.basics.mcp_servers import McpServer, Program
from evals_app.engine.basics.permits import permits
from evals_app.engine.basics.template import in_texts
from evals_app.engine.network.web import without_secrets
from evals_app.engine.specs.tool_spec import McpTools
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.ground.words import near

if TYPE_CHECKING:
    import mcp
    import mcp_types
    from mcp.client._transport import Transport

START_S = 30.0
CALL_S = 60.0
MAX_RESULT_CHARS = 1_000_000
_MAX_PAGES = 50
_STREAM_S = 300.0
MISSING = "The package for MCP is not installed: pip install 'mcp>=2.3,<3'."


_Hide = Callable[[str], str]  # hides the secrets of a server in a text


class McpTool:
    """One tool of a server, under the name by which the agent calls it."""

    def __init__(
        self,
        name: str,
        tool: "mcp_types.Tool",
        *,
        client: "mcp.Client",
        retrieval: str | None,
        hidden: _Hide = str,
    ) -> None:
        self.name = name
        self.description = tool.description or ""
        self.parameters: Mapping[str, Any] = tool.input_schema
        self.retrieval = retrieval
        self._remote_name = tool.name
        self._client = client
        self._hidden = hidden

    async def call(self, args: Mapping[str, object]) -> Any:
        try:
            async with asyncio.timeout(CALL_S):
                result = await self._client.call_tool(self._remote_name, dict(args))
        except TimeoutError:
            return tool_error("timeout", f"{self.name} did not answer within {CALL_S:g} s.")
        except Exception as exc:  # noqa: BLE001 - whatever breaks in the server or on the way
            why = self._hidden(f"{type(exc).__name__}: {exc}")
            return tool_error("unavailable", cut_middle(why))
        return in_texts(_result(self.name, result), self._hidden)


@asynccontextmanager
async def connect(tools: McpTools) -> AsyncIterator[Sequence[McpTool]]:
    """Connect to a server for one execution, and return its named tools.

    Raises:
        ConfigurationError: there is no such server or tool, or no package for MCP.
        ToolError: the server does not answer.
    """
    server = permits().mcp_servers.get(tools.mcp)
    if server is None:
        raise ConfigurationError(
            f"There is no MCP server {tools.mcp!r}. Your administrator lists them in EVALS_MCP_SERVERS."
        )
    try:
        # It takes a second or two, while others continue.
        await asyncio.to_thread(importlib.import_module, "mcp")
    except ImportError:
        raise ConfigurationError(MISSING) from None
    secrets = sorted(forms_of(server.secrets), key=len, reverse=True)
    hidden: _Hide = partial(without_secrets, secrets=secrets)
    ready: asyncio.Future[tuple[mcp.Client, list[mcp_types.Tool]]]
    ready = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()
    # A task of its own: an error of the connection must not cancel the conversation.
    keeper = asyncio.create_task(_keep(server, ready, leave))
    try:
        try:
            async with asyncio.timeout(START_S):
                client, offered = await asyncio.shield(ready)
        except TimeoutError:
            why = f"it did not answer within {START_S:g} s"
            raise ToolError(f"The MCP server {tools.mcp} cannot be used: {why}.") from None
        except Exception as exc:  # noqa: BLE001 - whatever breaks in the server or on the way
            why = cut_middle(hidden(str(exc) or type(exc).__name__))
            raise ToolError(f"The MCP server {tools.mcp} cannot be used: {why}") from None
        yield _choose_tools(tools, offered, client, hidden)
    finally:
        leave.set()
        if not ready.done():
            keeper.cancel()
        await asyncio.wait([keeper])


async def _keep(
    listed: McpServer,
    ready: "asyncio.Future[tuple[mcp.Client, list[mcp_types.Tool]]]",
    leave: asyncio.Event,
) -> None:
    """Keep the connection open until it is no longer needed."""
    import mcp  # noqa: PLC0415 - an extra

    try:
        async with (
            _spoken_to(listed) as server,
            mcp.Client(server, read_timeout_seconds=CALL_S) as client,
        ):
            ready.set_result((client, await _list_tools(client)))
            await leave.wait()
    except Exception as exc:  # noqa: BLE001 - passed to the waiting caller; later calls fail by themselves
        if not ready.done():
            ready.set_exception(_cause(exc))


@asynccontextmanager
async def _spoken_to(listed: McpServer) -> "AsyncIterator[mcp.StdioServerParameters | Transport]":
    """Return the transport by which the client library reaches a server."""
    import mcp  # noqa: PLC0415 - an extra

    if isinstance(listed, Program):
        yield mcp.StdioServerParameters(
            command=listed.command, args=listed.args, env=listed.env, cwd=listed.cwd
        )
    elif listed.type == "sse":
        from mcp.client.sse import sse_client  # noqa: PLC0415

        yield sse_client(listed.url, headers=listed.headers)
    else:
        import httpx2  # noqa: PLC0415
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        # A server may keep a stream of messages open; calls have a limit of their own.
        timeout = httpx2.Timeout(START_S, read=_STREAM_S)
        async with httpx2.AsyncClient(headers=listed.headers, timeout=timeout) as http:
            yield streamable_http_client(listed.url, http_client=http)


async def _list_tools(client: "mcp.Client") -> "list[mcp_types.Tool]":
    page = await client.list_tools()
    tools = list(page.tools)
    for _ in range(_MAX_PAGES):
        if not page.next_cursor:
            break
        page = await client.list_tools(cursor=page.next_cursor)
        tools += page.tools
    return tools


def _cause(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _choose_tools(
    tools: McpTools,
    offered: "Sequence[mcp_types.Tool]",
    client: "mcp.Client",
    hidden: _Hide,
) -> list[McpTool]:
    by_name = {tool.name: tool for tool in offered}
    for name in tools.tools:
        if name not in by_name:
            hint = near(name, by_name) or f" Its tools: {', '.join(by_name)}."
            raise ConfigurationError(f"The MCP server {tools.mcp} has no tool {name!r}.{hint}")
    return [
        McpTool(name, by_name[remote], client=client, retrieval=tools.retrieval, hidden=hidden)
        for name, remote in tools.names.items()
    ]


def _result(name: str, result: "mcp_types.CallToolResult") -> object:
    texts = [getattr(part, "text", None) or f"[{part.type}]" for part in result.content]
    text = "\n".join(texts)
    if len(text) > MAX_RESULT_CHARS:
        return tool_error("too_long", f"{name} returned more than {MAX_RESULT_CHARS:,} characters.")
    if result.is_error:
        return tool_error("failed", text)
    if result.structured_content is not None:
        return tool_result(name, result.structured_content)
    return tool_result(name, json_or_text(text))
