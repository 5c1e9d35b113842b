"""Model APIs on this machine: those of Anthropic and OpenAI as real SDKs see them.

    with ModelServer() as server:
        server.replies([Reply("Hello."), Failure(529)])       # in order, then nothing is left
        server.answers(lambda request: Reply(f"You said {last_text(request)}"))

The path of a request says which API it is for. Tests say what is answered. The server refuses what
the real API refuses, remembers every request, and answers slowly, brokenly or not at all on demand.
With `is_fast` it checks and remembers nothing, to cost little in measurements. Standard library only.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

from tests import chat_api, messages_api, prompt_cache, responses_api
from tests.chat_api import Vectors
from tests.messages_api import SAMPLING, Failure, Json, Reply, ToolUse, last_text, tool_results

__all__ = [
    "KEY",
    "Answer",
    "Cut",
    "Drip",
    "Failure",
    "Garbage",
    "Hang",
    "ModelServer",
    "Received",
    "Reply",
    "ToolUse",
    "Trickle",
    "Vectors",
    "Whole",
    "last_text",
    "tool_results",
]

KEY = "test-key-7f3a"
HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True)
class Cut:
    """The connection breaks: at once, or in a stream after so many events of `reply`.

    `is_clean` ends the stream properly although the message is not complete. `in_half` breaks off in
    the middle of a reply, streamed or not.
    """

    after_events: int = 0
    is_clean: bool = False
    in_half: bool = False
    reply: Reply = field(default_factory=lambda: Reply("It broke in the middle of a sentence."))


@dataclass(frozen=True)
class Hang:
    """No answer until the client gives up or the server closes."""


@dataclass(frozen=True)
class Drip:
    """Signs of life for ever: blanks, or in a stream comments and pings, after so many events."""

    after_events: int = 0
    every_s: float = 0.05
    reply: Reply = field(default_factory=lambda: Reply("It stopped in the middle of a sentence."))


@dataclass(frozen=True)
class Whole:
    """An answer in one piece whatever was asked for, as from a gateway that knows no streams."""

    reply: Reply


@dataclass(frozen=True)
class Trickle:
    """A stream that rests before each event, and is whole in the end."""

    reply: Reply
    rest_s: float


@dataclass(frozen=True)
class Garbage:
    """Any body at all."""

    body: str
    status: int = 200
    content_type: str = "application/json"


Answer = Reply | Failure | Cut | Hang | Drip | Trickle | Whole | Garbage | Vectors


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Json


class Dialect:
    """Anthropic's Messages API; the others differ from it. `api` has its words."""

    api: Any = messages_api
    path = "/v1/messages"
    request_id = "request-id"
    key_header = "x-api-key"
    refused: frozenset[str] = frozenset(SAMPLING)  # unless a test says otherwise

    def __init__(self, owner: "ModelServer") -> None:
        self.owner = owner

    def key(self, headers: Mapping[str, str]) -> str:
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        return headers.get(self.key_header) or bearer

    def refusal(self, received: "Received", refuses: frozenset[str]) -> Failure | None:
        """Return what the real API would answer to a request that it cannot accept."""
        if "anthropic-version" not in received.headers:
            return Failure(400, message="anthropic-version: header is required")
        for name in SAMPLING:
            if name in received.body and name in refuses:
                return Failure(400, message=f"`{name}` is deprecated for this model.")
        problem = messages_api.problem_with(received.body, signatures=self.owner.signatures)
        return Failure(400, message=problem) if problem else None

    def whole(self, answer: Any, request: Json) -> Json:
        owner = self.owner
        model = request["model"]
        return messages_api.to_message(answer, model=model, new_id=owner.new_id, sign=owner.sign)

    def events(self, whole: Json, request: Json) -> Iterator[tuple[str | None, Json]]:
        """Return the events of a stream, with their names."""
        for event in self.api.to_events(whole):
            yield event["type"], event

    def beginnings(self, request: Json) -> prompt_cache.Beginnings | None:
        """Return what the API remembers of a request; None: nobody counts that here."""
        return prompt_cache.of_messages(request)

    def error(self, failure: Failure) -> Json:
        return messages_api.to_error(failure)

    def error_event(self, failure: Failure) -> tuple[str | None, Json]:
        return "error", self.error(failure)


class Chat(Dialect):
    """OpenAI's chat API."""

    api = chat_api
    path = "/chat/completions"
    request_id = "x-request-id"
    key_header = "api-key"
    refused = frozenset()

    def refusal(self, received: "Received", refuses: frozenset[str]) -> Failure | None:
        if problem := chat_api.problem_with(received.body):
            return Failure(400, message=problem)
        model = received.body["model"]
        if model in self.owner.not_chat and received.body.get("tools"):
            message = (
                f"Function tools with reasoning_effort are not supported for {model} in "
                "/v1/chat/completions. To use function tools, use /v1/responses or set "
                "reasoning_effort to 'none'."
            )
            return Failure(400, message=message, param="reasoning_effort")
        return _unsupported(received.body, refuses)

    def whole(self, answer: Any, request: Json) -> Json:
        return chat_api.to_completion(answer, request, new_id=self.owner.new_id)

    def events(self, whole: Json, request: Json) -> Iterator[tuple[str | None, Json]]:
        for chunk in chat_api.to_chunks(whole, request):
            yield None, chunk

    def beginnings(self, request: Json) -> prompt_cache.Beginnings | None:
        return prompt_cache.of_chat(request) if "messages" in request else None

    def error(self, failure: Failure) -> Json:
        return chat_api.to_error(failure)

    def error_event(self, failure: Failure) -> tuple[str | None, Json]:
        return None, self.error(failure)


class Responses(Chat):
    """OpenAI's Responses API."""

    api = responses_api
    path = "/responses"
    events = Dialect.events

    def refusal(self, received: "Received", refuses: frozenset[str]) -> Failure | None:
        problem = responses_api.problem_with(received.body, signatures=self.owner.signatures)
        if problem:
            return Failure(400, message=problem)
        return _unsupported(received.body, refuses)

    def whole(self, answer: Any, request: Json) -> Json:
        owner = self.owner
        return responses_api.to_response(answer, request, new_id=owner.new_id, sign=owner.sign)


class Embeddings(Chat):
    """OpenAI's embeddings."""

    path = "/embeddings"

    def refusal(self, received: "Received", refuses: frozenset[str]) -> Failure | None:
        problem = chat_api.problem_with_texts(received.body)
        return Failure(400, message=problem) if problem else None

    def whole(self, answer: Any, request: Json) -> Json:
        return chat_api.to_vectors(answer, request)


def _unsupported(request: Json, refuses: frozenset[str]) -> Failure | None:
    for name in request:
        if name in refuses:
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            return Failure(400, message=message, param=name, code="unsupported_parameter")
    return None


class ModelServer:
    """Serves until closed; `url` is the base URL, `requests` what arrived, in order.

    `refuses` are settings that the model does not accept: unless said, of Anthropic's all of
    sampling, of OpenAI's none. `not_chat` are models that take tools only in the Responses API.
    With `counts_tokens` replies have the tokens of their requests, told apart by what was cached.
    An exception in a handler is answered with a 500 and raised when the server closes. Handlers of a
    fast server run one at a time, in its own thread.
    """

    def __init__(
        self,
        *,
        key: str = KEY,
        latency_s: float = 0.0,
        refuses: Iterable[str] | None = None,
        not_chat: Iterable[str] = (),
        counts_tokens: bool = False,
        is_fast: bool = False,
        port: int = 0,
    ) -> None:
        self.cache = prompt_cache.PromptCache() if counts_tokens else None
        self.key = key
        self.latency_s = latency_s
        self.refuses = None if refuses is None else frozenset(refuses)
        self.not_chat = frozenset(not_chat)
        self.is_fast = is_fast
        self.requests: list[Received] = []
        self.at_once = self.most_at_once = 0
        self.connections = 0
        self.signatures: set[str] = set()
        self._dialects = [dialect(self) for dialect in (Dialect, Chat, Responses, Embeddings)]
        self._answer: Callable[[Json], Answer] = lambda _: _nothing_left()
        self._problems: list[Exception] = []
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._open: set[_Connection] = set()
        self._threads = ThreadPoolExecutor(128)  # as many as the SDKs may send at once
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        listening = self._loop.create_server(
            lambda: _Connection(self), "127.0.0.1", port, backlog=1024
        )
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        self.url = f"http://localhost:{self._server.sockets[0].getsockname()[1]}"

    @property
    def bodies(self) -> list[Json]:
        return [received.body for received in list(self.requests)]

    def replies(self, answers: Iterable[Answer]) -> None:
        """Answer with these, one per request; then every request is a 400."""
        left = list(answers)

        def next_answer(_: Json) -> Answer:
            with self._lock:
                return left.pop(0) if left else _nothing_left()

        self._answer = next_answer

    def answers(self, handler: Callable[[Json], Answer]) -> None:
        """Let a function answer every request; it may be called from several threads at once."""
        self._answer = handler

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._threads.shutdown(wait=False)
        if self._problems:
            raise self._problems[0]

    async def _stop(self) -> None:
        self._server.close()
        for connection in list(self._open):
            connection.drop()
        await asyncio.sleep(0)  # for what is cancelled to end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # What connections use

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self._numbers):06}"

    def sign(self) -> str:
        signature = self.new_id("signature")
        self.signatures.add(signature)
        return signature

    def dialect(self, path: str) -> Dialect | None:
        return next((known for known in self._dialects if path.endswith(known.path)), None)

    def add(self, connection: "_Connection") -> None:
        self._open.add(connection)
        self.connections += 1

    def remove(self, connection: "_Connection") -> None:
        self._open.discard(connection)

    async def answer(self, received: Received) -> Answer:
        if self.is_fast:
            return self._answer(received.body)
        self.requests.append(received)
        if (refusal := self._refusal(received)) is not None:
            return refusal
        try:
            return await self._loop.run_in_executor(self._threads, self._answer, received.body)
        except Exception as error:  # noqa: BLE001 - raised again in the test's own thread
            self._problems.append(error)
            return Failure(500, message=f"The test's handler failed: {error!r}")

    def _refusal(self, received: Received) -> Failure | None:
        dialect = self.dialect(received.path)
        if dialect is None:
            return Failure(404, message=f"Not found: {received.path}")
        if dialect.key(received.headers) != self.key:
            return Failure(401, message="invalid x-api-key" if type(dialect) is Dialect else None)
        refuses = dialect.refused if self.refuses is None else self.refuses
        return dialect.refusal(received, refuses)


def _nothing_left() -> Failure:
    return Failure(400, message="The test has no reply left for this request.")


class _Connection(asyncio.Protocol):
    """One connection, kept alive; requests come one after the other, as HTTP clients send them.

    Written by hand, because any HTTP library would take a multiple of the time.
    """

    transport: asyncio.Transport
    _dialect: Any

    def __init__(self, owner: ModelServer) -> None:
        self._owner = owner
        self._received = bytearray()
        self._unsent: list[bytes] = []
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._owner.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.remove(self)
        if self._task is not None:
            self._task.cancel()

    def drop(self) -> None:
        self.transport.close()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(HEAD_END)
        if end < 0:
            return
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        begin = end + len(HEAD_END)
        end = begin + int(headers.get("content-length", 0))
        if len(self._received) < end:
            return
        body = json.loads(self._received[begin:end] or b"{}")
        del self._received[:end]
        self._task = asyncio.create_task(self._respond(Received(first.split()[1], headers, body)))

    async def _respond(self, received: Received) -> None:
        owner = self._owner
        owner.at_once += 1
        owner.most_at_once = max(owner.most_at_once, owner.at_once)
        try:
            self._dialect = owner.dialect(received.path) or owner.dialect(Dialect.path)
            await self._give(await owner.answer(received), received.body)
        finally:
            owner.at_once -= 1
        self._flush()

    async def _give(self, answer: Answer, request: Json) -> None:
        owner, dialect = self._owner, self._dialect
        is_stream = request.get("stream") is True
        match answer:
            case Hang():
                await self._rest(60)
                self._break()
            case Drip():
                await self._drip(answer, request, is_stream=is_stream)
            case Trickle():
                await self._stream(answer.reply, request, rest_s=answer.rest_s)
                self._end_stream()
            case Whole():
                await self._rest(answer.reply.latency_s)
                self._send(200, json.dumps(dialect.whole(answer.reply, request)))
            case Garbage():
                self._send(answer.status, answer.body, content_type=answer.content_type)
            case Failure() if is_stream and answer.after_events:
                await self._stream(Cut().reply, request, events=answer.after_events)
                self._event(*dialect.error_event(answer))
                self._end_stream()
            case Failure():
                await self._rest(answer.latency_s)
                self._send(answer.status, json.dumps(dialect.error(answer)), headers=answer.headers)
            case Cut() if answer.in_half:
                await self._give(answer.reply, request)
                sent = b"".join(self._unsent)
                self._unsent = [sent[: -len(sent) // 3]]
                self._break()
            case Cut() if is_stream and answer.after_events:
                await self._stream(answer.reply, request, events=answer.after_events)
                if answer.is_clean:
                    self._end_stream()
                else:
                    self._break()
            case Cut():
                self._break()
            case Reply() | Vectors():
                begun = dialect.beginnings(request) if owner.cache else None
                if owner.cache and begun and isinstance(answer, Reply):
                    answer = owner.cache.counted(answer, begun)
                await self._rest(owner.latency_s + answer.latency_s)
                if owner.cache and begun:
                    owner.cache.keep(begun)
                if is_stream:
                    await self._stream(answer, request)
                    self._end_stream()
                else:
                    self._send(200, json.dumps(dialect.whole(answer, request)))

    async def _drip(self, answer: Drip, request: Json, *, is_stream: bool) -> None:
        if is_stream:
            await self._stream(answer.reply, request, events=answer.after_events)
        else:
            self._begin("application/json")
        alive = b': still here\n\nevent: ping\ndata: {"type": "ping"}\n\n' if is_stream else b" "
        while True:
            await self._rest(answer.every_s)
            self._chunk(alive)  # until the client gives up

    async def _stream(
        self, reply: Any, request: Json, *, events: int | None = None, rest_s: float = 0.0
    ) -> None:
        dialect = self._dialect
        self._begin("text/event-stream; charset=utf-8")
        has_spoken = False
        whole = dialect.whole(reply, request)
        for name, event in list(dialect.events(whole, request))[:events]:
            if not has_spoken and dialect.api.is_speech(event):
                has_spoken = True
                await self._rest(reply.thinking_s)
            await self._rest(rest_s)
            self._event(name, event)

    async def _rest(self, seconds: float) -> None:
        if seconds:
            self._flush()
            await asyncio.sleep(seconds)

    # Bytes are sent together where nothing rests between them: each sending costs time.

    def _flush(self) -> None:
        self.transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def _break(self) -> None:
        self._flush()
        self.transport.close()

    def _send(
        self,
        status: int,
        body: str,
        *,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> None:
        raw = body.encode()
        length = {"content-length": str(len(raw))}
        self._head(status, {"content-type": content_type, **length, **(headers or {})})
        self._unsent.append(raw)

    def _begin(self, content_type: str) -> None:
        self._head(200, {"content-type": content_type, "transfer-encoding": "chunked"})

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        all_headers = {self._dialect.request_id: self._owner.new_id("req"), **headers}
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {all_headers[name]}" for name in all_headers)]
        self._unsent.append("\r\n".join(lines).encode("latin-1") + HEAD_END)

    def _end_stream(self) -> None:
        if type(self._dialect) is Chat:
            self._chunk(b"data: [DONE]\n\n")
        self._unsent.append(b"0\r\n\r\n")

    def _event(self, name: str | None, data: Json) -> None:
        head = "" if name is None else f"event: {name}\n"
        self._chunk(f"{head}data: {json.dumps(data)}\n\n".encode())

    def _chunk(self, raw: bytes) -> None:
        self._unsent.append(b"%x\r\n%b\r\n" % (len(raw), raw))
