"""Read TOML, with the lines on which its keys are."""

import re
import tomllib
from datetime import date, datetime, time

from evals_app.formats.reading.parsed_file import Node, ParsedFile, decode_text, faults
from evals_app.formats.reading.problems import FormatError, Problem

MAX_CHARS = 1_000_000  # it is about agents and contains no cases

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
# What was matched is never given back: a text of several lines may contain lines of any kind.
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"]*+"|'[^']*+')"""
_PARTS = rf"({_PART}(?:\s*+\.\s*+{_PART})*+)"
_TABLE = re.compile(rf"\s*+(\[{{1,2}}+)\s*+{_PARTS}\s*+\]")
_KEY = re.compile(rf"\s*+{_PARTS}\s*+=")
_STEP = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def read_toml(path: str, content: bytes) -> ParsedFile:
    """Read a TOML file; dates and times are the text they would be in JSON.

    Raises:
        FormatError: it is not TOML, or contains what cannot be stored.
    """
    text = decode_text(path, content)
    if len(text) > MAX_CHARS:
        message = f"The file has more than {MAX_CHARS:,} characters."
        raise FormatError([Problem(path, 0, 0, "", "", message)])
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number may be too long to be read at all
        raise FormatError([_problem(path, str(error))]) from None
    root = Node(1, 1, entries={})
    _note_lines(text, root)
    document = ParsedFile(path, _plain(data), root)
    if problems := [document.problem(*fault, value="") for fault in faults(document.data)]:
        raise FormatError(problems)
    return document


def _problem(path: str, reason: str) -> Problem:
    if "integer string conversion" in reason:
        reason = "A number is too long"
    match = _AT.search(reason)
    line, column = (int(match[1] or 0), int(match[2] or 0)) if match else (0, 0)
    message = f"This is not valid TOML: {_AT.sub('', reason) or 'nested too deep'}."
    return Problem(path, line, column, "", "", message)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date | datetime | time) else value


def _note_lines(text: str, root: Node) -> None:
    """Remember the lines of tables and keys.

    What a text of several lines contains may look like a key and does no harm: places are only ever
    looked up by keys that the data has.
    """
    table = root
    for line, written in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(written):
            table = _below(root, match[2], line)
            if match[1] == "[[":
                table.items = table.items or []
                table.items.append(Node(line, 1, entries={}))
                table = table.items[-1]
        elif match := _KEY.match(written):
            _below(table, match[1], line)


def _below(node: Node, keys: str, line: int) -> Node:
    for step in _STEP.findall(keys):
        key = step.strip("\"'")
        if node.items:
            node = node.items[-1]
        node.entries = {} if node.entries is None else node.entries
        if key not in node.entries:
            node.entries[key] = Node(line, 1)
        node = node.entries[key]
    return node
