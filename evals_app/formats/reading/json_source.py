"""Read a file of JSON, and remember on which line and in which column everything is."""

import json
import re
from functools import cached_property

from evals_app.formats.reading.json_lines import read_json_lines
from evals_app.formats.reading.parsed_file import LineIndex, Node, ParsedFile, decode_text
from evals_app.formats.reading.problems import FormatError, Loc, Problem

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# A text before a colon is a key; what is neither text nor bracket is a number, true, false or null.
_TOKEN = re.compile(
    rf'(?P<key>{_STRING})(?=\s*:)|{_STRING}|[{{}}\[\]]|[^\s{{}}\[\],:"]+', re.DOTALL
)


def read_json(path: str, content: bytes) -> ParsedFile:
    """Read a JSON file; one that contains several values, one after the other, is a list of them.

    Raises:
        FormatError: it is not JSON, has a key twice, or contains what cannot be stored.
    """
    values = read_json_lines(path, content)
    if not values.data:
        raise FormatError([Problem(path, 1, 1, "", "", "The file is empty.")])
    if len(values.data) > 1:
        return values
    return ParsedFile(path, values.data[0], _Marks(decode_text(path, content)))


class _Marks:
    """The places of everything in a text of valid JSON, found when someone asks for one."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _root(self) -> Node:
        return _tree(self._text)

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        return self._root.place(loc, at_key=at_key)

    def raw(self, loc: Loc) -> str | None:
        return None  # there are no plain scalars in JSON


def _tree(text: str) -> Node:
    lines = LineIndex(text)
    root = Node(0, 0, items=[])
    inside = [root]
    key = ""
    for token in _TOKEN.finditer(text):
        if token["key"] is not None:
            key = json.loads(token["key"])
        elif token[0] in "}]":
            inside.pop()
        else:
            node = Node(*lines.place(token.start()))
            holder = inside[-1]
            if holder.entries is not None:
                holder.entries[key] = node
            elif holder.items is not None:
                holder.items.append(node)
            if token[0] == "{":
                node.entries = {}
                inside.append(node)
            elif token[0] == "[":
                node.items = []
                inside.append(node)
    return (root.items or [root])[0]
