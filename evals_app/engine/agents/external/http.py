"""The http driver: an agent somewhere on the network, asked turn by turn.

`protocol: json` sends `Outside.request` and reads what `reply` describes, or JSON of the agent's own
(`wire`), as a whole or in pieces (`streams`). `openai-chat` calls any endpoint for chat completions: of such an agent only the text and
the token counts are known, and the tools that it asks for are recorded without being called.
"""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, nullcontext, suppress
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from evals_app.engine.agents.external.access_tokens import AccessToken
from evals_app.engine.agents.external.agent_queue import AgentQueue
from evals_app.engine.agents.external.chat import chat_reply
from evals_app.engine.agents.external.client_certificates import certificate_context
from evals_app.engine.agents.external.outside import Outside
from evals_app.engine.agents.external.polling import AgentJob
from evals_app.engine.agents.external.reply import AgentReply, parse_reply
from evals_app.engine.agents.external.sending import OutgoingRequest, encode_fields, with_query
from evals_app.engine.agents.external.streams import (
    MAX_STREAM_BYTES,
    events_in,
    format_of,
    pieces_for,
)
from evals_app.engine.agents.external.wire import fill_path, filled_request, read_at_places
from evals_app.engine.agents.headers import header_text, secrets_of, sent_headers
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.basics.errors import AgentError, ReplyMismatchError
from evals_app.engine.llm.apis.retry import retry_after_s
from evals_app.engine.llm.call import MAX_REPLY_BYTES
from evals_app.engine.network.addresses import read_url
from evals_app.engine.network.web import ArrivingAnswer, Web, WebAnswer, WebError
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.specs.agent_spec import HttpAgent
from evals_app.engine.specs.sending_spec import FILES, WITHOUT_BODY
from evals_app.engine.specs.tool_spec import without_variables
from evals_app.engine.specs.wire_spec import AGENT_SESSION, SESSION, StreamSpec, sent_keys

_STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_MAX_RETRIES = 5


class HttpSession:
    """Send each message with the conversation so far; the endpoint need not remember anything."""

    def __init__(
        self,
        agent: HttpAgent,
        *,
        setting: Setting,
        web: Web,
        environ: Mapping[str, str] = os.environ,
        headers: Mapping[str, str] = MappingProxyType({}),
        queue: AgentQueue | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`headers` are sent in addition to the agent's, and stored nowhere."""
        self._agent = agent
        self._setting = setting
        self._outside = Outside(setting)
        own = sent_headers(agent.headers, urls=agent.called_urls, environ=environ)
        self._headers = {**own, **headers}
        self._web = web
        self._queue = queue
        self._sleep = sleep
        self._token = None
        if agent.oauth is not None:
            self._token = AccessToken(agent.oauth, web=web, environ=environ)
        self._agent_session: str | None = None

    async def respond(self, exchange: Exchange) -> None:
        with self._outside.asking(exchange):
            reply = await self._ask(exchange)
        self._agent_session = reply.session_id or self._agent_session
        self._outside.note(exchange, reply)

    async def _ask(self, exchange: Exchange) -> AgentReply:
        """Send the message until the agent takes it, as long as the turn lasts."""
        request = self._request(exchange)
        retries, is_token_new = 0, False
        while True:
            token = await self._token_value(exchange)
            place = self._queue.place(exchange) if self._queue else nullcontext()
            async with place:
                answered = await self._ask_once(
                    exchange, request, self._sent_headers(exchange, token)
                )
            if isinstance(answered, AgentReply):
                return answered
            if answered.status == HTTPStatus.UNAUTHORIZED and self._token and not is_token_new:
                self._token.forget(token)  # it may have been withdrawn before it expired
                is_token_new = True
            else:
                await self._pause(answered, exchange, retries=retries)
                retries += 1

    async def _ask_once(
        self, exchange: Exchange, request: OutgoingRequest, headers: Mapping[str, str]
    ) -> AgentReply | WebAnswer:
        """Send the message once; return the reply, or an answer that says why there is none."""
        sending = self._web.sending(
            self._agent.method,
            request.url,
            headers={**headers, **_accept_header(self._agent.stream), **request.headers},
            body=request.body,
            content=request.content,
            most_bytes=MAX_STREAM_BYTES if self._agent.stream else MAX_REPLY_BYTES,
        )
        sent_at = exchange.clock()
        try:
            async with sending as arriving:
                if (stream := self._agent.stream) and arriving.is_ok:
                    return await self._read_stream(stream, arriving, exchange, sent_at=sent_at)
                answer = await arriving.whole()
            if not answer.is_ok:
                return answer
            if (poll := self._agent.poll) is not None:
                job = AgentJob(poll, web=self._web, agent_url=request.url, headers=headers)
                answer = await job.result(answer, exchange, sleep=self._sleep)
        except WebError as exc:
            raise AgentError(f"The agent did not answer. {exc}") from None
        return self._read(answer)

    async def _token_value(self, exchange: Exchange) -> str | None:
        if self._token is None:
            return None
        with exchange.waiting("still waiting for an access token"):
            return await self._token.value()

    def _sent_headers(self, exchange: Exchange, token: str | None) -> dict[str, str]:
        headers = {}
        for name, value in self._headers.items():
            if AGENT_SESSION not in value:
                headers[name] = value
            elif self._agent_session is not None:  # unknown in the first turn
                headers[name] = value.replace(AGENT_SESSION, header_text(self._agent_session))
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return {**headers, "traceparent": self._outside.traceparent(exchange)}

    async def _pause(self, answer: WebAnswer, exchange: Exchange, *, retries: int) -> None:
        """Wait before resending, if the agent asks for it and there is time.

        Raises:
            AgentError: it does not, or there is none.
        """
        problem = f"The agent answered with {answer.problem}"
        if answer.status not in _BUSY or retries == _MAX_RETRIES:
            raise AgentError(problem)
        pause = retry_after_s(answer.headers, now=time.time()) or 2.0**retries
        if pause >= exchange.left_s:
            raise AgentError(
                f"{problem.rstrip('.')}. The message was to be sent again after {pause:g} s, but the"
                f" turn has only {max(exchange.left_s, 0):.1f} s left."
            )
        exchange.attempts.append(Attempt(problem, pause * 1000))
        exchange.pending = f"still waiting to send the message again ({answer.problem})"
        await self._sleep(pause)
        exchange.pending = ""

    async def _read_stream(
        self, stream: StreamSpec, arriving: ArrivingAnswer, exchange: Exchange, *, sent_at: float
    ) -> AgentReply:
        """Read a reply that arrives in pieces, and note when the first one came."""
        if stream.format == "sse" and arriving.media_type == "application/json":
            exchange.notes.append("The agent answered as a whole, not as a stream.")
            return self._read(await arriving.whole())
        pieces = pieces_for(
            stream,
            is_chat=self._agent.protocol == "openai-chat",
            places=self._agent.response,
        )
        async with aclosing(events_in(arriving.lines(), format=stream.format)) as events:
            async for event in events:
                if pieces.add(event) and exchange.first_token_ms is None:
                    exchange.first_token_ms = (exchange.clock() - sent_at) * 1000
        return pieces.reply(self._web.hide)

    def _read(self, answer: WebAnswer) -> AgentReply:
        """Read a reply that arrived as a whole."""
        if self._agent.stream is None and (found := format_of(answer.media_type, answer.text)):
            raise ReplyMismatchError(
                f"The agent answers in pieces ({answer.media_type or 'without a media type'}), which"
                f" its description does not say. Write stream: {{format: {found}}}, or choose it"
                " under “Reply arrives” on the page of the agent."
            )
        if self._agent.protocol == "openai-chat":
            return chat_reply(answer.text)
        if places := self._agent.response:
            return read_at_places(answer.text, places)
        return _json_reply(answer)

    def _request(self, exchange: Exchange) -> OutgoingRequest:
        agent = self._agent
        if agent.protocol == "openai-chat":
            return OutgoingRequest(agent.url, self._chat(self._outside.request(exchange)))
        is_usual = agent.request is None and agent.method not in WITHOUT_BODY
        known = self._outside.request(
            exchange,
            takes_files=is_usual or FILES in sent_keys(agent.request),
            are_whole=agent.request_format == "multipart",
        )
        values = {**known, SESSION: self._agent_session}
        query = self._fill(agent.query, values, exchange, is_form=True)
        url = with_query(fill_path(agent.url, values), query)
        if is_usual:
            return OutgoingRequest(url, known)
        if agent.request is None:
            return OutgoingRequest(url)
        is_form = agent.request_format != "json"
        fields = self._fill(agent.request, values, exchange, is_form=is_form)
        return encode_fields(url, fields, agent.request_format)

    def _fill(
        self,
        fields: Mapping[str, object],
        values: Mapping[str, object],
        exchange: Exchange,
        *,
        is_form: bool,
    ) -> dict[str, object]:
        filled, warnings = filled_request(fields, values, is_form=is_form)
        exchange.notes.extend(warning for warning in warnings if warning not in exchange.notes)
        return filled

    def _chat(self, request: Mapping[str, Any]) -> dict[str, object]:
        messages = [*request["history"], {"role": "user", "content": request["input"]}]
        if self._setting.system_prompt:
            messages.insert(0, {"role": "system", "content": self._setting.system_prompt})
        model = {"model": self._agent.remote_model} if self._agent.remote_model else {}
        return {**model, "messages": messages, **(_STREAMED if self._agent.stream else {})}


def web_for(
    agent: HttpAgent, *, secrets: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> Web:
    """Return the connections of one conversation with an agent.

    Raises:
        ConfigurationError: its client certificate cannot be used.
    """
    contexts = {}
    if (spec := agent.client_certificate) is not None:
        context = certificate_context(spec, urls=agent.certified_urls, environ=environ)
        contexts = {
            read_url(without_variables(url)).authority: context for url in agent.certified_urls
        }
    return Web(
        secrets=[*secrets, *secrets_of([agent.headers], environ=environ)],
        contexts=contexts,
        keeps_cookies=agent.keeps_cookies,
    )


def _accept_header(stream: StreamSpec | None) -> dict[str, str]:
    """Return the header that asks for a stream; some agents send one only then."""
    if stream is None:
        return {}
    media_type = "text/event-stream" if stream.format == "sse" else "application/x-ndjson"
    return {"accept": f"{media_type}, application/json;q=0.9, */*;q=0.1"}


def _json_reply(answer: WebAnswer) -> AgentReply:
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
