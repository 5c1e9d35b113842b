"""OpenAI's Responses API without the network: what it refuses, how it words replies and errors.

The shapes and rules are those of the API reference for POST /v1/responses, with nothing stored.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from tests.chat_api import problem_with_schema, token_json
from tests.messages_api import Json, Reply, pieces

_FIELDS = frozenset(
    {
        *("model", "input", "instructions", "max_output_tokens", "tools", "tool_choice", "text"),
        *("temperature", "top_p", "top_logprobs", "reasoning", "store", "include", "stream"),
        "prompt_cache_key",
    }
)
_LED_TO = frozenset({"reasoning", "message", "function_call"})
_STATUS = {"length": "max_output_tokens", "content_filter": "content_filter"}


def outputs(request: Json) -> list[Json]:
    """Return the tool results that the last items bring."""
    results: list[Json] = []
    for item in reversed(request["input"]):
        if item.get("type") != "function_call_output":
            break
        results.insert(0, item)
    return results


def problem_with(request: Json, *, signatures: Iterable[str] = ()) -> str | None:
    """Say what the real API would refuse about a request, None if nothing."""
    for name in request:
        if name not in _FIELDS:
            return f"Unknown parameter: '{name}'."
    if request.get("store") is not False:
        return "This organization stores nothing: set 'store' to false."
    for tool in request.get("tools", []):
        if tool.get("type") != "function" or "name" not in tool:
            return "Missing required parameter: 'tools[0].name'."
    form = request.get("text", {}).get("format")
    if form is not None:
        named = {name: form[name] for name in ("name", "schema") if name in form}
        if problem := problem_with_schema({"type": form["type"], "json_schema": named}):
            return problem
    return _problem_with_items(request.get("input", []), set(signatures))


def _problem_with_items(items: list[Json], signatures: set[str]) -> str | None:
    if not items:
        return "Missing required parameter: 'input'."
    asked: list[str] = []
    for item, following in pairwise([*items, {}]):
        match item:
            case {"type": "reasoning"}:
                if item.get("encrypted_content") not in signatures:
                    return f"Item '{item.get('id')}' not found. Items are not persisted when `store` is set to false."
                if following.get("type") not in _LED_TO and following.get("role") != "assistant":
                    return f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
            case {"type": "function_call", "call_id": str(id_), "arguments": str(arguments)}:
                if not isinstance(_parsed(arguments), dict):
                    return "Invalid arguments of a function call."
                asked.append(id_)
            case {"type": "function_call_output", "call_id": id_, "output": str()}:
                if id_ not in asked:
                    return f"No tool call found for function call output with call_id {id_}."
                asked.remove(id_)
            case {"type": "message", "role": "assistant", "content": list()}:
                continue
            case {"role": "user" | "assistant", "content": str(text)} if text:
                continue
            case {"role": "user", "content": [*parts]} if all(map(_is_part, parts)):
                continue
            case _:
                return f"Invalid value: {item!r}."
    if asked:
        return f"No tool output found for function call {asked[0]}."
    return None


def _is_part(part: Json) -> bool:
    match part:
        case {"type": "input_text", "text": str(text)}:
            return bool(text)
        case {"type": "input_image", "image_url": str(url)}:
            return url.startswith("data:image/")
        case {"type": "input_file", "filename": str(), "file_data": str(url)}:
            return url.startswith("data:application/pdf")
    return False


def to_response(
    reply: Reply, request: Json, *, new_id: Callable[[str], str], sign: Callable[[], str]
) -> Json:
    """Word a reply as the API does."""
    output: list[Json] = []
    if reply.thinking is not None:
        thought = {"type": "reasoning", "id": new_id("rs"), "summary": []}
        output.append(thought | {"encrypted_content": sign()})
    if reply.text or reply.refusal:
        part: Json = {"type": "refusal", "refusal": reply.refusal}
        if not reply.refusal:
            logprobs = [token_json(piece, request) for piece in pieces(reply.text)]
            asked = "message.output_text.logprobs" in request.get("include", [])
            part = {"type": "output_text", "text": reply.text, "annotations": []}
            part["logprobs"] = logprobs if asked else []
        item = {"type": "message", "id": new_id("msg"), "role": "assistant", "status": "completed"}
        output.append(item | {"content": [part]})
    output.extend(
        {
            "type": "function_call",
            "id": new_id("fc"),
            "call_id": tool.id or new_id("call"),
            "name": tool.name,
            "arguments": tool.input if isinstance(tool.input, str) else json.dumps(tool.input),
            "status": "completed",
        }
        for tool in reply.tools
    )
    reason = _STATUS.get(reply.stop or "")
    prompt = reply.input_tokens + reply.cache_read + reply.cache_write_5m
    return {
        "id": new_id("resp"),
        "object": "response",
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "model": request["model"],
        "output": output,
        "store": False,
        "usage": {
            "input_tokens": prompt,
            "input_tokens_details": {
                "cached_tokens": reply.cache_read,
                "cache_write_tokens": reply.cache_write_5m,
            },
            "output_tokens": reply.output_tokens,
            "output_tokens_details": {"reasoning_tokens": reply.thinking_tokens},
            "total_tokens": prompt + reply.output_tokens,
        },
    }


def to_events(response: Json) -> Iterator[Json]:
    """Return the events by which a stream brings a response."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(response["output"]):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        for part in item.get("content") or ():
            kind = "refusal" if part["type"] == "refusal" else "output_text"
            events += [
                {"type": f"response.{kind}.delta", "output_index": index, "delta": piece}
                for piece in pieces(part.get("text") or part.get("refusal"))
            ]
        events += [
            {
                "type": "response.function_call_arguments.delta",
                "output_index": index,
                "delta": piece,
            }
            for piece in pieces(item.get("arguments", ""))
        ]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": f"response.{response['status']}", "response": response})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def is_speech(event: Json) -> bool:
    """Tell whether an event brings something other than thoughts."""
    return bool(event["type"].endswith(".delta"))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
