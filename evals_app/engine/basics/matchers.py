"""Matchers: what an argument of a tool call must be.

A bare value is compared literally. A mapping with one of the keys `fuzzy`, `regex`, `any_of`,
`contains`, `present` matches in that way, also inside a list or a mapping. What was written is kept
as it is; `matches` reads it.
"""

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from types import NoneType
from typing import Annotated, Any, get_args

from pydantic import WithJsonSchema

from evals_app.engine.basics.decimals import DecimalSign, is_within, read_amount, read_number
from evals_app.engine.basics.folding import fold_text
from evals_app.engine.basics.permits import refuse_if
from fixtures_app.ground.patterns import fits, pattern_problem, pattern_warnings
from fixtures_app.ground.quoting import cut_middle, join_list, json_text
from fixtures_app.ground.words import near, nearest

MATCHER_KEYS = ("fuzzy", "regex", "any_of", "contains", "present")
_MAX_DEPTH = 50
_MAX_SHOWN = 120
_LARGE = 1e16  # written with an exponent
_FUZZY_TOLERANCE = Decimal("1e-9")
# Ignored in texts, except in a number: 1,5 is not 15.
_IGNORED_BY_FUZZY = re.compile(r"(?<![0-9])[,_]|[,_](?![0-9])|(?<=[0-9])[,_](?=[0-9]{3}(?![0-9]))")
_DECIMAL_SIGNS = get_args(DecimalSign)


class _Absent:
    """The value of an argument that was not passed; None is a value."""


ABSENT = _Absent()


def _problem(written: Any, depth: int = 0) -> str | None:
    """Explain why a matcher cannot be used."""
    kind = _kind(written)
    if kind is None:
        return json_problem(written, depth)
    if len(written) > 1 and (problem := _company_problem(kind, written)):
        return problem
    operand = written[kind]
    match kind:
        case "fuzzy":
            if isinstance(operand, bool) or not isinstance(operand, str | int | float):
                return "fuzzy takes a text or a number."
        case "regex":
            if not isinstance(operand, str):
                return "regex takes a pattern as text."
            return pattern_problem(operand)
        case "any_of":
            if not isinstance(operand, list) or not operand:
                return "any_of takes a list of at least one value."
            if depth > _MAX_DEPTH:
                return f"This is nested more than {_MAX_DEPTH} levels deep."
            return next(filter(None, (_problem(part, depth + 1) for part in operand)), None)
        case "contains":
            if operand in ("", None):
                return "contains takes a text or a value that is not empty."
            return json_problem(operand, depth)
        case "present":
            if not isinstance(operand, bool):
                return "present takes true or false."
    return None


Matcher = Annotated[
    Any,
    refuse_if(_problem),
    WithJsonSchema(
        {
            "description": "A literal value, or one of {fuzzy: x}, {regex: p}, {any_of: [...]},"
            " {contains: x}, {present: true|false}."
        }
    ),
]


def _kind(written: object) -> str | None:
    """Name the matcher key of a mapping; None for a literal."""
    if not isinstance(written, dict):
        return None
    return next((key for key in MATCHER_KEYS if key in written), None)


def _company_problem(kind: str, written: Mapping[object, object]) -> str | None:
    """Explain why a matcher key cannot be combined with these keys."""
    if set(written) == {"fuzzy", "decimal"}:
        if written["decimal"] in _DECIMAL_SIGNS:
            return None
        return f"decimal takes one of {join_list(_DECIMAL_SIGNS)}."
    unknown = [key for key in written if key not in MATCHER_KEYS]
    if not unknown:
        return f"A matcher has one key. Choose one of {join_list(list(written))}."
    hint = near(str(unknown[0]), MATCHER_KEYS)
    return (
        f"Unknown key {unknown[0]!r} next to {kind!r}.{hint} A matcher has exactly one of the keys"
        f" {join_list(MATCHER_KEYS)}; only fuzzy can be combined with decimal."
    )


def json_problem(value: object, depth: int = 0) -> str | None:
    """Explain why a value cannot be JSON."""
    if depth > _MAX_DEPTH:
        return f"This is nested more than {_MAX_DEPTH} levels deep."
    if value is None or isinstance(value, bool | int | float | str):
        return None
    if isinstance(value, list):
        return next(filter(None, (json_problem(part, depth + 1) for part in value)), None)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            return "The keys of a mapping must be texts; put them in quotes."
        problems = (json_problem(part, depth + 1) for part in value.values())
        return next(filter(None, problems), None)
    return (
        f"A value of type {type(value).__name__} is not possible in a tool call;"
        " write it as text, in quotes."
    )


def matches(matcher: Any, actual: object) -> bool:
    """Return whether an argument matches; never raises for any value."""
    kind = _kind(matcher)
    operand: Any = None if kind is None else matcher[kind]
    if kind == "present":
        return bool(operand) is (actual is not ABSENT)
    if kind == "any_of":
        return any(matches(part, actual) for part in operand)
    if actual is ABSENT:
        return False
    match kind:
        case None:
            return _is_literally(matcher, actual)
        case "fuzzy":
            return _is_close(operand, actual, matcher.get("decimal", "auto"))
        case "regex":
            return any(fits(operand, text) for text in _texts(actual))
        case _:
            return _has(operand, actual)


def _is_literally(literal: object, actual: object) -> bool:
    """Return whether a value is the literal one, matchers in it apart."""
    if isinstance(literal, dict):
        if not isinstance(actual, dict) or not actual.keys() <= literal.keys():
            return False
        pairs = [(value, actual.get(key, ABSENT)) for key, value in literal.items()]
    elif isinstance(literal, list):
        if not isinstance(actual, list | tuple) or len(literal) != len(actual):
            return False
        pairs = list(zip(literal, actual, strict=True))
    else:
        return equal(literal, actual, composed=True)
    return all(_is_inner(*pair) for pair in pairs)


def _is_inner(literal: object, actual: object) -> bool:
    if _kind(literal) is None or _problem(literal):
        return actual is not ABSENT and _is_literally(literal, actual)
    # A tool may take such a mapping itself: {"where": {"name": {"contains": "x"}}}.
    return matches(literal, actual) or (actual is not ABSENT and equal(literal, actual))


def _has(part: object, whole: object) -> bool:
    """Return whether a list has the value, or the text of anything else has the text in it."""
    if not isinstance(whole, list | tuple):
        return contains(part, whole)
    if isinstance(part, str):
        wanted = fold_text(part)
        return any(isinstance(part, str) and fold_text(part) == wanted for part in whole)
    return any(equal(part, other) for other in whole)


def equal(left: object, right: object, *, composed: bool = False) -> bool:
    """Compare JSON deeply: 1 equals 1.0 exactly, true equals only true, nothing is converted.

    With `composed` accented letters are equal however they are encoded.
    """
    # A stack, not recursion: what an agent passes may be nested deeper than the interpreter goes.
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif composed and isinstance(one, str) and isinstance(other, str):
            if unicodedata.normalize("NFC", one) != unicodedata.normalize("NFC", other):
                return False
        elif _exact(one, other) != _exact(other, one):
            return False
    return True


def _exact(value: object, other: object) -> object:
    # Python compares int, float and Decimal exactly. But 0.1 in a file means one tenth, which is the
    # shortest text of that float, not its value.
    if isinstance(value, float) and isinstance(other, Decimal):
        return Decimal(repr(value))
    return value


def contains(part: object, whole: object) -> bool:
    """Return whether a list has the value, or the text form of anything has the text in it.

    Texts are compared as people see them, upper and lower case alike.
    """
    if isinstance(whole, list | tuple) and any(equal(part, other) for other in whole):
        return True
    needle = part if isinstance(part, str) else json_text(part, limit=None)
    text = whole if isinstance(whole, str) else json_text(whole, limit=None)
    return fold_text(needle) in fold_text(text)


def _texts(value: object) -> list[str]:
    """Return how a value may be written; nothing where it cannot be."""
    if isinstance(value, bool) or value is None:
        return [json_text(value), str(value)]  # as in JSON; older files have True and None
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGE:
        return [str(value), str(int(value))]  # to JSON 10.0 and 10 are one number
    try:
        return [str(value)]
    except (ValueError, RecursionError):
        # Over 4,300 digits, which only Decimal can write, or nested too deeply.
        return [str(Decimal(value))] if isinstance(value, int) else []


def _is_close(wanted: object, actual: object, decimal: DecimalSign) -> bool:
    left, right = _texts(wanted), _texts(actual)
    if not left or not right:
        return False
    one, other = (_number(entry, decimal) for entry in (wanted, actual))
    if one is not None and other is not None:
        return is_within(one, other, absolute=_FUZZY_TOLERANCE)
    return _loose(left[0]) == _loose(right[0])


def _number(value: object, decimal: DecimalSign) -> Decimal | None:
    """Return the number that a value is, or that is written in it for certain."""
    if not isinstance(value, str):
        return None if isinstance(value, bool) else read_number(next(iter(_texts(value)), ""))
    amount = read_amount(value, decimal=decimal, percent=True)
    return amount[0] if amount and amount[1] else None


def _loose(text: str) -> str:
    return fold_text(_IGNORED_BY_FUZZY.sub("", fold_text(text)))


def other_reading(matcher: Any, actual: object) -> str | None:
    """Explain how a number would match if its decimals were written differently.

    None if the matcher defines how they are written, or if it makes no difference.
    """
    if _kind(matcher) != "fuzzy" or "decimal" in matcher or matches(matcher, actual):
        return None
    sign = next(
        (sign for sign in ("comma", "point") if matches({**matcher, "decimal": sign}, actual)), None
    )
    if sign is None:
        return None
    return (
        f"with a decimal {sign} it would match; add decimal: {sign} next to fuzzy if that is meant"
    )


def phrase(name: str, matcher: Any) -> str:
    """Describe briefly what an argument must be: `type = order`."""
    kind = _kind(matcher)
    operand = None if kind is None else matcher[kind]
    match kind:
        case None:
            return f"{name} = {_show(matcher)}"
        case "fuzzy":
            return f"{name} ≈ {_show(operand)}"
        case "regex":
            return f"{name} matching {operand}"
        case "any_of":
            return f"{name} one of {cut_middle(json_text(operand), _MAX_SHOWN)}"
        case "contains":
            return f"{name} containing {_show(operand)}"
        case _:
            return f"{name} present" if operand else f"{name} absent"


def _show(value: object) -> str:
    # A text as written, unless it would be mistaken for something else.
    if isinstance(value, str) and re.fullmatch(r"[^\W\d][\w .@#/:-]*", value):
        is_word = value.lower() not in {"true", "false", "null", "none"}
        return cut_middle(value, _MAX_SHOWN) if is_word else f'"{value}"'
    return cut_middle(json_text(value), _MAX_SHOWN)


def named_apart(matcher: object, actual: object, shown: str) -> str:
    """Return a value as shown; a text and a number that look alike get their types."""
    literal = _kind(matcher) is None and not isinstance(matcher, dict | list | bool | NoneType)
    if not literal or isinstance(actual, dict | list | bool | NoneType):
        return shown
    nouns = ["text" if isinstance(value, str) else "number" for value in (actual, matcher)]
    if nouns[0] == nouns[1] or not set(_texts(matcher)) & set(_texts(actual)):
        return shown
    return f"the {nouns[0]} {shown}, not the {nouns[1]} {_show(matcher)}"


def with_args(matchers: Mapping[str, object]) -> str:
    """Describe what the arguments must be: ` with type = order, limit = 5`."""
    if not matchers:
        return ""
    return " with " + join_list([phrase(name, matcher) for name, matcher in matchers.items()])


def mismatches(
    matchers: Mapping[str, object], args: Mapping[str, object], *, exact: bool
) -> list[str]:
    """Describe each argument that does not match; with `exact`, others may not occur."""
    wrong = []
    extra = [name for name in args if name not in matchers]
    for name, matcher in matchers.items():
        actual = args.get(name, ABSENT)
        if not matches(matcher, actual):
            instead = nearest(name, map(str, extra))
            meant = f" (the call has {cut_middle(instead)})" if instead else ""
            shown = (
                f"missing{meant}"
                if actual is ABSENT
                else named_apart(matcher, actual, _show(actual))
            )
            reading = other_reading(matcher, actual)
            wrong.append(f"{name} is {shown}{f' ({reading})' if reading else ''}")
    if exact:
        wrong += [f"{cut_middle(str(name), _MAX_SHOWN)} was not expected" for name in extra]
    return wrong


def matcher_warnings(matchers: Mapping[str, Any]) -> list[str]:
    """Warn of doubled backslashes, and of literals that look like a matcher."""
    warnings = []
    for name, matcher in matchers.items():
        kind = _kind(matcher)
        if kind == "regex":
            warnings += [f"{name}: {warning}" for warning in pattern_warnings(matcher[kind])]
        elif kind == "fuzzy" and (unclear := _uncertain(matcher)):
            warnings.append(f"{name}: {unclear}")
        elif kind == "contains" and isinstance(matcher[kind], str) and not fold_text(matcher[kind]):
            warnings.append(
                f"{name}: This text has no visible characters, so every text contains it."
            )
        elif kind is None and isinstance(matcher, dict) and (near := _near_miss(matcher)):
            warnings.append(f"{name}: {near}")
        elif kind is None and isinstance(matcher, dict | list) and (warning := _inner(matcher)):
            warnings.append(f"{name}: {warning}")
    return warnings


def _uncertain(matcher: Mapping[str, Any]) -> str | None:
    """Warn that an expected number can be read in two ways."""
    written = matcher["fuzzy"]
    decimal: DecimalSign = matcher.get("decimal", "auto")
    amount = read_amount(written, decimal=decimal) if isinstance(written, str) else None
    if amount is None or amount[1]:
        return None
    return (
        f"It is unclear which number {written!r} is, so it is compared as a text. Add decimal:"
        " comma next to fuzzy, or write the number without quotes."
    )


def _near_miss(literal: Mapping[str, object]) -> str | None:
    """Name the matcher that a literal of one key resembles: {regexp: x}."""
    if len(literal) != 1:
        return None
    (key,) = literal
    meant = nearest(key, MATCHER_KEYS, is_slip=True)
    if not meant:
        return None
    return f"{key!r} is not a matcher, so this is compared as written. Did you mean {meant!r}?"


def _inner(literal: Any) -> str | None:
    """Explain why something inside a literal that looks like a matcher is not one."""
    values = literal.values() if isinstance(literal, dict) else literal
    for value in values:
        if isinstance(value, dict) and len(value) == 1 and _kind(value):
            if problem := _problem(value):
                return f"{json_text(value, 60)} is compared as written. {problem}"
        elif isinstance(value, dict | list) and (warning := _inner(value)):
            return warning
    return None
