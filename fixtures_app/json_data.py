"""JSON as fixtures hold it: what may be stored, what is wrong and where, and near names.

An authored entity and one that an agent creates must pass the same rules.
"""

import difflib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Any

Json = Any  # text, number, bool, None, list or dict of these
Loc = tuple[str | int, ...]

# Deeper data is a mistake, and a schema that follows it would exhaust the interpreter's stack.
MAX_DEPTH = 32
# Some 1,200 digits; Python refuses to write more than 4,300.
MAX_BITS = 4096

# difflib is slow; suggestions are not worth more.
_CANDIDATES = 1000


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with what was written: where, what, and the offending value."""

    loc: Loc
    message: str
    value: Json


def suggestion(name: str, known: Iterable[str]) -> str:
    """Continue an error message with the nearest known name, else with a few known ones."""
    names = {each.casefold(): each for each in islice(known, _CANDIDATES)}
    if not names:
        return ""
    near = difflib.get_close_matches(name[:100].casefold(), names, n=1)
    if near:
        return f" Did you mean {names[near[0]]!r}?"
    listed = list(names.values())
    more = ", ..." if len(listed) > 8 else ""  # noqa: PLR2004 - as many as one reads
    return f" Known: {', '.join(listed[:8])}{more}."


def shown(value: Json) -> str:
    """Write a value for an error message, the middle of a long one left out."""
    return shortened(repr(value))


def shortened(text: str) -> str:
    """Leave out the middle of a long text."""
    return text if len(text) <= 240 else f"{text[:120]} ... {text[-100:]}"  # noqa: PLR2004


def json_problems(value: Json, loc: Loc = ()) -> Iterator[Problem]:
    """Find whatever cannot be stored as JSON, or is nested deeper than MAX_DEPTH."""
    if isinstance(value, str):
        if fault := text_fault(value):
            yield Problem(loc, fault, value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield Problem(loc, f"JSON has no {value}; write a number or null.", value)
    elif isinstance(value, dict | list):
        if len(loc) >= MAX_DEPTH:
            yield Problem(loc, f"Nested deeper than {MAX_DEPTH} levels.", type(value).__name__)
            return
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, list) or isinstance(key, str):
                place = key
                if isinstance(key, str) and (fault := text_fault(key)):
                    yield Problem(loc, f"Key {key!r}: {fault}", key)
            else:
                place = str(key)
                message = f"A key must be text: put {place} in quotes."
                yield Problem((*loc, place), message, shown(key))
            yield from json_problems(item, (*loc, place))
    elif isinstance(value, date):
        message = f"{value.isoformat()} was read as a date; write it in quotes to keep it as text."
        yield Problem(loc, message, value)
    elif isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            yield Problem(loc, "The number has too many digits.", None)
    elif value is not None:
        yield Problem(loc, f"A {type(value).__name__} is not JSON.", shown(value))


def text_fault(text: str) -> str:
    """Name what PostgreSQL would refuse in a text; empty if there is nothing."""
    if "\0" in text:
        return "The text contains a NUL character."
    try:
        text.encode()
    except UnicodeEncodeError:
        return "The text contains half of a surrogate pair."
    return ""
