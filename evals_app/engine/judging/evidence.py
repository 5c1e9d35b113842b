"""Check that the judge's quotes stand in what it was shown."""

import difflib
import heapq
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from evals_app.engine.folding import INVISIBLE, folded
from evals_app.engine.judging.transcript import Piece
from evals_app.engine.trial import Evidence

_LEAST_RATIO = 0.85
_CODE = re.compile(r"\\(?:u([0-9a-f]{4})|U(00[0-9a-f]{6}))")
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
# Comparing is quadratic: a quote is a sentence or two, and only the likeliest passages are tried.
_MAX_COMPARED_CHARS = 600
_MAX_COMPARED = 5
_MAX_SEARCHED = 100  # quotes that stand nowhere word for word; what is more is made up


class _Passage(NamedTuple):
    """A sentence or two, with how often each character occurs and which words stand together."""

    piece: Piece
    text: str
    letters: Mapping[str, int]
    pairs: frozenset[tuple[str, str]]


def check_quotes(
    quotes: Sequence[tuple[str, str]], pieces: Sequence[Piece]
) -> tuple[Evidence, ...]:
    """Look each (quote, what it bears on) up in the pieces; the first piece that has it counts.

    A quote counts as found if it stands there apart from case, width, spaces, the kind of quotation
    marks and dashes, and marks around it, or if it is nearly one sentence, or two that follow each
    other.
    """
    plain = [(piece, comparable(piece.text)) for piece in pieces]
    passages: list[_Passage] | None = None
    searched = 0
    checked = []
    for quote, bears_on in quotes:
        wanted = comparable(quote).strip("\"' ")
        piece = next((piece for piece, text in plain if wanted and wanted in text), None)
        is_short = 0 < len(wanted) <= _MAX_COMPARED_CHARS
        if piece is None and is_short and searched < _MAX_SEARCHED:
            if passages is None:
                parts = ((each, part) for each in pieces for part in _passages(each.text))
                passages = [_Passage(each, p, Counter(p), _pairs(p)) for each, p in parts]
            piece = _nearest(wanted, passages)
            searched += 1
        checked.append(
            Evidence(
                quote,
                turn=piece.turn if piece else None,
                bears_on=bears_on,
                is_verified=piece is not None,
            )
        )
    return tuple(checked)


def comparable(text: str) -> str:
    """Bring a text, as it was shown, into the form in which quotes are compared."""
    return folded(_CODE.sub(_seen, text))


def _seen(code: re.Match[str]) -> str:
    """Take away the code that stands for a character that cannot be seen."""
    point = int(code[1] or code[2], 16)
    return "" if point <= sys.maxunicode and INVISIBLE.match(chr(point)) else code[0]


def _passages(text: str) -> Iterator[str]:
    """Yield each sentence, and each with the one after it."""
    sentences = [comparable(part) for part in _SENTENCE_END.split(text) if part.strip()]
    for place, sentence in enumerate(sentences):
        yield sentence
        if place + 1 < len(sentences):
            yield f"{sentence} {sentences[place + 1]}"


def _nearest(wanted: str, passages: Sequence[_Passage]) -> Piece | None:
    """Give the piece whose passage is nearly the wanted text."""
    letters, pairs = Counter(wanted), _pairs(wanted)
    likely = []
    for place, passage in enumerate(passages):
        length = len(wanted) + len(passage.text)
        # Upper bounds of the ratio, before anything is compared: by the lengths, by the letters.
        if 2 * min(len(wanted), len(passage.text)) < _LEAST_RATIO * length:
            continue
        shared = sum(min(n, passage.letters.get(each, 0)) for each, n in letters.items())
        if (bound := 2 * shared / length) >= _LEAST_RATIO:
            likely.append((len(pairs & passage.pairs), bound, -place))
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)  # the one whose analysis is kept
    for *_, minus_place in heapq.nlargest(_MAX_COMPARED, likely):
        passage = passages[-minus_place]
        matcher.set_seq1(passage.text)
        if matcher.ratio() >= _LEAST_RATIO:
            return passage.piece
    return None


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(text.split()))
