"""Model APIs on this machine: those of Anthropic and OpenAI as real SDKs see them.

    with ModelServer() as server:
        server.replies([Reply("Hello."), Failure(529)])       # in order, then nothing is left
        server.answers(lambda request: Reply(f"You said {last_text(request)}"))

Which of them a request is for is told by its path. Tests say what is answered. It refuses what the
real API refuses, remembers every request, and answers slowly, brokenly or not at all on demand.
Standard library only.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


@dataclass(frozen=True)
class Cut:
    """The connection breaks: at once, or in a stream after so many events of `reply`.

    `is_clean` ends the stream properly although the message is not complete.
    """

    after_events: int = 0
    is_clean: bool = False
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
    An exception in a handler is answered with a 500 and raised when the server closes.
    """

    def __init__(
        self,
        *,
        key: str = KEY,
        latency_s: float = 0.0,
        refuses: Iterable[str] | None = None,
        not_chat: Iterable[str] = (),
        counts_tokens: bool = False,
    ) -> None:
        self.cache = prompt_cache.PromptCache() if counts_tokens else None
        self.key = key
        self.latency_s = latency_s
        self.refuses = None if refuses is None else frozenset(refuses)
        self.not_chat = frozenset(not_chat)
        self.requests: list[Received] = []
        self.most_at_once = 0
        self.connections = 0
        self.signatures: set[str] = set()
        self._dialects = [dialect(self) for dialect in (Dialect, Chat, Responses, Embeddings)]
        self._at_once = 0
        self._answer: Callable[[Json], Answer] = lambda _: _nothing_left()
        self._problems: list[Exception] = []
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://localhost:{self._server.server_address[1]}"

    @property
    def bodies(self) -> list[Json]:
        with self._lock:
            return [received.body for received in self.requests]

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
        self._closing.set()
        self._server.shutdown()
        self._server.close_connections()
        self._server.server_close()
        self._thread.join()
        if self._problems:
            raise self._problems[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # What the connection handler uses, from its threads.

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self._numbers):06}"

    def sign(self) -> str:
        signature = self.new_id("signature")
        self.signatures.add(signature)
        return signature

    def dialect(self, path: str) -> Dialect | None:
        return next((known for known in self._dialects if path.endswith(known.path)), None)

    def begin(self, received: Received) -> None:
        with self._lock:
            self.requests.append(received)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)

    def end(self) -> None:
        with self._lock:
            self._at_once -= 1

    def answer(self, received: Received) -> Answer:
        if (refusal := self._refusal(received)) is not None:
            return refusal
        try:
            return self._answer(received.body)
        except Exception as error:  # noqa: BLE001 - raised again in the test's own thread
            self._problems.append(error)
            return Failure(500, message=f"The test's handler failed: {error!r}")

    def pause(self, seconds: float) -> bool:
        """Wait; say whether the server is still there."""
        return not self._closing.wait(seconds)

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


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], owner: ModelServer) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        super().__init__(address, _Connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        self.owner.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that gives up is what many tests are about."""

    def close_connections(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # gone already


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server
    _dialect: Any

    def do_POST(self) -> None:
        owner = self.server.owner
        text = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.path, headers, json.loads(text or b"{}"))
        owner.begin(received)
        try:
            self._dialect = owner.dialect(received.path) or owner.dialect(Dialect.path)
            self._answer(owner.answer(received), received.body)
        finally:
            owner.end()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing; `requests` remembers."""

    def _answer(self, answer: Answer, request: Json) -> None:
        owner, dialect = self.server.owner, self._dialect
        is_stream = request.get("stream") is True
        match answer:
            case Hang():
                owner.pause(60)
                self._break()
            case Drip():
                self._drip(answer, request, is_stream=is_stream)
            case Trickle():
                self._stream(answer.reply, request, rest_s=answer.rest_s)
                self._end_stream()
            case Whole():
                owner.pause(answer.reply.latency_s)
                self._send(200, json.dumps(dialect.whole(answer.reply, request)))
            case Garbage():
                self._send(answer.status, answer.body, content_type=answer.content_type)
            case Failure() if is_stream and answer.after_events:
                self._stream(Cut().reply, request, events=answer.after_events)
                self._event(*dialect.error_event(answer))
                self._end_stream()
            case Failure():
                self._send(answer.status, json.dumps(dialect.error(answer)), headers=answer.headers)
            case Cut() if is_stream and answer.after_events:
                self._stream(answer.reply, request, events=answer.after_events)
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
                owner.pause(owner.latency_s + answer.latency_s)
                if owner.cache and begun:
                    owner.cache.keep(begun)
                if is_stream:
                    self._stream(answer, request)
                    self._end_stream()
                else:
                    self._send(200, json.dumps(dialect.whole(answer, request)))

    def _send(
        self,
        status: int,
        body: str,
        *,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> None:
        raw = body.encode()
        self.send_response(status)
        for name, value in {
            "content-type": content_type,
            "content-length": str(len(raw)),
            self._dialect.request_id: self.server.owner.new_id("req"),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _drip(self, answer: Drip, request: Json, *, is_stream: bool) -> None:
        if is_stream:
            self._stream(answer.reply, request, events=answer.after_events)
        else:
            self._begin("application/json")
        alive = b': still here\n\nevent: ping\ndata: {"type": "ping"}\n\n' if is_stream else b" "
        while self.server.owner.pause(answer.every_s):
            self._chunk(alive)  # until the client gives up
        self._break()

    def _stream(
        self, reply: Any, request: Json, *, events: int | None = None, rest_s: float = 0.0
    ) -> None:
        owner, dialect = self.server.owner, self._dialect
        self._begin("text/event-stream; charset=utf-8")
        has_spoken = False
        whole = dialect.whole(reply, request)
        for name, event in list(dialect.events(whole, request))[:events]:
            if not has_spoken and dialect.api.is_speech(event):
                has_spoken = True
                owner.pause(reply.thinking_s)
            owner.pause(rest_s)
            self._event(name, event)

    def _begin(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("transfer-encoding", "chunked")
        self.send_header(self._dialect.request_id, self.server.owner.new_id("req"))
        self.end_headers()

    def _end_stream(self) -> None:
        if type(self._dialect) is Chat:
            self._chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, name: str | None, data: Json) -> None:
        head = "" if name is None else f"event: {name}\n"
        self._chunk(f"{head}data: {json.dumps(data)}\n\n".encode())

    def _chunk(self, raw: bytes) -> None:
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")

    def _break(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
