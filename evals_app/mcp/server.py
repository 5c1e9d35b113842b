"""The protocol: a server of the package for MCP that answers from the table of tools."""

import importlib
import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied

from evals_app import __version__
from evals_app.mcp.guide import Resource, resources
from evals_app.mcp.table import INSTRUCTIONS, TOOLS
from evals_app.mcp.tool import Caller, Operation, call_tool
from fixtures_app.ground.words import near

if TYPE_CHECKING:
    import mcp_types
    from mcp.server.lowlevel import Server

NAME = "evalwell"


def is_installed() -> bool:
    """Whether the package for MCP, an extra, is there."""
    return find_spec("mcp") is not None


def make_server(who: Callable[[], Caller]) -> "Server[Any]":
    """Return a server that acts as `who`, evaluated again for each call."""
    # An extra, which takes a second to import.
    types = importlib.import_module("mcp_types")
    lowlevel = importlib.import_module("mcp.server.lowlevel")
    # Rows are read in the thread of the caller, which has the connection to the database.
    permitted = sync_to_async(_allowed_tools)
    call = sync_to_async(call_tool)

    async def list_tools(_context: object, _params: object) -> "mcp_types.ListToolsResult":
        tools = [_describe(tool) for tool in await permitted(who)]
        return types.ListToolsResult(tools=tools)  # type: ignore[no-any-return]

    async def call_one(
        _context: object, params: "mcp_types.CallToolRequestParams"
    ) -> "mcp_types.CallToolResult":
        answer = await call(TOOLS, params.name, params.arguments or {}, who=who)
        text = types.TextContent(type="text", text=answer.text)
        return types.CallToolResult(  # type: ignore[no-any-return]
            content=[text], structured_content=answer.data, is_error=answer.is_error
        )

    async def list_resources(_context: object, _params: object) -> "mcp_types.ListResourcesResult":
        listed = list(map(_describe_resource, resources().values()))
        return types.ListResourcesResult(resources=listed)  # type: ignore[no-any-return]

    async def read_resource(
        _context: object, params: "mcp_types.ReadResourceRequestParams"
    ) -> "mcp_types.ReadResourceResult":
        resource = _find_resource(str(params.uri))
        content = types.TextResourceContents(
            uri=resource.uri, mime_type=resource.media_type, text=resource.read()
        )
        return types.ReadResourceResult(contents=[content])  # type: ignore[no-any-return]

    server: Server[object] = lowlevel.Server(
        NAME,
        title="Evalwell",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_one,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )
    return server


def _describe_resource(resource: Resource) -> "mcp_types.Resource":
    import mcp_types as types  # noqa: PLC0415 - an extra

    return types.Resource(
        uri=resource.uri,
        name=resource.name,
        title=resource.title,
        mime_type=resource.media_type,
    )


def _find_resource(uri: str) -> Resource:
    found = resources().get(uri)
    if found is None:
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - an extra
        from mcp_types import INVALID_PARAMS  # noqa: PLC0415 - an extra

        raise MCPError(INVALID_PARAMS, f"There is no resource {uri!r}.{near(uri, resources())}")
    return found


async def serve_streams(who: Callable[[], Caller]) -> None:
    """Answer over the standard streams of this process, until the client closes them."""
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - an extra

    server = make_server(who)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _allowed_tools(who: Callable[[], Caller]) -> list[Operation]:
    """Return the tools that a caller may call; none once the caller is no longer valid."""
    try:
        caller = who()
    except PermissionDenied:
        return []
    return [tool for tool in TOOLS.values() if not caller.lack(tool.need)]


def _describe(tool: Operation) -> "mcp_types.Tool":
    import mcp_types as types  # noqa: PLC0415 - an extra

    example = json.dumps(tool.example, ensure_ascii=False)
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=f"{tool.description} For example: {example}",
        input_schema=tool.schema(),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.is_read_only,
            destructive_hint=tool.is_destructive,
            idempotent_hint=tool.is_read_only or tool.is_idempotent,
            open_world_hint=False,
        ),
    )
