"""OpenAI's chat API and embeddings without the network: what they refuse, how they word things.

The shapes and rules are those of the API reference for POST /v1/chat/completions and
/v1/embeddings; of compatible servers the stricter ones, which refuse what they do not know.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.messages_api import Failure, Json, Reply, pieces, problem_in_schema

_FIELDS = frozenset(
    {
        *("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format"),
        *("max_completion_tokens", "max_tokens", "temperature", "top_p", "seed", "stop", "user"),
        *("reasoning_effort", "stream", "stream_options", "logprobs", "top_logprobs", "n"),
        "prompt_cache_key",
    }
)
_OF_ASSISTANT = frozenset(
    {"role", "content", "refusal", "name", "tool_calls", "extra_content", "reasoning_details"}
)
_EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})
_MESSAGES = {
    401: "Incorrect API key provided: sk-te**********3a. You can find your API key in your account.",
    429: "Rate limit reached for requests.",
    500: "The server had an error while processing your request.",
    503: "That model is currently overloaded.",
}
_TYPES = {400: "invalid_request_error", 404: "invalid_request_error", 401: "invalid_request_error"}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


@dataclass(frozen=True)
class Vectors:
    """Embeddings, one for each text; `input_tokens` None is not reported."""

    vectors: tuple[tuple[float, ...], ...]
    input_tokens: int | None = 8
    latency_s: float = 0.0


def last_said(request: Json) -> str:
    """Return the text of the last user message."""
    users = [message["content"] for message in request["messages"] if message["role"] == "user"]
    content = users[-1] if users else ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def tool_messages(request: Json) -> list[Json]:
    """Return the tool results that the last messages bring."""
    results: list[Json] = []
    for message in reversed(request["messages"]):
        if message["role"] != "tool":
            break
        results.insert(0, message)
    return results


def problem_with(request: Json) -> str | None:
    """Say what an API would refuse about a request, None if nothing."""
    for name in request:
        if name not in _FIELDS:
            return f"Unrecognized request argument supplied: {name}"
    for name, kind in (("model", str), ("messages", list)):
        if not isinstance(request.get(name), kind):
            return f"Missing required parameter: '{name}'."
    if "max_tokens" in request and "max_completion_tokens" in request:
        return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    return (
        _problem_with_settings(request)
        or _problem_with_tools(request)
        or problem_with_schema(request.get("response_format"))
        or _problem_with_messages(request["messages"])
    )


def _problem_with_settings(request: Json) -> str | None:
    for name, most in (("temperature", 2), ("top_p", 1)):
        if not 0 <= request.get(name, 0) <= most:
            return f"Invalid '{name}': decimal above maximum value."
    if request.get("reasoning_effort", "low") not in _EFFORTS:
        return f"Invalid value: '{request['reasoning_effort']}'. Supported values are: 'low'."
    if "top_logprobs" in request and not request.get("logprobs"):
        return "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
    if "stream_options" in request and not request.get("stream"):
        return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return None


def _problem_with_tools(request: Json) -> str | None:
    names: set[str] = set()
    for index, tool in enumerate(request.get("tools", [])):
        function = tool.get("function", {})
        if tool.get("type") != "function":
            return f"Invalid value: '{tool.get('type')}'. Supported values are: 'function'."
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function.get("name", "")):
            return (
                f"Invalid 'tools[{index}].function.name': string does not match pattern. Expected "
                "a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            )
        if function.get("parameters", {}).get("type") != "object":
            return f"Invalid schema for function '{function['name']}': schema must be an object."
        if function["name"] in names:
            return "Tool names must be unique."
        names.add(function["name"])
    if "tool_choice" in request and not names:
        return "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
    if request.get("tool_choice", "auto") not in {"auto", "none", "required"}:
        return f"Invalid value: '{request['tool_choice']}'."
    return None


def problem_with_schema(form: Json | None) -> str | None:
    """Say what is wrong with a form that the reply is to have."""
    if form is None or form.get("type") == "text":
        return None
    if form.get("type") != "json_schema" or not {"name", "schema"} <= form["json_schema"].keys():
        return "Missing required parameter: 'response_format.json_schema'."
    return problem_in_schema(form["json_schema"]["schema"])


def _problem_with_messages(messages: list[Json]) -> str | None:
    if not messages:
        return "Invalid 'messages': empty array."
    asked: list[str] = []
    for index, message in enumerate(messages):
        role = message.get("role")
        if asked and role != "tool":
            return f"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Missing: {', '.join(asked)}"
        match role:
            case "tool":
                if message.get("tool_call_id") not in asked:
                    return "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                asked.remove(message["tool_call_id"])
            case "assistant":
                if problem := _problem_with_turn(message):
                    return f"'messages.{index}': {problem}"
                asked = [call["id"] for call in message.get("tool_calls", [])]
            case "system" | "user" | "developer":
                if problem := _problem_with_content(message.get("content")):
                    return f"'messages.{index}': {problem}"
            case _:
                return f"Invalid value: '{role}'."
    if asked:
        return f"An assistant message with 'tool_calls' must be followed by tool messages. Missing: {', '.join(asked)}"
    return None


def _problem_with_turn(message: Json) -> str | None:
    if unknown := message.keys() - _OF_ASSISTANT:
        return f"property '{min(unknown)}' is unsupported"
    if not message.get("content") and not message.get("tool_calls"):
        return "expected a string, got null"
    for call in message.get("tool_calls", []):
        try:
            is_object = isinstance(json.loads(call["function"]["arguments"]), dict)
        except ValueError:
            is_object = False
        if not is_object:
            return "the arguments of a function are not a JSON object"
    return None


def _problem_with_content(content: Any) -> str | None:
    if isinstance(content, str):
        return None
    if not isinstance(content, list) or not content:
        return "expected a string or a list of parts"
    for part in content:
        match part:
            case {"type": "text", "text": str()}:
                continue
            case {"type": "image_url", "image_url": {"url": str(url)}} if _is_data(url, "image/"):
                continue
            case {"type": "file", "file": {"filename": str(), "file_data": str(data)}} if _is_data(
                data, "application/pdf"
            ):
                continue
            case _:
                return f"invalid content part {part.get('type')!r}"
    return None


def _is_data(url: str, kind: str) -> bool:
    return re.match(rf"data:{kind}[a-z]*;base64,[A-Za-z0-9+/]+=*\Z", url) is not None


def to_completion(reply: Reply, request: Json, *, new_id: Callable[[str], str]) -> Json:
    """Word a reply as the API does."""
    message: Json = {
        "role": "assistant",
        "content": reply.text or None,
        "refusal": reply.refusal,
        "annotations": [],
    }
    if reply.tools:
        message["tool_calls"] = [
            {
                "id": tool.id or new_id("call"),
                "type": "function",
                "function": {
                    "name": tool.name,
                    "arguments": tool.input
                    if isinstance(tool.input, str)
                    else json.dumps(tool.input),
                },
            }
            for tool in reply.tools
        ]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": _logprobs(reply, request),
        "finish_reason": reply.stop or ("tool_calls" if reply.tools else "stop"),
    }
    return {
        "id": new_id("chatcmpl"),
        "object": "chat.completion",
        "created": 1_800_000_000,
        "model": request["model"],
        "choices": [choice],
        "usage": to_usage(reply),
        "service_tier": "default",
    }


def to_usage(reply: Reply) -> Json:
    """Count as the API does: what was cached is part of the prompt."""
    written = reply.cache_write_5m + reply.cache_write_1h
    prompt = reply.input_tokens + reply.cache_read + written
    return {
        "prompt_tokens": prompt,
        "completion_tokens": reply.output_tokens,
        "total_tokens": prompt + reply.output_tokens,
        "prompt_tokens_details": {
            "cached_tokens": reply.cache_read,
            "cache_write_tokens": written,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": reply.thinking_tokens,
            "accepted_prediction_tokens": 0,
        },
    }


def _logprobs(reply: Reply, request: Json) -> Json | None:
    if not request.get("logprobs"):
        return None
    return {
        "content": [token_json(piece, request) for piece in pieces(reply.text)],
        "refusal": None,
    }


def token_json(token: str, request: Json) -> Json:
    """Word a token: as likely as not, and so many others less likely than it."""
    others = [f"{token}{number}" for number in range(1, request.get("top_logprobs", 0))]
    top = [token, *others] if request.get("top_logprobs") else []
    return {
        "token": token,
        "bytes": list(token.encode("utf-8", "surrogatepass")),
        "logprob": -0.5,
        "top_logprobs": [
            {"token": other, "bytes": list(other.encode()), "logprob": -0.5 - place}
            for place, other in enumerate(top)
        ],
    }


def to_chunks(completion: Json, request: Json) -> Iterator[Json]:
    """Return the chunks by which a stream brings a reply."""
    (choice,) = completion["choices"]
    head = {name: completion[name] for name in ("id", "created", "model", "service_tier")}
    head["object"] = "chat.completion.chunk"
    wants_usage = request.get("stream_options", {}).get("include_usage")
    if wants_usage:
        head["usage"] = None

    def chunk(delta: Json, *, reason: str | None = None, logprobs: Json | None = None) -> Json:
        given = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
        return {**head, "choices": [given]}

    message = choice["message"]
    yield chunk({"role": "assistant", "content": "", "refusal": None})
    tokens = (choice["logprobs"] or {}).get("content", [])
    for place, piece in enumerate(pieces(message["content"] or "")):
        logprobs = {"content": [tokens[place]], "refusal": None} if tokens else None
        yield chunk({"content": piece}, logprobs=logprobs)
    for piece in pieces(message["refusal"] or ""):
        yield chunk({"refusal": piece})
    for index, call in enumerate(message.get("tool_calls", [])):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, **call, "function": function}]})
        for piece in pieces(call["function"]["arguments"]):
            part = {"index": index, "function": {"arguments": piece}}
            yield chunk({"tool_calls": [part]})
    yield chunk({}, reason=choice["finish_reason"])
    if wants_usage:
        yield {**head, "choices": [], "usage": completion["usage"]}


def is_speech(chunk: Json) -> bool:
    """Tell whether a chunk brings something other than its beginning."""
    delta = chunk["choices"][0]["delta"] if chunk.get("choices") else {}
    return bool(delta.get("content") or delta.get("tool_calls") or delta.get("refusal"))


def to_error(failure: Failure) -> Json:
    """Word an error as the API does."""
    error: Json = {
        "message": failure.message or _MESSAGES.get(failure.status, "Something went wrong."),
        "type": failure.type or _TYPES.get(failure.status, "server_error"),
        "param": failure.param,
        "code": failure.code or _CODES.get(failure.status),
    }
    return {"error": {**error, **failure.extra}}


def problem_with_texts(request: Json) -> str | None:
    """Say what the API would refuse about a request for embeddings, None if nothing."""
    if unknown := request.keys() - {"model", "input", "encoding_format", "dimensions", "user"}:
        return f"Unrecognized request argument supplied: {min(unknown)}"
    texts = request.get("input")
    if not isinstance(texts, list) or not texts:
        return "'$.input' is invalid."
    if not all(isinstance(text, str) and text for text in texts):
        return "'$.input' is invalid. Input must be non-empty strings."
    if len(texts) > 2048:
        return "'$.input' is invalid. Too many inputs."
    return None


def to_vectors(answer: Vectors, request: Json) -> Json:
    """Word embeddings as the API does."""
    count = answer.input_tokens
    usage = {"prompt_tokens": count, "total_tokens": count}
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": list(vector)}
            for index, vector in enumerate(answer.vectors)
        ],
        "model": request["model"],
        **({"usage": usage} if count is not None else {}),
    }
