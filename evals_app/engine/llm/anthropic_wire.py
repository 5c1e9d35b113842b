"""The Messages API as plain data: our calls to its requests, its messages to our replies.

Pure and without the SDK; the shapes are those of Anthropic's API reference for POST /v1/messages.
"""

import json
from collections.abc import Mapping
from typing import Any

from evals_app.engine.llm.call import (
    AssistantMessage,
    ChatMessage,
    ModelCall,
    ModelReply,
    NativeTurn,
    Stop,
    ToolRequest,
    ToolResults,
    UserMessage,
)
from evals_app.engine.llm.names import ToolNames
from evals_app.engine.trial import Usage

_STOPS: dict[str, Stop] = {
    "end_turn": "ok",
    "stop_sequence": "ok",
    "pause_turn": "ok",
    "tool_use": "tool",
    "max_tokens": "length",
    "refusal": "refusal",
    "model_context_window_exceeded": "context",
}

# Sampling first: where a model refuses two settings together, the less important one goes first.
SETTINGS = ("top_p", "temperature", "effort")


class UnreadableError(Exception):
    """A reply that does not look like a message; the text says what is wrong with it."""


def sent_settings(call: ModelCall, *, without: frozenset[str]) -> dict[str, Any]:
    """Give the settings of a call that go out, by our names."""
    optional = {name: getattr(call, name) for name in SETTINGS if name not in without}
    given = {name: value for name, value in optional.items() if value is not None}
    return {"max_output_tokens": call.max_output_tokens, **given}


def to_request(call: ModelCall, *, names: ToolNames, without: frozenset[str]) -> dict[str, Any]:
    """Give the keyword arguments of the SDK's `messages.create`."""
    settings = sent_settings(call, without=without)
    request: dict[str, Any] = {
        "model": call.model,
        "max_tokens": call.max_output_tokens,
        "messages": [_to_message(message) for message in call.messages if _says_something(message)],
    }
    if call.system:
        request["system"] = call.system
    if call.tools:
        request["tools"] = [
            {
                "name": names.sent(tool.name),
                "description": tool.description,
                "input_schema": dict(tool.parameters),
            }
            for tool in call.tools
        ]
    if call.tool_choice is not None:
        request["tool_choice"] = {"type": call.tool_choice}
    output: dict[str, Any] = {}
    if "effort" in settings:
        output["effort"] = settings["effort"]
    if call.schema is not None:
        output["format"] = {"type": "json_schema", "schema": call.schema}
    if output:
        request["output_config"] = output
    # The SDK has no keywords for these: current models refuse them, older ones do not.
    if sampling := {name: settings[name] for name in ("temperature", "top_p") if name in settings}:
        request["extra_body"] = sampling
    cleaned: dict[str, Any] = _well_formed(request)
    return cleaned


def to_reply(
    message: Mapping[str, Any], *, names: ToolNames, raw_inputs: Mapping[int, str]
) -> ModelReply:
    """Read a finished message; `raw_inputs` are tool arguments as streamed, by block index.

    Raises:
        UnreadableError: it is no message that we understand.
    """
    message = _well_formed(message)
    content = message.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        msg = "it has no list of content blocks"
        raise UnreadableError(msg)
    reason = message.get("stop_reason")
    if reason not in _STOPS:
        msg = f"it stopped for an unknown reason, {reason!r}; known are {', '.join(_STOPS)}"
        raise UnreadableError(msg)
    turn = [_returnable(block) for block in content]
    return ModelReply(
        text="".join(str(each.get("text", "")) for each in content if each.get("type") == "text"),
        tool_calls=tuple(
            _to_tool_request(block, names=names, raw=_well_formed(raw_inputs.get(index)))
            for index, block in enumerate(content)
            if block.get("type") == "tool_use"
        ),
        stop=_STOPS[reason],
        refusal_category=(message.get("stop_details") or {}).get("category"),
        usage=to_usage(message.get("usage")),
        model=str(message.get("model") or ""),
        native_turn=NativeTurn({"role": "assistant", "content": turn}) if turn else None,
    )


def to_usage(usage: object) -> Usage:
    """Read token counts; what is not reported stays unknown."""
    if not isinstance(usage, Mapping):
        return Usage()
    written = _count(usage, "cache_creation_input_tokens") or 0
    split = usage.get("cache_creation")
    for_1h = (_count(split, "ephemeral_1h_input_tokens") or 0) if isinstance(split, Mapping) else 0
    for_5m = (_count(split, "ephemeral_5m_input_tokens") or 0) if isinstance(split, Mapping) else 0
    details = usage.get("output_tokens_details")
    return Usage(
        input_uncached=_count(usage, "input_tokens"),
        output=_count(usage, "output_tokens"),
        cache_read=_count(usage, "cache_read_input_tokens") or 0,
        # Without a split all of it is of the shorter kind, which is the API's default.
        cache_write_5m=max(for_5m, written - for_1h),
        cache_write_1h=for_1h,
        reasoning=(_count(details, "thinking_tokens") or 0) if isinstance(details, Mapping) else 0,
    )


class StreamedMessage:
    """A message put together from stream events."""

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.raw_inputs: dict[int, str] = {}
        self.is_complete = False

    def add(self, event: Mapping[str, Any]) -> bool:
        """Take one event; say whether it brought text or tool arguments.

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
                self._end_block(event["index"])
            case "message_delta":
                self.message.update(_known(event["delta"]))
                # Counts are cumulative; what is left out keeps the value of message_start.
                self.message["usage"].update(_known(event.get("usage") or {}))
            case "message_stop":
                self.is_complete = True
        return False

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> bool:
        block = self.message["content"][index]
        match delta["type"]:
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
                return bool(delta["text"])
            case "input_json_delta":
                self.raw_inputs[index] = self.raw_inputs.get(index, "") + delta["partial_json"]
                return True
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        return False

    def _end_block(self, index: int) -> None:
        block = self.message["content"][index]
        if raw := self.raw_inputs.get(index):
            block["input"] = _parsed(raw)


def _says_something(message: ChatMessage) -> bool:
    # The API refuses blank text; an agent that once said nothing leaves no turn in the history.
    return not isinstance(message, AssistantMessage) or bool(message.text.strip())


def _to_message(message: ChatMessage) -> dict[str, Any]:
    match message:
        case UserMessage(text):
            return {"role": "user", "content": text}
        case AssistantMessage(text):
            return {"role": "assistant", "content": text}
        case NativeTurn(value):
            turn: dict[str, Any] = value
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


def _to_tool_request(block: Mapping[str, Any], *, names: ToolNames, raw: str | None) -> ToolRequest:
    given = block.get("input")
    # An empty stream of arguments means none; the block then still holds its initial {}.
    arguments = _parsed(raw) if raw else given
    return ToolRequest(
        id=str(block.get("id", "")),
        name=names.authored(str(block.get("name", ""))),
        arguments=arguments if isinstance(arguments, dict) else {},
        arguments_raw=raw or json.dumps(given, ensure_ascii=False),
        is_malformed=not isinstance(arguments, dict),
    )


def _returnable(block: dict[str, Any]) -> dict[str, Any]:
    # Unchanged, but for arguments that are no object: the API would refuse its own words.
    if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
        return {**block, "input": {}}
    return block


def _parsed(raw: str) -> Any:  # noqa: ANN401 - whatever the model wrote
    try:
        return _well_formed(json.loads(raw))
    except (ValueError, RecursionError):
        return None


def _well_formed(value: Any) -> Any:  # noqa: ANN401 - any JSON, and it stays what it was
    # A reply cut within an emoji holds half a surrogate pair: no UTF-8 can carry it, neither back
    # to the API nor into a database.
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    return value


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _count(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
