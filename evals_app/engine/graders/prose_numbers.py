"""Find the numbers in running text, as a reader would: `up 3.5 % to $1,200` holds 3.5 and 1200.

Every character is looked at a bounded number of times: a text made to be slow is not.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from evals_app.engine.decimals import read_number, shifted

_MINUS = "-\u2212"
_SIGNS = _MINUS + "+"
_SEPARATORS = ",_\u00a0\u202f"
# Digits with single separators between them; what they mean is read afterwards.
_RUN = re.compile(rf"[0-9]+(?:[.{_SEPARATORS}][0-9]+)*")
_GROUPED = re.compile(rf"[0-9]{{1,3}}([{_SEPARATORS}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:\.[0-9]+)?")
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_PIECE = re.compile(r"[0-9.]+")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+(?!\w|\.[0-9])")
_MAGNITUDE = re.compile(r"(k|K|M|B|bn)(?!\w)")
_PERCENT = re.compile(r"[ \u00a0\u202f]?%")
_ZEROS = {"k": 3, "K": 3, "M": 6, "B": 9, "bn": 9}


@dataclass(frozen=True, slots=True)
class FoundNumber:
    """A number and the piece of text that says it."""

    value: Decimal
    text: str


def find_numbers(text: str, *, percent: bool = False) -> Iterator[FoundNumber]:
    """Yield the numbers of a text in order; with `percent`, 5 % is 0.05, else 5.

    Understood are signs (a minus after a letter or digit is a hyphen), currency signs, amounts in
    brackets as negative, groups of three digits, exponents, and k, M, B, bn directly behind.
    Digits behind a letter (`v2`) and chains such as `1.2.3` are no numbers.
    """
    done = 0
    for run in _RUN.finditer(text):
        if run.start() < done:
            continue  # the digits of an exponent
        for start, end in _pieces(run):
            number, done = _read(text, start, end, percent=percent)
            if number is not None:
                yield number


def _pieces(run: re.Match[str]) -> list[tuple[int, int]]:
    """Cut a run where its separators do not group thousands: `1,2` are two numbers."""
    if _GROUPED.fullmatch(run[0]):
        return [run.span()]
    return [
        (run.start() + piece.start(), run.start() + piece.end())
        for piece in _PIECE.finditer(run[0])
    ]


def _read(text: str, start: int, end: int, *, percent: bool) -> tuple[FoundNumber | None, int]:
    """Read the digits from start to end with what stands around them; say where that ends."""
    digits = text[start:end]
    if not (_PLAIN.fullmatch(digits) or _GROUPED.fullmatch(digits)):
        return None, end
    before = text[start - 1] if start else ""
    if before.isalnum() or before == "_":
        return None, end
    if before == "." and _begins_number(text, start - 1):
        start, digits = start - 1, f".{digits}"
    is_negative, start = _sign(text, start)
    exponent = _EXPONENT.match(text, end)
    end = exponent.end() if exponent else end
    magnitude = _MAGNITUDE.match(text, end)
    end = magnitude.end() if magnitude else end
    percentage = _PERCENT.match(text, end)
    end = percentage.end() if percentage else end
    if is_negative is None and text[start - 1 : start] == "(" and text[end : end + 1] == ")":
        is_negative, start, end = True, start - 1, end + 1
    value = read_number(digits + (exponent[0] if exponent else ""), thousands=True)
    if value is None:
        return None, end
    value = shifted(value, _ZEROS[magnitude[1]]) if magnitude else value
    value = shifted(value, -2) if percentage and percent else value
    value = value.copy_negate() if is_negative else value
    return FoundNumber(value, text[start:end]), end


def _begins_number(text: str, dot: int) -> bool:
    """Whether a dot is the beginning of `.5`, not the end of a word or of other dots."""
    before = text[dot - 1] if dot else " "
    return before.isspace() or before in f"({_SIGNS}" or _is_currency(before)


def _sign(text: str, start: int) -> tuple[bool | None, int]:
    """Read sign and currency leftwards, in either order; None: no sign is written."""
    is_negative = None
    has_currency = False
    while start:
        before = text[start - 1]
        if not has_currency and _is_currency(before):
            has_currency = True
        elif (
            is_negative is None
            and before in _SIGNS
            and not text[max(0, start - 2) : start - 1].isalnum()
        ):
            is_negative = before in _MINUS
        else:
            break
        start -= 1
    return is_negative, start


def _is_currency(character: str) -> bool:
    return unicodedata.category(character) == "Sc"
