"""The only code of the engine that talks to model APIs: `Models.complete(ModelCall)`.

`call` holds what goes in and comes out, `models` the loop of slots and retries, `retry` its rules,
`names` the tool names that APIs accept, `anthropic` one API. SDKs are imported on first use.
"""
