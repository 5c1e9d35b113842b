"""The model driver: a system prompt, a model, and a loop of tool calls."""

import asyncio
from dataclasses import replace
from itertools import count

from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.agents.tools.toolbox import Toolbox, result_text
from evals_app.engine.basics.errors import AgentError, ProviderError, ReplyTooLongError
from evals_app.engine.basics.office_text import DocumentError, text_of
from evals_app.engine.llm.call import (
    AGENT,
    MAX_REPLY_BYTES,
    AssistantMessage,
    ChatMessage,
    Complete,
    FileContent,
    ModelCall,
    ModelReply,
    ToolDef,
    ToolRequest,
    ToolResult,
    ToolResults,
    UserMessage,
)
from evals_app.engine.record.trial import Message, ToolCall
from evals_app.engine.record.usage import NO_USAGE
from evals_app.engine.specs.agent_spec import ModelAgent
from evals_app.engine.specs.files import is_shown_as_it_is, text_shown
from evals_app.engine.specs.model_settings import schema_of
from fixtures_app.ground.quoting import cut_middle

_NAMES = {"schema": "response_format"}  # of settings, as people write them
_MAY_COST_MORE = (
    "A call of the model broke off and was repeated. It may have been billed, too: tokens and cost"
    " are only those of the calls that were answered."
)


class ModelSession:
    """Ask the model and run the tools that it requests until it answers."""

    def __init__(
        self, agent: ModelAgent, *, setting: Setting, toolbox: Toolbox, complete: Complete
    ) -> None:
        self._settings = agent.settings
        self._toolbox = toolbox
        self._complete = complete
        self._chat: list[ChatMessage] = [_history(message) for message in setting.history]
        self._call = ModelCall(
            provider=agent.model.provider,
            model=agent.model.name,
            purpose=AGENT,
            messages=(),
            system=setting.system_prompt,
            tools=tuple(
                ToolDef(tool.name, tool.description, tool.parameters)
                for tool in toolbox.tools.values()
            ),
            stream=setting.streaming,
            max_output_tokens=agent.model.max_tokens or agent.settings.max_output_tokens,
            patience_s=agent.settings.provider_patience_s,
            temperature=agent.model.temperature,
            top_p=agent.model.top_p,
            seed=agent.model.seed,
            effort=agent.model.effort,
            schema=schema_of(agent.settings),
        )

    async def respond(self, exchange: Exchange) -> None:
        exchange.usages.append(NO_USAGE)  # unlike drivers that report nothing
        # A failed turn must leave no trace in the history of the next one.
        chat = [*self._chat, _user_message(exchange)]
        for rounds in count():
            reply = await self._ask(chat, exchange)
            message = Message.of_agent(reply.text)
            if reply.stop != "tool":
                _check(reply, message, exchange)
                exchange.messages.append(message)
                self._chat = [*chat, _last_turn(reply, message)]
                return
            if rounds == self._settings.max_tool_rounds:
                raise AgentError(
                    f"The agent was still calling tools after {rounds} rounds, the maximum."
                )
            calls = [await self._run(request) for request in reply.tool_calls]
            exchange.messages.append(replace(message, tool_calls=tuple(calls)))
            results = (
                ToolResult(request.id, call.name, result_text(call), bool(call.error))
                for request, call in zip(reply.tool_calls, calls, strict=True)
            )
            chat += [_turn(reply), ToolResults(tuple(results))]

    async def _ask(self, chat: list[ChatMessage], exchange: Exchange) -> ModelReply:
        call = replace(
            self._call,
            messages=tuple(chat),
            timeout_s=exchange.timeout_s,
            silence_s=exchange.silence_s,
            waiting=exchange.pause,
            refund=exchange.refund,
        )
        asked_at, paused_s = exchange.clock(), exchange.paused_s
        exchange.pending = f"still waiting for the model API of {call.provider}"
        try:
            reply = await self._complete(call)
        except ReplyTooLongError as error:
            exchange.note_unknown()
            exchange.attempts.extend(error.attempts)
            raise AgentError(
                f"The agent's reply is longer than {MAX_REPLY_BYTES // 1000:,} kB."
            ) from None
        except ProviderError as error:
            if error.may_be_billed:
                exchange.note_unknown()
            # The time of a failed call is not the agent's.
            exchange.waited_s += exchange.clock() - asked_at
            raise
        except asyncio.CancelledError:
            # Cut off, perhaps billed: its tokens are unknown, and only its pauses are not the agent's time.
            exchange.note_unknown()
            exchange.waited_s += exchange.paused_s - paused_s
            raise
        exchange.pending = ""
        exchange.waited_s += reply.waited_ms / 1000
        if reply.is_replayed:
            exchange.replayed_s += (reply.latency_ms + reply.waited_ms) / 1000
        exchange.usages.append(reply.usage)
        exchange.costs.append(reply.cost_usd)
        exchange.attempts.extend(reply.attempts)
        exchange.model = reply.model
        if exchange.first_token_ms is None:
            exchange.first_token_ms = reply.first_token_ms
        names = (_NAMES.get(name, name) for name in reply.dropped)
        dropped = (f"The model does not accept {name}; it was left out." for name in names)
        more = (_MAY_COST_MORE,) if reply.may_cost_more else ()
        for note in (*dropped, *more, *reply.notes):
            if note not in exchange.notes:
                exchange.notes.append(note)
        return reply

    async def _run(self, request: ToolRequest) -> ToolCall:
        if request.is_malformed:
            return self._toolbox.refuse(request.name, request.arguments_raw)
        return await self._toolbox.call(request.name, request.arguments)


def _user_message(exchange: Exchange) -> UserMessage:
    """Show images and PDFs as they are, and the text of every other document."""
    shown = tuple(file for file in exchange.files if is_shown_as_it_is(file.media_type))
    texts = [_document_text(file) for file in exchange.files if file not in shown]
    return UserMessage("\n\n".join([*texts, exchange.user]), shown)


def _document_text(file: FileContent) -> str:
    try:
        text = text_of(file.media_type, file.data)
    except DocumentError:
        return text_shown(
            file.name, file.media_type, file.data
        )  # the text says why it cannot be read
    return f"[File {file.name}]\n{text}\n[End of {file.name}]"


def _history(message: Message) -> ChatMessage:
    if message.role == "user":
        return UserMessage(message.text)
    return AssistantMessage(message.text)


def _last_turn(reply: ModelReply, message: Message) -> ChatMessage:
    """Return the reply as later turns see it: without reasoning, which models expect."""
    return AssistantMessage(message.text) if message.reasoning else _turn(reply)


def _turn(reply: ModelReply) -> ChatMessage:
    # Tool calls of a cut reply are never answered, and APIs refuse a turn with unanswered calls.
    is_cut = reply.stop != "tool" and reply.tool_calls
    if is_cut or reply.native_turn is None:
        return AssistantMessage(reply.text)
    return reply.native_turn


def _check(reply: ModelReply, message: Message, exchange: Exchange) -> None:
    """Note a cut reply; raise if it is empty, or if the model did not end it itself."""
    if reply.stop == "length":
        exchange.notes.append("The reply was cut at the output limit in the agent's settings.")
    if reply.stop == "context":
        raise AgentError("The conversation is too long for the model.")
    if message.text.strip() and reply.is_whole:
        return
    category = f" ({reply.refusal_category})" if reply.refusal_category else ""
    if message.text.strip():
        exchange.notes.append(f"The model had written until then: {cut_middle(message.text)}")
        problem = f"A content filter of the model API cut off the reply{category}."
    elif reply.stop == "refusal":
        problem = f"The model refused to answer{category}."
    else:
        if message.reasoning:
            exchange.messages.append(message)  # people see what it did instead
        problem = exchange.no_reply()
    raise AgentError(problem)
