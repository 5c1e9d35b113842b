"""One attempt of one call through an SDK: what the APIs have in common."""

import asyncio
import http
import importlib
import json
import math
import re
import socket
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, Protocol, TypeVar

from evals_app.engine.basics.errors import (
    AuthFailedError,
    BadRequestError,
    ConfigurationError,
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    ReplyTooLongError,
    TimedOutError,
    UnavailableError,
    WebError,
)
from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.apis.retry import AttemptError, SettingRefusedError, retry_after_s
from evals_app.engine.llm.apis.wire import (
    Complaint,
    UnreadableReplyError,
    given_settings,
    label,
    read_complaint,
)
from evals_app.engine.llm.call import MAX_REPLY_BYTES, ModelCall, ModelReply, NativeTurn, Silence
from evals_app.engine.network.provider_kinds import ApiKind
from evals_app.engine.network.web import look_up, proxy_for
from evals_app.engine.record.usage import NO_USAGE
from fixtures_app.ground.strict_json import Json, JsonObject

R = TypeVar("R")

# Of all that an API sends for one call: about 350 per streamed token, 20 per number of a vector.
_MAX_BYTES = 50_000_000
# Signed thoughts and escapes make a turn longer than its text, within limits.
_MAX_THOUGHTS = 4
_MAX_STREAMED = _MAX_THOUGHTS * MAX_REPLY_BYTES
# A model may think for minutes without sending, and some routers drop idle connections.
_KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 5),
)
_UNTRUSTED = (
    "Its message is hidden because your administrator has not listed its host (EVALS_KEY_VARIABLES)"
)

_PREMATURE_END = "cut off its reply"
# What the first connection would import.
_OF_CONNECTIONS = (
    *("evals_app.engine.network.checked_transport", "httpcore2", "anyio._backends._asyncio"),
)
_MAX_DETAIL = 500

_STATUS_WORDS = {
    401: "key refused",
    403: "not permitted",
    429: "rate limited",
    500: "internal error",
    529: "overloaded",
}
_KINDS: dict[int, type[ProviderError]] = {
    401: AuthFailedError,
    402: QuotaExhaustedError,
    403: AuthFailedError,
    408: UnavailableError,
    409: UnavailableError,
}

# 429s that waiting does not fix.
_QUOTA_CODES = frozenset(
    {
        *("insufficient_quota", "billing_not_active", "billing_error"),
        *("contract_spend_limit_reached", "enforced_spend_limit_reached"),
    }
)
_TOO_LONG = re.compile(
    r"(prompt|input) is too long|exceeds? (the )?(available )?context|context_length_exceeded"
    r"|maximum context length|exceeds the maximum number of tokens",
    re.ASCII | re.IGNORECASE,
)
_FLAGGED_CODES = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
_ABOUT_SETTINGS = frozenset({400, 403, 422})
_ABOUT_LENGTH = frozenset({400, 413})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

# Some servers show the ends of a key: sk-ab****cd.
_BLOT = "[key]"
_MIN_SECRET = 12
_HALF_A_KEY = re.compile(r"\S*\*{3,}[^\s.,]*")


@dataclass(frozen=True, slots=True)
class Access:
    """How a provider's API is reached. `variable` is where the key came from; both may be empty.

    `permitted` are the hosts of private networks that may be called. Errors of a host are
    shown only if it `is_trusted`: any other could be an internal server.
    """

    kind: ApiKind
    base_url: str
    max_tokens_parameter: str
    key: str = field(default="", repr=False)
    variable: str = ""
    permitted: tuple[str, ...] = ()
    is_trusted: bool = True


@dataclass(frozen=True, slots=True)
class RawReply:
    """A reply as it came over the wire.

    `raw_arguments` are tool arguments as they were streamed, if the reply does not contain them.
    `is_whole`: it came in one piece, although it was asked for as a stream.
    """

    body: Mapping[str, object]
    request_id: str | None
    raw_arguments: Mapping[int, str] = field(default_factory=dict)
    first_token_at: float | None = None
    is_whole: bool = False


class StreamedReply(Protocol):
    """A reply assembled from a stream; `size` counts its characters, thoughts included.

    `pieces` counts the events with content; keep-alive events do not count.
    """

    is_complete: bool
    size: int
    pieces: int

    def add(self, event: Mapping[str, object]) -> bool:
        """Add one event; return whether it had text or a tool call."""


class Quiet:
    """Ends an attempt in which nothing (more) of an answer comes.

    A model `is_thinking` once its API has begun to answer, or if that will not be seen.
    """

    def __init__(self, silence_s: Silence | None = None, *, is_thinking: bool = False) -> None:
        self.timer = asyncio.timeout(None)
        self._silence_s = silence_s
        self._is_thinking = is_thinking
        self._allowed_s = 0.0
        self._has_heard = False

    def listen(self) -> None:
        """Begin to wait, or continue."""
        if self._silence_s is not None and not self.timer.expired():
            self._allowed_s = self._silence_s(is_thinking=self._is_thinking)
            is_endless = math.isinf(self._allowed_s)
            until = asyncio.get_running_loop().time() + self._allowed_s
            self.timer.reschedule(None if is_endless else until)

    def begin(self) -> None:
        """Note that the API has begun to answer, which may remove the limit of the wait."""
        self._is_thinking = True
        if self._silence_s is not None and math.isinf(self._silence_s(is_thinking=True)):
            self.listen()

    def hear(self) -> None:
        """Note that something has come."""
        self._has_heard, self._is_thinking = True, False
        self.listen()

    def what(self) -> str:
        """Describe what was wrong; continues the provider's name."""
        how = "stopped in the middle of its reply for" if self._has_heard else "sent nothing for"
        return f"{how} {round(self._allowed_s, 1):g} s"


class Adapter(ABC):
    """One model API: sends single attempts; the caller does slots, waiting and retries.

    `clock` measures durations, `now` is the Unix time for dates in headers.
    """

    # Of the SDK, the package first: imported only when needed, for web processes need not pay for it.
    modules: ClassVar[tuple[str, ...]]
    # How a refusal names each setting; the less important first, if two are refused together.
    settings: ClassVar[Mapping[str, re.Pattern[str]]]
    _client: Any = None

    def __init__(
        self, access: Access, *, clock: Callable[[], float], now: Callable[[], float]
    ) -> None:
        self.access = access
        self.clock = clock
        self._now = now
        self._unstreamed: set[str] = set()  # models that stream nothing, or no token counts

    @classmethod
    def preload(cls) -> None:
        """Import the SDK and what connections need: workers pay for it once, before they fork."""
        for module in cls.modules:
            importlib.import_module(module)
        for module in _OF_CONNECTIONS:
            with suppress(ImportError):  # another version may have none of this name
                importlib.import_module(module)
        from evals_app.engine.network.checked_transport import trust  # noqa: PLC0415 - as above

        trust()

    async def close(self) -> None:
        """Close the connections, if any were opened."""
        if self._client is not None:
            await self._client.close()

    async def send(self, call: ModelCall, *, without: frozenset[str]) -> ModelReply:
        """Try once, without the settings in `without` and those that its kind does not have.

        Raises:
            AttemptError: no reply.
            SettingRefusedError: the model does not accept a setting that was sent.
        """
        self._check_files(call)
        without |= {name for name in self._lacks(call) if getattr(call, name) is not None}
        is_measured, call = call.stream, replace(call, stream=self._streams(call, without))
        names = ToolNames(tool.name for tool in call.tools)
        self._open()  # the first time it takes a second, which is not latency
        started = self.clock()
        try:
            arrived, reply = await self._attempt(call, names=names, without=without)
        except AttemptError as error:
            arrived = RawReply({}, request_id=error.request_id)
            reply = self._reply_in_error(error, call=call, without=without)
        first = arrived.first_token_at
        return replace(
            reply,
            latency_ms=(self.clock() - started) * 1000,
            first_token_ms=(first - started) * 1000 if is_measured and first is not None else None,
            request_id=label(self.without_key(arrived.request_id or "")) or None,
            sent=self._request_body(call, without=without),
            dropped=tuple(sorted(without)),
        )

    def _streams(self, call: ModelCall, without: frozenset[str]) -> bool:
        """Return whether to stream a call: on request, or if it helps and costs nothing."""
        if "streaming" in without or call.streaming is None:
            return False
        return call.stream or call.model not in self._unstreamed

    def _lacks(self, call: ModelCall) -> frozenset[str]:
        """Return the settings that cannot be sent with this call."""
        return self.access.kind.lacks

    @abstractmethod
    def _new_client(self, sdk: object, options: Mapping[str, object]) -> object:
        """Make a client with these options."""

    @abstractmethod
    async def _receive(
        self, call: ModelCall, *, names: ToolNames, without: frozenset[str], quiet: Quiet
    ) -> RawReply:
        """Send a call and receive the answer; `quiet` is notified of each piece."""

    @abstractmethod
    def _read(self, arrived: RawReply, *, names: ToolNames) -> ModelReply:
        """Read the answer.

        Raises:
            UnreadableReplyError: it is not a reply.
        """

    def _sdk(self) -> Any:
        return importlib.import_module(self.modules[0])

    def _open(self) -> Any:
        """Return the client, made on first use."""
        if self._client is None:
            self._client = self._new_client(self._sdk(), self._client_options())
            # *_CUSTOM_HEADERS may contain another key, and are meant for other programs.
            self._client._custom_headers = {}  # noqa: SLF001 - there is no other way
        return self._client

    def _client_options(self) -> JsonObject:
        """Return the options of the clients of both SDKs."""
        return {
            "base_url": self.access.base_url,
            # An SDK would sleep through Retry-After, or ignore it, and keep a slot meanwhile.
            "max_retries": 0,
            "timeout": None,  # ours bounds the whole attempt
            # On a redirect to another host a client would send every key except that in Authorization.
            "http_client": self._sdk().DefaultAsyncHttpxClient(
                follow_redirects=False,
                timeout=None,
                headers={"accept-encoding": "identity"},
                transport=_transport(self.access),
            ),
        }

    async def _whole(self, response: Any) -> Mapping[str, object] | None:
        """Return the answer of an API that was asked for a stream and does not know how; else None."""
        if "application/json" not in response.headers.get("content-type", ""):
            return None
        await response.aread()
        return body_of(self.without_key(response.text))

    async def _take_in(self, stream: Any, *, into: StreamedReply, quiet: Quiet) -> float | None:
        """Read a stream to its end; return the moment of its first token."""
        if "text/event-stream" not in stream.response.headers.get("content-type", ""):
            raise unreadable("it is not a stream of events")
        first_token_at: float | None = None
        # Events as they came: the SDKs' objects, of which nothing is needed, take most of the time.
        stream._cast_to = object  # noqa: SLF001 - there is no other way
        try:
            async for event in stream:
                pieces = into.pieces
                is_token = into.add(event)
                if into.pieces > pieces:
                    quiet.hear()
                if is_token and first_token_at is None:
                    first_token_at = self.clock()
                if into.size > _MAX_STREAMED:
                    raise _too_long()
        except UnreadableReplyError as error:
            raise unreadable(self._clean(str(error))) from None
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError):
            raise broken_off("its events do not fit together") from None
        if not into.is_complete:
            raise broken_off()
        return first_token_at

    async def _attempt(
        self, call: ModelCall, *, names: ToolNames, without: frozenset[str]
    ) -> tuple[RawReply, ModelReply]:
        quiet = Quiet(call.silence_s, is_thinking=not call.stream)
        receiving = self._receive(call, names=names, without=without, quiet=quiet)
        arrived = await self.receive(receiving, timeout_s=call.timeout_s, quiet=quiet)
        with self.reading():
            reply = self._read(arrived, names=names)
        if _size(reply) > MAX_REPLY_BYTES:
            raise _too_long()
        # Most APIs that do not count the tokens of streams count those of whole answers.
        if call.stream and (arrived.is_whole or reply.usage.output is None):
            self._unstreamed.add(call.model)
        return arrived, reply

    def _request_body(self, call: ModelCall, *, without: frozenset[str]) -> JsonObject:
        # Schema and cache key are long and known, and streaming does not change the answer.
        hidden = {"schema", "cache_key", "streaming"}
        given = given_settings(call, self.settings, without=without | hidden)
        return {"max_output_tokens": call.max_output_tokens, **given}

    def _check_files(self, call: ModelCall) -> None:
        taken = self.access.kind.media_types
        for file in call.files:
            if file.media_type not in taken:
                what = (
                    f"does not accept {file.media_type} ({file.name}); "
                    f"it accepts {', '.join(sorted(taken))}"
                )
                raise AttemptError(BadRequestError, what, is_billable=False)

    def _reply_in_error(
        self, error: AttemptError, *, call: ModelCall, without: frozenset[str]
    ) -> ModelReply:
        # Some errors are facts about the model rather than errors in the request.
        complaint = error.complaint
        if error.status in _ABOUT_LENGTH and _TOO_LONG.search(
            f"{complaint.code} {complaint.message}"
        ):
            return ModelReply(stop="context", usage=NO_USAGE, model=call.model)
        if error.status in _ABOUT_SETTINGS:
            if category := _filter_reason(complaint):
                return ModelReply(
                    stop="refusal", refusal_category=category, usage=NO_USAGE, model=call.model
                )
            for name in given_settings(call, self.settings, without=without):
                if self.settings[name].search(complaint.about):
                    raise SettingRefusedError(name) from None
        raise error

    async def receive(
        self, receiving: Awaitable[R], *, timeout_s: float, quiet: Quiet | None = None
    ) -> R:
        """Wait for an answer; errors become an AttemptError."""
        import httpx2  # noqa: PLC0415 - web processes never pay for it

        sdk, quiet = self._sdk(), quiet or Quiet()
        try:
            async with asyncio.timeout(timeout_s) as limit, quiet.timer:
                quiet.listen()
                return await receiving
        except TimeoutError as error:
            if quiet.timer.expired():
                raise AttemptError(TimedOutError, quiet.what()) from None
            if not limit.expired():  # of a socket
                raise broken_off(self._clean(str(error))) from None
            what = f"did not answer within {timeout_s:g} s"
            raise AttemptError(TimedOutError, what) from None
        except sdk.APIConnectionError as error:
            cause = error.__cause__
            if isinstance(cause, ConfigurationError):  # the address may not be called
                raise cause from None
            if isinstance(cause, WebError):
                raise unreadable(str(cause)) from None
            not_sent = httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError
            is_sent = not isinstance(cause, not_sent)
            what = _PREMATURE_END if is_sent else "could not be reached"
            detail = self._clean(str(cause or ""))
            raise AttemptError(UnavailableError, what, detail=detail, is_billable=is_sent) from None
        except sdk.APIStatusError as error:
            is_begun = error.status_code == http.HTTPStatus.OK
            raise self.to_error(
                read_complaint(_body(error)),
                status=None if is_begun else error.status_code,
                headers=error.response.headers,
                request_id=error.request_id,
            ) from None
        except sdk.APIError as error:  # in a stream
            raise self.to_error(read_complaint(error.body)) from None
        except WebError as error:
            raise unreadable(str(error)) from None
        except httpx2.HTTPError as error:
            # SDKs wrap errors before the body of a stream, not always those within.
            raise broken_off(self._clean(str(error))) from None

    def to_error(
        self,
        complaint: Complaint,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        request_id: str | None = None,
    ) -> AttemptError:
        """Turn an API's error into an AttemptError; without a status, the reply had begun."""
        is_begun, status = status is None, status or complaint.status
        headers = {} if headers is None else headers
        advice = self._advice(status, complaint, headers=headers)
        words = self._clean(complaint.message).rstrip(".") if self.access.is_trusted else _UNTRUSTED
        sentences = (words, self._clean(advice))
        return AttemptError(
            _kind(status, complaint),
            f"answered {status} ({_words(status)})",
            detail=". ".join(filter(None, sentences)),
            status=status,
            retry_after_s=retry_after_s(headers, now=self._now()) or complaint.retry_after_s,
            should_retry={"true": True, "false": False}.get(headers.get("x-should-retry", "")),
            request_id=request_id,
            is_billable=is_begun,
            complaint=complaint,
        )

    def _advice(self, status: int, complaint: Complaint, *, headers: Mapping[str, str]) -> str:
        if status == http.HTTPStatus.UNAUTHORIZED or complaint.is_about_key:
            if self.access.variable:
                variable = self.access.variable
                return f"Ask your administrator to check the environment variable {variable}"
            return (
                "Ask your administrator to enter the environment variable of the key on the"
                " provider's page"
            )
        if status in _REDIRECTS and "location" in headers:
            return f"It has moved to {headers['location']}. Change the provider's base URL"
        return ""

    def without_key(self, text: str) -> str:
        """Hide our key if a server repeats it: people will read this.

        A short one is not a secret but a word such as "none" or "ollama", which models use, too.
        """
        key = self.access.key
        return text.replace(key, _BLOT) if len(key) >= _MIN_SECRET else text

    def body_without_key(self, body: Mapping[str, Json]) -> Mapping[str, Json]:
        """Hide our key in a reply that came in pieces."""
        if len(self.access.key) < _MIN_SECRET:
            return body
        written, key = json.dumps(body), json.dumps(self.access.key)[1:-1]
        return json.loads(written.replace(key, _BLOT)) if key in written else body

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn an unreadable reply into an AttemptError."""
        try:
            yield
        except UnreadableReplyError as error:
            raise unreadable(self._clean(str(error))) from None

    def _clean(self, text: str) -> str:
        # Some servers repeat the request, and people will read this.
        if self.access.key:
            text = _HALF_A_KEY.sub(_BLOT, text.replace(self.access.key, _BLOT))
        text = " ".join(text.split())
        return text if len(text) <= _MAX_DETAIL else f"{text[:_MAX_DETAIL]}..."


def _size(reply: ModelReply) -> int:
    """Return the bytes of a reply; a native turn counts if it is much longer than the text."""
    calls = [(call.id, call.name, call.arguments_raw) for call in reply.tool_calls]
    texts = [reply.text, *chain.from_iterable(calls)]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    match reply.native_turn:
        case NativeTurn(value):
            return max(size, len(json.dumps(value)) // _MAX_THOUGHTS)
    return size


def _too_long() -> AttemptError:
    what = f"sent a reply of more than {MAX_REPLY_BYTES // 1000:,} kB, which is too long"
    return AttemptError(ReplyTooLongError, what)


def body_of(text: str) -> Mapping[str, object]:
    """Read a whole reply.

    The raw body, not the objects of SDKs: a turn goes back exactly as it came.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise unreadable("it is not JSON") from None
    if not isinstance(body, dict):
        raise unreadable("it is JSON, but not an object")
    return body


def _body(error: Any) -> object:
    """Return the body of an error if it is JSON: other text may come from another server."""
    if not isinstance(error.body, str):
        return error.body
    try:
        json.loads(error.response.text)
    except (ValueError, RecursionError, RuntimeError):  # the last: of a stream, which is not kept
        return None
    return error.body


def unreadable(reason: str) -> AttemptError:
    """Return the error of a reply that cannot be read."""
    return AttemptError(BadRequestError, "sent a reply that cannot be read", detail=reason)


def broken_off(detail: str = "") -> AttemptError:
    """Return the error of an incomplete reply."""
    return AttemptError(UnavailableError, _PREMATURE_END, detail=detail)


def _transport(access: Access) -> object:
    """Return the transport of an SDK: addresses are checked, and connections kept."""
    import httpx2  # noqa: PLC0415 - web processes never pay for it

    from evals_app.engine.network.checked_transport import CheckedTransport  # noqa: PLC0415

    return CheckedTransport(
        resolve=look_up,
        limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=100),
        most_bytes=_MAX_BYTES,
        permitted=access.permitted,
        proxy=proxy_for(access.base_url),
        socket_options=_KEEP_ALIVE,
    )


def _filter_reason(complaint: Complaint) -> str | None:
    """Return why a prompt was refused by a filter, if that is the error."""
    if complaint.code in _FLAGGED_CODES:
        return complaint.code
    metadata = complaint.error.get("metadata")  # OpenRouter
    reasons = metadata.get("reasons") if isinstance(metadata, Mapping) else None
    return ", ".join(map(str, reasons)) if isinstance(reasons, list) and reasons else None


def _kind(status: int, complaint: Complaint) -> type[ProviderError]:
    if complaint.is_about_key:
        return AuthFailedError
    if status == http.HTTPStatus.TOO_MANY_REQUESTS:
        is_spent = not _QUOTA_CODES.isdisjoint({complaint.type, complaint.code})
        return QuotaExhaustedError if is_spent else RateLimitedError
    is_theirs = status >= http.HTTPStatus.INTERNAL_SERVER_ERROR
    return _KINDS.get(status, UnavailableError if is_theirs else BadRequestError)


def _words(status: int) -> str:
    is_known = status in set(http.HTTPStatus)
    phrase = http.HTTPStatus(status).phrase.lower() if is_known else "unknown status"
    return _STATUS_WORDS.get(status, phrase)
