"""Numbers, ids and addresses that a text states, compared with those that it may state."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from evals_app.engine.basics.decimals import DecimalSign
from evals_app.engine.basics.folding import fold_text, in_plain_digits
from evals_app.engine.graders.kit.prose_numbers import find_numbers

_WORD = re.compile(r"\S+")
_IS_VALUE = re.compile(r"\d|@|://|www\.")
_NOT_IN_NAMES = re.compile(r"(?<!\d)[.,]|[.,](?!\d)|[^\w@.,]|_")
_DIGITS = re.compile(r"\d+")
_DECIMALS: tuple[DecimalSign, ...] = ("point", "comma")
_EDGES = ".,;:!?()[]{}\"'\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019*`"


@dataclass(frozen=True, slots=True)
class StatedValues:
    """What texts state, in the forms in which it may be repeated.

    `names` are words with a digit, addresses of mail and of pages: letters and digits alone, in
    lower case, so that A-1042 and a1042 are the same; also the digits of such a word by themselves,
    because people say order 1042. `numbers` are values: 49,90 and 49.90 are the same.
    """

    names: frozenset[str]
    numbers: frozenset[Decimal]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        names, numbers = set[str](), set[Decimal]()
        for text in texts:
            for decimal in _DECIMALS:
                numbers |= _numbers(text, decimal)
            for word in _values(text):
                names |= {_name(word), *_DIGITS.findall(word)}
        return cls(frozenset(names), frozenset(numbers))

    def lacks(self, text: str) -> list[str]:
        """Return the values of a text that are not among these, as they are written, each once."""
        return list(dict.fromkeys(word for word in _values(text) if not self._has(word)))

    def _has(self, word: str) -> bool:
        readings = (_numbers(word, decimal) for decimal in _DECIMALS)
        known = any(numbers and numbers <= self.numbers for numbers in readings)
        return known or _name(word) in self.names


def _values(text: str) -> Iterable[str]:
    for match in _WORD.finditer(in_plain_digits(text)):
        if _IS_VALUE.search(match[0]):
            yield match[0].strip(_EDGES)


def _name(word: str) -> str:
    return _NOT_IN_NAMES.sub("", fold_text(word))


def _numbers(text: str, decimal: DecimalSign) -> set[Decimal]:
    plain = in_plain_digits(text)
    return {abs(number.value) for number in find_numbers(plain, decimal=decimal)}
