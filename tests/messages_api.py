"""Anthropic's Messages API without the network: what it refuses, how it words replies and errors.

The shapes and rules are those of the API reference for POST /v1/messages.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_FIELDS = frozenset(
    {
        *("cache_control", "container", "diagnostics", "inference_geo", "max_tokens", "messages"),
        *("metadata", "model", "output_config", "service_tier", "speed", "stop_sequences"),
        *("stream", "system", "thinking", "tool_choice", "tools"),
    }
)
_MESSAGES = {
    401: "invalid x-api-key",
    429: "This request would exceed your organization's rate limit.",
    500: "Internal server error",
    529: "Overloaded",
}
MAX_MARKS = 4
SAMPLING = ("temperature", "top_p", "top_k")


@dataclass(frozen=True)
class ToolUse:
    """A tool call that the model makes; a string as `input` is sent as it is, even if no JSON."""

    name: str
    input: Json | str = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True)
class Reply:
    """A message of the model. `stop` follows from the content unless given.

    A stream rests for `thinking_s` before its first text or tool. `refusal` are the words in which
    models of OpenAI decline.
    """

    text: str = ""
    tools: tuple[ToolUse, ...] = ()
    thinking: str | None = None
    stop: str | None = None
    category: str | None = None
    refusal: str | None = None
    input_tokens: int = 10
    output_tokens: int = 5
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    thinking_tokens: int = 0
    latency_s: float = 0.0
    thinking_s: float = 0.0


@dataclass(frozen=True)
class Failure:
    """An error as the API words it; Anthropic's has `code` in `error.details.error_code`.

    With `after_events` a stream begins well and then holds the error. `param` and `extra` are what
    else OpenAI and others say in it.
    """

    status: int
    type: str | None = None
    message: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None
    after_events: int | None = None
    param: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    latency_s: float = 0.0


def last_text(request: Json) -> str:
    """Return the text of the last message, without tool results."""
    content = request["messages"][-1]["content"]
    return "\n".join(block["text"] for block in _blocks(content) if block["type"] == "text")


def tool_results(request: Json) -> list[Json]:
    """Return the tool results that the last message brings."""
    content = request["messages"][-1]["content"]
    return [block for block in _blocks(content) if block["type"] == "tool_result"]


def problem_with(request: Json, *, signatures: Iterable[str] = ()) -> str | None:
    """Say what the real API would refuse about a request, None if nothing."""
    for name in request:
        if name not in _FIELDS and name not in SAMPLING:
            return f"{name}: Extra inputs are not permitted"
    for name, kind in (("model", str), ("max_tokens", int), ("messages", list)):
        if name not in request:
            return f"{name}: Field required"
        if not isinstance(request[name], kind):
            return f"{name}: Input should be a valid {kind.__name__}"
    if not request.get("system", "x").strip():
        return "system: text content blocks must contain non-whitespace text"
    if request["max_tokens"] < 1:
        return "max_tokens: Input should be greater than or equal to 1"
    return (
        _problem_with_marks(request["messages"])
        or _problem_with_tools(request)
        or _problem_with_output(request.get("output_config", {}))
        or _problem_with_messages(request["messages"], set(signatures))
    )


def _problem_with_marks(messages: list[Json]) -> str | None:
    blocks = [block for message in messages for block in _blocks(message.get("content"))]
    marks = [block["cache_control"] for block in blocks if "cache_control" in block]
    if any(mark.get("type") != "ephemeral" for mark in marks):
        return "cache_control.type: Input should be 'ephemeral'"
    if len(marks) > MAX_MARKS:
        return f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {len(marks)}."
    return None


def _problem_with_tools(request: Json) -> str | None:
    names: set[str] = set()
    for index, tool in enumerate(request.get("tools", [])):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool.get("name", "")):
            return (
                f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )
        if tool["name"] in names:
            return "tools: Tool names must be unique."
        if tool.get("input_schema", {}).get("type") != "object":
            return f"tools.{index}.custom.input_schema.type: Input should be 'object'"
        names.add(tool["name"])
    if "tool_choice" in request and not names:
        return "tool_choice: tool_choice may only be specified while providing tools"
    return None


def _problem_with_output(output: Json) -> str | None:
    if unknown := output.keys() - {"effort", "format"}:
        return f"output_config.{min(unknown)}: Extra inputs are not permitted"
    if output.get("effort") not in {None, "low", "medium", "high", "xhigh", "max"}:
        return "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
    if "format" not in output:
        return None
    if output["format"].get("type") != "json_schema" or "schema" not in output["format"]:
        return "output_config.format: Field required"
    return problem_in_schema(output["format"]["schema"])


def problem_in_schema(schema: Any) -> str | None:
    """Say what an API would refuse about the schema of an answer, None if nothing."""
    if isinstance(schema, list):
        return next(filter(None, map(problem_in_schema, schema)), None)
    if not isinstance(schema, dict):
        return None
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return "For 'object' type, 'additionalProperties' must be explicitly set to false"
        if set(schema.get("required", [])) != set(schema.get("properties", {})):
            return "'required' must be an array including every key in properties"
    return next(filter(None, map(problem_in_schema, schema.values())), None)


def _problem_with_messages(messages: list[Json], signatures: set[str]) -> str | None:
    if not messages:
        return "messages: at least one message is required"
    turns: list[tuple[str, list[Json]]] = []
    for index, message in enumerate(messages):
        role = message.get("role")
        if role not in {"user", "assistant"}:
            return f"messages.{index}.role: Input should be 'user' or 'assistant'"
        blocks = _blocks(message.get("content"))
        if not blocks:
            return f"messages.{index}: all messages must have non-empty content"
        for block in blocks:
            if problem := _problem_with_block(block, signatures):
                return f"messages.{index}: {problem}"
        if blocks[-1].get("type") == "thinking":
            return (
                f"messages.{index}: The final block in an assistant message cannot be `thinking`."
            )
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, list(blocks)))
    if turns[0][0] != "user":
        return "messages: first message must use the user role"
    if turns[-1][0] != "user":
        return "This model does not support assistant message prefill. The conversation must end with a user message."
    return _problem_with_tool_results(turns)


def _problem_with_block(block: Json, signatures: set[str]) -> str | None:
    match block.get("type"):
        case "text":
            return None if block["text"].strip() else "text content blocks must be non-empty"
        case "image" | "document":
            is_data = block.get("source", {}).get("type") == "base64" and block["source"]["data"]
            return None if is_data else "source: Input should be base64"
        case "thinking":
            is_ours = block.get("signature") in signatures
            return None if is_ours else "Invalid `signature` in `thinking` block"
        case "tool_use":
            is_object = isinstance(block.get("input"), dict)
            return None if is_object else "tool_use.input: Input should be a valid dictionary"
        case "tool_result":
            return None if "tool_use_id" in block else "tool_result.tool_use_id: Field required"
        case other:
            return f"content.type: {other!r} is not known"


def _problem_with_tool_results(turns: list[tuple[str, list[Json]]]) -> str | None:
    asked: set[str] = set()
    for index, (role, blocks) in enumerate(turns):
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if role == "assistant":
            if answered:
                return f"messages.{index}: tool_result blocks can only be in user messages"
            asked = {block["id"] for block in blocks if block["type"] == "tool_use"}
            continue
        kinds = [block["type"] == "tool_result" for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            return f"messages.{index}: tool_result blocks must come first"
        if extra := set(answered) - asked:
            return f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {min(extra)}"
        if missing := asked - set(answered):
            return f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {min(missing)}"
        if len(answered) != len(set(answered)):
            return f"messages.{index}: each `tool_use` must have a single result"
        asked = set()
    return None


def _blocks(content: Any) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def to_message(
    reply: Reply, *, model: str, new_id: Callable[[str], str], sign: Callable[[], str]
) -> Json:
    """Word a reply as the API does."""
    content: list[Json] = []
    if reply.thinking is not None:
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": sign()})
    if reply.text:
        content.append({"type": "text", "text": reply.text, "citations": None})
    content.extend(
        {
            "type": "tool_use",
            "id": tool.id or new_id("toolu"),
            "name": tool.name,
            "input": tool.input,
            "caller": {"type": "direct"},
        }
        for tool in reply.tools
    )
    stop = reply.stop or ("tool_use" if reply.tools else "end_turn")
    refusal = {"type": "refusal", "category": reply.category, "explanation": None}
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": refusal if stop == "refusal" else None,
        "usage": {
            "input_tokens": reply.input_tokens,
            "cache_creation_input_tokens": reply.cache_write_5m + reply.cache_write_1h,
            "cache_read_input_tokens": reply.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": reply.cache_write_5m,
                "ephemeral_1h_input_tokens": reply.cache_write_1h,
            },
            "output_tokens": reply.output_tokens,
            "output_tokens_details": {"thinking_tokens": reply.thinking_tokens},
            "service_tier": "standard",
        },
    }


def to_events(message: Json) -> Iterator[Json]:
    """Return the events by which a stream brings a message."""
    usage = message["usage"]
    empty: Json = {"content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": {**message, **empty}}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        start, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")},
        "usage": {
            "output_tokens": usage["output_tokens"],
            "output_tokens_details": usage["output_tokens_details"],
        },
    }
    yield {"type": "message_stop"}


def is_speech(event: Json) -> bool:
    """Tell whether an event begins something other than thoughts."""
    is_start = event["type"] == "content_block_start"
    return is_start and bool(event["content_block"]["type"] != "thinking")


def to_error(failure: Failure) -> Json:
    """Word an error as the API does."""
    error: Json = {
        "type": failure.type or _TYPES.get(failure.status, "api_error"),
        "message": failure.message or _MESSAGES.get(failure.status, "Something went wrong."),
    }
    if failure.code is not None:
        error["details"] = {"error_code": failure.code}
    return {"type": "error", "error": error, "request_id": "req_error"}


def _streamed(block: Json) -> tuple[Json, list[Json]]:
    match block["type"]:
        case "text":
            texts = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            return {**block, "text": ""}, texts
        case "thinking":
            thoughts = [("thinking", piece) for piece in pieces(block["thinking"])]
            given = [*thoughts, ("signature", block["signature"])]
            deltas = [{"type": f"{name}_delta", name: value} for name, value in given]
            return {**block, "thinking": "", "signature": ""}, deltas
        case _:
            raw = block["input"]
            raw = raw if isinstance(raw, str) else json.dumps(raw) if raw else ""
            parts = ["", *pieces(raw)]
            inputs = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            return {**block, "input": {}}, inputs


def pieces(text: str) -> list[str]:
    """Cut a text as a stream does; an endless one into not too many pieces."""
    size = max(8, len(text) // 500)
    return [text[start : start + size] for start in range(0, len(text), size)]
