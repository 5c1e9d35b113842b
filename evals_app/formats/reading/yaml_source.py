"""Read YAML into plain data, and remember on which line and in which column everything is.

PyYAML only splits the text into events; the tree is built here. So nothing recurses on hostile
input, aliases cannot multiply, duplicate keys are errors, and dates, `12:30` and `=` stay text.

`yaml.compose` would give nodes with marks, but costs more than it saves: for 10,000 cases it takes
2.4 s and 150 MB for the nodes alone, where all of this takes 2.2 s and 40 MB. It also recurses, so it
would need a pass over the events before it.
"""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from evals_app.formats.reading.parsed_file import MAX_NODES, ParsedFile, Surprise, decode_text
from evals_app.formats.reading.problems import (
    FormatError,
    Json,
    Loc,
    Problem,
    holds,
    keys_text,
    shorten,
)
from evals_app.formats.reading.yaml_scalars import is_surprising, resolve_scalar
from fixtures_app.ground.json_data import text_fault

MAX_DEPTH = 64
_SHORT = 40  # characters
_ALIASES = f"With its aliases this holds more than {MAX_NODES} values."


# A comment begins with # after a space; without the space it may be text, cut off: order #123.
_PERHAPS_TEXT = re.compile(r"[ \t]+#(?![\s#]).*")

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# What PyYAML says, and what to do about it.
_HINTS = {
    "mapping values are not allowed": "Put a text that contains a colon and a space in quotes",
    "cannot start any token": "Put a text that begins with this character in quotes, and indent "
    "with spaces, never with tabs",
    "could not find expected ':'": "A key needs a colon after it, and a text of several lines "
    "needs | after the colon",
    "did not find expected key": "Keys of one mapping begin in the same column. Look for a wrong "
    "indentation, an open quote, or a text that begins with a quote "
    "or a bracket and continues after the closing one: put all of "
    "it in quotes",
    "did not find expected '-' indicator": "The entries of one list begin in the same column, "
    "each with a dash. The other keys of an entry begin "
    "below its first one, two spaces further right than "
    "its dash",
    "unknown escape character": 'Inside "..." a backslash begins an escape. Write \\\\ or use '
    "single quotes",
    "found unexpected end of stream": "A quote is never closed",
    "violates indentation": "Indent with spaces, never with tabs",
    "while scanning an alias": "Put a text that begins with * in quotes",
    "found undefined alias": "An alias (*name) needs an anchor (&name) above it. Put a text that "
    "begins with * in quotes",
}


def read_yaml(path: str, content: bytes) -> ParsedFile:
    """Read one YAML document.

    Raises:
        FormatError: it is not YAML, or uses what evals have no use for: tags, several documents,
            keys that are not text, NaN, aliases that multiply.
    """
    text = decode_text(path, content)
    builder = _Builder(path, text)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        builder.report_syntax(error)
    except yaml.YAMLError as error:
        builder.problems.append(Problem(path, 1, 1, "", "", f"This is not valid YAML: {error}."))
    except _StopError:
        pass
    if builder.problems:
        raise FormatError(builder.problems)
    if builder.root is None:
        raise FormatError([Problem(path, 1, 1, "", "", "The file is empty.")])
    marks, data = builder.marks, builder.root.data
    return ParsedFile(path, data, marks, tuple(marks.surprises(data)))


class _StopError(Exception):
    """Reading on would make no sense, or cost too much."""


class _Marks:
    """Where everything in a YAML file is, in a few bytes for each key and value.

    They have numbers in the order of the file; `_extents` says how many numbers each has with all
    that is in it, so that the next one after it is known. What they are is in the data next to.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines, self._columns = array("I"), array("I")
        self._begins, self._ends = array("I"), array("I")  # of plain scalars, in the text
        self._extents = array("I")
        self._aliases: dict[int, int] = {}
        self._sources: dict[int, list[tuple[int, Json]]] = {}  # what is merged into a mapping
        self._merges: set[int] = set()  # keys that merge
        self._odd: dict[int, str] = {}
        # The numbers of what is in lists and mappings, once someone asks.
        self._items: dict[int, array[int]] = {}
        self._keys: dict[int, dict[str, tuple[int, int]]] = {}
        self.data: Any = None

    def add(self, event: yaml.Event, *, is_plain: bool = False, alias: int | None = None) -> int:
        """Return the next number to a key or a value."""
        number = len(self._lines)
        line, column = _mark(event)
        self._lines.append(line)
        self._columns.append(column)
        begin, end = event.start_mark, event.end_mark
        is_known = is_plain and begin and end
        self._begins.append(begin.index if is_known and begin else 1)
        self._ends.append(end.index if is_known and end else 0)
        self._extents.append(1)
        if alias is not None:
            self._aliases[number] = alias
        return number

    def end(self, number: int) -> None:
        self._extents[number] = len(self._lines) - number

    def odd(self, number: int, raw: str) -> None:
        self._odd[number] = raw

    def merge(self, into: int, key: int, number: int, data: Any) -> None:
        """Remember what a key `<<` merges into a mapping: one mapping, or a list of them."""
        self._merges.add(key)
        parts = [(number, data)]
        if isinstance(data, list):
            parts = [(child, data[n]) for n, _, child in self._children(number, data)]
        self._sources.setdefault(into, []).extend(parts)

    def at(self, number: int) -> tuple[int, int]:
        return self._lines[number], self._columns[number]

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        *_, (key, node) = self._path(loc)
        # The position of an empty value is not worth showing.
        is_blank = self._raw(node) == "" and self._lines[node] != self._lines[key]
        return self.at(key if at_key or is_blank else node)

    def raw(self, loc: Loc) -> str | None:
        path = list(self._path(loc))
        return self._raw(path[-1][1]) if len(path) == len(loc) + 1 else None

    def surprises(self, data: object) -> Iterator[Surprise]:
        """Return the plain scalars that are read as something a person may not mean."""
        self.data = data
        if self._odd:
            yield from self._surprises(0, data, ())

    def _surprises(self, number: int, data: Any, loc: Loc) -> Iterator[Surprise]:
        # Recursion is bounded: MAX_DEPTH counts aliases too.
        if number in self._odd:
            yield Surprise(loc, self._odd[number], data)
        for step, _, child in self._children(number, data):
            yield from self._surprises(child, data[step], (*loc, step))

    def _raw(self, number: int) -> str | None:
        begin, end = self._begins[number], self._ends[number]
        return self._text[begin:end] if begin <= end else None

    def _path(self, loc: Loc) -> Iterator[tuple[int, int]]:
        """Return the keys and values on the way to a place, as far as it exists."""
        number, data = 0, self.data
        yield 0, 0
        for step in loc:
            child = self._child(number, data, step)
            if child is None:
                return
            yield child
            number, data = child[1], data[step]

    def _child(self, number: int, data: Any, step: str | int) -> tuple[int, int] | None:
        if not holds(data, step):
            return None
        if isinstance(step, int):
            if number not in self._items:
                self._items[number] = array("I", self._entries(number, len(data)))
            child = self._follow_alias(self._items[number][step])
            return child, child
        if number not in self._keys:
            children = self._children(number, data)
            self._keys[number] = {name: (key, value) for name, key, value in children}
        return self._keys[number][step]

    def _children(self, number: int, data: object) -> Iterator[tuple[Any, int, int]]:
        """Return what is in a list or a mapping: its step, and the numbers of key and value."""
        if isinstance(data, list):
            for n, child in enumerate(self._entries(number, len(data))):
                yield n, self._follow_alias(child), self._follow_alias(child)
        if not isinstance(data, dict):
            return
        sources = self._sources.get(number, [])
        written = list(self._own_entries(number, data))
        yield from written
        given = {name for name, _, _ in written} if sources else set()
        for source, merged in sources:
            for name, key, value in self._children(source, merged):
                if name not in given:
                    given.add(name)
                    yield name, key, value

    def _own_entries(self, number: int, data: Json) -> Iterator[tuple[str, int, int]]:
        """Return the entries of a mapping that are written in it."""
        names = iter(data)
        last = number + self._extents[number]
        key = number + 1
        while key < last:
            value = key + self._extents[key]
            if key not in self._merges:
                yield next(names), self._follow_alias(key), self._follow_alias(value)
            key = value + self._extents[value]

    def _entries(self, number: int, count: int) -> Iterator[int]:
        child = number + 1
        for _ in range(count):
            yield child
            child += self._extents[child]

    def _follow_alias(self, number: int) -> int:
        return self._aliases.get(number, number)


@dataclass(slots=True)
class _Part:
    """A value while the file is read. `raw` is the text of a plain scalar, None where it is quoted."""

    number: int
    data: Any = None
    raw: str | None = None
    size: int = 1
    height: int = 1
    is_open: bool = False
    key: "_Part | None" = None  # that waits for its value
    keys: dict[str, int] = field(default_factory=dict)
    merged: list[Json] = field(default_factory=list)


class _Builder:
    """Grow the data from events, with its own stack instead of recursion."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.marks = _Marks(text)
        self._text = text
        self.problems: list[Problem] = []
        self.root: _Part | None = None
        self._stack: list[_Part] = []
        self._anchors: dict[str, _Part] = {}
        self._documents = 0
        self._count = 0
        self._texts: dict[str, str] = {}  # short ones, so that equal ones are one

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._stop(event, "A second document begins here. Put it into its own file.")
        elif isinstance(event, yaml.ScalarEvent):
            self._attach(self._scalar(event))
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            self._open(event)
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            self._close(event)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)

    def report_syntax(self, error: yaml.MarkedYAMLError) -> None:
        # A quote that is never closed ends with the file: its beginning is the place to look at.
        is_quote = "quoted scalar" in (error.context or "")
        mark = (error.context_mark if is_quote else None) or error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        reason = " ".join(part for part in (error.context, error.problem) if part)
        hint = next((hint for words, hint in _HINTS.items() if words in reason), "")
        message = f"This is not valid YAML: {reason}." + (f" {hint}." if hint else "")
        self.problems.append(Problem(self.path, line, column, "", "", message))

    def _stop(self, event: yaml.Event, message: str, value: str = "") -> None:
        self._problem(event, message, value)
        raise _StopError

    def _problem(self, at: yaml.Event | _Part, message: str, value: str = "") -> None:
        place = self.marks.at(at.number) if isinstance(at, _Part) else _mark(at)
        loc = self._loc()
        written = shorten(value, loc) if value else ""
        self.problems.append(Problem(self.path, *place, keys_text(loc), written, message))

    def _loc(self) -> Loc:
        steps: list[str | int] = []
        for part in self._stack:
            if isinstance(part.data, list):
                steps.append(len(part.data))
            elif part.key is not None:
                steps.append(str(part.key.data))
        return tuple(steps)

    def _part(self, event: yaml.NodeEvent, *, is_plain: bool = False) -> _Part:
        self._take_room(event, 1, f"The file holds more than {MAX_NODES} values. Split it.")
        part = _Part(self.marks.add(event, is_plain=is_plain))
        if event.anchor:
            self._anchors[event.anchor] = part
        tag = getattr(event, "tag", None)
        if tag is not None:
            message = (
                "Tags are not allowed in eval files. Remove the word that begins with an "
                "exclamation mark, or put it in quotes if it is text."
            )
            self._problem(event, message, tag)
        return part

    def _take_room(self, event: yaml.Event, size: int, message: str) -> None:
        self._count += size
        if self._count > MAX_NODES:
            self._stop(event, message)

    def _scalar(self, event: yaml.ScalarEvent) -> _Part:
        is_plain = event.implicit[0] and event.style in (None, "")
        part = self._part(event, is_plain=is_plain)
        text = event.value
        if fault := text_fault(text):
            self._problem(event, fault)
        if len(text) <= _SHORT:
            text = self._texts.setdefault(text, text)
        if not is_plain:
            part.data = text
            return part
        part.raw = text
        try:
            part.data = resolve_scalar(text)
        except ValueError as error:
            self._problem(event, str(error), text)
        if part.data is None or isinstance(part.data, str):
            part.raw = (text + self._cut_off(event)).strip(" \t\r")
        if is_surprising(part.raw, part.data):
            self.marks.odd(part.number, part.raw)
        return part

    def _cut_off(self, event: yaml.ScalarEvent) -> str:
        """Return the comment right after a plain scalar if it may be meant as a part of it."""
        comment = _PERHAPS_TEXT.match(self._text, event.end_mark.index) if event.end_mark else None
        return comment[0] if comment else ""

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        part = self._part(event)
        part.is_open = True
        part.data = [] if isinstance(event, yaml.SequenceStartEvent) else {}
        if len(self._stack) >= MAX_DEPTH:
            self._stop(event, f"This is nested deeper than {MAX_DEPTH} levels.")
        self._stack.append(part)

    def _close(self, event: yaml.Event) -> None:
        part = self._stack.pop()
        part.is_open = False
        self.marks.end(part.number)
        for other in part.merged:
            for name, value in other.items():
                # What is written out wins over what is merged in.
                if name not in part.data:
                    size, height = _measure(value)
                    self._take_room(event, size, _ALIASES)
                    part.data[name] = _copy(value)
                    self._grow(part, size, height)
        self._attach(part)

    def _alias(self, event: yaml.AliasEvent) -> None:
        part = self._anchors.get(event.anchor or "")
        if part is None:
            message = "This alias has no anchor above it. Put a text that begins with * in quotes."
            self._stop(event, message, f"*{event.anchor}")
        elif part.is_open:
            self._stop(event, "This alias is inside its own anchor.", f"*{event.anchor}")
        elif len(self._stack) + part.height > MAX_DEPTH:
            self._stop(event, f"This is nested deeper than {MAX_DEPTH} levels.", f"*{event.anchor}")
        else:
            self._take_room(event, part.size, _ALIASES)
            self.marks.add(event, alias=part.number)
            self._attach(replace(part, data=_copy(part.data)))

    def _attach(self, part: _Part) -> None:
        if not self._stack:
            self.root = part
            return
        parent = self._stack[-1]
        if isinstance(parent.data, list):
            parent.data.append(part.data)
            self._grow(parent, part.size, part.height)
        elif parent.key is None:
            parent.key = self._as_key(part)
        else:
            self._put(parent, parent.key, part)
            parent.key = None

    def _grow(self, parent: _Part, size: int, height: int) -> None:
        parent.size += size
        parent.height = max(parent.height, height + 1)

    def _as_key(self, part: _Part) -> _Part:
        if isinstance(part.data, str):
            return part
        if part.raw is None:
            message = "A key must be text, not a list or a mapping."
            if isinstance(part.data, dict):
                message += " Put a text that begins with {{ in quotes."
            written = ""
        elif part.raw:
            message = f'A key must be text: write "{part.raw}" in quotes.'
            written = part.raw
        else:
            message, written = "A key is missing before this colon.", ""
        self._problem(part, message, written)
        return _Part(part.number, part.raw or "")

    def _put(self, parent: _Part, key: _Part, value: _Part) -> None:
        if key.raw == "<<":
            sources = value.data if isinstance(value.data, list) else [value.data]
            if all(isinstance(source, dict) for source in sources):
                parent.merged += sources
                self.marks.merge(parent.number, key.number, value.number, value.data)
                return
            self._problem(key, "<< merges a mapping, or a list of mappings, into this one.")
            return
        name = key.data
        if name in parent.data:
            first, _ = self.marks.at(parent.keys[name])
            self._problem(key, f"The key {name!r} appears twice. The first one is on line {first}.")
            return
        parent.data[name] = value.data
        parent.keys[name] = key.number
        self._grow(parent, value.size, value.height)


def _measure(data: object) -> tuple[int, int]:
    """Count values, and how deep they are nested; recursion is bounded, as that depth is."""
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    size, height = 1, 1
    for item in inner:
        more, deeper = _measure(item)
        size, height = size + more, max(height, deeper + 1)
    return size, height


def _copy(data: object) -> object:
    if isinstance(data, dict):
        return {key: _copy(item) for key, item in data.items()}
    return [_copy(item) for item in data] if isinstance(data, list) else data


def _mark(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
