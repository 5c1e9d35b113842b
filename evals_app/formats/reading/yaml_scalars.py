"""What an unquoted word in YAML means: text, a number, true, false or nothing.

Source: YAML 1.1, type repository, less sexagesimal numbers and timestamps, which stay text, and with
the exponents of JSON: 1e-09 needs no decimal point, 1.5e9 no sign.
"""

import math
import re

from fixtures_app.ground.json_data import text_fault
from fixtures_app.ground.strict_json import MAX_DIGITS, TOO_LONG

_MAX_INTEGER = 10**MAX_DIGITS
_TOO_LARGE = "This number is too large to be stored. Put it in quotes."

_TRUE = {"true", "yes", "on"}
_FALSE = {"false", "no", "off"}
_NULL = {"", "~", "null", "Null", "NULL"}
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_BASED = re.compile(r"[-+]?0(?:x_*[0-9a-fA-F][0-9a-fA-F_]*|b_*[01][01_]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_BARE_EXPONENT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)[eE][-+]?[0-9]+")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def fault(value: object) -> str:
    """Name what no database stores in a text or number; empty if there is nothing."""
    if isinstance(value, str):
        return text_fault(value)
    if isinstance(value, float):
        return "" if math.isfinite(value) else _TOO_LARGE
    return TOO_LONG if isinstance(value, int) and abs(value) >= _MAX_INTEGER else ""


def resolve_scalar(text: str) -> object:
    """Read a plain scalar as YAML 1.1 does, except that times and dates stay text.

    Raises:
        ValueError: a number that JSON does not have.
    """
    if text in _NULL:
        return None
    if text in {text.lower(), text.capitalize(), text.upper()} and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    if text[0] not in "+-.0123456789":
        return text
    if _NOT_FINITE.fullmatch(text):
        raise ValueError("Infinity and NaN are not allowed. Write a number, or put it in quotes.")
    is_whole = _DECIMAL.fullmatch(text) or _OCTAL.fullmatch(text) or _BASED.fullmatch(text)
    is_bare = _BARE_EXPONENT.fullmatch(text) is not None
    if not is_whole and not is_bare and not _FLOAT.fullmatch(text):
        return text
    if len(text) > MAX_DIGITS:
        raise ValueError(TOO_LONG)
    digits = text.replace("_", "")
    if not is_whole:
        number = float(digits)
        if not math.isfinite(number):
            if is_bare:
                return text  # 12e4567 is the beginning of a hash rather than a number
            raise ValueError(_TOO_LARGE)
        return number
    if _OCTAL.fullmatch(text):
        return int(digits, 8)
    return int(digits, 0)


def is_surprising(raw: str, value: object) -> bool:
    """Whether a person may have meant something else by a plain scalar than what is read.

    `raw` goes on with the comment after it, where that may be a part of the text.
    """
    if value is None:
        return raw.startswith("#")
    if isinstance(value, bool):
        return raw.lower() not in {"true", "false"}
    if isinstance(value, int):
        return raw.removeprefix("-") != str(abs(value))  # the + of +5691234 would be lost
    return raw != value if isinstance(value, str) else "_" in raw
