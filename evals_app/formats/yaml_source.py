"""Read YAML into plain data, and remember on which line and in which column everything stands.

PyYAML only splits the text into events; the tree is built here. So nothing recurses on hostile
input, aliases cannot explode, keys stand once, and dates, `12:30` and `=` stay the text they are.
"""

import re
from typing import Any

import yaml

from evals_app.formats.document import MAX_NODES, Document, Node, Surprise, decoded
from evals_app.formats.problems import FormatError, Loc, Problem, keys_text, shortened
from evals_app.formats.yaml_scalars import character_fault, is_surprising, resolved

MAX_DEPTH = 64

# A comment begins with # and a blank; without the blank it may be a text, cut off: order #123.
_PERHAPS_TEXT = re.compile(r"[ \t]+#(?![\s#]).*")

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# What PyYAML says, and what to do about it.
_HINTS = {
    "mapping values are not allowed": "Put a text that holds a colon and a space in quotes",
    "cannot start any token": "Put a text that begins with this character in quotes, and indent "
    "with spaces, never with tabs",
    "could not find expected ':'": "A key needs a colon after it, and a text of several lines "
    "needs | after the colon",
    "did not find expected key": "Keys of one mapping begin in the same column; look for a wrong "
    "indentation, an open quote, or a text that begins with a quote or a bracket and goes on behind "
    "the closing one: put all of it in quotes",
    "did not find expected '-' indicator": "The entries of one list begin in the same column, "
    "each with a dash",
    "unknown escape character": 'Inside "..." a backslash begins an escape: write \\\\ or use '
    "single quotes",
    "found unexpected end of stream": "A quote is opened and never closed",
    "violates indentation": "Indent with spaces, never with tabs",
    "while scanning an alias": "Put a text that begins with * in quotes",
    "found undefined alias": "An alias (*name) needs an anchor (&name) above it; put a text that "
    "begins with * in quotes",
}


def read_yaml(path: str, content: bytes) -> Document:
    """Read one YAML document.

    Raises:
        FormatError: it is no YAML, or uses what evals have no use for: tags, several documents,
            keys that are no text, NaN, aliases that multiply.
    """
    text = decoded(path, content)
    builder = _Builder(path, text)
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


class _StopError(Exception):
    """Reading on would make no sense, or cost too much."""


class _Builder:
    """Grow the tree from events, with its own stack instead of recursion."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self._text = text
        self.problems: list[Problem] = []
        self.root: Node | None = None
        self._stack: list[Node] = []
        self._anchors: dict[str, Node] = {}
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

    def _key_problem(self, key: Node, message: str, value: str = "") -> None:
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

    def _node(self, event: yaml.NodeEvent) -> Node:
        self._count += 1
        if self._count > MAX_NODES:
            self._stop(event, f"The file holds more than {MAX_NODES} values; split it.")
        node = Node(*_mark(event))
        if event.anchor:
            self._anchors[event.anchor] = node
        tag = getattr(event, "tag", None)
        if tag is not None:
            message = (
                "Tags are not allowed in eval files; remove what begins with an exclamation mark, or "
                "put it in quotes if it is text."
            )
            self._problem(event, message, tag)
        return node

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
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
        if node.scalar is None or isinstance(node.scalar, str):
            node.raw = (text + self._cut_off(event)).strip(" \t\r")
        return node

    def _cut_off(self, event: yaml.ScalarEvent) -> str:
        """Give the comment right behind a plain scalar if it may be meant as a part of it."""
        comment = _PERHAPS_TEXT.match(self._text, event.end_mark.index) if event.end_mark else None
        return comment[0] if comment else ""

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

    def _attach(self, node: Node) -> None:
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

    def _grow(self, parent: Node, node: Node) -> None:
        parent.size += node.size
        parent.height = max(parent.height, node.height + 1)

    def _as_key(self, node: Node) -> Node:
        if isinstance(node.scalar, str):
            return node
        if node.raw is None:
            message = "A key must be text, not a list or a mapping."
            if node.entries is not None:
                message += " Put a text that begins with {{ in quotes."
            found = ""
        elif node.raw:
            message = f'A key must be text: write "{node.raw}" in quotes.'
            found = node.raw
        else:
            message, found = "A key is missing before this colon.", ""
        self._key_problem(node, message, found)
        return Node(node.line, node.column, scalar=node.raw or "")

    def _put(self, parent: Node, key: Node, value: Node) -> None:
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


def _data(node: Node, loc: Loc, surprises: list[Surprise]) -> Any:  # noqa: ANN401 - JSON
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
