"""The values that expressions calculate and compare: exact, bounded, and never a guess."""

import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from evals_app.engine.basics.folding import fold_text, in_plain_digits, plain
from evals_app.engine.graders.kit.base import MAX_TEXT_BYTES
from evals_app.engine.graders.kit.prose_numbers import find_numbers
from fixtures_app.ground.patterns import search
from fixtures_app.ground.quoting import cut_middle, in_quotes, join_list, json_text

_MAX_DIGITS, _MAX_BITS, _MAX_DAYS = 1_000, 10_000, 10_000_000
_MANY_KINDS = 8  # more of them are not listed
_DATE = re.compile(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")

# Kinds of values, as messages name them; ANY is one that is unknown until the reply is there.
ANY, TEXT, NUMBER, DATE, DAYS = "anything", "text", "a number", "a date", "days"
LIST, OBJECT, YES_NO, NULL = "a list", "an object", "true or false", "null"
_KINDS: Mapping[type, str] = MappingProxyType(
    {
        bool: YES_NO,
        str: TEXT,
        Fraction: NUMBER,
        date: DATE,
        timedelta: DAYS,
        list: LIST,
        dict: OBJECT,
        type(None): NULL,
    }
)


def kind_of(value: object) -> str:
    """Return the kind of a value."""
    return _KINDS[type(value)]


def from_json(value: Any) -> Any:
    """Return a value of JSON, its numbers exactly as they are written.

    Raises:
        ValueError: it has a number of too many digits.
    """
    if isinstance(value, list):
        return [item if isinstance(item, list) else from_json(item) for item in value]
    if value is None or isinstance(value, bool | str | dict):
        return value
    number = Decimal(repr(value)) if isinstance(value, float) else value
    is_bounded = isinstance(number, int) and number.bit_length() <= _MAX_BITS
    if isinstance(number, Decimal) and number.is_finite():
        size = max(len(number.as_tuple().digits), abs(number.adjusted()) if number else 0)
        is_bounded = size <= _MAX_DIGITS
    if not is_bounded:
        raise ValueError(f"has a number of more than {_MAX_DIGITS:,} digits")
    return Fraction(number)


def value_text(value: Any) -> str:
    """Show a value in a sentence."""
    if isinstance(value, Fraction):
        return cut_middle(_number_text(value))
    if isinstance(value, timedelta):
        return "1 day" if value.days == 1 else f"{value.days} days"
    if isinstance(value, list):
        shown = join_list(value, lambda item: "…" if isinstance(item, list) else value_text(item))
        return f"[{shown if value else ''}]"
    if isinstance(value, date):
        return value.isoformat()
    return in_quotes(value) if isinstance(value, str) else json_text(value)


def _number_text(number: Fraction) -> str:
    places = 0
    while places <= _MAX_DIGITS and 10**places % number.denominator:
        places += 1
    if places > _MAX_DIGITS:
        return f"about {Decimal(number.numerator) / Decimal(number.denominator):.6g}"
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    point = f".{digits[-places:]}" if places else ""
    return f"{'-' if number < 0 else ''}{digits[: len(digits) - places]}{point}"


# Functions: they raise ValueError with what is wrong, after the words of the expression.


def _within_bounds(calculate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def in_bounds(one: Any, other: Any) -> Any:
        try:
            value = calculate(one, other)
        except ZeroDivisionError:
            raise ValueError("divides by 0") from None
        except OverflowError:
            raise ValueError("is outside of the calendar") from None
        if not isinstance(value, Fraction):
            return value
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
            raise ValueError("has too many digits")
        return value

    return in_bounds


_ADD = _within_bounds(operator.add)


def _of_numbers(combine: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def of_numbers(items: list[Any]) -> Any:
        odd = [f"[{n}] is {value_text(x)}" for n, x in enumerate(items) if kind_of(x) != NUMBER]
        if odd:
            raise ValueError(f"has no value, because not all are numbers: {join_list(odd)}")
        if not items:
            raise ValueError("has no value, because the list is empty")
        return combine(items)

    return of_numbers


def _sum(numbers: list[Any]) -> Any:
    total = Fraction(0)
    for number in numbers:
        total = _ADD(total, number)
    return total


def _split(text: str, between: str) -> list[str]:
    if not between:
        raise ValueError("needs a text to split at that is not empty")
    return text.split(between)


def _item(items: list[Any], index: Fraction) -> Any:
    if not -len(items) <= index < len(items):
        raise ValueError(f"does not exist: there are {len(items)} items")
    return items[int(index)]


def _number(text: Any, decimal: Any) -> Fraction:
    if isinstance(text, Fraction):
        return text
    if decimal not in ("auto", "point", "comma"):
        raise ValueError("needs 'point' or 'comma' as its second value")
    if not isinstance(text, str) or len(text) > MAX_TEXT_BYTES:
        raise ValueError(f"needs a text of up to {MAX_TEXT_BYTES:,} characters")
    found = find_numbers(in_plain_digits(text), decimal=decimal)
    first = next(found, None)
    if first is None:
        raise ValueError(f"has no value: {in_quotes(text)} has no number")
    if any(other.value != first.value for other in found):
        raise ValueError(f"is unclear: {in_quotes(text)} has several numbers")
    number: Fraction = from_json(first.value)
    return number


def _date(text: str) -> date:
    days = set(_DATE.findall(text))
    if len(days) != 1:
        problem = "several dates" if days else "no date such as 2026-03-05"
        raise ValueError(f"has no value: {in_quotes(text)} has {problem}")
    try:
        return date.fromisoformat(days.pop())
    except ValueError:
        raise ValueError(f"has no value: {in_quotes(text)} is not in the calendar") from None


def _round(number: Fraction, places: Fraction = Fraction(0)) -> Fraction:
    """Round half away from zero, as spreadsheets do."""
    if places.denominator != 1 or not 0 <= places <= _MAX_DIGITS:
        raise ValueError("needs a number of decimal places")
    size = math.floor(abs(number) * 10 ** int(places) + Fraction(1, 2))
    return Fraction(size if number > 0 else -size, 10 ** int(places))


def _days(count: Fraction) -> timedelta:
    if count.denominator != 1 or abs(count) > _MAX_DAYS:
        raise ValueError("is not a whole number of days")
    return timedelta(days=int(count))


_Table = Mapping[tuple[str, ...], tuple[str, Callable[..., Any]]]


def _arithmetic(sign: Callable[[Any, Any], Any], **more: str) -> _Table:
    names = {"date": DATE, "days": DAYS}
    pairs = {
        tuple(names[word] for word in key.split("_")): names[kind] for key, kind in more.items()
    }
    return {
        pair: (kind, _within_bounds(sign))
        for pair, kind in ({(NUMBER, NUMBER): NUMBER} | pairs).items()
    }


_COUNT: _Table = dict.fromkeys([(TEXT,), (LIST,)], (NUMBER, lambda value: Fraction(len(value))))
# What each function takes, what it then gives, and how.
FUNCTIONS: Mapping[str, _Table] = MappingProxyType(
    {
        "length": _COUNT,
        "count": _COUNT,
        "sum": {(LIST,): (NUMBER, _of_numbers(_sum))},
        "min": {(LIST,): (NUMBER, _of_numbers(min))},
        "max": {(LIST,): (NUMBER, _of_numbers(max))},
        "lower": {(TEXT,): (TEXT, str.lower)},
        "upper": {(TEXT,): (TEXT, str.upper)},
        "trim": {(TEXT,): (TEXT, str.strip)},
        "split": {(TEXT,): (LIST, str.split), (TEXT, TEXT): (LIST, _split)},
        "number": {
            (TEXT, TEXT): (NUMBER, _number),
            (NUMBER, TEXT): (NUMBER, _number),
            (LIST, TEXT): (LIST, lambda items, decimal: [_number(text, decimal) for text in items]),
        },
        "date": {(TEXT,): (DATE, _date)},
        "round": {(NUMBER,): (NUMBER, _round), (NUMBER, NUMBER): (NUMBER, _round)},
        "abs": {(NUMBER,): (NUMBER, abs)},
        "days": {(NUMBER,): (DAYS, _days)},
    }
)
SIGNS: Mapping[str, _Table] = MappingProxyType(
    {
        "+": _arithmetic(operator.add, date_days="date", days_days="days"),
        "-": _arithmetic(operator.sub, date_days="date", days_days="days", date_date="days"),
        "*": _arithmetic(operator.mul),
        "/": _arithmetic(operator.truediv),
        "[]": {(LIST, NUMBER): (ANY, _item)},
    }
)


def _has(whole: Any, part: Any) -> bool:
    if isinstance(whole, list):
        return any(_same(item, part) for item in whole)
    if not (piece := fold_text(part, case_sensitive=True)):
        raise ValueError("Every text contains an empty one.")
    return piece in fold_text(whole, case_sensitive=True)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        if any(isinstance(item, list | dict) for item in (*one, *other)):
            raise ValueError("Name a part of each item, such as [*].id, to compare two lists.")
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    return type(one) is type(other) and bool(one == other)


def _finds(text: str, pattern: str) -> bool:
    return search(pattern, text, case_sensitive=True) is not None


_ONE_KIND = [(kind, kind) for kind in (NUMBER, DATE, DAYS)]
_ALIKE = [*_ONE_KIND, *((kind, kind) for kind in (TEXT, YES_NO, LIST))]
_ALIKE += [pair for kind in _KINDS.values() for pair in ((kind, NULL), (NULL, kind))]
_TEXTS = [(TEXT, TEXT)]
_IN_LIST = [(LIST, kind) for kind in (TEXT, NUMBER, DATE, DAYS, YES_NO, NULL)]


def _comparing(pairs: list[tuple[str, str]], holds: Callable[[Any, Any], bool]) -> _Table:
    return dict.fromkeys(pairs, (YES_NO, holds))


COMPARISONS: Mapping[str, _Table] = MappingProxyType(
    {
        "=": _comparing(_ALIKE, _same),
        "!=": _comparing(_ALIKE, lambda one, other: not _same(one, other)),
        "<": _comparing(_ONE_KIND, operator.lt),
        "<=": _comparing(_ONE_KIND, operator.le),
        ">": _comparing(_ONE_KIND, operator.gt),
        ">=": _comparing(_ONE_KIND, operator.ge),
        "contains": _comparing(_TEXTS + _IN_LIST, _has),
        "does not contain": _comparing(_TEXTS + _IN_LIST, lambda one, other: not _has(one, other)),
        "matches": _comparing(_TEXTS, _finds),
        # As in not_matches, invisible characters hide nothing.
        "does not match": _comparing(
            _TEXTS, lambda one, other: not (_finds(one, other) or _finds(plain(one), other))
        ),
    }
)


def result_kind(name: str, table: _Table, kinds: tuple[str, ...]) -> str:
    """Return the kind that a function, sign or comparison gives for values of these kinds.

    Raises:
        ValueError: it takes others; the message says which.
    """
    fits = {
        gives
        for takes, (gives, _) in table.items()
        if len(takes) == len(kinds)
        and all(kind in (wanted, ANY) for kind, wanted in zip(kinds, takes, strict=True))
    }
    if fits:
        return fits.pop() if len(fits) == 1 else ANY
    known = " or ".join(" and ".join(takes) for takes in table)
    known = "two values of one kind" if len(table) > _MANY_KINDS else known
    problem = f"{name} takes {known}; here it has {' and '.join(kinds) or 'nothing'}."
    if OBJECT in kinds or LIST in kinds:
        hint = " Name one value of it, or use sum, min, max or count."
    elif TEXT in kinds:
        hint = " Write number(...) or date(...) around a text to find one in it."
    else:
        hint = " Days are written as 14 days." if {DATE, DAYS} & set(kinds) else ""
    raise ValueError(f"{problem}{hint}")
