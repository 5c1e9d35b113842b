"""How a value is in a cell, and how it is read back."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evals_app.formats.reading.problems import FormatError
from evals_app.formats.reading.yaml_source import read_yaml
from evals_app.formats.tables.choices import read_options
from fixtures_app.ground.strict_json import read_strictly

_SEPARATORS = re.compile(r"[,;\n]")
_FLAGS = {"true": True, "yes": True, "x": True, "1": True, "false": False, "no": False, "0": False}
# Zero and half of a surrogate pair, escaped: no text that anything stores.
_UNSTORED = re.compile(
    r"\\u0000|\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
)
# What JSON leaves as it is and text files must not contain.
_NO_TEXT = re.compile("[\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_WHOLE = re.compile(r"-?\d+|-?\d{1,3}(?:,\d{3})+")


@dataclass(frozen=True, slots=True)
class CellKind:
    """How a value is in a cell.

    `read` raises ValueError with a sentence for the author of the table; `write` gives back what
    `read` reads as the same value.
    """

    read: Callable[[str], Any]
    write: Callable[[Any], str]


def _whole(cell: str) -> int:
    if not _WHOLE.fullmatch(cell.strip()):
        raise ValueError("Write a whole number, using only digits.")
    return int(cell.replace(",", ""))


def _number(cell: str) -> float:
    try:
        return float(cell) if "." in cell or "e" in cell.lower() else _whole(cell)
    except ValueError:
        raise ValueError("Write a number, using digits and a decimal point.") from None


def _flag(cell: str) -> bool:
    if cell.strip().lower() not in _FLAGS:
        raise ValueError("Write TRUE or FALSE.")
    return _FLAGS[cell.strip().lower()]


def _list(separator: str, split: Callable[[str], list[str]]) -> CellKind:
    """Return the kind of lists that are written as people do if they read back the same, else as data."""

    def read(cell: str) -> Any:
        if cell.lstrip().startswith("["):
            return _data(cell)
        return [entry for entry in split(cell) if entry.strip()]

    def write(entries: Sequence[object]) -> str:
        text = separator.join(map(str, entries))
        try:
            return text if read(text) == entries else _write_data(entries)
        except ValueError:
            return _write_data(entries)

    return CellKind(read, write)


def _data(cell: str) -> Any:
    try:
        # JSON is what we write; YAML, which has it in it, is slower and folds lines.
        return _json(cell)
    except (ValueError, RecursionError):
        pass
    try:
        return read_yaml("", cell.encode()).data
    except FormatError as error:
        first = error.problems[0]
        where = f"In line {first.line} of this cell: " if first.line else ""
        raise ValueError(where + first.message) from None


def _json(cell: str) -> object:
    if _UNSTORED.search(cell):
        raise ValueError(cell)
    return read_strictly(cell)


def _checks(cell: str) -> object:
    checks = _data(cell)
    return [checks] if isinstance(checks, dict) else checks


def _write_data(value: object) -> str:
    if isinstance(value, list) and len(value) > 1 and isinstance(value[0], dict):
        # Each on a line of its own.
        return "[{}]".format(",\n ".join(map(_write_data, value)))
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if _NO_TEXT.search(text) else text


def read_scalar(cell: str) -> object:
    """Read a parameter: 42 is a number, true and false are what they say, 007 and 1.50 are texts.

    What would not be written the same again is a text; "42" in quotes is one too.
    """
    try:
        value = _json(cell)
    except (ValueError, RecursionError):
        return cell
    if isinstance(value, str):
        return value if _needs_quotes(value) else cell
    is_same = isinstance(value, bool | int | float) and json.dumps(value) == cell
    return value if is_same else cell


def _needs_quotes(text: str) -> bool:
    return bool(read_scalar(text) != text)


def write_scalar(value: object) -> str:
    """Write a parameter so that `read_scalar` reads it back."""
    if isinstance(value, str) and not _needs_quotes(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _name(cell: str) -> str:
    name = cell.strip()
    return name[1:-1] if _is_quoted(name) and _keeps_blanks(name[1:-1]) else name


def _write_name(name: str) -> str:
    return f'"{name}"' if _keeps_blanks(name) else name


def _keeps_blanks(name: str) -> bool:
    """Whether a name begins or ends with a space, or looks as if a space was put in quotes."""
    return name != name.strip() or (_is_quoted(name) and _keeps_blanks(name[1:-1]))


def _is_quoted(name: str) -> bool:
    return len(name) > 1 and name[0] == name[-1] == '"'


TEXT = CellKind(str, str)
NAME = CellKind(_name, _write_name)
WHOLE = CellKind(_whole, str)
NUMBER = CellKind(_number, json.dumps)
FLAG = CellKind(_flag, lambda value: str(value).upper())
TAGS = _list(", ", lambda cell: list(map(str.strip, _SEPARATORS.split(cell))))
LINES = _list("\n", lambda cell: list(map(str.strip, cell.splitlines())))
PASSAGES = _list("\n", lambda cell: [cell])
DATA = CellKind(_data, _write_data)
CHECKS = CellKind(_checks, _write_data)
SCALAR = CellKind(read_scalar, write_scalar)
OPTIONS = CellKind(read_options, _write_data)
