"""An agent's own tools: fixed answers, requests to servers, MCP servers."""
