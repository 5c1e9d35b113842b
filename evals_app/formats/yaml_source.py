"""Read YAML into plain data, and remember on which line and in which column everything stands.

PyYAML only splits the text into events; the tree is built here. So nothing recurses on hostile
input, aliases cannot explode, keys stand once, and dates, `12:30` and `=` stay the text they are.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from evals_app.formats.problems import FormatError, Loc, Problem, holds, keys_text, shortened, shown
from evals_app.formats.yaml_scalars import character_fault, is_surprising, resolved

MAX_BYTES = 10 * 1024 * 1024
MAX_DEPTH = 64
# Counted with every alias written out.
MAX_NODES = 500_000

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_BAD_CHARACTERS = 5

# What YAML itself allows in a text, less the byte order mark.
_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
# What PyYAML says, and what to do about it.
_HINTS = {
    "mapping values are not allowed": "Put a text that holds a colon and a space in quotes",
    "cannot start any token": "Put a text that begins with this character in quotes, and indent "
    "with spaces, never with tabs",
    "could not find expected ':'": "A key needs a colon after it, and a text of several lines "
    "needs | after the colon",
    "did not find expected key": "Keys of one mapping begin in the same column; look for a wrong "
    "indentation or an open quote",
    "did not find expected '-' indicator": "The entries of one list begin in the same column, "
    "each with a dash",
    "unknown escape character": 'Inside "..." a backslash begins an escape: write \\\\ or use '
    "single quotes",
    "found unexpected end of stream": "A quote is opened and never closed",
    "found undefined alias": "An alias (*name) needs an anchor (&name) above it; put a text that "
    "begins with * in quotes",
}


@dataclass(slots=True)
class _Node:
    """A value with its place. `raw` is the text of a plain scalar, None where it is quoted."""

    line: int
    column: int
    scalar: Any = None
    raw: str | None = None
    items: "list[_Node] | None" = None
    entries: "dict[str, tuple[_Node, _Node]] | None" = None
    size: int = 1
    height: int = 1
    is_open: bool = False
    key: "_Node | None" = None  # while it is open: the key that waits for its value
    merged: "list[_Node]" = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Surprise:
    """A plain scalar that YAML 1.1 reads as something a person may not mean."""

    loc: Loc
    raw: str
    value: Any


@dataclass(frozen=True, slots=True)
class Document:
    """The data of a YAML file, and where each part of it stands."""

    path: str
    data: Any
    root: _Node
    surprises: tuple[Surprise, ...] = ()

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        """Give line and column of a value (or its key); of what holds it if it does not exist."""
        node = mark = self.root
        for step in loc:
            if isinstance(step, str) and node.entries and step in node.entries:
                key, node = node.entries[step]
                # A blank value has no place of its own worth showing.
                mark = key if at_key or (node.raw == "" and node.line != key.line) else node
            elif isinstance(step, int) and node.items and 0 <= step < len(node.items):
                mark = node = node.items[step]
            else:
                break
        return mark.line, mark.column

    def raw(self, loc: Loc) -> str | None:
        """Give the text of a plain scalar as it was written."""
        node = self.root
        for step in loc:
            if isinstance(step, str) and node.entries and step in node.entries:
                node = node.entries[step][1]
            elif isinstance(step, int) and node.items and 0 <= step < len(node.items):
                node = node.items[step]
            else:
                return None
        return node.raw

    def problem(
        self,
        loc: Loc,
        message: str,
        *,
        value: str | None = None,
        at_key: bool = False,
        level: Literal["error", "warning"] = "error",
    ) -> Problem:
        """Make a Problem for a place in this file; the value is looked up unless given."""
        line, column = self.place(loc, at_key=at_key)
        found = shown(_value_at(self.data, loc), loc) if value is None else value
        return Problem(self.path, line, column, keys_text(loc), found, message, level)


def _value_at(data: Any, loc: Loc) -> Any:  # noqa: ANN401 - JSON
    for step in loc:
        if not holds(data, step):
            return []  # nothing to show
        data = data[step]
    return data


def read_yaml(path: str, content: bytes) -> Document:
    """Read one YAML document.

    Raises:
        FormatError: it is no YAML, or uses what evals have no use for: tags, several documents,
            keys that are no text, NaN, aliases that multiply.
    """
    text = _decoded(path, content)
    builder = _Builder(path)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        builder.report_syntax(error)
    except yaml.YAMLError as error:
        builder.problems.append(Problem(path, 1, 1, "", "", f"This is no YAML: {error}."))
    except _StopError:
        pass
    if builder.problems:
        raise FormatError(builder.problems)
    if builder.root is None:
        raise FormatError([Problem(path, 1, 1, "", "", "The file is empty.")])
    surprises: list[Surprise] = []
    data = _data(builder.root, (), surprises)
    return Document(path, data, builder.root, tuple(surprises))


def json_document(path: str, data: Any) -> Document:  # noqa: ANN401 - JSON
    """Make a document of JSON that a program sent: it has keys and no lines.

    Raises:
        FormatError: it holds too many values.
    """
    waiting, count = [data], 0
    while waiting:
        count += 1
        if count > MAX_NODES:
            message = f"The body holds more than {MAX_NODES} values; split it."
            raise FormatError([Problem(path, 0, 0, "", "", message)])
        value = waiting.pop()
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
    return Document(path, data, _Node(0, 0))


def _decoded(path: str, content: bytes) -> str:
    if len(content) > MAX_BYTES:
        size = f"{len(content) / 1024 / 1024:.1f} MB"
        message = "The file is larger than 10 MB; split it into several suites."
        raise FormatError([Problem(path, 0, 0, "", size, message)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        found = f"byte 0x{content[error.start]:02x}"
        message = "The file is not UTF-8 text; save it with the encoding UTF-8."
        raise FormatError([Problem(path, line, column, "", found, message)]) from None
    problems = []
    for match in _UNPRINTABLE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - text.rfind("\n", 0, match.start())
        message = "A control character cannot stand here; remove it, or escape it inside quotes."
        problems.append(Problem(path, line, column, "", f"U+{ord(match[0]):04X}", message))
        if len(problems) == _MAX_BAD_CHARACTERS:
            break
    if problems:
        raise FormatError(problems)
    return text


class _StopError(Exception):
    """Reading on would make no sense, or cost too much."""


class _Builder:
    """Grow the tree from events, with its own stack instead of recursion."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.root: _Node | None = None
        self._stack: list[_Node] = []
        self._anchors: dict[str, _Node] = {}
        self._documents = 0
        self._count = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                message = "A second document begins here; put it into a file of its own."
                self._stop(event, message)
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
        said = " ".join(part for part in (error.context, error.problem) if part)
        hint = next((hint for words, hint in _HINTS.items() if words in said), "")
        message = f"This is no YAML: {said}." + (f" {hint}." if hint else "")
        self.problems.append(Problem(self.path, line, column, "", "", message))

    def _stop(self, event: yaml.Event, message: str, value: str = "") -> None:
        self._problem(event, message, value)
        raise _StopError

    def _problem(self, event: yaml.Event, message: str, value: str = "") -> None:
        line, column = _mark(event)
        loc = self._loc()
        found = shortened(value, loc) if value else ""
        self.problems.append(Problem(self.path, line, column, keys_text(loc), found, message))

    def _key_problem(self, key: _Node, message: str, value: str = "") -> None:
        keys = keys_text(self._loc())
        self.problems.append(Problem(self.path, key.line, key.column, keys, value, message))

    def _loc(self) -> Loc:
        steps: list[str | int] = []
        for node in self._stack:
            if node.items is not None:
                steps.append(len(node.items))
            elif node.key is not None:
                steps.append(str(node.key.scalar))
        return tuple(steps)

    def _node(self, event: yaml.NodeEvent) -> _Node:
        self._count += 1
        if self._count > MAX_NODES:
            self._stop(event, f"The file holds more than {MAX_NODES} values; split it.")
        node = _Node(*_mark(event))
        if event.anchor:
            self._anchors[event.anchor] = node
        tag = getattr(event, "tag", None)
        if tag is not None:
            message = (
                "Tags are not allowed in eval files; remove what begins with an exclamation mark."
            )
            self._problem(event, message, tag)
        return node

    def _scalar(self, event: yaml.ScalarEvent) -> _Node:
        node = self._node(event)
        text = event.value
        if fault := character_fault(text):
            self._problem(event, fault)
        if not event.implicit[0] or event.style not in (None, ""):
            node.scalar = text
            return node
        node.raw = text
        try:
            node.scalar = resolved(text)
        except ValueError as error:
            self._problem(event, str(error), text)
        return node

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        node = self._node(event)
        node.is_open = True
        if isinstance(event, yaml.SequenceStartEvent):
            node.items = []
        else:
            node.entries = {}
        if len(self._stack) >= MAX_DEPTH:
            self._stop(event, f"Nested deeper than {MAX_DEPTH} levels.")
        self._stack.append(node)

    def _close(self, event: yaml.Event) -> None:
        node = self._stack.pop()
        node.is_open = False
        for other in node.merged:
            for name, (key, value) in (other.entries or {}).items():
                # What is written out wins over what is merged in.
                if node.entries is not None and name not in node.entries:
                    node.entries[name] = (key, value)
                    self._grow(node, value)
        if node.size > MAX_NODES:
            self._stop(event, f"With its aliases this holds more than {MAX_NODES} values.")
        self._attach(node)

    def _alias(self, event: yaml.AliasEvent) -> None:
        node = self._anchors.get(event.anchor or "")
        if node is None:
            message = "This alias has no anchor above it; put a text that begins with * in quotes."
            self._stop(event, message, f"*{event.anchor}")
        elif node.is_open:
            self._stop(event, "This alias stands inside its own anchor.", f"*{event.anchor}")
        elif len(self._stack) + node.height > MAX_DEPTH:
            self._stop(event, f"Nested deeper than {MAX_DEPTH} levels.", f"*{event.anchor}")
        else:
            self._attach(node)

    def _attach(self, node: _Node) -> None:
        if not self._stack:
            self.root = node
            return
        parent = self._stack[-1]
        if parent.items is not None:
            parent.items.append(node)
            self._grow(parent, node)
        elif parent.key is None:
            parent.key = self._as_key(node)
        else:
            self._put(parent, parent.key, node)
            parent.key = None

    def _grow(self, parent: _Node, node: _Node) -> None:
        parent.size += node.size
        parent.height = max(parent.height, node.height + 1)

    def _as_key(self, node: _Node) -> _Node:
        if isinstance(node.scalar, str):
            return node
        if node.raw is None:
            message, found = "A key must be text, not a list or a mapping.", ""
        elif node.raw:
            message = f'A key must be text: write "{node.raw}" in quotes.'
            found = node.raw
        else:
            message, found = "A key is missing before this colon.", ""
        self._key_problem(node, message, found)
        return _Node(node.line, node.column, scalar=node.raw or "")

    def _put(self, parent: _Node, key: _Node, value: _Node) -> None:
        entries = parent.entries
        if entries is None:
            return
        if key.raw == "<<":
            sources = value.items if value.items is not None else [value]
            if all(each.entries is not None for each in sources):
                parent.merged += sources
                return
            self._key_problem(key, "<< merges a mapping, or a list of mappings, into this one.")
            return
        name = key.scalar
        if name in entries:
            first = entries[name][0].line
            self._key_problem(key, f"The key {name!r} stands twice; the first is on line {first}.")
            return
        entries[name] = (key, value)
        self._grow(parent, value)


def _mark(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _data(node: _Node, loc: Loc, surprises: list[Surprise]) -> Any:  # noqa: ANN401 - JSON
    # Recursion is bounded: MAX_DEPTH counts aliases too.
    if node.items is not None:
        return [_data(each, (*loc, n), surprises) for n, each in enumerate(node.items)]
    if node.entries is not None:
        return {
            name: _data(value, (*loc, name), surprises) for name, (_, value) in node.entries.items()
        }
    if node.raw is not None and is_surprising(node.raw, node.scalar):
        surprises.append(Surprise(loc, node.raw, node.scalar))
    return node.scalar
