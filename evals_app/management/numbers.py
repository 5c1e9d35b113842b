"""Numbers on the command line, within the bounds that forms and REST have too."""

import math
from argparse import ArgumentTypeError
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from evals_app.engine.basics.decimals import USD_PLACES

MAX_USD = 1_000_000
MAX_SECONDS = 10_000_000  # four months
MAX_DAYS = 36_500


def whole(*, most: int, least: int = 1, what: str = "whole number") -> Callable[[str], int]:
    """Return what reads a whole number between two bounds."""

    def read(text: str) -> int:
        # Python itself refuses to read a number of thousands of digits.
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(most))
        if not is_number or not least <= int(text) <= most:
            raise ArgumentTypeError(f"{text!r} is not a {what} from {least} to {most:,}")
        return int(text)

    return read


RUN_NUMBER = whole(most=2**63 - 1)  # what a database can look for
days = whole(most=MAX_DAYS, what="number of days")


def seconds(text: str) -> float:
    """Read a duration above 0."""
    value = duration(text)
    if not value:
        raise ArgumentTypeError(
            f"{text!r} is not a valid time; write seconds above 0, for example 600"
        )
    return value


def duration(text: str) -> float:
    """Read a duration in seconds that may be 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MAX_SECONDS:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to {MAX_SECONDS:,}")
    return value


def usd(text: str) -> Decimal:
    """Read an amount of money above 0."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(0)
    if not value.is_finite() or not 0 < value <= MAX_USD or value != round(value, USD_PLACES):
        raise ArgumentTypeError(f"{text!r} is not an amount above 0 in USD, for example 2.50")
    return value
