"""The chat API of OpenAI as plain data: our calls to its requests, its replies to ours.

Pure and without the SDK; the shapes are those of OpenAI's API reference for POST
/v1/chat/completions, and known differences of compatible servers.
"""

import base64
import codecs
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
    TokenLogprob,
    ToolResults,
    UserMessage,
)
from evals_app.engine.network.provider_kinds import PDF
from evals_app.engine.record.usage import Usage
from fixtures_app.ground.strict_json import JsonObject

# OpenAI's reasons, and those of Gemini, which it writes in capitals.
_STOPS: dict[str, Stop] = {
    "stop": "ok",
    "tool_calls": "ok",  # the message shows whether there are any
    "function_call": "ok",
    "malformed_function_call": "ok",  # the model then wrote nothing usable
    "unexpected_tool_call": "ok",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "safety": "refusal",
    "recitation": "refusal",
    "blocklist": "refusal",
    "prohibited_content": "refusal",
    "spii": "refusal",
}
SETTINGS = ("temperature", "top_p", "seed", "effort", "top_logprobs", "schema", "cache_key")
_FOR_CALLS = frozenset({"tool_calls", "function_call"})

# Of what servers add to a turn, these must be sent back: signed reasoning. Some servers refuse a
# turn with anything else.
_RETURNED = ("extra_content", "reasoning_details")


def to_request(
    call: ModelCall, *, names: ToolNames, without: frozenset[str], max_tokens_parameter: str
) -> dict[str, object]:
    """Return the keyword arguments of the SDK's `chat.completions.create`."""
    messages = [item for message in call.messages for item in _to_messages(message)]
    if call.system.strip():
        messages.insert(0, {"role": "system", "content": call.system})
    request: dict[str, object] = {
        "model": call.model,
        max_tokens_parameter: call.max_output_tokens,
        "messages": messages,
    }
    if call.tools:
        tools = wire.tool_definitions(call, names)
        request["tools"] = [{"type": "function", "function": tool} for tool in tools]
    if call.tool_choice is not None:
        request["tool_choice"] = "required" if call.tool_choice == "any" else call.tool_choice
    if call.stream:
        request["stream_options"] = {"include_usage": True}
    request |= _to_settings(call, without=without)
    cleaned: dict[str, object] = wire.well_formed(request)
    return cleaned


def to_reply(body: Mapping[str, object], *, names: ToolNames) -> ModelReply:
    """Read a finished reply.

    Raises:
        UnreadableError: we cannot read it.
    """
    body = wire.well_formed(body)
    choice = _choice(body)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise wire.UnreadableReplyError("its choice has no message")
    reason = _reason(choice.get("finish_reason"))
    text, refusal = text_of(message.get("content")), text_of(message.get("refusal"))
    calls = _calls(message)
    stop: Stop = "refusal" if refusal else _STOPS[reason]
    if stop == "ok" and calls:
        stop = "tool"
    if reason in _FOR_CALLS and not calls and not text:
        raise wire.UnreadableReplyError("it stopped for a tool call but contains none")
    usage, notes = wire.read_usage(body.get("usage"), to_usage)
    return ModelReply(
        text=text or refusal,
        tool_calls=tuple(
            wire.tool_request(call["id"], **call["function"], names=names) for call in calls
        ),
        stop=stop,
        refusal_category=reason if stop == "refusal" and not refusal else None,
        usage=usage,
        model=wire.label(body.get("model")),
        native_turn=_to_turn(message, text=text or refusal, calls=calls),
        logprobs=to_logprobs(choice.get("logprobs"), text=text),
        is_whole=_STOPS[reason] != "refusal",
        notes=notes,
    )


def error_in(body: Mapping[str, object]) -> object:
    """Return the error that some servers send with a status of 200; None if there is none."""
    if error := body.get("error"):
        return error
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or choice.get("finish_reason") != "error":
        return None
    return choice.get("error") or {"message": "it ended in an error"}


def to_usage(usage: object) -> Usage:
    """Read token counts; what is not reported stays unknown.

    Raises:
        MiscountedError: they are impossible.
    """
    prompt, output = wire.count(usage, "prompt_tokens"), wire.count(usage, "completion_tokens")
    if not isinstance(usage, Mapping) or prompt is None:
        return Usage()
    of_prompt = usage.get("prompt_tokens_details")
    of_output = usage.get("completion_tokens_details")
    read = wire.count(of_prompt, "cached_tokens") or 0
    written = wire.count(of_prompt, "cache_write_tokens") or 0
    reasoning = wire.count(of_output, "reasoning_tokens") or 0
    total = wire.count(usage, "total_tokens")
    if output is not None and total is not None and (apart := total - prompt - output) > 0:
        # Some count reasoning only in the total.
        output, reasoning = output + apart, max(reasoning, apart)
    return Usage(
        input_uncached=max(0, prompt - read - written),
        output=output,
        cache_read=read,
        cache_write_5m=written,
        reasoning=reasoning,
    )


def to_logprobs(logprobs: object, *, text: str) -> tuple[TokenLogprob, ...]:
    """Read the tokens of a reply; empty if they do not add up to its text."""
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(tokens, list):
        return ()
    # A character may need several tokens; only bytes show where each one begins.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    logprobs_read, so_far = [], ""
    try:
        for token in tokens:
            tops = token.get("top_logprobs") or ()
            top = tuple((str(other["token"]), float(other["logprob"])) for other in tops)
            logprobs_read.append(
                TokenLogprob(len(so_far), str(token["token"]), float(token["logprob"]), top)
            )
            given = token.get("bytes")
            so_far += decoder.decode(token["token"].encode() if given is None else bytes(given))
    except (LookupError, TypeError, AttributeError, ValueError):
        return ()
    return tuple(logprobs_read) if so_far + decoder.decode(b"", final=True) == text else ()


def data_url(file: FileContent) -> str:
    """Write a file as a data URL."""
    return f"data:{file.media_type};base64,{base64.b64encode(file.data).decode()}"


def _to_settings(call: ModelCall, *, without: frozenset[str]) -> JsonObject:
    given = wire.given_settings(call, SETTINGS, without=without)
    if "effort" in given:
        given["reasoning_effort"] = given.pop("effort")
    if "top_logprobs" in given:
        given["logprobs"] = True
    if "cache_key" in given:
        given["prompt_cache_key"] = given.pop("cache_key")
    if "schema" in given:
        form = wire.reply_format(given.pop("schema"))
        kind = form.pop("type")
        given["response_format"] = {"type": kind, **({kind: form} if form else {})}
    return given


def _to_messages(message: ChatMessage) -> list[dict[str, object]]:
    if not wire.says_something(message):
        return []
    match message:
        case UserMessage(text, files):
            return [{"role": "user", "content": _content_parts(text, files) if files else text}]
        case AssistantMessage(text):
            return [{"role": "assistant", "content": text}]
        case NativeTurn(value):
            turn: dict[str, object] = value
            return [turn]
        case ToolResults(results):
            return [
                {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
                for result in results
            ]


def _content_parts(text: str, files: tuple[FileContent, ...]) -> list[JsonObject]:
    """Return content parts, files before the question about them: models read them best so."""
    parts = [_to_part(file) for file in files]
    return [*parts, {"type": "text", "text": text}] if text.strip() else parts


def _to_part(file: FileContent) -> JsonObject:
    if file.media_type == PDF:
        return {"type": "file", "file": {"filename": file.name, "file_data": data_url(file)}}
    return {"type": "image_url", "image_url": {"url": data_url(file)}}


def _choice(body: Mapping[str, object]) -> Mapping[str, object]:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise wire.UnreadableReplyError("it has no list of choices")
    choice: Mapping[str, object] = choices[0]
    return choice


def _reason(given: object) -> str:
    """Return why a reply ended, in OpenAI's notation."""
    # Gemini: "content_filter: SAFETY".
    reason = given.rpartition(":")[2].strip().lower() if isinstance(given, str) else ""
    if reason not in _STOPS:
        raise wire.UnreadableReplyError(
            f"it stopped for an unknown reason ({given!r}); known: {', '.join(_STOPS)}"
        )
    return reason


def text_of(content: object) -> str:
    """Return a content's text; some servers answer in parts.

    Raises:
        UnreadableError: it is something else.
    """
    if isinstance(content, list) and all(isinstance(part, Mapping) for part in content):
        return "".join(
            wire.text_or_empty(part.get("text"), "a part of its content") for part in content
        )
    return wire.text_or_empty(content, "its content")


def _calls(message: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return the tool calls, each with a unique id, by which results are matched."""
    calls: dict[str, dict[str, object]] = {}
    given = message.get("tool_calls") or []
    if not isinstance(given, list):
        raise wire.UnreadableReplyError("its tool calls are not a list")
    for number, call in enumerate(given, 1):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            raise wire.UnreadableReplyError(f"its tool call {number} has no function")
        id_ = str(call.get("id") or f"call_{number}")
        while id_ in calls:
            id_ += "_"
        raw = function.get("arguments")
        if not isinstance(raw, str):
            raw = json.dumps(raw or {}, ensure_ascii=False)
        # Some servers write nothing at all if there are no arguments.
        name = wire.read_name(function.get("name"), f"the name of its tool call {number}")
        written = {"name": name, "arguments": raw.strip() or "{}"}
        extra = wire.without_empty({name: call.get(name) for name in _RETURNED})
        calls[id_] = {"id": id_, "type": "function", "function": written, **extra}
    return list(calls.values())


def _to_turn(
    message: Mapping[str, object], *, text: str, calls: Sequence[Mapping[str, object]]
) -> NativeTurn | None:
    if not text.strip() and not calls:
        return None
    turn: dict[str, object] = {"role": "assistant", "content": text or None}
    turn |= wire.without_empty({name: message.get(name) for name in _RETURNED})
    if calls:
        turn["tool_calls"] = [_returnable(call) for call in calls]
    return NativeTurn(turn)


def _returnable(call: Mapping[str, Any]) -> Mapping[str, object]:
    # Unchanged, except for arguments that are not an object: many servers would refuse them.
    if wire.is_object(call["function"]["arguments"]):
        return call
    return {**call, "function": {**call["function"], "arguments": "{}"}}
