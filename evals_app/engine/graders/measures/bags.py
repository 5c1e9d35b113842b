"""What two texts share, whatever its order: words, or runs of words."""

import re
import string
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

_Item = TypeVar("_Item", bound=Hashable)

_WORD = re.compile(r"[^\W_]+")
_STYLES = frozenset(
    map(chr, range(0xFE00, 0xFE10))
)  # of the character before: 1\ufe0f\u20e3 is a 1
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much two texts share, and how much each of them has; what occurs twice counts twice."""

    shared: int
    in_reply: int
    in_expected: int

    @property
    def precision(self) -> float:
        """The share of the reply that is expected."""
        return self.shared / self.in_reply if self.in_reply else 0.0

    @property
    def recall(self) -> float:
        """The share of the expected text that the reply has."""
        return self.shared / self.in_expected if self.in_expected else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of the two."""
        return 2 * self.shared / (self.in_reply + self.in_expected) if self.shared else 0.0


def unicode_words(text: str) -> list[str]:
    """Return runs of letters and digits of any script, however they are encoded or capitalised.

    Scripts without spaces between words give one long word.
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    return (_WORD if text.isascii() else _marked_word()).findall(text)


@lru_cache(maxsize=1)
def _marked_word() -> re.Pattern[str]:
    """Return a pattern of words whose letters may have marks, as vowels of Hindi and Thai do."""
    marks = "".join(
        sign
        for sign in map(chr, range(0x300, 0x20000))
        if unicodedata.category(sign) in {"Mn", "Mc"} and sign not in _STYLES
    )
    return re.compile(f"[^\\W_]+(?:[{marks}]+[^\\W_]*)*")


def answer_words(text: str) -> list[str]:
    """Return the words between spaces, without ASCII punctuation, case, and a, an, the.

    Source: the evaluation script of SQuAD 1.1.
    """
    words: list[str] = []
    for piece in text.lower().split():
        word = piece if piece.isalnum() else piece.translate(_PUNCTUATION)
        if not word.isalnum():
            # Next to a non-ASCII character an article is a word of its own.
            words += _ARTICLE.sub(" ", word).split()
        elif word not in _ARTICLES:
            words.append(word)
    return words


def overlap(reply: Sequence[str], expected: Sequence[str], *, run: int = 1) -> Overlap:
    """Count the runs of `size` neighbouring words that both have."""
    free = _count_items(_runs(expected, run))
    shared = 0
    for words in _runs(reply, run):
        if count := free.get(words):
            free[words] = count - 1
            shared += 1
    return Overlap(shared, max(0, len(reply) - run + 1), max(0, len(expected) - run + 1))


def _runs(words: Sequence[str], run: int) -> Iterable[Hashable]:
    if run == 1:
        return words
    return zip(*[words[start:] for start in range(run)], strict=False)


def _count_items(items: Iterable[_Item]) -> dict[_Item, int]:
    """Count items; a Counter is slower for texts of typical size."""
    counts: dict[_Item, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts


def difference(words: Iterable[_Item], others: Iterable[_Item]) -> list[_Item]:
    """Return what the others do not have, or not as often."""
    free = _count_items(others)
    rest = []
    for word in words:
        if count := free.get(word):
            free[word] = count - 1
        else:
            rest.append(word)
    return rest
