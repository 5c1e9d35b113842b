"""What REST and MCP share: who asks, what the body says, limits, and refusals.

`endpoint` is the base of all views; `auth` identifies the caller, `permissions` check their rights;
`bodies` and `parsers` read requests, `problems` report errors. `throttles` also limit pages.
"""
