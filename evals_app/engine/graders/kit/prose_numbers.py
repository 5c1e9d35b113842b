"""Find the numbers in running text, as a reader would: `up 3.5 % to $1,200` contains 3.5 and 1200.

Every character is read a bounded number of times, so no text is slow.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from evals_app.engine.basics.decimals import (
    GAPS,
    DecimalSign,
    Digits,
    read_digits,
    read_number,
    shift_point,
)
from evals_app.engine.basics.folding import SPACELESS

_MINUS = "-\u2212\u2013"
_SIGNS = _MINUS + "+"
# Groups of three digits with gaps between them, such as 1 234,5; else digits with signs in between,
# which are read afterwards. Neither begins in the middle of a row of numbers.
_RUN = re.compile(
    rf"(?<![0-9][{GAPS}])[1-9][0-9]{{0,2}}([{GAPS}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?!\1?[0-9])(?:[.,][0-9]+)?"
    r"(?![0-9]|[.,][0-9])"
    r"|[0-9]+(?:[.,][0-9]+)*"
)
# How LaTeX and HTML write separators between digits: 1{,}234, 1\,234, 1&nbsp;234.
_BRACED_SIGN = re.compile(r"(?<=[0-9])\{([.,])\}(?=[0-9])")
_WRITTEN_GAP = re.compile(
    r"(?<=[0-9])(?:\\[,:; ]|&(?:nbsp|thinsp|#160|#8239|#xa0|#x202f);)(?=[0-9]{3}(?![0-9])|\\?%)",
    re.IGNORECASE,
)
_PIECE = re.compile(r"[0-9.]+")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+(?!\w|\.[0-9])")
_PERCENT = re.compile(r"[ \u00a0\u202f]?\\?%|[ \u00a0]per ?cent\b|[ \u00a0]Prozent\b")
_MAGNITUDES = {
    2: ("hundred",),
    3: ("k", "K", "thousand", "tausend"),
    4: ("万", "萬", "만"),
    5: ("lakh",),
    6: ("M", "mn", "million", "mio", "millionen"),
    7: ("crore",),
    8: ("億", "亿", "억"),
    9: ("B", "bn", "billion", "mrd", "milliard", "milliarde", "milliarden"),
    12: ("trillion",),
}
_ZEROS = {word: zeros for zeros, words in _MAGNITUDES.items() for word in words}
_LETTER_MAGNITUDE = re.compile(r"((?:k|K|M|B|bn|mn)(?!\w)|[万萬만億亿억])")
_WORD_MAGNITUDE = re.compile(
    rf"[ \u00a0\u202f\n-]?({'|'.join(sorted((n for n in _ZEROS if len(n) > 2), key=len, reverse=True))})"  # noqa: PLR2004
    r"s?(?!\w)",
    re.IGNORECASE,
)
# Behind a number, a bracket or a single letter it takes away: 10 minus 5, x minus 5.
_MINUS_WORD = re.compile(r"(?:^|(?<=[^\w-]))minus[ \u00a0]+$", re.IGNORECASE)
_OPERAND = re.compile(r"(?:[0-9)\]%]|(?:^|\W)[A-Za-z])\s*$")
# Before a hyphen: the beginning of a range, such as 10%-12% or 10 €-12 €.
_FROM = re.compile("[0-9][ \u00a0\u202f]?[%\u2030\u00b0$\u00a3\u00a5\u20a0-\u20cf]$")
_CURRENCY_CODE = re.compile(r"[ \u00a0\u202f]?(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN)\)")


@dataclass(frozen=True, slots=True)
class FoundNumber:
    """A number and the piece of text that contains it.

    Where it is not certain, a comma may separate two numbers just as well: 3,5.
    """

    value: Decimal
    text: str
    is_certain: bool = True


def find_numbers(
    text: str, *, percent: bool = False, decimal: DecimalSign = "auto"
) -> Iterator[FoundNumber]:
    """Yield the numbers of a text in order; with `percent`, 5 % is 0.05, else 5.

    Understood are signs (a minus after a letter or digit is a hyphen) and the word minus, currency
    signs, amounts of money in brackets as negative, separators of thousands of all kinds,
    exponents, k, M, B, bn directly behind, and words such as million. Digits behind a letter
    (`v2`), unless its script puts no space between words, chains such as `1.2.3` and codes such as
    `007` are not numbers.
    """
    text = _WRITTEN_GAP.sub("\u202f", _BRACED_SIGN.sub(r"\1", text))
    done = 0
    for run in _RUN.finditer(text):
        if run.start() < done:
            continue  # the digits of an exponent
        for start, end in _pieces(run, decimal):
            number, done = _read(text, start, end, percent=percent, decimal=decimal)
            if number is not None:
                yield number


def _pieces(run: re.Match[str], decimal: DecimalSign) -> list[tuple[int, int]]:
    """Cut a run that is not one number at its separators: `1,2,3` are three numbers."""
    if read_digits(run[0], decimal=decimal):
        return [run.span()]
    return [
        (run.start() + piece.start(), run.start() + piece.end())
        for piece in _PIECE.finditer(run[0])
    ]


def _read(
    text: str, start: int, end: int, *, percent: bool, decimal: DecimalSign
) -> tuple[FoundNumber | None, int]:
    """Read the digits from start to end with what is around them; return where that ends."""
    digits = read_digits(text[start:end], decimal=decimal)
    if digits is None:
        return None, end
    before = text[start - 1] if start else ""
    if before == "_" or (before.isalnum() and not SPACELESS.match(before)):
        return None, end
    is_sign = before == "." or (before == "," and decimal == "comma")
    if is_sign and digits.plain.isdecimal() and _begins_number(text, start - 1):
        start, digits = start - 1, Digits(f".{digits.plain}")
    is_negative, has_currency, start = _sign(text, start)
    exponent = _EXPONENT.match(text, end)
    end = exponent.end() if exponent else end
    magnitude = _LETTER_MAGNITUDE.match(text, end) or _WORD_MAGNITUDE.match(text, end)
    end = magnitude.end() if magnitude else end
    percentage = _PERCENT.match(text, end)
    end = percentage.end() if percentage else end
    if is_negative is None and (
        closing := _end_of_brackets(text, start, end, has_currency=has_currency)
    ):
        is_negative, start, end = True, start - 1, closing
    if is_negative is None and (word := _minus_word(text, start)) is not None:
        is_negative, start = True, word
    value = read_number(digits.plain + (exponent[0] if exponent else ""))
    if value is None:
        return None, end
    value = shift_point(value, _zeros(magnitude[1])) if magnitude else value
    value = shift_point(value, -2) if percentage and percent else value
    value = value.copy_negate() if is_negative else value
    return FoundNumber(value, text[start:end], digits.is_certain), end


def _zeros(magnitude: str) -> int:
    return _ZEROS[magnitude] if magnitude in _ZEROS else _ZEROS[magnitude.lower()]


def _end_of_brackets(text: str, start: int, end: int, *, has_currency: bool) -> int:
    """Return where an amount of money in brackets, which is negative, ends; 0 if it is none."""
    if text[start - 1 : start] != "(":
        return 0
    if code := _CURRENCY_CODE.match(text, end):
        return code.end()
    after = end + (text[end : end + 1] in {" ", "\u00a0", "\u202f"})
    if text[after : after + 1] and _is_currency(text[after]):
        has_currency, end = True, after + 1
    has_currency = has_currency or (start > 1 and _is_currency(text[start - 2]))
    return end + 1 if has_currency and text[end : end + 1] == ")" else 0


def _minus_word(text: str, start: int) -> int | None:
    """Return where the word minus begins, if it makes the number after it negative."""
    nearby = text[max(0, start - 20) : start]
    word = _MINUS_WORD.search(nearby)
    if word is None or _OPERAND.search(nearby[: word.start()]):
        return None
    return start - len(nearby) + word.start()


def _begins_number(text: str, dot: int) -> bool:
    """Return whether a dot is the beginning of `.5`, not the end of a word or of other dots."""
    before = text[dot - 1] if dot else " "
    return before.isspace() or before in f"({_SIGNS}" or _is_currency(before)


def _sign(text: str, start: int) -> tuple[bool | None, bool, int]:
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
            and not _FROM.search(text[max(0, start - 4) : start - 1])
        ):
            is_negative = before in _MINUS
        else:
            break
        start -= 1
    return is_negative, has_currency, start


def _is_currency(character: str) -> bool:
    return unicodedata.category(character) == "Sc"
