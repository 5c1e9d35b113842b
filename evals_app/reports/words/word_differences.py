"""Two texts, word by word: which words are only in one of them.

Words are compared without the white space behind them. Texts that have too little in common are not
marked word by word, because that would be unreadable.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

# Chinese, Japanese and Thai write no spaces, so their words are single characters here.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]\s*|[^\W{_UNSPACED}]+\s*|[^\w\s]\s*|\s+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MIN_IN_COMMON = 0.3  # of the characters
_MAX_WORDS = 1500  # of a passage; a longer one is marked as a whole

Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a text; `is_only_here` if the other text lacks it."""

    text: str
    is_only_here: bool


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """Two texts in pieces. `is_similar` is False where they have too little in common to mark."""

    base: tuple[TextPiece, ...]
    head: tuple[TextPiece, ...]
    is_similar: bool = True

    @property
    def is_same(self) -> bool:
        """Whether all words are the same."""
        return self.is_similar and not any(piece.is_only_here for piece in self.base + self.head)


def word_differences(base: str, head: str) -> ComparedTexts:
    """Return both texts in pieces, those marked that are only in one of them."""
    if base == head:
        return ComparedTexts(_whole(base), _whole(head))
    left, right = _pieces(base, head)
    common = sum(len(piece.text) for piece in left + right if not piece.is_only_here)
    if common < _MIN_IN_COMMON * (len(base) + len(head)):
        return ComparedTexts(_whole(base), _whole(head), is_similar=False)
    return ComparedTexts(left, right)


def _whole(text: str) -> tuple[TextPiece, ...]:
    return (TextPiece(text, is_only_here=False),) if text else ()


def _pieces(base: str, head: str) -> tuple[tuple[TextPiece, ...], tuple[TextPiece, ...]]:
    """Compare line by line, and what differs word by word: long texts would take too long."""
    left: list[TextPiece] = []
    right: list[TextPiece] = []
    lines, others = _LINE.findall(base), _LINE.findall(head)
    for kind, b1, b2, h1, h2 in _opcodes(lines, others):
        before, after = "".join(lines[b1:b2]), "".join(others[h1:h2])
        if kind == "equal":
            left.append(TextPiece(before, is_only_here=False))
            right.append(TextPiece(after, is_only_here=False))
        else:
            words = _changed_words(_WORD.findall(before), _WORD.findall(after))
            for piece, other in words:
                left.append(piece)
                right.append(other)
    return _join_pieces(left), _join_pieces(right)


def _changed_words(
    words: Sequence[str], others: Sequence[str]
) -> Iterator[tuple[TextPiece, TextPiece]]:
    is_long = max(len(words), len(others)) > _MAX_WORDS
    whole: list[Opcode] = [("replace", 0, len(words), 0, len(others))]
    for kind, b1, b2, h1, h2 in whole if is_long else _opcodes(words, others):
        is_changed = kind != "equal"
        before, after = words[b1:b2], others[h1:h2]
        yield TextPiece("".join(before), is_changed), TextPiece("".join(after), is_changed)


def _opcodes(texts: Sequence[str], others: Sequence[str]) -> Sequence[Opcode]:
    keys, other_keys = [text.rstrip() for text in texts], [text.rstrip() for text in others]
    return SequenceMatcher(None, keys, other_keys).get_opcodes()


def _join_pieces(pieces: Iterable[TextPiece]) -> tuple[TextPiece, ...]:
    full = (piece for piece in pieces if piece.text)
    joined: list[TextPiece] = []
    for is_only_here, group in groupby(full, key=lambda piece: piece.is_only_here):
        text = "".join(piece.text for piece in group)
        words = text.rstrip() if is_only_here else text
        joined += [
            TextPiece(words, is_only_here),
            TextPiece(text[len(words) :], is_only_here=False),
        ]
    return tuple(piece for piece in joined if piece.text)
