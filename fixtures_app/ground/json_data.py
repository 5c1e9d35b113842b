"""JSON that can be stored: what is wrong with it and where, and when two values are equal.

The same rules apply to the entities that people write and to those that agents create.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from fixtures_app.ground.quoting import cut_middle

Loc = tuple[str | int, ...]

# A schema that follows deeper data would exhaust the stack of the interpreter.
MAX_DEPTH = 32
# Some 1,200 digits; Python refuses to write more than 4,300.
MAX_BITS = 4096
# From here on PostgreSQL's JSON gives a whole float back as an integer.
_LARGE = 1e16
_SHOWN_CHARS = 240


@dataclass(frozen=True, slots=True)
class DataProblem:
    """One error in what was written: the place, the message, and the value."""

    loc: Loc
    message: str
    value: object

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.loc))}: {self.message}" if self.loc else self.message


def value_text(value: object) -> str:
    """Return a value as error messages show it, without the middle of a long one."""
    return cut_middle(repr(value), _SHOWN_CHARS)


def canonical(value: object) -> str:
    """Return JSON as the one text that equal content has on every database.

    The order of keys does not count, because PostgreSQL does not keep it. true is not 1, and 1.0
    is not 1.
    """
    return json.dumps(_comparable(value), sort_keys=True, ensure_ascii=False)


def _comparable(value: object) -> object:
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, float):
        # Adding 0.0 turns -0.0, which PostgreSQL does not have, into 0.0.
        return int(value) if abs(value) >= _LARGE else value + 0.0
    return value


def json_problems(value: object, loc: Loc = ()) -> Iterator[DataProblem]:
    """Return whatever cannot be stored as JSON, or is nested deeper than MAX_DEPTH."""
    if isinstance(value, str):
        if fault := text_fault(value):
            yield DataProblem(loc, fault, value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield DataProblem(loc, f"JSON has no {value}. Write a number or null.", value)
    elif isinstance(value, dict | list):
        if len(loc) >= MAX_DEPTH:
            yield DataProblem(
                loc, f"JSON can be nested up to {MAX_DEPTH} levels deep.", type(value).__name__
            )
            return
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, list) or isinstance(key, str):
                place = key
                if isinstance(key, str) and (fault := text_fault(key)):
                    yield DataProblem(loc, f"Key {key!r}: {fault}", key)
            else:
                place = str(key)
                message = f"A key must be text. Put {place} in quotes."
                yield DataProblem((*loc, place), message, value_text(key))
            yield from json_problems(item, (*loc, place))
    elif isinstance(value, date):
        message = f"{value.isoformat()} was read as a date. Put it in quotes to keep it as text."
        yield DataProblem(loc, message, value)
    elif isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            yield DataProblem(loc, "The number has too many digits.", None)
    elif value is not None:
        yield DataProblem(loc, f"A {type(value).__name__} is not JSON.", value_text(value))


def text_fault(text: str) -> str:
    """Return what PostgreSQL would refuse in a text; empty if it is fine."""
    if "\0" in text:
        return "The text contains a NUL character."
    try:
        text.encode()
    except UnicodeEncodeError:
        return "The text contains half of a surrogate pair."
    return ""
