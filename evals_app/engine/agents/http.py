"""The http driver: an agent somewhere on the network, asked turn by turn.

`protocol: json` posts `Outside.request` and reads what `reply` describes, or JSON of the agent's own
(`wire`). `openai-chat` calls any endpoint for chat completions: of such an agent only the text and
the token counts are known, and the tools that it asks for are recorded without being called.
"""

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.agents.headers import sent_headers
from evals_app.engine.agents.outside import Outside
from evals_app.engine.agents.reply import AgentReply, json_noting, parse_reply
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.agents.wire import filled_request, read_at_places
from evals_app.engine.errors import AgentError, ConfigurationError
from evals_app.engine.llm.call import MAX_REPLY_BYTES
from evals_app.engine.llm.names import ToolNames
from evals_app.engine.llm.openai_wire import error_in, to_reply
from evals_app.engine.llm.wire import UnreadableError, read_complaint
from evals_app.engine.trial import ToolCall
from evals_app.engine.web import Answer, Web, WebError
from evals_app.engine.wire_spec import sent_keys
from fixtures_app.ground.nesting import TOO_DEEP, is_too_deep
from fixtures_app.ground.quoting import shortened


class HttpSession:
    """Post each message with the conversation so far; the endpoint need not remember anything."""

    def __init__(
        self,
        agent: AgentSpec,
        *,
        setting: Setting,
        web: Web,
        environ: Mapping[str, str] = os.environ,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`headers` are sent in addition to the agent's, and stored nowhere."""
        if agent.url is None:
            raise ConfigurationError(f"Agent {agent.slug} has no address.")
        self._agent = agent
        self._url = agent.url
        self._setting = setting
        self._outside = Outside(setting)
        self._headers = {**sent_headers(agent.headers, environ=environ), **headers}
        self._web = web

    async def respond(self, exchange: Exchange) -> None:
        with self._outside.asking(exchange):
            reply = await self._ask(exchange)
        self._outside.note(exchange, reply)

    async def _ask(self, exchange: Exchange) -> AgentReply:
        # W3C Trace Context: the execution is one trace, each turn a span of it.
        span = secrets.token_hex(8)
        try:
            answer = await self._web.ask(
                "POST",
                self._url,
                headers={
                    **self._headers,
                    "traceparent": f"00-{self._setting.session_id}-{span}-01",
                },
                body=self._body(exchange),
                most_bytes=MAX_REPLY_BYTES,
            )
        except WebError as exc:
            raise AgentError(f"The agent did not answer. {exc}") from None
        if not answer.is_ok:
            raise AgentError(f"The agent answered with {answer.problem}")
        if self._agent.protocol == "openai-chat":
            return chat_reply(answer.text)
        if places := self._agent.response:
            return read_at_places(answer.text, places)
        return _json_reply(answer)

    def _body(self, exchange: Exchange) -> Any:
        if self._agent.protocol == "openai-chat":
            return self._chat(self._outside.request(exchange))
        body = self._agent.request
        if body is None:
            return self._outside.request(exchange, takes_files=True)
        takes_files = "files" in sent_keys(body)
        request = self._outside.request(exchange, takes_files=takes_files)
        filled, warnings = filled_request(body, request)
        exchange.notes.extend(warnings)
        return filled

    def _chat(self, request: Mapping[str, Any]) -> dict[str, Any]:
        messages = [*request["history"], {"role": "user", "content": request["input"]}]
        if self._setting.system_prompt:
            messages.insert(0, {"role": "system", "content": self._setting.system_prompt})
        model = {"model": self._agent.remote_model} if self._agent.remote_model else {}
        return {**model, "messages": messages}


def _json_reply(answer: Answer) -> AgentReply:
    """Read a reply; a text may have been sent as JSON, in quotes."""
    if answer.media_type == "application/json":
        if answer.text.strip() == "null":
            raise AgentError(
                "The agent's reply is null; expected a text, or an object with output."
            )
        if answer.text.lstrip().startswith('"'):
            with suppress(ValueError):
                return AgentReply(json.loads(answer.text))
    return parse_reply(answer.text)


def chat_reply(text: str) -> AgentReply:
    """Read a chat completion.

    Raises:
        AgentError: it is not one.
    """
    doubled: list[str] = []
    try:
        body = json_noting(text, doubled)
        error = error_in(body)
        reply = None if error else to_reply(_ended(body), names=ToolNames(()))
    except UnreadableError as exc:
        raise AgentError(
            f"The agent's reply is not a valid chat completion ({exc}): {shortened(text)}"
        ) from None
    except (ValueError, RecursionError, AttributeError):
        raise AgentError(
            f"The agent's reply is not a valid chat completion: {shortened(text)}"
        ) from None
    if reply is None:
        raise AgentError(f"The agent reports an error: {read_complaint(body).message or error}")
    if doubled:
        raise AgentError(f"The agent's reply has the key {shortened(doubled[0])!r} twice.")
    if not reply.is_whole:
        category = f" ({reply.refusal_category})" if reply.refusal_category else ""
        raise AgentError(
            f"A content filter cut off the agent's reply{category}: {shortened(reply.text)}"
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


def _ended(body: Any) -> Any:
    """Fill in why the reply ended: an agent may leave it out."""
    match body:
        case {"choices": [{"message": {}} as choice, *others]} if (
            choice.get("finish_reason") is None
        ):
            return {**body, "choices": [{**choice, "finish_reason": "stop"}, *others]}
    return body
