"""A small MCP server for tests: over its standard streams, or with a port as argument over HTTP."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("Library")


@server.tool()
def find(title: str) -> dict[str, Any]:
    """Finds books by a word of their title."""
    return {"books": [{"id": "b-1", "text": f"All about {title}"}]}


@server.tool()
def greet(name: str) -> str:
    """Says hello."""
    return f"Hello {name}"


@server.tool()
def fail() -> str:
    """Never works."""
    message = "The shelf is empty."
    raise ValueError(message)


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(3)


@server.tool()
def wait() -> str:
    """Takes its time."""
    time.sleep(30)
    return "late"


@server.tool()
def much() -> str:
    """Says too much."""
    return "x" * 1_000_001


@server.tool()
def key() -> str:
    """Tells a variable of its environment."""
    return os.environ.get("ANTHROPIC_API_KEY", "none")


@server.tool()
def surroundings(context: Context[Any, Any]) -> str:
    """Tells its environment, its folder and the headers of the request as one text of JSON."""
    request = context.request_context.request
    headers = dict(request.headers) if request is not None else {}
    return json.dumps({"env": dict(os.environ), "cwd": str(Path.cwd()), "headers": headers})


if __name__ == "__main__":
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(str(os.getpid()))
    if len(sys.argv) > 1 and sys.argv[1] != "stdio":
        port = int(sys.argv[1])
        if os.environ.get("KIND") == "sse":
            server.run("sse", host="127.0.0.1", port=port)
        else:
            server.run("streamable-http", host="127.0.0.1", port=port)
    else:
        server.run("stdio")
