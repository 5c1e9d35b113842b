"""Matchers: what an argument of a tool call must be.

A bare value is compared literally. A mapping with one of the keys `fuzzy`, `regex`, `any_of`,
`contains`, `present` matches in that way, also inside a list or a mapping. What was written is kept
as it is; `matches` reads it.
"""

import difflib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, WithJsonSchema

from evals_app.engine.decimals import DecimalSign, is_within, read_amount, read_number
from evals_app.engine.folding import folded
from evals_app.engine.patterns import fits, pattern_problem, pattern_warnings
from evals_app.engine.quoting import json_text, listed, shortened

MATCHER_KEYS = ("fuzzy", "regex", "any_of", "contains", "present")
_MAX_DEPTH = 50
_MAX_SHOWN = 120
_CANDIDATES = 200  # difflib is slow, and suggestions are not worth more
_LARGE = 1e16  # written with an exponent
_FUZZY_TOLERANCE = Decimal("1e-9")
# In texts they mean nothing, unless they stand in a number: 1,5 is not 15.
_IGNORED_BY_FUZZY = re.compile(r"(?<![0-9])[,_]|[,_](?![0-9])|(?<=[0-9])[,_](?=[0-9]{3}(?![0-9]))")
_DECIMAL_SIGNS = get_args(DecimalSign)


class _Absent:
    """The value of an argument that was not passed; None is a value."""


ABSENT = _Absent()


def _checked(written: Any) -> Any:  # noqa: ANN401 - any JSON
    if problem := _problem(written):
        raise ValueError(problem)
    return written


Matcher = Annotated[
    Any,
    AfterValidator(_checked),
    WithJsonSchema(
        {
            "description": "A literal value, or one of {fuzzy: x}, {regex: p}, {any_of: [...]},"
            " {contains: x}, {present: true|false}."
        }
    ),
]


def _problem(written: Any, depth: int = 0) -> str | None:  # noqa: ANN401 - whatever was written
    """Say why a matcher cannot be used."""
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
            return next(filter(None, (_problem(each, depth + 1) for each in operand)), None)
        case "contains":
            if operand in ("", None):
                return "contains takes a text or a value; an empty one is in everything."
            return json_problem(operand, depth)
        case "present":
            if not isinstance(operand, bool):
                return "present takes true or false."
    return None


def _kind(written: Any) -> str | None:  # noqa: ANN401 - any JSON
    """Name the matcher key of a mapping; None for a literal."""
    if not isinstance(written, dict):
        return None
    return next((key for key in MATCHER_KEYS if key in written), None)


def _company_problem(kind: str, written: Mapping[Any, Any]) -> str | None:
    """Say why a matcher key cannot have these keys beside it."""
    if set(written) == {"fuzzy", "decimal"}:
        if written["decimal"] in _DECIMAL_SIGNS:
            return None
        return f"decimal takes one of {listed(_DECIMAL_SIGNS)}."
    unknown = [key for key in written if key not in MATCHER_KEYS]
    if not unknown:
        return f"A value is matched in one way; choose one of {listed(list(written))}."
    near = difflib.get_close_matches(str(unknown[0]), MATCHER_KEYS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return (
        f"Unknown key {unknown[0]!r} beside {kind!r}.{hint} A matcher is one of"
        f" {listed(MATCHER_KEYS)}, alone; only fuzzy may have decimal beside it."
    )


def json_problem(value: Any, depth: int = 0) -> str | None:  # noqa: ANN401 - whatever was written
    """Say why a value cannot be JSON."""
    if depth > _MAX_DEPTH:
        return f"This is nested more than {_MAX_DEPTH} levels deep."
    if value is None or isinstance(value, bool | int | float | str):
        return None
    if isinstance(value, list):
        return next(filter(None, (json_problem(each, depth + 1) for each in value)), None)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            return "The keys of a mapping must be texts; put them in quotes."
        problems = (json_problem(each, depth + 1) for each in value.values())
        return next(filter(None, problems), None)
    return (
        f"A value of type {type(value).__name__} cannot occur in a tool call;"
        " write it as text, in quotes."
    )


def matches(matcher: Any, actual: Any) -> bool:  # noqa: ANN401 - any JSON on both sides
    """Whether an argument is as the matcher wants it; never raises, whatever was passed."""
    kind = _kind(matcher)
    operand: Any = None if kind is None else matcher[kind]
    if kind == "present":
        return bool(operand) is (actual is not ABSENT)
    if kind == "any_of":
        return any(matches(each, actual) for each in operand)
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


def _is_literally(literal: Any, actual: Any) -> bool:  # noqa: ANN401 - any JSON on both sides
    """Whether a value is the literal one, matchers in it apart."""
    if isinstance(literal, dict):
        if not isinstance(actual, dict) or not actual.keys() <= literal.keys():
            return False
        pairs = [(each, actual.get(key, ABSENT)) for key, each in literal.items()]
    elif isinstance(literal, list):
        if not isinstance(actual, list | tuple) or len(literal) != len(actual):
            return False
        pairs = list(zip(literal, actual, strict=True))
    else:
        return equal(literal, actual, composed=True)
    return all(_is_inner(*pair) for pair in pairs)


def _is_inner(literal: Any, actual: Any) -> bool:  # noqa: ANN401 - any JSON on both sides
    if _kind(literal) is None or _problem(literal):
        return actual is not ABSENT and _is_literally(literal, actual)
    # A tool may take such a mapping itself: {"where": {"name": {"contains": "x"}}}.
    return matches(literal, actual) or (actual is not ABSENT and equal(literal, actual))


def _has(part: Any, whole: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a list has the value, or the text of anything else has the text in it."""
    if not isinstance(whole, list | tuple):
        return contains(part, whole)
    if isinstance(part, str):
        wanted = folded(part)
        return any(isinstance(each, str) and folded(each) == wanted for each in whole)
    return any(equal(part, each) for each in whole)


def equal(left: Any, right: Any, *, composed: bool = False) -> bool:  # noqa: ANN401 - any JSON
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


def _exact(value: Any, other: Any) -> Any:  # noqa: ANN401 - any JSON
    # Python compares int, float and Decimal exactly. But who writes 0.1 means one tenth, which is the
    # shortest text of that float, not its value.
    if isinstance(value, float) and isinstance(other, Decimal):
        return Decimal(repr(value))
    return value


def contains(part: Any, whole: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a list has the value, or the text form of anything has the text in it.

    Texts are compared as people see them, upper and lower case alike.
    """
    if isinstance(whole, list | tuple) and any(equal(part, each) for each in whole):
        return True
    needle = part if isinstance(part, str) else json_text(part, limit=None)
    text = whole if isinstance(whole, str) else json_text(whole, limit=None)
    return folded(needle) in folded(text)


def _texts(value: Any) -> list[str]:  # noqa: ANN401 - any JSON
    """Return how a value may be written; nothing where it cannot be."""
    if isinstance(value, bool) or value is None:
        return [json_text(value), str(value)]  # as in JSON; older files have True and None
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGE:
        return [str(value), str(int(value))]  # to JSON 10.0 and 10 are one number
    try:
        return [str(value)]
    except (ValueError, RecursionError):
        # Over 4,300 digits, which only Decimal writes, or nested too deeply.
        return [str(Decimal(value))] if isinstance(value, int) else []


def _is_close(wanted: Any, actual: Any, decimal: DecimalSign) -> bool:  # noqa: ANN401 - any JSON
    left, right = _texts(wanted), _texts(actual)
    if not left or not right:
        return False
    one, other = (_number(each, decimal) for each in (wanted, actual))
    if one is not None and other is not None:
        return is_within(one, other, absolute=_FUZZY_TOLERANCE)
    return _loose(left[0]) == _loose(right[0])


def _number(value: Any, decimal: DecimalSign) -> Decimal | None:  # noqa: ANN401 - any JSON
    """Return the number that a value is, or that is written in it for certain."""
    if not isinstance(value, str):
        return None if isinstance(value, bool) else read_number(next(iter(_texts(value)), ""))
    found = read_amount(value, decimal=decimal, percent=True)
    return found[0] if found and found[1] else None


def _loose(text: str) -> str:
    return folded(_IGNORED_BY_FUZZY.sub("", folded(text)))


def other_reading(matcher: Any, actual: Any) -> str | None:  # noqa: ANN401 - any JSON
    """Say how a number would match if its decimals were written with the other sign.

    None where the matcher says how they are written, or where it makes no difference.
    """
    if _kind(matcher) != "fuzzy" or "decimal" in matcher or matches(matcher, actual):
        return None
    sign = next(
        (sign for sign in ("comma", "point") if matches({**matcher, "decimal": sign}, actual)), None
    )
    if sign is None:
        return None
    return f"with a decimal {sign} it matches; write decimal: {sign} beside fuzzy if it is meant"


def phrase(name: str, matcher: Any) -> str:  # noqa: ANN401 - any JSON
    """Say in a few words what an argument must be: `type = order`."""
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
            return f"{name} one of {shortened(json_text(operand), _MAX_SHOWN)}"
        case "contains":
            return f"{name} containing {_show(operand)}"
        case _:
            return f"{name} present" if operand else f"{name} absent"


def _show(value: Any) -> str:  # noqa: ANN401 - any JSON
    # A text as written, unless it would be mistaken for something else.
    if isinstance(value, str) and re.fullmatch(r"[^\W\d][\w .@#/:-]*", value):
        is_word = value.lower() not in {"true", "false", "null", "none"}
        return shortened(value, _MAX_SHOWN) if is_word else f'"{value}"'
    return shortened(json_text(value), _MAX_SHOWN)


def with_args(matchers: Mapping[str, Any]) -> str:
    """Say what the arguments must be: ` with type = order, limit = 5`."""
    if not matchers:
        return ""
    return " with " + listed([phrase(name, matcher) for name, matcher in matchers.items()])


def mismatches(matchers: Mapping[str, Any], args: Mapping[str, Any], *, exact: bool) -> list[str]:
    """Say of each argument that is not as wanted what it is; with `exact` others may not occur."""
    wrong = []
    extra = [name for name in args if name not in matchers]
    for name, matcher in matchers.items():
        actual = args.get(name, ABSENT)
        if not matches(matcher, actual):
            found = f"missing{_instead(name, extra)}" if actual is ABSENT else _show(actual)
            reading = other_reading(matcher, actual)
            wrong.append(f"{name} is {found}{f' ({reading})' if reading else ''}")
    if exact:
        wrong += [f"{shortened(str(name), _MAX_SHOWN)} was not expected" for name in extra]
    return wrong


def _instead(name: str, others: Sequence[str]) -> str:
    """Name the argument that was probably meant to be this one."""
    names = [each for each in islice(others, _CANDIDATES) if len(str(each)) <= _MAX_SHOWN]
    near = difflib.get_close_matches(name, map(str, names), n=1)
    return f" (the call has {near[0]})" if near else ""


def matcher_warnings(matchers: Mapping[str, Any]) -> list[str]:
    """Name doubled backslashes, and literals that look like a matcher."""
    warnings = []
    for name, matcher in matchers.items():
        kind = _kind(matcher)
        if kind == "regex":
            warnings += [f"{name}: {each}" for each in pattern_warnings(matcher[kind])]
        elif kind == "fuzzy" and (unclear := _uncertain(matcher)):
            warnings.append(f"{name}: {unclear}")
        elif kind == "contains" and isinstance(matcher[kind], str) and not folded(matcher[kind]):
            warnings.append(
                f"{name}: Every text contains this one, as there is nothing in it to see."
            )
        elif kind is None and isinstance(matcher, dict) and (near := _near_miss(matcher)):
            warnings.append(f"{name}: {near}")
        elif kind is None and isinstance(matcher, dict | list) and (found := _inner(matcher)):
            warnings.append(f"{name}: {found}")
    return warnings


def _uncertain(matcher: Mapping[str, Any]) -> str | None:
    """Say that an expected number can be read in two ways."""
    written = matcher["fuzzy"]
    decimal: DecimalSign = matcher.get("decimal", "auto")
    found = read_amount(written, decimal=decimal) if isinstance(written, str) else None
    if found is None or found[1]:
        return None
    return (
        f"It is not certain which number {written!r} is, so it is compared as a text. Write decimal:"
        " comma beside fuzzy, or the number without quotes."
    )


def _near_miss(literal: Mapping[str, Any]) -> str | None:
    """Name the matcher that a literal of one key resembles: {regexp: x}."""
    if len(literal) != 1:
        return None
    (key,) = literal
    near = difflib.get_close_matches(key, MATCHER_KEYS, n=1, cutoff=0.8)
    if not near:
        return None
    return f"{key!r} is no matcher, so this is compared as written. Did you mean {near[0]!r}?"


def _inner(literal: Any) -> str | None:  # noqa: ANN401 - any JSON
    """Say why something inside a literal that looks like a matcher is none."""
    values = literal.values() if isinstance(literal, dict) else literal
    for value in values:
        if isinstance(value, dict) and len(value) == 1 and _kind(value):
            if problem := _problem(value):
                return f"{json_text(value, 60)} is compared as written. {problem}"
        elif isinstance(value, dict | list) and (found := _inner(value)):
            return found
    return None
