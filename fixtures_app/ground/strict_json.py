"""Reads JSON strictly: Python would accept NaN, and keep only the last of repeated keys."""

import json
from collections import Counter
from typing import Any, NoReturn, TypeAlias

from pydantic import JsonValue

Json: TypeAlias = JsonValue
JsonObject: TypeAlias = dict[str, JsonValue]

MAX_DIGITS = 1000
TOO_LONG = f"A number can have at most {MAX_DIGITS:,} digits. Put a longer one in quotes."

# By the beginning of Python's message.
_FAULTS = {
    "Expecting value": "a value is missing",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting property name": "a key in double quotes is missing",
    "Illegal trailing comma": "there is an extra comma",
    "Unterminated string": "a text is not closed",
    "Invalid control character": "a line break or tab in a text must be written \\n or \\t",
    "Invalid \\": "a backslash in a text must be written \\\\",
    "Extra data": "the JSON has ended, and something follows",
}


def fault_of(error: json.JSONDecodeError) -> str:
    """Return a clause that says what is wrong where JSON breaks off."""
    faults = (fault for start, fault in _FAULTS.items() if error.msg.startswith(start))
    return next(faults, "this cannot be read")


def _whole_number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(TOO_LONG)
    return int(digits)


def strict_decoder(**options: Any) -> json.JSONDecoder:
    """Return a decoder that refuses NaN, infinities, repeated keys and very long numbers."""
    strict = {"parse_constant": _refuse_constant, "object_pairs_hook": _unique_keys}
    return json.JSONDecoder(**{"parse_int": _whole_number, **strict, **options})


def read_strictly(text: str) -> Json:
    """Read JSON.

    Raises:
        ValueError, RecursionError: it is not valid; the message of a JSONDecodeError is Python's.
    """
    value: Json = DECODER.decode(text)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}. Write a number or null.")


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        key = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"The key {key[:100]!r} appears twice in one object.")
    return unique


DECODER = strict_decoder()
