"""Exact numbers: read from text, and compared within a tolerance without any rounding."""

import re
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

ZERO = Decimal(0)

# ASCII on purpose: Decimal itself also reads underscores, `inf`, `nan` and digits of any script.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = str.maketrans("", "", ",_\u00a0\u202f")
_SHIFTING = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def read_number(text: str, *, percent: bool = False, thousands: bool = False) -> Decimal | None:
    """Read a text that is a number and nothing else; None if it is none.

    With `percent` a trailing % divides by 100. With `thousands` the separators `,` `_` and the
    unbreakable spaces are left out; otherwise they make the text no number.
    """
    text = text.strip()
    is_percentage = percent and text.endswith("%")
    if is_percentage:
        text = text[:-1].rstrip()
    if thousands:
        text = text.translate(_THOUSANDS)
    if not _NUMBER.fullmatch(text):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        # An exponent of 19 digits and more.
        return None
    return shifted(number, -2) if is_percentage else number


def shifted(number: Decimal, places: int) -> Decimal:
    """Move the decimal point, exactly."""
    return number.scaleb(places, context=_SHIFTING)


def is_within(
    actual: Decimal, expected: Decimal, *, absolute: Decimal, relative: Decimal = ZERO
) -> bool:
    """Whether the two differ by at most `absolute`, or by `relative` times the expected number.

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
    exact = context.copy()  # what was cut is told by a flag, and others use these contexts too
    exact.clear_flags()
    exact.subtract(actual, expected)
    return not exact.flags[Inexact]


@lru_cache(maxsize=64)
def _context(bits: int) -> Context:
    """Give a context for numbers of fewer than 2**bits digits."""
    precision = min(MAX_PREC, 2**bits)
    return Context(prec=precision, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_DOWN, traps=[])


def _digits(number: Decimal) -> int:
    return len(str(number))  # as many, or a few more; it is quicker than counting
