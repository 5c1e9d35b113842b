"""How texts and values are shown in a sentence."""

import json
import re
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from itertools import islice
from typing import TypeVar

_QUOTE_CHARS = 160
_JSON_CHARS = 240
_LISTED = 12
_WORD = re.compile(r"\w+")
_STEM_CHARS = 5

_Item = TypeVar("_Item")


def cut_middle(text: str, limit: int = _QUOTE_CHARS) -> str:
    """Cut a long text in the middle: its beginning and end say most."""
    if len(text) <= limit:
        return text
    half = (limit - 3) // 2
    return f"{text[:half]} … {text[-half:]}"


def in_quotes(text: str) -> str:
    """Return a shortened text in quotation marks."""
    return f"“{cut_middle(text)}”"


def after_colon(sentence: str) -> str:
    """Return a sentence that continues another; capitals as in BLEU stay."""
    return f"{sentence[:1].lower()}{sentence[1:]}" if sentence[1:2].islower() else sentence


def says(reply: str, *, wanted: str = "") -> str:
    """Describe a reply that lacks what was expected, a long one by its nearest passage."""
    if not reply.strip():
        return "it is empty"
    if len(reply) > _QUOTE_CHARS and (near := nearest_passage(wanted, reply)):
        return f"the nearest passage is “{near}”"
    return f"it says {in_quotes(reply)}"


def nearest_passage(wanted: str, text: str) -> str:
    """Return the part of a long text that shares most words with another; empty if none."""
    words = [word.casefold() for word in _WORD.findall(wanted)]
    # By its beginning, refunded is close to refund.
    known = {*words, *(word[:_STEM_CHARS] for word in words)}
    places: list[tuple[int, int]] = []  # of a shared word, and its weight
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        if word in known or word[:_STEM_CHARS] in known:
            places.append((match.start(), len(word)))
    if not places:
        return ""
    start = _densest(places, len(wanted) + _QUOTE_CHARS // 4)
    first = max(0, start - _QUOTE_CHARS // 4)
    piece = text[first : start + len(wanted[:_QUOTE_CHARS]) + _QUOTE_CHARS // 2]
    end = first + len(piece)
    if first and " " in piece[: start - first]:
        piece = piece[piece.index(" ") + 1 :]
    if end < len(text) and " " in piece[len(piece) // 2 :]:
        piece = piece[: piece.rindex(" ")]
    piece = " ".join(piece.split())
    return f"{'… ' if first else ''}{piece}{' …' if end < len(text) else ''}"


def _densest(places: Sequence[tuple[int, int]], span: int) -> int:
    """Return the start of the part, no longer than `span`, with the largest weight."""
    best, best_start = 0, places[0][0]
    weight, first = 0, 0
    for start, own_weight in places:
        weight += own_weight
        while start - places[first][0] > span:
            weight -= places[first][1]
            first += 1
        if weight > best:
            best, best_start = weight, places[first][0]
    return best_start


def json_text(value: object, limit: int | None = _JSON_CHARS) -> str:
    """Return JSON on one line; what is too deep or too large becomes an ellipsis."""
    try:
        try:
            text = json.dumps(value, ensure_ascii=False, default=_other)
        except _DecimalError:
            text = _with_decimals(value)
    except (ValueError, RecursionError):
        # Circular or deeper than the interpreter follows, or an integer of over 4,300 digits.
        return "…"
    return text if limit is None else cut_middle(text, limit)


class _DecimalError(Exception):
    """A Decimal, which the library could only write as a text or rounded."""


def _other(value: object) -> str:
    if isinstance(value, Decimal):
        raise _DecimalError
    return str(value)


def _with_decimals(value: object) -> str:
    if isinstance(value, dict):
        pairs = (f"{json_text(str(k), None)}: {_with_decimals(v)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_with_decimals, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json_text(value, None)


def times(count: int) -> str:
    """Return how often: once, 2 times."""
    return "once" if count == 1 else f"{count} times"


def seconds(ms: float) -> str:
    """Return a time for people: 3 s, 0.25 s, 1,500 s."""
    return f"{ms / 1000:,.3f}".rstrip("0").rstrip(".") + " s"


def join_list(
    items: Collection[_Item], show: Callable[[_Item], str] = str, *, nothing: str = "none"
) -> str:
    """Join items with commas; a long list ends with the number of items left out."""
    if not items:
        return nothing
    more = len(items) - _LISTED
    return ", ".join(map(show, islice(items, _LISTED))) + (f" and {more} more" if more > 0 else "")
