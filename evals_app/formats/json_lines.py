"""Read JSON values that follow one another, one a line or spread over several."""

import json
from typing import Any

from evals_app.formats.document import MAX_NODES, Document, Node, decoded, faults
from evals_app.formats.problems import FormatError, Problem, keys_text
from fixtures_app.ground.strict_json import DECODER

MAX_DEPTH = 64
_MANY = 20  # then it is something else altogether
_SPACE = " \t\n\r"
# What the standard library says, for people who do not know its words.
_PLAINLY = {
    "Expecting value": 'a value is missing here. Put texts in double quotes: "..."',
    "Expecting property name enclosed in double quotes": (
        "a key in double quotes is missing here, or there is a comma after the last entry"
    ),
    # As Python 3.13 calls it:
    "Illegal trailing comma before end of object": "there must be no comma after the last entry",
    "Illegal trailing comma before end of array": "there must be no comma after the last entry",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing here",
    "Expecting ':' delimiter": "a colon is missing after the key",
    "Unterminated string starting at": "the double quote at the end of this text is missing",
    "Invalid control character at": (
        "a text must end on the line where it begins. Write line breaks in it as \\n and tabs as "
        "\\t"
    ),
    "Invalid \\escape": "write every backslash in a text twice: \\\\",
}


def read_json_lines(path: str, content: bytes) -> Document:
    """Read a file of JSON values; the document's data is the list of them, each with its line.

    Raises:
        FormatError: a value is not JSON, has a key twice, holds what cannot be stored, or there
            are too many.
    """
    text = decoded(path, content)
    values: list[Any] = []
    nodes: list[Node] = []
    problems: list[Problem] = []
    lines = _Lines(text)
    at, size = _skip(text, 0), 0
    while at < len(text):
        line, column = lines.place(at)
        try:
            value, end = DECODER.raw_decode(text, at)
            size += _size(value)
        except (ValueError, RecursionError) as error:
            problems.append(_problem(path, error, lines, at))
            if len(problems) == _MANY:
                message = f"Nothing after these {_MANY} errors was read."
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
            message = f"The file holds more than {MAX_NODES} values. Split it."
            problems.append(Problem(path, line, column, "", "", message))
            break
        at = _skip(text, end)
    if problems:
        raise FormatError(problems)
    return Document(path, values, Node(1, 1, items=nodes))


class _Lines:
    """Knows lines and columns, asked in the order of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line, self._begin = 1, 0

    def place(self, at: int) -> tuple[int, int]:
        while (end := self._text.find("\n", self._begin)) != -1 and end < at:
            self._line, self._begin = self._line + 1, end + 1
        return self._line, at - self._begin + 1

    def end(self) -> int:
        """Return the end of the line that was last asked for."""
        end = self._text.find("\n", self._begin)
        return len(self._text) if end == -1 else end


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _size(value: Any) -> int:
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
        return Problem(
            path, line, column, "", "", f"This is nested deeper than {MAX_DEPTH} levels."
        )
    if not isinstance(error, json.JSONDecodeError):
        return Problem(path, line, column, "", "", str(error))
    if error.pos == begin:
        message = (
            'This is not valid JSON. Write each row as {"key": "value"}, with nothing around it.'
        )
        return Problem(path, line, column, "", "", message)
    where = lines.place(max(error.pos, begin))
    message = _PLAINLY.get(error.msg, f"{error.msg[:1].lower()}{error.msg[1:]}")
    begun = f" The row begins on line {line}." if where[0] > line else ""
    return Problem(path, *where, "", "", f"This is not valid JSON: {message}.{begun}")
