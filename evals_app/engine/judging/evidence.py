"""Check that the judge's quotes stand in what it was shown."""

import difflib
import heapq
import re
import unicodedata
from collections.abc import Iterator, Sequence

from evals_app.engine.judging.transcript import Piece
from evals_app.engine.trial import Evidence

_LEAST_RATIO = 0.85
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
# Comparing is quadratic: a quote is a sentence or two, and only the likeliest passages are tried.
_MAX_COMPARED_CHARS = 600
_MAX_COMPARED = 20


def check_quotes(
    quotes: Sequence[tuple[str, str]], pieces: Sequence[Piece]
) -> tuple[Evidence, ...]:
    """Look each (quote, what it bears on) up in the pieces; the first piece that has it counts.

    A quote counts as found if it stands there apart from case, width and spaces, or if it is nearly
    one sentence, or two that follow each other.
    """
    plain = [(piece, comparable(piece.text)) for piece in pieces]
    sentences: list[tuple[Piece, str]] | None = None
    checked = []
    for quote, bears_on in quotes:
        wanted = comparable(quote)
        piece = next((piece for piece, text in plain if wanted and wanted in text), None)
        if piece is None and 0 < len(wanted) <= _MAX_COMPARED_CHARS:
            if sentences is None:
                sentences = [(each, part) for each in pieces for part in _passages(each.text)]
            piece = _nearest(wanted, sentences)
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
    """Bring a text into the form in which quotes are compared."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _passages(text: str) -> Iterator[str]:
    """Yield each sentence, and each with the one after it."""
    sentences = [comparable(part) for part in _SENTENCE_END.split(text) if part.strip()]
    for place, sentence in enumerate(sentences):
        yield sentence
        if place + 1 < len(sentences):
            yield f"{sentence} {sentences[place + 1]}"


def _nearest(wanted: str, passages: Sequence[tuple[Piece, str]]) -> Piece | None:
    """Give the piece whose passage is nearly the wanted text."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)  # the one whose analysis is kept
    likely = []
    for place, (_, passage) in enumerate(passages):
        # An upper bound of the ratio from the lengths alone, before anything is compared.
        if 2 * min(len(wanted), len(passage)) < _LEAST_RATIO * (len(wanted) + len(passage)):
            continue
        matcher.set_seq1(passage)
        if (bound := matcher.quick_ratio()) >= _LEAST_RATIO:
            likely.append((bound, place))
    for _, place in heapq.nlargest(_MAX_COMPARED, likely, key=lambda each: (each[0], -each[1])):
        piece, passage = passages[place]
        matcher.set_seq1(passage)
        if matcher.ratio() >= _LEAST_RATIO:
            return piece
    return None
