"""The user's side of a conversation, where a model has a part in it.

    stated_values   numbers, ids and addresses in a text, and those that were never given
    simulated       a user whom a model plays, by rules that code checks
    replay          whether a real user's recorded words still fit

Whatever a model does wrong here ends the conversation with the cause `user`: it is never blamed on
the agent.
"""
