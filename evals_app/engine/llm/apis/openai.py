"""OpenAI's APIs, and the servers that are compatible with them, through its SDK."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from evals_app.engine.llm.apis import embed_wire as embeddings
from evals_app.engine.llm.apis import openai_wire as chat
from evals_app.engine.llm.apis import responses_wire as responses
from evals_app.engine.llm.apis.adapter import Adapter, Quiet, RawReply, StreamedReply, body_of
from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.apis.openai_stream import StreamedCompletion
from evals_app.engine.llm.apis.retry import AttemptError
from evals_app.engine.llm.apis.wire import read_complaint
from evals_app.engine.llm.call import EmbedCall, Embeddings, ModelCall, ModelReply
from evals_app.engine.network.provider_kinds import KINDS
from fixtures_app.ground.strict_json import JsonObject

if TYPE_CHECKING:
    import openai

# Some servers check what their models write, and return it in an error instead of a reply.
_WRITTEN_BADLY = frozenset({"json_validate_failed", "tool_use_failed"})
_NO_KEY = "none"  # the SDK requires one
_ABOUT_ENDPOINTS = frozenset({400, 404})
_NOT_CHAT = re.compile(r"/?v1/responses\b|not supported in the v1/chat/completions")


class _StreamedBody(StreamedReply, Protocol):
    @property
    def body(self) -> Mapping[str, Any]: ...


class OpenAIAdapter(Adapter):
    """Chat completions, the Responses API for models that need it, and embeddings."""

    modules = ("openai", "openai.resources.chat", "openai.resources.embeddings")
    settings = {
        "streaming": re.compile(r"\bstream", re.IGNORECASE),
        "top_logprobs": re.compile(r"logprobs", re.IGNORECASE),
        "seed": re.compile(r"\bseed\b"),
        "top_p": re.compile(r"\btop_p\b"),
        "temperature": re.compile(r"\btemperature\b"),
        "effort": re.compile(r"\breasoning([_ ]|\.)effort\b"),
        "schema": re.compile(r"\bresponse[_ ]format\b|\bjson_schema\b|\btext\.format\b"),
        "cache_key": re.compile(r"\bprompt_cache_key\b"),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._not_chat: set[tuple[str, bool]] = set()

    async def send(self, call: ModelCall, *, without: frozenset[str]) -> ModelReply:
        if not self.access.kind.has_responses:  # only OpenAI itself knows such a key
            call = replace(call, cache_key=None)
        try:
            return await super().send(call, without=without)
        except AttemptError as error:
            if not self._wants_responses(error, call):
                raise
            # Some refuse only tools there.
            self._not_chat.add((call.model, bool(call.tools)))
            return await super().send(call, without=without)

    async def embed(self, call: EmbedCall) -> Embeddings:
        """Try once to embed texts.

        Raises:
            AttemptError: no vectors.
        """
        create = self._open().embeddings.with_raw_response.create
        started = self.clock()
        receiving = self._receive_whole(create, embeddings.to_request(call))
        arrived = await self.receive(receiving, timeout_s=call.timeout_s)
        with self.reading():
            result = embeddings.to_embeddings(arrived.body, texts=len(call.texts))
        return replace(result, latency_ms=(self.clock() - started) * 1000)

    def _lacks(self, call: ModelCall) -> frozenset[str]:
        lacks = super()._lacks(call)
        return lacks | responses.LACKS if self._is_for_responses(call) else lacks

    def _new_client(self, sdk: Any, options: Mapping[str, object]) -> "openai.AsyncOpenAI":
        client: openai.AsyncOpenAI = sdk.AsyncOpenAI(api_key=self.access.key or _NO_KEY, **options)
        # Settings of the environment for OpenAI are not meant for every compatible server.
        client.organization = client.project = client.admin_api_key = None
        return client

    def _headers(self) -> JsonObject:
        if self.access.kind is not KINDS["azure_openai"]:
            return {}
        return {"api-key": self.access.key, "Authorization": self._sdk().Omit()}

    def _is_for_responses(self, call: ModelCall) -> bool:
        return (call.model, bool(call.tools)) in self._not_chat or responses.is_native(call)

    def _wants_responses(self, error: AttemptError, call: ModelCall) -> bool:
        return (
            self.access.kind.has_responses
            and error.status in _ABOUT_ENDPOINTS
            and not self._is_for_responses(call)
            and _NOT_CHAT.search(error.complaint.message) is not None
        )

    async def _receive(
        self, call: ModelCall, *, names: ToolNames, without: frozenset[str], quiet: Quiet
    ) -> RawReply:
        client = self._open()
        into: _StreamedBody
        if self._is_for_responses(call):
            request = responses.to_request(call, names=names, without=without)
            resource, into = client.responses, responses.StreamedResponse()
        else:
            parameter = self.access.max_tokens_parameter
            request = chat.to_request(
                call, names=names, without=without, max_tokens_parameter=parameter
            )
            resource, into = client.chat.completions, StreamedCompletion()
        if call.stream:
            created = resource.create(stream=True, **request, extra_headers=self._headers())
            return await self._receive_stream(created, into=into, quiet=quiet)
        return await self._receive_whole(resource.with_raw_response.create, request)

    async def _receive_whole(
        self, create: Callable[..., Awaitable[Any]], request: Mapping[str, object]
    ) -> RawReply:
        response = await create(**request, extra_headers=self._headers())
        body = body_of(self.without_key(response.text))
        self._check(body, headers=response.headers)
        return RawReply(body, request_id=response.headers.get("x-request-id") or _id(body))

    async def _receive_stream(
        self,
        created: Awaitable[Any],
        *,
        into: _StreamedBody,
        quiet: Quiet,
    ) -> RawReply:
        first_token_at = None
        async with await created as stream:
            quiet.begin()
            headers, body = stream.response.headers, await self._whole(stream.response)
            is_whole = body is not None
            if body is None:
                first_token_at = await self._take_in(stream, into=into, quiet=quiet)
                body = self.body_without_key(into.body)
        self._check(body, headers=headers)
        return RawReply(
            body,
            request_id=headers.get("x-request-id") or _id(body),
            first_token_at=first_token_at,
            is_whole=is_whole,
        )

    def _check(self, body: Mapping[str, object], *, headers: Mapping[str, str]) -> None:
        """Raise an error that came after a status of 200."""
        if error := chat.error_in(body):
            raise self.to_error(read_complaint(error), headers=headers, request_id=_id(body))

    def _read(self, arrived: RawReply, *, names: ToolNames) -> ModelReply:
        read = responses.to_reply if "output" in arrived.body else chat.to_reply
        return read(arrived.body, names=names)

    def _reply_in_error(
        self, error: AttemptError, *, call: ModelCall, without: frozenset[str]
    ) -> ModelReply:
        if self._wants_responses(error, call):
            raise error
        written = error.complaint.error.get("failed_generation")
        if error.complaint.code in _WRITTEN_BADLY and isinstance(written, str) and written:
            return ModelReply(text=written, model=call.model)
        return super()._reply_in_error(error, call=call, without=without)


def _id(body: Mapping[str, object]) -> str | None:
    given = body.get("id")
    return given if isinstance(given, str) else None
