"""The model server of the tests in a process of its own, as cheap as Python allows.

    python -m benchmarks.model_server --port 0 --latency-ms 200

It speaks Anthropic's Messages API and OpenAI's APIs, whole and streamed. A reply repeats the last
user message. Where a request offers tools, each turn begins with a call of the first one; where it
carries a schema for its output, the reply is a JSON object that fits. It checks nothing. The first
line of output is its address.
"""

import argparse
import json
import random
import signal
from dataclasses import dataclass, replace
from typing import Any

from tests.model_server import Answer, Cut, Failure, ModelServer, Reply, ToolUse

Json = dict[str, Any]

WORD = "Where is parcel"  # wherever a schema wants a text; a judge quotes it from the reply


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


class Model:
    """Draws what becomes of each call, and makes up the reply."""

    def __init__(self, behaviour: Behaviour, server: ModelServer, *, seed: int = 1) -> None:
        self._behaviour = behaviour
        self._server = server
        self._random = random.Random(seed)

    def __call__(self, request: Json) -> Answer:
        """Answer a request."""
        wanted = self._behaviour
        fate = self._fate()
        if fate == "429":  # no model has worked on it
            return Failure(429, headers={"retry-after": f"{wanted.retry_after_s:g}"})
        if fate.isdigit():
            return Failure(int(fate), latency_s=wanted.latency_s)
        reply = replied(request)
        if fate == "truncated":
            stop = "length" if _is_chat(request) else "max_tokens"
            reply = replace(reply, text=reply.text[: len(reply.text) // 2], stop=stop)
        if request.get("stream"):
            reply = replace(reply, thinking_s=wanted.latency_s)
        else:
            reply = replace(reply, latency_s=wanted.latency_s)
        return Cut(in_half=True, reply=reply) if fate == "cut" else reply

    def _fate(self) -> str:
        """Draw what becomes of a call: a status, `cut`, `truncated` or `ok`."""
        wanted = self._behaviour
        if 0 < wanted.most_at_once < self._server.at_once:
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


def _is_chat(request: Json) -> bool:
    return "max_tokens" not in request or "response_format" in request


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


def replied(request: Json) -> Reply:
    """Return what a model would say to a request of either API."""
    messages = request["messages"]
    if (tools := request.get("tools")) and not _has_results(messages[-1]):
        tool = tools[0].get("function", tools[0])
        schema = tool.get("parameters") or tool.get("input_schema") or {}
        return Reply(tools=(ToolUse(tool["name"], fitting(schema)),))
    output = request.get("output_config", {})
    form: Json = request.get("response_format") or output.get("format") or {}
    if schema := form.get("json_schema", form).get("schema"):
        return Reply(json.dumps(fitting(schema)))
    said = [_text_of(message) for message in messages if message["role"] == "user"]
    return Reply(f"You said: {next((text for text in reversed(said) if text), '')}")


def _has_results(message: Json) -> bool:
    blocks = message["content"] if isinstance(message["content"], list) else []
    return message["role"] == "tool" or any(block["type"] == "tool_result" for block in blocks)


def _text_of(message: Json) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return " ".join(block["text"] for block in content or () if block.get("type") == "text")


def main() -> None:
    """Serve until SIGTERM or Ctrl-C; prints the address once connections are accepted."""
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
    ended = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, ended)  # before threads inherit it
    with ModelServer(is_fast=True, port=given.port) as server:
        server.answers(Model(behaviour, server, seed=given.seed))
        print(server.url, flush=True)
        signal.sigwait(ended)


if __name__ == "__main__":
    main()
