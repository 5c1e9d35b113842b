"""Parsed data, and the line and column of each of its parts."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, Unpack

from evals_app.formats.reading.problems import (
    FormatError,
    Loc,
    Problem,
    ProblemDetails,
    keys_text,
    value_at,
    value_text,
)
from evals_app.formats.reading.yaml_scalars import fault

MAX_BYTES = 10 * 1024 * 1024
# Counted with every alias written out.
MAX_NODES = 500_000
# Of all files of an import together. Each takes up to some hundred bytes of memory.
MAX_VALUES = 1_000_000

_MAX_BAD_CHARACTERS = 5
# What YAML itself allows in a text, less the byte order mark.
_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


class Marks(Protocol):
    """Where the parts of a file are."""

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        """Return line and column of a value or its key; if missing, those of its container."""
        ...

    def raw(self, loc: Loc) -> str | None:
        """Return the text of a plain scalar as it was written; None: it is not one, or it is unknown."""
        ...


@dataclass(slots=True)
class Node:
    """The place of a value, and of what is in it as far as that is known."""

    line: int
    column: int
    items: "list[Node] | None" = None
    entries: "dict[str, Node] | None" = None

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        node = self
        for step in loc:
            if isinstance(step, str) and node.entries and step in node.entries:
                node = node.entries[step]
            elif isinstance(step, int) and node.items and 0 <= step < len(node.items):
                node = node.items[step]
            else:
                break
        return node.line, node.column

    def raw(self, loc: Loc) -> str | None:
        return None  # these values were not written plainly


class LineIndex:
    """Knows lines and columns of a text."""

    def __init__(self, text: str) -> None:
        self._begins = array("I", [0])
        self._begins.extend(match.end() for match in re.finditer("\n", text))

    def place(self, at: int) -> tuple[int, int]:
        """Return line and column, counted from 1, of a position in the text."""
        line = bisect_right(self._begins, at)
        return line, at - self._begins[line - 1] + 1


@dataclass(frozen=True, slots=True)
class MarksBelow:
    """The marks of a part, by places that begin in it."""

    marks: Marks
    loc: Loc

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        return self.marks.place((*self.loc, *loc), at_key=at_key)

    def raw(self, loc: Loc) -> str | None:
        return self.marks.raw((*self.loc, *loc))


@dataclass(frozen=True, slots=True)
class Surprise:
    """A plain scalar that YAML 1.1 reads as something a person may not mean."""

    loc: Loc
    raw: str
    value: Any


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The data of a file, and where each part is."""

    path: str
    data: Any
    marks: Marks = field(repr=False)
    surprises: tuple[Surprise, ...] = ()

    @property
    def is_yaml(self) -> bool:
        """Whether someone wrote it as YAML; what a program sent has no lines."""
        return self.marks.place(())[0] > 0 and self.path.endswith((".yaml", ".yml"))

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        return self.marks.place(loc, at_key=at_key)

    def raw(self, loc: Loc) -> str | None:
        return self.marks.raw(loc)

    def problem(self, loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem:
        """Make a Problem for a place in this file."""
        line, column = self.place(loc, at_key=about.get("at_key", False))
        value = about.get("value")
        written = value_text(self.value(loc), loc) if value is None else value
        level = about.get("level", "error")
        checks = about.get("checks", 0)
        return Problem(
            self.path, line, column, self.place_text(loc), written, message, level, checks
        )

    def place_text(self, loc: Loc) -> str:
        return keys_text(loc)

    def value(self, loc: Loc) -> Any:
        """Return what is in a place; an empty list, which shows as nothing, if nothing does."""
        return value_at(self.data, loc, otherwise=[])


# Rows, forms and requests have no lines to point at.
NOWHERE = ParsedFile("", {}, Node(0, 0))


def values_in(data: object, *, most_levels: int | None = None) -> int:
    """Count values, without recursion.

    Raises:
        RecursionError: they are nested deeper than that.
    """
    level, depth, count = [data], 0, 0
    while level:
        count += len(level)
        if depth == most_levels:
            raise RecursionError
        depth += 1
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return count


def json_document(path: str, data: object) -> ParsedFile:
    """Make a document of JSON that a program sent: it has keys and no lines.

    Raises:
        FormatError: it contains too many values, or something that cannot be stored.
    """
    if values_in(data) > MAX_NODES:
        message = f"The body has more than {MAX_NODES:,} values. Split it."
        raise FormatError([Problem(path, 0, 0, "", "", message)])
    document = ParsedFile(path, data, Node(0, 0))
    if problems := [document.problem(loc, message, value="") for loc, message in faults(data)]:
        raise FormatError(problems)
    return document


def faults(data: object) -> Iterator[tuple[Loc, str]]:
    """Name what no database stores in some JSON, with its place; without recursion."""
    waiting: list[tuple[Loc, object]] = [((), data)]
    while waiting:
        loc, value = waiting.pop()
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += (((*loc, step), item) for step, item in inner)
        stored = value if isinstance(value, dict) else () if isinstance(value, list) else (value,)
        for entry in stored:
            if problem := fault(entry):
                yield loc, problem


def decode_text(path: str, content: bytes, *, max_bytes: int | None = None) -> str:
    """Return the text of a file of at most `max_bytes`, None for those of a suite.

    Raises:
        FormatError: it is too long, is not UTF-8, or contains control characters.
    """
    limit = max_bytes or MAX_BYTES
    if len(content) > limit:
        size = f"{len(content) / 1024 / 1024:.1f} MB"
        message = f"The file is larger than {limit / 1024 / 1024:.0f} MB. Split it."
        raise FormatError([Problem(path, 0, 0, "", size, message)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Its own object: without the mark that the content may begin with.
        before = error.object[: error.start].decode()
        place = LineIndex(before).place(len(before))
        written = f"byte 0x{error.object[error.start]:02x}"
        message = "The file is not UTF-8 text. Save it with the encoding UTF-8."
        raise FormatError([Problem(path, *place, "", written, message)]) from None
    if bad := list(islice(_UNPRINTABLE.finditer(text), _MAX_BAD_CHARACTERS)):
        lines = LineIndex(text)
        message = "Control characters are not allowed here. Remove it, or escape it inside quotes."
        raise FormatError(
            Problem(path, *lines.place(match.start()), "", f"U+{ord(match[0]):04X}", message)
            for match in bad
        )
    return text
