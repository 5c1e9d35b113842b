"""An MCP server, for coding agents: the same operations as REST.

`table` lists the tools; `tool` calls them and puts errors into words. `server` is the protocol,
with the package for MCP: over HTTP in `web`, over standard streams in the command `mcp`.
"""
