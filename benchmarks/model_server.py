"""A model API on this machine that costs as little CPU as Python allows, for measurements.

    python benchmarks/model_server.py --port 0 --latency-ms 200

It speaks Anthropic's Messages API (`/v1/messages`) and OpenAI's chat API (`/v1/chat/completions`),
whole and streamed. A reply repeats the last user message. Where a request offers tools, each turn
begins with a call of the first one; where it carries a schema for its output, the reply is a JSON
object that fits. `GET /stats` counts what was answered. It checks nothing: the server of the tests
is the faithful one. Standard library only; the first line of output is its address.
"""

import argparse
import asyncio
import json
import random
import signal
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from typing import Any

Json = dict[str, Any]

HEAD_END = b"\r\n\r\n"
WORD = "Where is parcel"  # wherever a schema wants a text; a judge quotes it from the reply
TOKENS_IN, TOKENS_OUT = 20, 10


@dataclass(frozen=True)
class Behaviour:
    """How the API behaves; the shares (0..1 of all calls) are drawn one after the other."""

    latency_s: float = 0.0
    rate_limited: float = 0.0  # 429 with Retry-After
    retry_after_s: float = 1.0
    failing: float = 0.0  # 500 or 529
    cut: float = 0.0  # the connection breaks in the middle of the body
    truncated: float = 0.0  # the reply ends at its most tokens
    most_at_once: int = 0  # above it 429; 0: no limit


@dataclass(frozen=True)
class Reply:
    """What the model says, before it is worded for one of the APIs."""

    text: str
    tool: str | None = None
    arguments: Json | None = None
    is_truncated: bool = False


class Server:
    """What all connections share: the behaviour, and what was answered so far."""

    def __init__(self, behaviour: Behaviour, *, seed: int = 1) -> None:
        self.behaviour = behaviour
        self.answered: Counter[str] = Counter()
        self.at_once = self.most_at_once = 0
        self.numbers = count(1)
        self._random = random.Random(seed)

    def fate(self) -> str:
        """Draw what becomes of a call: a status, `cut`, `truncated` or `ok`."""
        wanted = self.behaviour
        if 0 < wanted.most_at_once < self.at_once:
            return "429"
        drawn = self._random.random()
        shares = {
            "429": wanted.rate_limited,
            "500": wanted.failing / 2,
            "529": wanted.failing / 2,
            "cut": wanted.cut,
            "truncated": wanted.truncated,
        }
        for fate, share in shares.items():
            if drawn < share:
                return fate
            drawn -= share
        return "ok"

    def stats(self) -> Json:
        """Tell how calls ended, and how many were open at the same time."""
        return {"answered": dict(self.answered), "most_at_once": self.most_at_once}


class Connection(asyncio.Protocol):
    """One connection, kept alive; requests come one after the other, as HTTP clients send them."""

    transport: asyncio.Transport

    def __init__(self, server: Server) -> None:
        self._server = server
        self._buffer = bytearray()
        self._is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a TCP server has no other
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_open = False

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(HEAD_END)
        if end < 0:
            return
        head = bytes(self._buffer[:end]).decode("latin-1").lower()
        _, _, after = head.partition("\r\ncontent-length:")
        length = int(after.partition("\r\n")[0] or 0)
        begin = end + len(HEAD_END)
        if len(self._buffer) < begin + length:
            return
        body = bytes(self._buffer[begin : begin + length])
        del self._buffer[: begin + length]
        self._answer(head.split(" ", 2)[1].partition("?")[0], body)

    def _answer(self, path: str, body: bytes) -> None:
        if path == "/stats":
            self._send(200, self._server.stats())
            return
        wording = WORDINGS.get(path)
        if wording is None:
            self._send(404, {"error": {"type": "not_found_error", "message": path}})
            return
        request = json.loads(body)
        server = self._server
        server.at_once += 1
        server.most_at_once = max(server.most_at_once, server.at_once)
        fate = server.fate()
        if fate == "429":  # no model has worked on it
            self._end(fate, lambda: self._refuse(429, wording))
        elif fate.isdigit():
            self._after(fate, lambda: self._refuse(int(fate), wording))
        else:
            reply = wording.reply(request, is_truncated=fate == "truncated")
            message = wording.message(reply, str(request.get("model")), next(server.numbers))
            if request.get("stream"):
                events = wording.events(message, request)
                self._begin_stream()
                self._after(fate, lambda: self._send_stream(events, is_cut=fate == "cut"))
            else:
                self._after(fate, lambda: self._send(200, message, is_cut=fate == "cut"))

    def _after(self, fate: str, send: Callable[[], None]) -> None:
        if not self._server.behaviour.latency_s:
            self._end(fate, send)
            return
        loop = asyncio.get_running_loop()
        loop.call_later(self._server.behaviour.latency_s, self._end, fate, send)

    def _end(self, fate: str, send: Callable[[], None]) -> None:
        self._server.at_once -= 1
        self._server.answered[fate] += 1
        if self._is_open:
            send()

    def _refuse(self, status: int, wording: "Wording") -> None:
        headers = ""
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            headers = f"retry-after: {self._server.behaviour.retry_after_s:g}\r\n"
        self._send(status, wording.error(status), headers=headers)

    def _send(self, status: int, body: Json, *, headers: str = "", is_cut: bool = False) -> None:
        raw = json.dumps(body).encode()
        head = (
            f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n"
            f"content-length: {len(raw)}\r\nrequest-id: req_bench\r\n{headers}\r\n"
        )
        self.transport.write(head.encode() + (raw[: len(raw) // 2] if is_cut else raw))
        if is_cut:
            self.transport.close()

    def _begin_stream(self) -> None:
        self.transport.write(
            b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            b"transfer-encoding: chunked\r\nrequest-id: req_bench\r\n\r\n"
        )

    def _send_stream(self, events: list[bytes], *, is_cut: bool) -> None:
        kept = events[: len(events) // 2] if is_cut else events
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in kept)
        self.transport.write(chunks if is_cut else chunks + b"0\r\n\r\n")
        if is_cut:
            self.transport.close()


# What a model would say.


def fitting(schema: Json) -> Any:
    """Return a value that fits a JSON Schema; of numbers the last choice, the best on a scale."""
    if choices := schema.get("enum"):
        return choices[-1] if isinstance(choices[-1], int) else choices[0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: fitting(properties.get(name, {})) for name in schema.get("required", [])}
        case "array":
            return [fitting(schema["items"])] if "items" in schema else []
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case _:
            return WORD


def _reply(
    text: str, *, schema: Json | None, tool: tuple[str, Json] | None, is_truncated: bool
) -> Reply:
    if tool is not None:
        name, parameters = tool
        return Reply("", name, fitting(parameters))
    answer = f"You said: {text}" if schema is None else json.dumps(fitting(schema))
    return Reply(answer[: len(answer) // 2] if is_truncated else answer, is_truncated=is_truncated)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(block["text"] for block in content or () if block.get("type") == "text")


def _last_text(messages: Iterable[Json]) -> str:
    users = [_text_of(message["content"]) for message in messages if message["role"] == "user"]
    return next((text for text in reversed(users) if text), "")


class Wording(ABC):
    """How one API words requests, replies and errors."""

    @abstractmethod
    def reply(self, request: Json, *, is_truncated: bool) -> Reply:
        """Read a request and make up the reply."""

    @abstractmethod
    def message(self, reply: Reply, model: str, number: int) -> Json:
        """Return the body of a reply."""

    @abstractmethod
    def events(self, message: Json, request: Json) -> list[bytes]:
        """Return the events of a streamed reply."""

    @abstractmethod
    def error(self, status: int) -> Json:
        """Return the body of an error."""


class Messages(Wording):
    """Anthropic's Messages API."""

    ERRORS = {429: "rate_limit_error", 529: "overloaded_error"}

    def reply(self, request: Json, *, is_truncated: bool) -> Reply:
        messages = request["messages"]
        last = messages[-1]["content"]
        has_results = not isinstance(last, str) and any(b["type"] == "tool_result" for b in last)
        tools = request.get("tools") if not has_results else None
        return _reply(
            _last_text(messages),
            schema=request.get("output_config", {}).get("format", {}).get("schema"),
            tool=(tools[0]["name"], tools[0]["input_schema"]) if tools else None,
            is_truncated=is_truncated,
        )

    def message(self, reply: Reply, model: str, number: int) -> Json:
        stop = "max_tokens" if reply.is_truncated else "end_turn"
        block: Json = {"type": "text", "text": reply.text}
        if reply.tool is not None:
            stop = "tool_use"
            call = {"id": f"toolu_{number}", "name": reply.tool, "input": reply.arguments}
            block = {"type": "tool_use", **call}
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT},
        }

    def events(self, message: Json, request: Json) -> list[bytes]:
        (block,) = message["content"]
        if block["type"] == "text":
            start = block | {"text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        end = {name: message[name] for name in ("stop_reason", "stop_sequence")}
        events: list[Json] = [
            {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": message["usage"]},
            {"type": "message_stop"},
        ]
        return [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events]

    def error(self, status: int) -> Json:
        kind = self.ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": f"Made up: {status}"}}


class Chat(Wording):
    """OpenAI's chat API."""

    def reply(self, request: Json, *, is_truncated: bool) -> Reply:
        messages = request["messages"]
        tools = request.get("tools") if messages[-1]["role"] == "user" else None
        function = tools[0]["function"] if tools else {}
        form = request.get("response_format") or {}
        return _reply(
            _last_text(messages),
            schema=form.get("json_schema", {}).get("schema"),
            tool=(function["name"], function.get("parameters", {})) if tools else None,
            is_truncated=is_truncated,
        )

    def message(self, reply: Reply, model: str, number: int) -> Json:
        message: Json = {"role": "assistant", "content": reply.text or None, "refusal": None}
        stop = "length" if reply.is_truncated else "stop"
        if reply.tool is not None:
            stop = "tool_calls"
            called = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
            message["tool_calls"] = [
                {"id": f"call_{number}", "type": "function", "function": called}
            ]
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": stop, "logprobs": None}],
            "usage": {
                "prompt_tokens": TOKENS_IN,
                "completion_tokens": TOKENS_OUT,
                "total_tokens": TOKENS_IN + TOKENS_OUT,
            },
        }

    def events(self, message: Json, request: Json) -> list[bytes]:
        (choice,) = message["choices"]
        delta = dict(choice["message"])
        if calls := delta.get("tool_calls"):
            delta["tool_calls"] = [{"index": i} | call for i, call in enumerate(calls)]
        chunk = message | {"object": "chat.completion.chunk"}
        del chunk["usage"]
        choices: list[Json] = [
            {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None},
            {"index": 0, "delta": delta, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]},
        ]
        chunks = [chunk | {"choices": [part]} for part in choices]
        if (request.get("stream_options") or {}).get("include_usage"):
            chunks.append(chunk | {"choices": [], "usage": message["usage"]})
        return [*(f"data: {json.dumps(c)}\n\n".encode() for c in chunks), b"data: [DONE]\n\n"]

    def error(self, status: int) -> Json:
        code = "rate_limit_exceeded" if status == HTTPStatus.TOO_MANY_REQUESTS else "server_error"
        return {"error": {"message": f"Made up: {status}", "type": code, "code": code}}


WORDINGS: dict[str, Wording] = {"/v1/messages": Messages(), "/v1/chat/completions": Chat()}


async def serve(behaviour: Behaviour, *, port: int, seed: int) -> None:
    """Answer until SIGTERM or Ctrl-C; prints the address once connections are accepted."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, stopped.set)
    server = Server(behaviour, seed=seed)
    listening = await loop.create_server(
        lambda: Connection(server), "127.0.0.1", port, backlog=1024
    )
    print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", flush=True)
    await stopped.wait()
    listening.close()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description="A cheap model API for measurements.")
    add = parser.add_argument
    add("--port", type=int, default=0, help="0: any that is free.")
    add("--latency-ms", type=float, default=0.0, help="Time that every reply takes.")
    add("--rate-limited", type=float, default=0.0, help="Share of calls answered with 429.")
    add("--retry-after", type=float, default=1.0, help="Seconds that a 429 asks for.")
    add("--failing", type=float, default=0.0, help="Share of calls answered with 500 or 529.")
    add("--cut", type=float, default=0.0, help="Share of replies that break off in the body.")
    add("--truncated", type=float, default=0.0, help="Share of replies that end too early.")
    add("--most-at-once", type=int, default=0, help="Calls at once above which 429 is answered.")
    add("--seed", type=int, default=1, help="Of what is drawn.")
    given = parser.parse_args()
    behaviour = Behaviour(
        latency_s=given.latency_ms / 1000,
        rate_limited=given.rate_limited,
        retry_after_s=given.retry_after,
        failing=given.failing,
        cut=given.cut,
        truncated=given.truncated,
        most_at_once=given.most_at_once,
    )
    with asyncio.Runner() as runner:
        runner.run(serve(behaviour, port=given.port, seed=given.seed))


if __name__ == "__main__":
    main()
