"""Replies that arrive in pieces: lines to events, events to a reply. Pure, but for the lines."""

import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from evals_app.engine.agents.external.chat import chat_reply
from evals_app.engine.agents.external.reply import (
    AgentReply,
    json_noting,
    read_reply,
    reported_error,
)
from evals_app.engine.agents.external.wire import BESIDE_TEXT, reply_of
from evals_app.engine.agents.tools.tool_calls import as_text
from evals_app.engine.basics.errors import AgentError
from evals_app.engine.llm.apis.openai_stream import StreamedCompletion
from evals_app.engine.llm.apis.openai_wire import error_in
from evals_app.engine.llm.apis.wire import UnreadableReplyError, read_complaint
from evals_app.engine.llm.call import MAX_REPLY_BYTES
from evals_app.engine.specs.wire_spec import Places, StreamSpec
from fixtures_app.ground.json_paths import NoSuchPlaceError, describe, find, parse_path
from fixtures_app.ground.quoting import cut_middle, in_quotes, join_list
from fixtures_app.ground.strict_json import Json, JsonObject

Format = Literal["sse", "ndjson"]
MAX_STREAM_BYTES = 20 * MAX_REPLY_BYTES  # each piece is wrapped in an event
_TOO_LONG = f"The agent's reply is longer than {MAX_REPLY_BYTES // 1000:,} kB."
_END = "[DONE]"
_TYPES: Mapping[str, Format] = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/x-jsonlines": "ndjson",
    "application/jsonlines": "ndjson",
    "application/stream+json": "ndjson",
}
_FIELD = re.compile(r"(?:data|event|id|retry)?:")  # how a line of server-sent events begins
_MAX_KEYS = 20  # of all events, in an error

Hide = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Event:
    """A piece of a stream; only server-sent events have names."""

    data: str
    name: str = ""


class Pieces(Protocol):
    """A reply that is being put together."""

    def add(self, event: Event) -> bool:
        """Add an event; return whether it had text or a tool call.

        Raises:
            AgentError: it reports an error, or cannot be read.
        """

    def reply(self, hide: Hide) -> AgentReply:
        """Return the reply, all of its texts without secrets.

        Raises:
            AgentError: it is not complete, or something in it is wrong.
        """


def format_of(media_type: str, text: str) -> Format | None:
    """Return the format of a stream that an answer seems to be; None if it is none."""
    if known := _TYPES.get(media_type):
        return known
    if media_type == "application/json":
        return "ndjson" if has_json_lines(text) else None
    lines = list(filter(None, lines_of(text)))
    is_sse = any(line.startswith("data:") for line in lines) and all(map(_FIELD.match, lines))
    return "sse" if is_sse and media_type in {"", "text/plain"} else None


def has_json_lines(text: str) -> bool:
    """Return whether a text has several lines, each of which is a JSON object."""
    lines = list(filter(None, lines_of(text)))
    return len(lines) > 1 and all(map(is_object, lines))


def is_object(text: str) -> bool:
    """Return whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


async def events_in(
    lines: AsyncGenerator[str, None],
    *,
    format: Format,  # noqa: A002 - its name in files
) -> AsyncGenerator[Event, None]:
    """Yield the events of a stream until it ends or announces its end."""
    reader = _Reader(format)
    async with aclosing(lines):
        async for line in lines:
            if event := reader.read(line):
                yield event
                if is_end(event):
                    return
    if event := reader.rest():
        yield event


def recorded_events(text: str, *, format: Format) -> list[Event]:  # noqa: A002 - its name in files
    """Return the events of a stream that was recorded, without its end."""
    reader = _Reader(format)
    events = [*map(reader.read, lines_of(text)), reader.rest()]
    return [event for event in events if event and not is_end(event)]


def lines_of(text: str) -> list[str]:
    """Return the lines of a stream that was recorded: JSON may contain other separators."""
    return re.split(r"\r\n|\r|\n", text)


def is_end(event: Event) -> bool:
    """Return whether an event only says that the stream ends."""
    return event.data.strip() == _END


class _Reader:
    """Makes events of lines: server-sent events as the HTML standard reads them."""

    def __init__(self, format: Format) -> None:  # noqa: A002 - its name in files
        self._format = format
        self._name = ""
        self._data: list[str] = []

    def read(self, line: str) -> Event | None:
        """Return the event that ends with a line, if one does."""
        if self._format == "ndjson":
            return Event(line) if line.strip() else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            return self.rest()
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        return None

    def rest(self) -> Event | None:
        """Return the unfinished event: a stream may lack its last empty line."""
        event = Event("\n".join(self._data), self._name) if self._data else None
        self._name, self._data = "", []
        return event


def pieces_for(
    stream: StreamSpec, *, is_chat: bool = False, places: Places | None = None
) -> Pieces:
    """Return an empty reply of an agent."""
    if is_chat:
        return ChatPieces()
    return PlacedPieces(places, stream.text_events) if places else OurPieces(stream.text_events)


class _Events:
    """What streams of JSON have in common."""

    def __init__(self, text_events: Sequence[str]) -> None:
        self._text_events = text_events
        self._text: list[str] = []
        self._size = 0

    def _value(self, event: Event) -> Any:
        """Return the JSON of an event; data that is not an object or a list is text.

        Raises:
            AgentError: the event is an error.
        """
        doubled: list[str] = []
        try:
            value = json_noting(event.data, doubled)
        except (ValueError, RecursionError):
            value = event.data
        if doubled:
            raise AgentError(
                f"An event of the agent's stream has the key {cut_middle(doubled[0])!r} twice."
            )
        if event.name == "error":
            raise reported_error(value)
        return value if isinstance(value, str | dict | list) else event.data

    def _has_text(self, event: Event, value: Json) -> bool:
        kind = value.get("type") if isinstance(value, dict) else None
        return not self._text_events or event.name in self._text_events or kind in self._text_events

    def _add_text(self, piece: str) -> bool:
        self._text.append(piece)
        self._size += len(piece.encode(errors="replace"))
        if self._size > MAX_REPLY_BYTES:
            raise AgentError(_TOO_LONG)
        return bool(piece)


def _begins_as_object(event: Event) -> bool:
    return event.data.lstrip().startswith("{")


def _not_json(event: Event) -> AgentError:
    return AgentError(f"An event of the agent's stream is not valid JSON: {cut_middle(event.data)}")


def _limit_text(text: str) -> str:
    if len(text) > 2 * MAX_REPLY_BYTES:  # the text of the reply, and everything else
        raise AgentError(_TOO_LONG)
    return text


class OurPieces(_Events):
    """Events that are text, or have our own keys."""

    def __init__(self, text_events: Sequence[str]) -> None:
        super().__init__(text_events)
        self._found: JsonObject = {}
        self._is_begun = False
        self._is_in_objects = False  # the text, not by itself

    def add(self, event: Event) -> bool:
        if is_end(event):
            return False
        value = self._value(event)
        if isinstance(value, list):
            raise AgentError(f"An event of the agent's stream is a list: {cut_middle(event.data)}")
        is_text = self._has_text(event, value)
        if isinstance(value, str):
            if self._is_in_objects and _begins_as_object(event):
                raise _not_json(event)  # it is cut off
            self._is_begun |= is_text
            return is_text and self._add_text(value)
        has_more = False
        for key, part in value.items():
            if key in {"output", "result"} and part is not None:
                if is_text:
                    self._is_begun = self._is_in_objects = True
                    has_more |= self._add_text(as_text(part))
            elif isinstance(part, list) and isinstance(known := self._found.get(key), list):
                known.extend(part)
                has_more |= key == "tool_calls"
            elif part is not None or key not in self._found:
                self._found[key] = part
                has_more |= key == "tool_calls" and bool(part)
        if error := self._found.get("error"):
            raise reported_error(error)
        return has_more

    def reply(self, hide: Hide) -> AgentReply:
        text = {"output": "".join(self._text)} if self._is_begun else {}
        return read_reply(json.loads(_limit_text(hide(json.dumps({**self._found, **text})))))


class PlacedPieces(_Events):
    """Events of the agent's own shape: each has parts of the reply at its places."""

    def __init__(self, places: Places, text_events: Sequence[str]) -> None:
        super().__init__(text_events)
        self._places = places
        self._paths = {
            part: parse_path(path)
            for part in ("text", *BESIDE_TEXT)
            if (path := getattr(places, part)) is not None
        }
        self._found: dict[str, Any] = {}
        self._is_begun = False
        self._keys: dict[str, None] = {}

    def add(self, event: Event) -> bool:
        if is_end(event):
            return False
        value = self._value(event)
        if isinstance(value, str):
            # Server-sent events with names of their own need not be JSON: a ping, for example.
            if self._paths["text"] and (not event.name or _begins_as_object(event)):
                raise _not_json(event)
        elif isinstance(value, dict) and len(self._keys) < _MAX_KEYS:
            self._keys.update(dict.fromkeys(value))
        has_more = self._note_text(event, value)
        for part in self._paths.keys() - {"text"}:
            has_more |= self._note(part, value)
        if not has_more and isinstance(value, dict) and (error := value.get("error")):
            raise reported_error(error)
        return has_more

    def _note_text(self, event: Event, value: Json) -> bool:
        if not self._has_text(event, value):
            return False
        try:
            piece = find(value, self._paths["text"])
        except NoSuchPlaceError:
            return False
        if piece is None or (isinstance(piece, dict | list) and not self._paths["text"]):
            return False
        if not isinstance(piece, str):
            raise AgentError(
                f"An event of the agent's stream has {describe(piece)} at {self._places.text};"
                " it should be text."
            )
        self._is_begun = True
        return self._add_text(piece)

    def _note(self, part: str, value: object) -> bool:
        """Note what an event has of a part; return whether it is a tool call."""
        try:
            found = find(value, self._paths[part])
        except NoSuchPlaceError:
            return False
        if part != "tool_calls":
            if found is not None:
                self._found[part] = found
            return False
        if isinstance(found, dict):  # one call; an object without the name of a tool is none
            found = [found] if self._names_a_tool(found) else None
        if found is None or isinstance(found, str):
            return False
        if not isinstance(found, list):
            raise AgentError(
                f"An event of the agent's stream has {describe(found)} at"
                f" {self._places.tool_calls}; it should be a list of tool calls, or one call."
            )
        self._found.setdefault(part, []).extend(found)
        return bool(found)

    def _names_a_tool(self, call: Mapping[str, object]) -> bool:
        try:
            return find(call, parse_path(self._places.name or "name")) is not None
        except NoSuchPlaceError:
            return False

    def reply(self, hide: Hide) -> AgentReply:
        if not self._is_begun:
            keys = f" Their keys: {join_list(self._keys, in_quotes)}." if self._keys else ""
            raise AgentError(
                f"No event of the agent's stream has text at {self._places.text}.{keys}"
            )
        notes = [
            f"No event of the agent's stream has {getattr(self._places, part)}."
            for part in self._paths
            if part != "text" and part not in self._found
        ]
        found = json.loads(_limit_text(hide(json.dumps(self._found))))
        return reply_of(hide("".join(self._text)), found, self._places, notes)


class ChatPieces:
    """Chunks of a chat completion."""

    def __init__(self) -> None:
        self._completion = StreamedCompletion()
        self._is_ended = False

    def add(self, event: Event) -> bool:
        if is_end(event):
            self._is_ended = True
            return False
        try:
            chunk = json.loads(event.data)
            if event.name == "error" or (isinstance(chunk, dict) and error_in(chunk)):
                raise reported_error(read_complaint(chunk).message or event.data)
            has_more = self._completion.add(chunk)
        except (
            UnreadableReplyError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
        ):
            raise AgentError(
                "An event of the agent's stream is not a chunk of a chat completion:"
                f" {cut_middle(event.data)}"
            ) from None
        if self._completion.size > MAX_REPLY_BYTES:
            raise AgentError(_TOO_LONG)
        return has_more

    def reply(self, hide: Hide) -> AgentReply:
        body = self._completion.body
        if not (self._is_ended or self._completion.is_complete):
            sent = body["choices"][0]["message"]["content"] or "nothing"
            raise AgentError(
                "The agent's stream ended in the middle of its reply: it has no finish_reason and no"
                f" {_END}. It had sent: {cut_middle(hide(sent))}"
            )
        return chat_reply(hide(json.dumps(body)))
