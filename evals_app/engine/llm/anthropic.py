"""Anthropic's Messages API through its SDK: one attempt of one call."""

import asyncio
import http
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evals_app.engine.errors import (
    AuthFailedError,
    BadRequestError,
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    TimedOutError,
    UnavailableError,
)
from evals_app.engine.llm.anthropic_wire import (
    SETTINGS,
    StreamedMessage,
    UnreadableError,
    sent_settings,
    to_reply,
    to_request,
)
from evals_app.engine.llm.call import ModelCall, ModelReply
from evals_app.engine.llm.names import ToolNames
from evals_app.engine.llm.retry import AttemptError, SettingRefusedError, retry_after_s
from evals_app.engine.trial import NO_USAGE

if TYPE_CHECKING:
    import anthropic

_PREMATURE_END = "broke off its reply"
_LONGEST_DETAIL = 500

_STATUS_WORDS = {
    401: "key refused",
    403: "not permitted",
    429: "rate limited",
    500: "internal error",
    529: "overloaded",
}

# An error inside a stream comes after the 200 was sent: only its type tells the status.
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}

# 429s that no waiting cures; the first is what compatible servers say.
_QUOTA_CODES = frozenset(
    {"insufficient_quota", "contract_spend_limit_reached", "enforced_spend_limit_reached"}
)
_TOO_LONG = re.compile(r"prompt is too long|input is too long|exceeds? (the )?context", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A message as it came over the wire."""

    message: Mapping[str, Any]
    request_id: str | None
    raw_inputs: Mapping[int, str] = field(default_factory=dict)
    first_token_at: float | None = None


def preload() -> None:
    """Import the SDK now: it takes a second, which workers spend once, before they fork."""
    import anthropic  # noqa: F401, PLC0415 - web processes never pay for it


class AnthropicAdapter:
    """Sends single attempts; slots, waiting and retries are the caller's.

    `clock` measures durations, `now` is the Unix time for dates in headers.
    """

    def __init__(
        self,
        *,
        api_key: str,
        api_key_env: str,
        base_url: str | None,
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._api_key = api_key
        self._api_key_env = api_key_env
        self._base_url = base_url
        self._clock = clock
        self._now = now
        self._client: anthropic.AsyncAnthropic | None = None

    async def close(self) -> None:
        """Close the connections, if there ever were any."""
        if self._client is not None:
            await self._client.close()

    async def send(self, call: ModelCall, *, without: frozenset[str]) -> ModelReply:
        """Try once, leaving out the settings in `without`.

        Raises:
            AttemptError: no reply.
            SettingRefusedError: the model does not accept a setting that was sent.
        """
        names = ToolNames(tool.name for tool in call.tools)
        settings = sent_settings(call, without=without)
        request = to_request(call, names=names, without=without)
        client = self._open_client()  # the first time it takes a second, which is nobody's latency
        receive = self._receive_stream if call.stream else self._receive_whole
        started = self._clock()
        try:
            arrived = await self._bounded(receive(client, request), timeout_s=call.timeout_s)
            reply = to_reply(arrived.message, names=names, raw_inputs=arrived.raw_inputs)
        except UnreadableError as error:
            raise _unreadable(str(error)) from None
        except AttemptError as error:
            reply = self._reply_in_error(error, call=call, settings=settings)
            arrived = _Arrived({}, request_id=error.request_id)
        first = arrived.first_token_at
        return replace(
            reply,
            latency_ms=(self._clock() - started) * 1000,
            first_token_ms=None if first is None else (first - started) * 1000,
            request_id=arrived.request_id,
            sent=settings,
            dropped=tuple(sorted(without)),
        )

    def _reply_in_error(
        self, error: AttemptError, *, call: ModelCall, settings: Mapping[str, Any]
    ) -> ModelReply:
        # Two kinds of 400 are news about the model rather than mistakes in the request.
        if error.status == http.HTTPStatus.BAD_REQUEST:
            if _TOO_LONG.search(error.detail):
                return ModelReply(stop="context", usage=NO_USAGE, model=call.model)
            for name in SETTINGS:
                if name in settings and re.search(rf"\b{name}\b", error.detail):
                    raise SettingRefusedError(name) from None
        raise error

    async def _bounded(self, receiving: Awaitable[_Arrived], *, timeout_s: float) -> _Arrived:
        import anthropic  # noqa: PLC0415 - web processes never pay for the SDK
        import httpx2  # noqa: PLC0415

        try:
            async with asyncio.timeout(timeout_s):
                return await receiving
        except TimeoutError:
            what = f"did not answer within {timeout_s:g} s"
            raise AttemptError(TimedOutError, what) from None
        except anthropic.APIConnectionError as error:
            is_sent = not isinstance(error.__cause__, httpx2.ConnectError)
            what = _PREMATURE_END if is_sent else "could not be reached"
            detail = self._clean(str(error.__cause__ or ""))
            raise AttemptError(UnavailableError, what, detail=detail, is_billable=is_sent) from None
        except anthropic.APIStatusError as error:
            raise self._to_attempt_error(error) from None
        except httpx2.HTTPError as error:
            # The SDK wraps what breaks before the body of a stream, not what breaks within.
            detail = self._clean(str(error))
            raise AttemptError(UnavailableError, _PREMATURE_END, detail=detail) from None

    async def _receive_whole(
        self, client: "anthropic.AsyncAnthropic", request: Mapping[str, Any]
    ) -> _Arrived:
        # The raw body, not the SDK's objects: the turn goes back exactly as it came.
        response = await client.messages.with_raw_response.create(**request)
        try:
            message = json.loads(await response.text())
        except (ValueError, RecursionError):
            raise _unreadable("it is not JSON") from None
        if not isinstance(message, dict):
            raise _unreadable("it is JSON, but not an object")
        return _Arrived(message, request_id=response.request_id)

    async def _receive_stream(
        self, client: "anthropic.AsyncAnthropic", request: Mapping[str, Any]
    ) -> _Arrived:
        streamed = StreamedMessage()
        first_token_at: float | None = None
        # Not `messages.stream`: it raises where a model writes arguments that are not JSON.
        async with await client.messages.create(stream=True, **request) as stream:
            headers = stream.response.headers
            if "text/event-stream" not in headers.get("content-type", ""):
                raise _unreadable("it is not a stream of events")
            try:
                async for event in stream:
                    is_token = streamed.add(event.to_dict(mode="json"))
                    if is_token and first_token_at is None:
                        first_token_at = self._clock()
            except (LookupError, TypeError, AttributeError, ValueError):
                detail = "its events do not fit together"
                raise AttemptError(UnavailableError, _PREMATURE_END, detail=detail) from None
        if not streamed.is_complete:
            raise AttemptError(UnavailableError, _PREMATURE_END)
        return _Arrived(
            streamed.message,
            request_id=headers.get("request-id"),
            raw_inputs=streamed.raw_inputs,
            first_token_at=first_token_at,
        )

    def _open_client(self) -> "anthropic.AsyncAnthropic":
        import anthropic  # noqa: PLC0415 - web processes never pay for the SDK

        if self._client is None:
            self._client = anthropic.AsyncAnthropic(
                api_key=self._api_key,
                base_url=self._base_url,
                # The SDK would sleep through any Retry-After, holding a slot and hearing nobody.
                max_retries=0,
                timeout=None,  # ours bounds the whole attempt
            )
        return self._client

    def _to_attempt_error(self, error: "anthropic.APIStatusError") -> AttemptError:
        status = error.status_code
        kind_of_error = str(error.type or "")
        is_begun = status == http.HTTPStatus.OK
        if is_begun:
            status = _STATUS_OF_TYPE.get(kind_of_error, 500)
        kind = _kind(status, type_=kind_of_error, code=_code(error))
        detail = error.api_message if isinstance(error.api_message, str) else ""
        if isinstance(error.body, str) and not error.body.startswith("<"):
            detail = error.body  # a proxy's plain text explains; its HTML does not
        detail = self._clean(detail)
        if status == http.HTTPStatus.UNAUTHORIZED:
            detail = f"{detail}. Check the environment variable {self._api_key_env}".lstrip(". ")
        wish = error.response.headers.get("x-should-retry")
        return AttemptError(
            kind,
            f"answered {status} ({_words(status)})",
            detail=detail,
            status=status,
            retry_after_s=retry_after_s(error.response.headers, now=self._now()),
            should_retry={"true": True, "false": False}.get(wish or ""),
            request_id=error.request_id,
            is_billable=is_begun,
        )

    def _clean(self, text: str) -> str:
        # Some servers repeat what they were sent, and people will read this.
        text = " ".join(text.replace(self._api_key, "[key]").split())
        return text if len(text) <= _LONGEST_DETAIL else f"{text[:_LONGEST_DETAIL]}..."


def _unreadable(reason: str) -> AttemptError:
    return AttemptError(BadRequestError, "sent a reply that cannot be read", detail=reason)


def _code(error: "anthropic.APIStatusError") -> str | None:
    if error.error_code is not None:
        return error.error_code
    inner = error.body.get("error") if isinstance(error.body, dict) else None
    code = inner.get("code") if isinstance(inner, dict) else None
    return code if isinstance(code, str) else None


def _kind(status: int, *, type_: str, code: str | None) -> type[ProviderError]:
    match status:
        case 402:
            return QuotaExhaustedError
        case 429:
            is_spent = type_ == "billing_error" or code in _QUOTA_CODES
            return QuotaExhaustedError if is_spent else RateLimitedError
        case 401 | 403:
            return AuthFailedError
        case 408 | 409:
            return UnavailableError
        case _ if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            return UnavailableError
        case _:
            return BadRequestError


def _words(status: int) -> str:
    if status in _STATUS_WORDS:
        return _STATUS_WORDS[status]
    try:
        return http.HTTPStatus(status).phrase.lower()
    except ValueError:
        return "unknown status"
