"""What REST and MCP share: who asks, what the body says, limits, and refusals."""
