"""Drivers for agents that are not ours: HTTP, programs and Python functions.

`http` sends one message. `streams` joins pieces, `polling` waits for the job of an agent that answers
later, `access_tokens` shares tokens within a process, and `agent_queue` has the slots and pace of an
agent, which all processes share as a rate group. A reply in another shape than the agent declares
(`ReplyMismatchError`) makes the execution errored, not failed: the case is wrong, not the agent.
"""
