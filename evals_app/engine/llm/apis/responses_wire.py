"""OpenAI's Responses API as plain data, for models that the chat API does not serve.

Pure and without the SDK; the shapes are those of OpenAI's API reference for POST /v1/responses.
Nothing is stored there: a turn goes back with its reasoning, which comes encrypted.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from evals_app.engine.llm.apis import wire
from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.apis.openai_wire import SETTINGS, data_url, to_logprobs
from evals_app.engine.llm.call import (
    AssistantMessage,
    ChatMessage,
    FileContent,
    ModelCall,
    ModelReply,
    NativeTurn,
    Stop,
    ToolResults,
    UserMessage,
)
from evals_app.engine.network.provider_kinds import PDF
from evals_app.engine.record.usage import Usage
from fixtures_app.ground.strict_json import JsonObject

# Settings that it does not have.
LACKS = frozenset({"seed"})

_STOPS: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "refusal"}
_TOKENS = frozenset(
    {
        "response.output_text.delta",
        "response.refusal.delta",
        "response.function_call_arguments.delta",
    }
)
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def to_request(call: ModelCall, *, names: ToolNames, without: frozenset[str]) -> dict[str, object]:
    """Return the keyword arguments of the SDK's `responses.create`."""
    include = ["reasoning.encrypted_content"]
    settings = wire.given_settings(call, SETTINGS, without=without | LACKS)
    if "cache_key" in settings:
        settings["prompt_cache_key"] = settings.pop("cache_key")
    if "effort" in settings:
        settings["reasoning"] = {"effort": settings.pop("effort")}
    if "top_logprobs" in settings:
        include.append("message.output_text.logprobs")
    if "schema" in settings:
        settings["text"] = {"format": wire.reply_format(settings.pop("schema"))}
    request: dict[str, object] = {
        "model": call.model,
        "input": [item for message in call.messages for item in _to_items(message)],
        "max_output_tokens": call.max_output_tokens,
        "store": False,
        "include": include,
        **settings,
    }
    if call.system.strip():
        request["instructions"] = call.system
    if call.tools:
        # Not strict: people write these schemas.
        tools = wire.tool_definitions(call, names)
        request["tools"] = [{"type": "function", **tool, "strict": False} for tool in tools]
    if call.tool_choice is not None:
        request["tool_choice"] = "required" if call.tool_choice == "any" else call.tool_choice
    cleaned: dict[str, object] = wire.well_formed(request)
    return cleaned


def is_native(call: ModelCall) -> bool:
    """Return whether the conversation contains a turn of this API."""
    turns = (message.value for message in call.messages if isinstance(message, NativeTurn))
    return any(isinstance(value, list) for value in turns)


def to_reply(body: Mapping[str, object], *, names: ToolNames) -> ModelReply:
    """Read a finished response.

    Raises:
        UnreadableError: we cannot read it.
    """
    body = wire.well_formed(body)
    output = wire.entries(body.get("output"), "output items")
    parts = [part for item in output for part in _parts(item)]
    text = "".join(wire.text_or_empty(part.get("text"), "a part of its text") for part in parts)
    refusal = "".join(
        wire.text_or_empty(part.get("refusal"), "a part of its refusal") for part in parts
    )
    calls = [item for item in output if item.get("type") == "function_call"]
    reason = _reason(body)
    stop: Stop = "refusal" if refusal else _STOPS[reason] if reason else "tool" if calls else "ok"
    logprobs = [part["logprobs"] for part in parts if isinstance(part.get("logprobs"), list)]
    turn = _to_turn(output)
    usage, notes = wire.read_usage(body.get("usage"), to_usage)
    return ModelReply(
        text=text or refusal,
        tool_calls=tuple(
            wire.tool_request(
                item.get("call_id"), name=item.get("name"), arguments=_arguments(item), names=names
            )
            for item in calls
        ),
        stop=stop,
        refusal_category=reason if stop == "refusal" else None,
        usage=usage,
        model=wire.label(body.get("model")),
        native_turn=NativeTurn(turn) if turn else None,
        logprobs=to_logprobs({"content": [*chain(*logprobs)]}, text=text),
        is_whole=reason != "content_filter",
        notes=notes,
    )


def to_usage(usage: object) -> Usage:
    """Read token counts; what is not reported stays unknown.

    Raises:
        MiscountedError: they are impossible.
    """
    sent = wire.count(usage, "input_tokens")
    if not isinstance(usage, Mapping) or sent is None:
        return Usage()
    details = usage.get("input_tokens_details")
    read = wire.count(details, "cached_tokens") or 0
    written = wire.count(details, "cache_write_tokens") or 0
    return Usage(
        input_uncached=max(0, sent - read - written),
        output=wire.count(usage, "output_tokens"),
        cache_read=read,
        cache_write_5m=written,
        reasoning=wire.count(usage.get("output_tokens_details"), "reasoning_tokens") or 0,
    )


class StreamedResponse:
    """A streamed response; the last event contains all of it."""

    size = 0  # nothing is assembled

    def __init__(self) -> None:
        self.body: dict[str, Any] = {}
        self.is_complete = False
        self.pieces = 0

    def add(self, event: Mapping[str, Any]) -> bool:
        """Add one event; return whether it had text or tool arguments.

        Raises:
            LookupError, TypeError, ValueError: the events do not fit together.
        """
        self.pieces += bool(event.get("delta"))  # of thoughts, too
        if event["type"] in _ENDS:
            self.body, self.is_complete = dict(event["response"]), True
        elif event["type"] == "error":
            self.body, self.is_complete = {"error": dict(event)}, True
        return event["type"] in _TOKENS


def _to_items(message: ChatMessage) -> Iterator[Mapping[str, object]]:
    if not wire.says_something(message):
        return
    match message:
        case UserMessage(text, files):
            yield {"role": "user", "content": _content_parts(text, files) if files else text}
        case AssistantMessage(text):
            yield {"role": "assistant", "content": text}
        case NativeTurn(list(items)):
            yield from items
        case NativeTurn(turn):
            yield from _of_chat(turn)
        case ToolResults(results):
            for result in results:
                yield {
                    "type": "function_call_output",
                    "call_id": result.call_id,
                    "output": result.content,
                }


def _of_chat(turn: Mapping[str, Any]) -> Iterator[Mapping[str, object]]:
    """Return a turn of the chat API, which served this model before."""
    if turn.get("content"):
        yield {"role": "assistant", "content": turn["content"]}
    for call in turn.get("tool_calls") or ():
        yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _content_parts(text: str, files: tuple[FileContent, ...]) -> list[JsonObject]:
    parts = [_to_part(file) for file in files]
    return [*parts, {"type": "input_text", "text": text}] if text.strip() else parts


def _to_part(file: FileContent) -> JsonObject:
    if file.media_type == PDF:
        return {"type": "input_file", "filename": file.name, "file_data": data_url(file)}
    return {"type": "input_image", "image_url": data_url(file)}


def _parts(item: Mapping[str, object]) -> list[Mapping[str, Any]]:
    content = item.get("content") if item.get("type") == "message" else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _reason(body: Mapping[str, object]) -> str | None:
    """Return the reason why a response is incomplete; None if it is complete."""
    status = body.get("status")
    if status == "completed":
        return None
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    if status != "incomplete" or not isinstance(reason, str) or reason not in _STOPS:
        raise wire.UnreadableReplyError(
            f"it ended with the status {status!r} for the reason {reason!r}"
        )
    return reason


def _arguments(item: Mapping[str, object]) -> str:
    return str(item.get("arguments") or "{}")


def _to_turn(output: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Return the items that may be sent back: no thought without the item that followed it."""
    turn = [_returnable(item) for item in output]
    while turn and turn[-1].get("type") == "reasoning":  # after which it was cut off
        turn.pop()
    return turn


def _returnable(item: Mapping[str, object]) -> Mapping[str, object]:
    # Unchanged, except for arguments that are not an object: the API would refuse its own words.
    if item.get("type") != "function_call" or wire.is_object(_arguments(item)):
        return item
    return {**item, "arguments": "{}"}
