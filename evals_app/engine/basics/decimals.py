"""Exact numbers: read from text, and compared within a tolerance without any rounding."""

import re
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MAX_PREC,
    MIN_EMIN,
    ROUND_DOWN,
    Context,
    Decimal,
    Inexact,
    InvalidOperation,
)
from functools import lru_cache
from typing import Literal

ZERO = Decimal(0)
USD_PLACES = 9  # amounts of money, to a billionth: what one token of a cheap model costs

# ASCII on purpose: Decimal itself also reads underscores, `inf`, `nan` and digits of any script.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHIFTING = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])

# The decimal separator. In auto, 1,234 is over a thousand, and 1.234 slightly over one.
DecimalSign = Literal["auto", "point", "comma"]

# Characters that only ever separate groups of three digits: 1 234, 1'234.
GAPS = " _'\u2019\u00a0\u2007\u2009\u202f"
_GROUPED_BY_GAPS = re.compile(
    rf"[1-9][0-9]{{0,2}}(?:([{GAPS}])[0-9]{{3}})(?:\1[0-9]{{3}})*(?:[.,][0-9]+)?"
)
# 1.234,56 and 1.234.567, or 1,234.56 and 1,234,567: two different signs, or one twice.
_GROUPED_BOTH_WAYS = re.compile(
    r"[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+\.[0-9]+|(?:\.[0-9]{3})+,[0-9]+|(?:,[0-9]{3}){2,}|(?:\.[0-9]{3}){2,})"
)
# As in India: 1,00,000 and 12,34,567.50.
_GROUPED_BY_LAKHS = re.compile(r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?")
_ONE_GROUP = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
_GROUPED = (_GROUPED_BY_GAPS, _GROUPED_BOTH_WAYS, _GROUPED_BY_LAKHS)
_ONE_SIGN = re.compile(r"[0-9]+([.,])[0-9]+")
_ADDRESS = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}")
_CODE = re.compile(r"0[0-9]{2,}")


@dataclass(frozen=True, slots=True)
class Digits:
    """Digits with separators, as plain ones with a decimal point: 1.234,5 is 1234.5.

    Without `is_certain` a comma may separate two numbers just as well.
    """

    plain: str
    is_grouped: bool = False
    is_certain: bool = True


def is_code(text: str) -> bool:
    """Return whether digits begin like those of a code rather than a number: 007, 01234."""
    return _CODE.match(text.strip()) is not None


def read_digits(text: str, *, decimal: DecimalSign) -> Digits | None:
    """Read digits with separators between them; None if they are not one number."""
    if is_code(text) or _ADDRESS.fullmatch(text):
        return None
    if text.isdecimal() and text.isascii():
        return Digits(text)
    if any(form.fullmatch(text) for form in _GROUPED):
        return _without_separators(text)
    sign = _ONE_SIGN.fullmatch(text)
    if sign is None:
        return None
    separates_thousands = "." if decimal == "comma" else ","
    if sign[1] == separates_thousands and _ONE_GROUP.fullmatch(text):
        return Digits(text.replace(sign[1], ""), is_grouped=True)
    if sign[1] == ",":
        if decimal == "point":
            return None
        return Digits(text.replace(",", "."), is_certain=decimal == "comma")
    return Digits(text)


def _without_separators(text: str) -> Digits:
    """Remove thousands separators; the last sign is the decimal point if it differs from them."""
    signs = [character for character in text if not character.isdecimal()]
    whole, decimals = text, ""
    if signs[-1] in ".," and signs.count(signs[-1]) == 1 and len(signs) > 1:
        whole, _, decimals = text.rpartition(signs[-1])
    plain = "".join(part for part in whole if part.isdecimal())
    return Digits(f"{plain}.{decimals}" if decimals else plain, is_grouped=True)


def read_number(text: str, *, percent: bool = False) -> Decimal | None:
    """Read a text that is a plain number and nothing else; None if it is none.

    With `percent` a trailing % divides by 100.
    """
    text = text.strip()
    is_percentage = percent and text.endswith("%")
    if is_percentage:
        text = text[:-1].rstrip()
    if not _NUMBER.fullmatch(text):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        # An exponent of 19 digits and more.
        return None
    return shift_point(number, -2) if is_percentage else number


def read_amount(
    text: str, *, decimal: DecimalSign, percent: bool = False, thousands: bool = True
) -> tuple[Decimal, bool] | None:
    """Read a text that is a number, perhaps with separators, and nothing else; say if it is certain.

    Without `thousands`, it may only have a decimal separator. A code such as 007 is not a number.
    """
    text = text.strip().replace("\u2212", "-")
    sign = text[:1] if text[:1] in {"+", "-"} else ""
    body = text.removeprefix(sign)
    is_percentage = percent and body.endswith("%")
    body = body.removesuffix("%").rstrip() if is_percentage else body
    if is_code(body):
        return None
    digits = read_digits(body, decimal=decimal)
    if digits is None:
        # What read_digits does not know: -.5, 5., 6e1.
        digits = Digits(body)
    if digits.is_grouped and not thousands:
        return None
    number = read_number(f"{sign}{digits.plain}{'%' if is_percentage else ''}", percent=percent)
    return None if number is None else (number, digits.is_certain)


# A tolerance beyond these accepts any number in practical use.
_ENDLESS_DIFFERENCE = 1e15
_ENDLESS_SHARE = 1000.0


def covers_everything(absolute: float, relative: float) -> bool:
    """Return whether a tolerance lets practically every number pass."""
    return absolute >= _ENDLESS_DIFFERENCE or relative >= _ENDLESS_SHARE


def shift_point(number: Decimal, places: int) -> Decimal:
    """Move the decimal point, exactly."""
    return number.scaleb(places, context=_SHIFTING)


def is_within(
    actual: Decimal, expected: Decimal, *, absolute: Decimal, relative: Decimal = ZERO
) -> bool:
    """Return whether the two differ by at most `absolute`, or by `relative` times the expected number.

    Exact for numbers of any length, in linear time. The difference of 1e999999 and 1 has a million
    digits; it is cut to as many as the operands have. A cut difference is below the tolerance if
    and only if the whole one is, since the tolerance has no more digits; where the two are equal,
    the digits that were cut make the difference larger.
    """
    precision = 2 + max(_digits(actual), _digits(expected) + _digits(relative), _digits(absolute))
    context = _context(precision.bit_length())
    difference = context.subtract(actual, expected).copy_abs()
    tolerance = max(absolute, context.multiply(relative, expected.copy_abs()))
    if difference != tolerance:
        return difference < tolerance
    exact = context.copy()  # a flag reports what was cut, and these contexts are shared
    exact.clear_flags()
    exact.subtract(actual, expected)
    return not exact.flags[Inexact]


@lru_cache(maxsize=64)
def _context(bits: int) -> Context:
    """Return a context for numbers of fewer than 2**bits digits."""
    precision = min(MAX_PREC, 2**bits)
    return Context(prec=precision, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_DOWN, traps=[])


def _digits(number: Decimal) -> int:
    return len(str(number))  # an upper bound, which is quicker than counting
