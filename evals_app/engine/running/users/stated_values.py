"""Numbers, ids and addresses that a text states, compared with those that it may state."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from evals_app.engine.basics.decimals import DecimalSign
from evals_app.engine.basics.folding import SPACELESS, fold_text, in_plain_digits, plain
from evals_app.engine.graders.kit.prose_numbers import find_numbers

_LETTER = rf"(?:(?!{SPACELESS.pattern})[^\W\d_])"
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[!-~]+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*", re.IGNORECASE | re.ASCII
)
# Letters and digits with a sign in between, such as A-1042, 49.90, 3/5/2026 or a1042's.
_CHAIN = re.compile(rf"(?:{_LETTER}|\d)+(?:[-./,:_#='&~](?:{_LETTER}|\d)+)*")
_CUTS = re.compile(r"[^\w.,]+|_|(?<!\d)[.,]|[.,](?!\d)")
_DOTS = re.compile(r"[.,]")
_NOT_IN_NAMES = re.compile(rf"{_CUTS.pattern}|\s")
_GLUED = re.compile(r"([^\W\d]*)(\d+(?:[.,]\d+)*)([^\W\d]*)")
_WORD = re.compile(rf"{_LETTER}+")
# Digits in groups, such as those of telephone numbers: +49 (151) 234-5678.
_GROUPED = re.compile(r"(?<![\d.,])\d+(?:[ \u00a0\u202f/()'-]{1,2}\d+)+(?![.,]?\d)")
_LONG = 6  # digits that are taken together
_TELEPHONE = 7  # digits at least without the prefix of the country
_DECIMALS: tuple[DecimalSign, ...] = ("point", "comma")
_EDGES = ".,;:!?()[]{}<>\"'*`"
_CURRENCIES = frozenset(
    ["usd", "eur", "gbp", "chf", "jpy", "cad", "aud", "sek", "nok", "dkk", "pln"]
)
_MONTHS = (  # how their names begin in English, German, French, Spanish, Italian and Portuguese
    "jan ene gen jän",
    "feb fév fev",
    "mar mär maerz",
    "apr avr abr",
    "may mai mag",
    "jun juin giu",
    "jul juil lug",
    "aug aoû aou ago",
    "sep set",
    "oct okt ott out",
    "nov",
    "dec dez déc dic",
)
_MONTH_AT_DAY = re.compile(
    rf"(?:\d(?:st|nd|rd|th|er)?[.,]?\s+(?:of\s+|de\s+)?({_LETTER}{{3,}})|\b({_LETTER}{{3,}})\.?\s+\d)"
)


@dataclass(frozen=True, slots=True)
class StatedValues:
    """What texts state, in the forms in which it may be repeated.

    `names` are ids and addresses: of ids letters and digits alone, in lower case, so that A-1042 and
    a1042 are the same, and the parts of them, because people say order 1042. `numbers` are values:
    49,90 and 49.90 are the same. `months` have names there; they count in dates only. `words` may
    stand at a number: `A` at 1042.
    """

    names: frozenset[str]
    numbers: frozenset[Decimal]
    months: frozenset[int]
    words: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        names, numbers, months, words = set[str](), set[Decimal](), set[int](), set[str]()
        for text in map(_readable, texts):
            for decimal in _DECIMALS:
                numbers |= _numbers(text, decimal)
            months |= set(_months(text))
            words |= {word.casefold() for word in _WORD.findall(text)}
            for value in _values(f"{text}\n{_GROUPED.sub(_together, text)}"):
                names |= {_name(value), *_parts(value)}
        return cls(frozenset(names), frozenset(numbers), frozenset(months), frozenset(words))

    def lacks(self, text: str) -> list[str]:
        """Return the values of a text that are not among these, as they are written, each once."""
        said = _GROUPED.sub(self._as_given, _readable(text))
        return list(dict.fromkeys(value for value in _values(said) if not self._has(value)))

    def _as_given(self, group: re.Match[str]) -> str:
        """Return digits in groups as one number, if it was given in other groups or in none."""
        digits = _digits(group[0])
        if digits in self.names or Decimal(digits) in self.numbers:
            return digits
        return next((name for name in self.names if _is_telephone(digits, name)), group[0])

    def _has(self, value: str) -> bool:
        if _name(value) in self.names:
            return True
        if _ADDRESS.fullmatch(value):
            return False
        return self._has_all(_CUTS.split(value)) or (
            len(_DOTS.findall(value)) > 1 and self._has_all(_DOTS.split(value))
        )

    def _has_all(self, parts: list[str]) -> bool:
        """Return whether each number in an id or a date was given, and the letters at it fit."""
        has_number, is_date = False, len(parts) > 1
        for part in filter(None, parts):
            if (glued := _GLUED.fullmatch(part)) is None:
                if _has_digit(part) or not (has_number or self._may_precede(part)):
                    return False
                if has_number and not self._may_follow(part):
                    return False
                continue
            has_number = True
            before, number, after = glued.groups()
            is_month = is_date and number.isdecimal() and int(number) in self.months
            if not (part.casefold() in self.names or is_month or self._has_number(number)):
                return False
            if not (self._may_precede(before) and self._may_follow(after)):
                return False
        return True

    def _has_number(self, digits: str) -> bool:
        if digits in self.names or any(_is_telephone(digits, name) for name in self.names):
            return True
        readings = [_numbers(digits.lstrip("0") or "0", decimal) for decimal in _DECIMALS]
        return any(numbers and numbers <= self.numbers for numbers in readings)

    def _may_precede(self, letters: str) -> bool:
        """Return whether letters at a number are a word, such as no.1042, and no part of an id."""
        is_word = len(letters) > 1 and not letters.isupper()
        return not letters or is_word or letters.casefold() in self.words | _CURRENCIES

    def _may_follow(self, letters: str) -> bool:
        return not letters.isupper() or self._may_precede(letters)


def _readable(text: str) -> str:
    """Return a text in characters of the keyboard; what looks the same is the same."""
    return in_plain_digits(plain(text))


def _values(text: str) -> Iterable[str]:
    """Yield addresses, and words with a digit."""
    for address in _ADDRESS.findall(text):
        yield address.strip(_EDGES).removesuffix("'s")
    for chain in _CHAIN.findall(_ADDRESS.sub(" ", text)):
        if _has_digit(chain):
            yield chain.removesuffix("'s")


def _parts(value: str) -> Iterable[str]:
    """Yield the parts of an id or a date that people use by themselves; a number has none."""
    if _ADDRESS.fullmatch(value):
        return
    parts = _CUTS.split(value)
    if len(_DOTS.findall(value)) > 1:
        parts += _DOTS.split(value)
    for part in filter(_has_digit, parts):
        yield _name(part)
        if glued := _GLUED.fullmatch(part):
            yield glued[2]


def _name(value: str) -> str:
    if _ADDRESS.fullmatch(value):
        return re.sub(r"^(?:https?://)?(?:www\.)?|/$", "", value.casefold())
    return _NOT_IN_NAMES.sub("", fold_text(value))


def _together(group: re.Match[str]) -> str:
    digits = _digits(group[0])
    return digits if len(digits) >= _LONG else group[0]


def _is_telephone(digits: str, given: str) -> bool:
    """Return whether digits are a given number, written with another prefix: 0151 for +49 151."""
    own, known = digits.lstrip("0"), given.lstrip("0")
    if min(len(own), len(known)) < _TELEPHONE or not known.isdecimal():
        return False
    return (digits[0] == "0" and known.endswith(own)) or (given[0] == "0" and own.endswith(known))


def _digits(text: str) -> str:
    return "".join(re.findall(r"\d", text))


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))


def _months(text: str) -> Iterable[int]:
    """Yield the numbers of the months that are named beside a day or a year."""
    for before, after in _MONTH_AT_DAY.findall(text):
        name = (before or after).casefold()
        for number, beginnings in enumerate(_MONTHS, 1):
            if name.startswith(tuple(beginnings.split())):
                yield number


def _numbers(text: str, decimal: DecimalSign) -> set[Decimal]:
    return {abs(number.value) for number in find_numbers(text, decimal=decimal)}
