"""Anthropic's Messages API through its SDK."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evals_app.engine.llm.apis.adapter import Adapter, Quiet, RawReply, body_of
from evals_app.engine.llm.apis.anthropic_wire import StreamedMessage, to_reply, to_request
from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.call import ModelCall, ModelReply

if TYPE_CHECKING:
    import anthropic


class AnthropicAdapter(Adapter):
    """The Messages API."""

    modules = ("anthropic",)
    settings = {
        "streaming": re.compile(r"\bstream", re.IGNORECASE),
        "top_p": re.compile(r"\btop_p\b"),
        "temperature": re.compile(r"\btemperature\b"),
        "effort": re.compile(r"\beffort\b"),
        # Not what is wrong inside a schema: that is an error of its author.
        "schema": re.compile(
            r"\boutput[_ ](config\.)?format\b(?!\.schema)|\bstructured outputs?\b", re.IGNORECASE
        ),
    }

    def _new_client(self, sdk: Any, options: Mapping[str, object]) -> "anthropic.AsyncAnthropic":
        client: anthropic.AsyncAnthropic = sdk.AsyncAnthropic(api_key=self.access.key, **options)
        return client

    async def _receive(
        self, call: ModelCall, *, names: ToolNames, without: frozenset[str], quiet: Quiet
    ) -> RawReply:
        request = to_request(call, names=names, without=without)
        if call.stream:
            return await self._receive_stream(request, quiet)
        response = await self._open().messages.with_raw_response.create(**request)
        return RawReply(
            body_of(self.without_key(await response.text())), request_id=response.request_id
        )

    async def _receive_stream(self, request: Mapping[str, object], quiet: Quiet) -> RawReply:
        streamed = StreamedMessage()
        # Not `messages.stream`: it raises if a model writes arguments that are not JSON.
        async with await self._open().messages.create(stream=True, **request) as stream:
            quiet.begin()
            request_id = stream.response.headers.get("request-id")
            if (body := await self._whole(stream.response)) is not None:
                return RawReply(body, request_id=request_id, is_whole=True)
            first_token_at = await self._take_in(stream, into=streamed, quiet=quiet)
        return RawReply(
            self.body_without_key(streamed.message),
            request_id=request_id,
            raw_arguments={
                place: self.without_key(raw) for place, raw in streamed.raw_inputs.items()
            },
            first_token_at=first_token_at,
        )

    def _read(self, arrived: RawReply, *, names: ToolNames) -> ModelReply:
        return to_reply(arrived.body, names=names, raw_inputs=arrived.raw_arguments)
