"""The Messages API as plain data: our calls to its requests, its messages to our replies.

Pure and without the SDK; the shapes are those of Anthropic's API reference for POST /v1/messages.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from evals_app.engine.llm.apis import wire
from evals_app.engine.llm.apis.names import ToolNames
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
from fixtures_app.ground.strict_json import Json, JsonObject

_STOPS: dict[str, Stop] = {
    "end_turn": "ok",
    "stop_sequence": "ok",
    "pause_turn": "ok",
    "tool_use": "tool",
    "max_tokens": "length",
    "refusal": "refusal",
    "model_context_window_exceeded": "context",
}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def to_request(call: ModelCall, *, names: ToolNames, without: frozenset[str]) -> JsonObject:
    """Return the keyword arguments of the SDK's `messages.create`."""
    request: dict[str, object] = {
        "model": call.model,
        "max_tokens": call.max_output_tokens,
        "messages": [
            _to_message(message) for message in call.messages if wire.says_something(message)
        ],
    }
    if call.system.strip():
        request["system"] = call.system
    if call.tools:
        request["tools"] = wire.tool_definitions(call, names, schema="input_schema")
    if call.tool_choice is not None:
        request["tool_choice"] = {"type": call.tool_choice}
    output = wire.given_settings(call, ("effort", "schema"), without=without)
    if "schema" in output:
        output["format"] = {"type": "json_schema", "schema": output.pop("schema")}
    if output:
        request["output_config"] = output
    # The SDK has no keywords for these: current models refuse them, older ones do not.
    if sampling := wire.given_settings(call, ("temperature", "top_p"), without=without):
        request["extra_body"] = sampling
    cleaned: JsonObject = wire.well_formed(request)
    return cleaned


def to_reply(
    message: Mapping[str, object], *, names: ToolNames, raw_inputs: Mapping[int, str]
) -> ModelReply:
    """Read a finished message; `raw_inputs` are tool arguments as streamed, by block index.

    Raises:
        UnreadableError: we cannot read it.
    """
    message = wire.well_formed(message)
    content = wire.entries(message.get("content"), "content blocks")
    reason = message.get("stop_reason")
    if not isinstance(reason, str) or reason not in _STOPS:
        raise wire.UnreadableReplyError(
            f"it stopped for an unknown reason ({reason!r}); known: {', '.join(_STOPS)}"
        )
    details = message.get("stop_details")
    category = details.get("category") if isinstance(details, dict) else None
    turn = _to_turn(content)
    stop = _STOPS[reason]
    if stop == "tool" and not any(block.get("type") == "tool_use" for block in content):
        raise wire.UnreadableReplyError("it stopped for a tool call but contains none")
    usage, notes = wire.read_usage(message.get("usage"), to_usage)
    return ModelReply(
        text="".join(_text(block) for block in content),
        tool_calls=tuple(
            wire.tool_request(
                block.get("id"),
                name=block.get("name"),
                # An empty stream of arguments means none; the block still has its initial {}.
                arguments=wire.well_formed(raw_inputs.get(index)) or _arguments(block),
                names=names,
            )
            for index, block in enumerate(content)
            if block.get("type") == "tool_use"
        ),
        stop=stop,
        refusal_category=wire.label(category) or None,
        usage=usage,
        model=wire.label(message.get("model")),
        native_turn=NativeTurn({"role": "assistant", "content": turn}) if turn else None,
        is_whole=stop != "refusal",  # which comes from a filter: models decline in words
        notes=notes,
    )


def to_usage(usage: object) -> Usage:
    """Read token counts; what is not reported stays unknown.

    Raises:
        MiscountedError: they are impossible.
    """
    if not isinstance(usage, Mapping):
        return Usage()
    written = wire.count(usage, "cache_creation_input_tokens") or 0
    split = usage.get("cache_creation")
    for_1h = wire.count(split, "ephemeral_1h_input_tokens") or 0
    for_5m = wire.count(split, "ephemeral_5m_input_tokens") or 0
    return Usage(
        input_uncached=wire.count(usage, "input_tokens"),
        output=wire.count(usage, "output_tokens"),
        cache_read=wire.count(usage, "cache_read_input_tokens") or 0,
        # Without a split, all tokens count as the shorter kind, the API's default.
        cache_write_5m=max(for_5m, written - for_1h),
        cache_write_1h=for_1h,
        reasoning=wire.count(usage.get("output_tokens_details"), "thinking_tokens") or 0,
    )


class StreamedMessage:
    """A message assembled from stream events."""

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.raw_inputs: dict[int, str] = {}
        self.is_complete = False
        self.size = self.pieces = 0

    def add(self, event: Mapping[str, Any]) -> bool:
        """Add one event; return whether it had text or tool arguments.

        Raises:
            LookupError, TypeError, AttributeError: the events do not fit together.
        """
        match event["type"]:
            case "message_start":
                self.message = dict(event["message"])
                self.message["content"] = list(self.message["content"])
                self.message["usage"] = dict(self.message.get("usage") or {})
            case "content_block_start":
                self.message["content"].append(dict(event["content_block"]))
            case "content_block_delta":
                return self._add_delta(event["index"], event["delta"])
            case "content_block_stop":
                block = self.message["content"][event["index"]]
                if raw := self.raw_inputs.get(event["index"]):
                    block["input"] = wire.parse_json(raw)
            case "message_delta":
                self.message.update(wire.without_empty(event["delta"]))
                # Counts are cumulative; what is left out keeps the value of message_start.
                self.message["usage"].update(wire.without_empty(event.get("usage") or {}))
            case "message_stop":
                self.is_complete = True
        return False

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> bool:
        block = self.message["content"][index]
        self.pieces += any(value for name, value in delta.items() if name != "type")
        match delta["type"]:
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
                self.size += len(delta["text"])
                return bool(delta["text"])
            case "input_json_delta":
                self.raw_inputs[index] = self.raw_inputs.get(index, "") + delta["partial_json"]
                self.size += len(delta["partial_json"])
                return True
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
                self.size += len(delta["thinking"])
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "citations_delta":
                block["citations"] = block.get("citations") or []
                block["citations"].append(delta["citation"])
        return False


def _to_message(message: ChatMessage) -> dict[str, object]:
    match message:
        case UserMessage(text, files, shared):
            is_plain = not files and not shared
            return {
                "role": "user",
                "content": text if is_plain else _content_blocks(text, files, shared),
            }
        case AssistantMessage(text):
            return {"role": "assistant", "content": text}
        case NativeTurn(value):
            turn: dict[str, object] = value
            return turn
        case ToolResults(results):
            blocks = [
                {
                    "type": "tool_result",
                    "tool_use_id": result.call_id,
                    "content": result.content,
                    **({"is_error": True} if result.is_error else {}),
                }
                for result in results
            ]
            return {"role": "user", "content": blocks}


def _content_blocks(text: str, files: tuple[FileContent, ...], shared: int) -> list[dict[str, Any]]:
    """Return blocks, files before the question about them: models read them best so.

    The block up to the mark is cached, with everything before it.
    """
    blocks = [_to_block(file) for file in files]
    marked = {"type": "text", "text": text[:shared], "cache_control": {"type": "ephemeral"}}
    rest = {"type": "text", "text": text[shared:]}
    blocks += [marked] if text[:shared].strip() else []
    return [*blocks, rest] if text[shared:].strip() else blocks


def _to_block(file: FileContent) -> dict[str, Any]:
    source = {
        "type": "base64",
        "media_type": file.media_type,
        "data": base64.b64encode(file.data).decode(),
    }
    if file.media_type == PDF:
        return {"type": "document", "source": source, "title": file.name}
    return {"type": "image", "source": source}


def _arguments(block: Mapping[str, Json]) -> str:
    return json.dumps(block.get("input"), ensure_ascii=False)


def _text(block: Mapping[str, object]) -> str:
    return (
        wire.text_or_empty(block.get("text"), "a block of text")
        if block.get("type") == "text"
        else ""
    )


def _to_turn(content: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the blocks that may be sent back: the API refuses some of what it writes itself."""
    is_blank = [block.get("type") == "text" and not _text(block).strip() for block in content]
    turn = [_returnable(block) for block, blank in zip(content, is_blank, strict=True) if not blank]
    while turn and str(turn[-1].get("type")) in _THOUGHTS:  # after which it was cut off
        turn.pop()
    return turn


def _returnable(block: JsonObject) -> JsonObject:
    # Unchanged, except for arguments that are not an object: the API would refuse its own words.
    if block.get("type") == "tool_use" and not wire.is_object(_arguments(block)):
        return {**block, "input": {}}
    return block
