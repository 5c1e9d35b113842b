"""Read JSON values that follow one another, one a line or spread over several."""

import json

from evals_app.formats.reading.parsed_file import (
    MAX_NODES,
    LineIndex,
    Node,
    ParsedFile,
    decode_text,
    faults,
    values_in,
)
from evals_app.formats.reading.problems import FormatError, Problem, keys_text
from fixtures_app.ground.strict_json import DECODER, fault_of

MAX_DEPTH = 64
_MANY = 20  # then it is something else altogether
_SPACE = " \t\n\r"


def read_json_lines(path: str, content: bytes) -> ParsedFile:
    """Read a file of JSON values; the document's data is the list of them, each with its line.

    Raises:
        FormatError: a value is not JSON, has a key twice, contains what cannot be stored, or there
            are too many.
    """
    text = decode_text(path, content)
    values: list[object] = []
    nodes: list[Node] = []
    problems: list[Problem] = []
    lines = LineIndex(text)
    at, size = _skip(text, 0), 0
    while at < len(text):
        line, column = lines.place(at)
        try:
            value, end = DECODER.raw_decode(text, at)
            size += values_in(value, most_levels=MAX_DEPTH)
        except (ValueError, RecursionError) as error:
            broken = max(getattr(error, "pos", at), at)
            problems.append(_problem(path, error, (line, column), lines.place(broken)))
            if len(problems) == _MANY:
                message = f"Nothing after these {_MANY} errors was read."
                problems.append(Problem(path, line, column, "", "", message))
                break
            newline = text.find("\n", broken)
            end = len(text) if newline == -1 else newline  # the next line may be valid
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
    return ParsedFile(path, values, Node(1, 1, items=nodes))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _problem(
    path: str, error: ValueError | RecursionError, begin: tuple[int, int], broken: tuple[int, int]
) -> Problem:
    """Return what is wrong with a value, by the places where it begins and where it breaks off."""
    if isinstance(error, RecursionError):
        message = f"This is nested deeper than {MAX_DEPTH} levels."
    elif not isinstance(error, json.JSONDecodeError):
        message = str(error)
    elif broken == begin:
        message = (
            'This is not valid JSON. Write each row as {"key": "value"}, with nothing around it.'
        )
    else:
        is_closed = error.doc.startswith(("}", "]"), error.pos)
        has_extra = is_closed and error.doc[: error.pos].rstrip().endswith(",")
        fault = "there is an extra comma" if has_extra else fault_of(error)
        message = f"This is not valid JSON: {fault}."
        if broken[0] > begin[0]:
            message += f" The row begins on line {begin[0]}."
    return Problem(path, *broken, "", "", message)
