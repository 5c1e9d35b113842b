"""The only code of the engine that talks to model APIs: `Models.complete(ModelCall)`, `.embed(texts)`.

The path of one call, from a turn to the wire and back:

    conversation  Conversation.run -> agents.open_session -> ModelSession.respond   asks, with the agent's tools
    replay        ExecutionCalls    a paid call of an interrupted conversation is answered from the record
    answer_cache    TrialAnswers    in a pipeline, the identical call of an earlier run, too
    models        Models.complete -> _persist          attempts until one succeeds or the patience is over
    provider        OpenProvider.enter                 waits for a rate limit, a free slot, the pace, the budget
    provider        OpenProvider.pay                   books the cost of the attempt
    models            _send                            leaves out settings that the model has refused
    adapter             Adapter.send -> receive        one attempt within its time limit; errors become ours
    anthropic, openai     _receive                     the call of the SDK, which is imported on first use
    *_wire                                             our words to the JSON of the API, and back

`call` has the requests and replies, `retry` the rules for attempts, `slots` the limits of a
provider, `budget` the budget, `pricing` what tokens cost, `keys` where keys come from, `names` the tool
names that APIs accept.

Answers of APIs are parsed strictly: a malformed one is the provider's error, not the agent's. Calls of
agents are streamed where the API allows it, which shows whether a model is at work or its API sends
nothing. An API that sends nothing is given up shortly before the end of the turn (`adapter.Quiet`) and
makes the execution errored. What a call cost that was cut off is unknown (`may_be_billed`).
"""
