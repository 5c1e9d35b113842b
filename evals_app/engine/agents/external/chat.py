"""Replies of agents that follow the chat completions API."""

from typing import Any

from evals_app.engine.agents.external.reply import AgentReply, json_noting
from evals_app.engine.basics.errors import AgentError
from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.apis.openai_wire import error_in, to_reply
from evals_app.engine.llm.apis.wire import UnreadableReplyError, read_complaint
from evals_app.engine.record.trial import ToolCall
from fixtures_app.ground.nesting import TOO_DEEP, is_too_deep
from fixtures_app.ground.quoting import cut_middle


def chat_reply(text: str) -> AgentReply:
    """Read a chat completion.

    Raises:
        AgentError: it is not one.
    """
    doubled: list[str] = []
    try:
        body = json_noting(text, doubled)
        error = error_in(body)
        reply = None if error else to_reply(_with_finish_reason(body), names=ToolNames(()))
    except UnreadableReplyError as exc:
        raise AgentError(
            f"The agent's reply is not a valid chat completion ({exc}): {cut_middle(text)}"
        ) from None
    except (ValueError, RecursionError, AttributeError):
        raise AgentError(
            f"The agent's reply is not a valid chat completion: {cut_middle(text)}"
        ) from None
    if reply is None:
        raise AgentError(f"The agent reports an error: {read_complaint(body).message or error}")
    if doubled:
        raise AgentError(f"The agent's reply has the key {cut_middle(doubled[0])!r} twice.")
    if not reply.is_whole:
        category = f" ({reply.refusal_category})" if reply.refusal_category else ""
        raise AgentError(
            f"A content filter cut off the agent's reply{category}: {cut_middle(reply.text)}"
        )
    if any(is_too_deep(call.arguments) for call in reply.tool_calls):
        raise AgentError(f"The agent calls a tool with {TOO_DEEP}.")
    calls = tuple(ToolCall(call.name, call.arguments) for call in reply.tool_calls)
    note = "The agent asked for tool calls, which this protocol does not support."
    return AgentReply(
        reply.text,
        tool_calls=calls,
        usage=reply.usage,
        model=reply.model or None,
        notes=(*((note,) if calls else ()), *reply.notes),
    )


def _with_finish_reason(body: Any) -> Any:
    """Fill in the finish reason, which an agent may leave out."""
    match body:
        case {"choices": [{"message": {}} as choice, *others]} if (
            choice.get("finish_reason") is None
        ):
            return {**body, "choices": [{**choice, "finish_reason": "stop"}, *others]}
    return body
