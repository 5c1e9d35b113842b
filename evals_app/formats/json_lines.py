"""Read JSON values that follow one another, one a line or spread over several."""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from evals_app.formats.document import MAX_NODES, Document, Node, decoded, faults
from evals_app.formats.problems import FormatError, Problem, keys_text
from evals_app.formats.yaml_scalars import whole_number

MAX_DEPTH = 64
_MANY = 20  # then it is something else altogether
_SPACE = " \t\n\r"
# What the standard library says, for people who do not know its words.
_PLAINLY = {
    "Expecting value": 'a value is missing here; texts stand in double quotes: "..."',
    "Expecting property name enclosed in double quotes": (
        "a key in double quotes is missing here; after the last entry stands no comma"
    ),
    # As Python 3.13 calls it:
    "Illegal trailing comma before end of object": "after the last entry stands no comma",
    "Illegal trailing comma before end of array": "after the last entry stands no comma",
    "Expecting ',' delimiter": "a comma, or the end of what was begun, is missing here",
    "Expecting ':' delimiter": "a colon is missing after the key",
    "Unterminated string starting at": "this text has no double quote at its end",
    "Invalid control character at": (
        "a text ends with a double quote, in the line in which it begins; write line breaks in it"
        " as \\n and tabs as \\t"
    ),
    "Invalid \\escape": "write a backslash in a text twice: \\\\",
}


def read_json_lines(path: str, content: bytes) -> Document:
    """Read a file of JSON values; the document's data is the list of them, each with its line.

    Raises:
        FormatError: a value is no JSON, has a key twice, holds what cannot be stored, or there
            are too many.
    """
    text = decoded(path, content)
    decoder = json.JSONDecoder(
        object_pairs_hook=object_once, parse_constant=refuse_constant, parse_int=whole_number
    )
    values: list[Any] = []
    nodes: list[Node] = []
    problems: list[Problem] = []
    lines = _Lines(text)
    at, size = _skip(text, 0), 0
    while at < len(text):
        line, column = lines.place(at)
        try:
            value, end = decoder.raw_decode(text, at)
            size += _size(value)
        except (ValueError, RecursionError) as error:
            problems.append(_problem(path, error, lines, at))
            if len(problems) == _MANY:
                message = f"Nothing after these {_MANY} mistakes was read."
                problems.append(Problem(path, line, column, "", "", message))
                break
            end = lines.end()  # the next line may be sound
        else:
            problems += (
                Problem(path, line, column, keys_text((len(values), *loc)), "", message)
                for loc, message in faults(value)
            )
            values.append(value)
            nodes.append(Node(line, column))
        if size > MAX_NODES:
            message = f"The file holds more than {MAX_NODES} values; split it."
            problems.append(Problem(path, line, column, "", "", message))
            break
        at = _skip(text, end)
    if problems:
        raise FormatError(problems)
    return Document(path, values, Node(1, 1, items=nodes))


class _Lines:
    """Tells lines and columns, asked in the order of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line, self._begin = 1, 0

    def place(self, at: int) -> tuple[int, int]:
        while (end := self._text.find("\n", self._begin)) != -1 and end < at:
            self._line, self._begin = self._line + 1, end + 1
        return self._line, at - self._begin + 1

    def end(self) -> int:
        """Give the end of the line that was last asked for."""
        end = self._text.find("\n", self._begin)
        return len(self._text) if end == -1 else end


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def object_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON; of two values under one key the first would be lost.

    Raises:
        ValueError: a key stands twice.
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            msg = f"The key {key!r} stands twice."
            raise ValueError(msg)
        found[key] = value
    return found


def refuse_constant(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python would read.

    Raises:
        ValueError: always.
    """
    msg = f"There is no {constant} in JSON; write a number or null."
    raise ValueError(msg)


def _size(value: Any) -> int:  # noqa: ANN401 - JSON
    """Count values, without recursion.

    Raises:
        RecursionError: it is nested too deep.
    """
    waiting, count = [(value, 1)], 0
    while waiting:
        each, depth = waiting.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise RecursionError
        if isinstance(each, dict | list):
            inner = each.values() if isinstance(each, dict) else each
            waiting += [(item, depth + 1) for item in inner]
    return count


def _problem(path: str, error: ValueError | RecursionError, lines: _Lines, begin: int) -> Problem:
    """Say what is wrong with the value that begins there."""
    line, column = lines.place(begin)
    if isinstance(error, RecursionError):
        return Problem(path, line, column, "", "", f"Nested deeper than {MAX_DEPTH} levels.")
    if not isinstance(error, json.JSONDecodeError):
        return Problem(path, line, column, "", "", str(error))
    if error.pos == begin:
        message = (
            'This is no JSON: a row is written {"key": "value"}, and nothing stands around it.'
        )
        return Problem(path, line, column, "", "", message)
    where = lines.place(max(error.pos, begin))
    message = _PLAINLY.get(error.msg, f"{error.msg[:1].lower()}{error.msg[1:]}")
    begun = f" The row begins in line {line}." if where[0] > line else ""
    return Problem(path, *where, "", "", f"This is no JSON: {message}.{begun}")
