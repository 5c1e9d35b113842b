"""Streams of OpenAI's chat API as plain data: chunks to a reply as if it were not streamed."""

import json
from collections.abc import Mapping
from typing import Any

from evals_app.engine.llm.apis.openai_wire import text_of
from evals_app.engine.llm.apis.wire import without_empty

# Which thoughts come in pieces, and the key of their text. Encrypted ones come whole.
_TEXT_KEYS = {"reasoning.text": "text", "reasoning.summary": "summary"}


class StreamedCompletion:
    """A reply assembled from stream chunks."""

    def __init__(self) -> None:
        self.is_complete = False
        self.size = self.pieces = 0
        self._body: dict[str, object] = {}
        self._text, self._refusal = "", ""
        self._reason: object = None
        self._error: object = None
        self._calls: list[dict[str, object]] = []
        self._places: dict[object, dict[str, object]] = {}
        self._extra: dict[str, Any] = {}
        self._logprobs: list[object] = []

    @property
    def body(self) -> dict[str, Any]:
        """Return it as if it were not streamed."""
        message = {
            "role": "assistant",
            "content": self._text or None,
            "refusal": self._refusal or None,
            "tool_calls": self._calls,
            **self._extra,
        }
        logprobs = {"content": self._logprobs} if self._logprobs else None
        choice = {
            "message": message,
            "finish_reason": self._reason,
            "logprobs": logprobs,
            "error": self._error,
        }
        return {**self._body, "choices": [choice]}

    def add(self, chunk: Mapping[str, Any]) -> bool:
        """Add one chunk; return whether it had text or a tool call.

        Raises:
            LookupError, TypeError, AttributeError: the chunks do not fit together.
            UnreadableError: the content of one is not text.
        """
        self._body.update(
            without_empty({name: chunk.get(name) for name in ("id", "model", "usage")})
        )
        for choice in chunk.get("choices") or ():
            if choice.get("index"):
                continue
            if reason := choice.get("finish_reason"):  # some write "" while there is none
                self._reason, self.is_complete = reason, True
                self._error = choice.get("error")
            if tokens := (choice.get("logprobs") or {}).get("content"):
                self._logprobs += tokens
            return self._add_delta(choice.get("delta") or {})
        return False

    def _add_delta(self, delta: Mapping[str, Any]) -> bool:
        # Servers have many names for thoughts, and send a role or empty texts as keep-alive.
        self.pieces += any(value for name, value in delta.items() if name != "role")
        text, refusal = text_of(delta.get("content")), text_of(delta.get("refusal"))
        self.size += len(text) + len(refusal)
        self._text += text
        self._refusal += refusal
        for thought in delta.get("reasoning_details") or ():
            self._add_thought(thought)
        if (extra := delta.get("extra_content")) is not None:
            self._extra["extra_content"] = extra
        calls = delta.get("tool_calls") or ()
        for call in calls:
            self._add_call(call)
        return bool(text or refusal or calls)

    def _add_thought(self, part: Mapping[str, Any]) -> None:
        """Add a piece of signed reasoning: the signature covers the whole."""
        thoughts = self._extra.setdefault("reasoning_details", [])
        last = thoughts[-1] if thoughts else {}
        key = _TEXT_KEYS.get(str(part.get("type")))
        if key is None or any(part.get(name) != last.get(name) for name in ("type", "index")):
            thoughts.append(dict(part))
            return
        text = f"{last.get(key) or ''}{part.get(key) or ''}"
        self.size += len(part.get(key) or "")
        last.update(without_empty(part) | {key: text})

    def _add_call(self, part: Mapping[str, Any]) -> None:
        call, function = self._place(part), part.get("function") or {}
        of_call = call["function"]
        of_call["name"] = of_call["name"] or function.get("name") or ""
        arguments = function.get("arguments") or ""
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        of_call["arguments"] += written
        self.size += len(written)
        if (extra := part.get("extra_content")) is not None:
            call["extra_content"] = extra

    def _place(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """Find the call that a part belongs to: by its index, which some servers leave out."""
        id_, index = part.get("id"), part.get("index")
        if index is not None:
            known_call = self._places.get(index)
            # Others use the same index for every call.
            if known_call is not None and (not id_ or id_ == known_call["id"]):
                return known_call
        elif not id_ and not (part.get("function") or {}).get("name") and self._calls:
            return self._calls[-1]
        call = {"id": id_, "type": "function", "function": {"name": "", "arguments": ""}}
        self._calls.append(call)
        self._places[index] = call
        return call
