"""The server over the standard streams of this process."""

from collections.abc import Callable

from evals_app.mcp.server import make_server
from evals_app.mcp.tool import Caller


async def serve(who: Callable[[], Caller]) -> None:
    """Answer until the client closes the stream."""
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - an extra

    server = make_server(who)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
