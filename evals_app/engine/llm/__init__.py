"""The only code of the engine that talks to model APIs: `Models.complete(ModelCall)`, `.embed(texts)`.

`call` holds what goes in and comes out, `models` the loop of attempts around a `provider` with its
slots, pace and money, `retry` its rules, `kinds` what is known of each kind of provider, `names` the
tool names that APIs accept. `adapter` is one attempt; `anthropic` and `openai` are those of the two
SDKs, which are imported on first use, and `..._wire` their JSON.
"""
