"""Find the distinctive phrases of a reply: numbers, dates, names, ids, quotes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

PhraseKind = Literal["quote", "address", "date", "time", "code", "number", "name"]

MAX_PHRASES = 6
_MAX_CHARS = 20_000  # of a reply that is read

_MONTH = r"[^\W\d_]{3,9}\.?"
_NAMED_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_PATTERNS: tuple[tuple[PhraseKind, str], ...] = (  # the first that matches takes the place
    ("quote", r"[“„«\"]([^“”„«»\"\n]{2,60})[”“»\"]"),
    ("address", r"(?:https?://|www\.)[^\s<>()\"]{4,200}|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ("date", r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?\w*)?|\d\d?[./]\d\d?[./]\d{2,4}"),
    ("date", rf"\d\d?\.? {_MONTH} \d{{4}}|{_MONTH} \d\d?(?:st|nd|rd|th)?,? \d{{4}}"),
    ("date", rf"\d\d?(?:st|nd|rd|th)?\.? {_NAMED_MONTH}|{_NAMED_MONTH} \d\d?(?:st|nd|rd|th)?"),
    ("time", r"\d\d?:\d\d(?::\d\d)?"),
    ("code", r"(?=[\w#/-]*\d)(?=[\w#/-]*[^\W\d])\w[\w#/-]+\w|#\w+"),
    ("number", r"\d(?:[.,'\u2019\u00a0\u202f]?\d)+"),
    ("name", r"[^\W\d_a-z][^\W\d_]+(?: [^\W\d_a-z][^\W\d_]+)*"),
)
_PHRASE = re.compile(
    "|".join(
        rf"(?<![\w@])(?P<p{place}>{pattern})(?!\w)"
        if kind != "quote"
        else rf"(?P<p{place}>{pattern})"
        for place, (kind, pattern) in enumerate(_PATTERNS)
    )
)
_WORTH: dict[PhraseKind, int] = {
    "code": 0, "number": 1, "date": 2, "address": 3, "quote": 4, "name": 5, "time": 6,
}  # fmt: skip
_MIN_NAME = 4
_SHORT = 60  # characters of a reply that is one phrase as a whole


@dataclass(frozen=True, slots=True)
class Phrase:
    """A piece of a reply."""

    kind: PhraseKind
    text: str

    @property
    def is_whole(self) -> bool:
        """Whether it must not be found inside a longer word or number."""
        return self.kind in {"number", "code", "time"}


def phrases_of(reply: str) -> list[Phrase]:
    """Return the most distinctive phrases of a reply, in their order."""
    found: dict[str, tuple[int, Phrase]] = {}
    for place, phrase in enumerate(_phrases(reply[:_MAX_CHARS])):
        found.setdefault(phrase.text.casefold(), (place, phrase))
    if len(reply) <= _SHORT and (whole := reply.strip().rstrip(".!")) and "\n" not in whole:
        found.setdefault(whole.casefold(), (len(found), Phrase("quote", whole)))
    best = sorted(found.values(), key=lambda entry: (_WORTH[entry[1].kind], entry[0]))[:MAX_PHRASES]
    return [phrase for _, phrase in sorted(best, key=lambda entry: entry[0])]


def _phrases(reply: str) -> Iterator[Phrase]:
    for match in _PHRASE.finditer(reply):
        kind = _PATTERNS[int((match.lastgroup or "p0")[1:])][0]
        text = (match[2] if kind == "quote" else match[0]).strip().rstrip(".,;:!?")
        if kind == "name" and not _is_name(reply, match.start(), text):
            continue
        yield Phrase(kind, text)


def _is_name(reply: str, start: int, text: str) -> bool:
    """Return whether capital letters are more than those of a sentence that begins."""
    if " " in text:
        return True
    before = reply[:start].rstrip(" *_")
    begins = not before or before[-1] in ".!?:\n•-|#>"
    return not begins and len(text) >= _MIN_NAME
