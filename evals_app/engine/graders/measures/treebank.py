"""English words and signs, cut apart as the Penn Treebank does it, with NLTK's additions.

“I can't pay $3.50.” becomes I, ca, n't, pay, $, 3.50 and a period. Sentences end behind a period,
a question or exclamation mark that a blank follows; in each of them the tokens are those of
NLTK's NLTKWordTokenizer, with which the tests compare. Each piece between blanks is cut by itself
and remembered, so that a text costs about what its new words cost.
"""

import re
from functools import lru_cache

_REMEMBERED = 16_384
_REMEMBERED_CHARS = 24  # longer pieces are rare, and would let the cache grow

_CLOSING = "])}>\"'»”\u2019 "

# Words that are two, if nothing but blanks stands around them.
_DOUBLE = frozenset({"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"})
_DOUBLE_INSIDE = re.compile(
    r"\b(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n)|(wan)(na)(?=\s))\b",
    re.IGNORECASE,
)

# The order of the steps shows where signs meet: an apostrophe is looked at twice, when the first
# signs stand alone and when all of them do.
_FIRST_ALONE = str.maketrans({sign: f" {sign} " for sign in ";@#$%&?!\u2012\u2013\u2014\u2015"})
_THEN_ALONE = str.maketrans({sign: f" {sign} " for sign in "*()[]{}<>»”\u2019"} | {'"': " '' "})
_OPENING_SIGNS = re.compile(r"([«“\u2018„]|`+)")
_OPENING_QUOTE = re.compile(r"([ (\[{<])(?:\"|'')")
# An accent of its own (U+0300 and on) belongs to the letter before it.
_OPENING_APOSTROPHE = re.compile(
    r"(?<![\w\u0300-\u036f])'(?=\w)(?!(?:re|ve|ll|[mtsdn])\b)", re.IGNORECASE
)
_COMMA = re.compile(r"([:,])(\D|$)")
_DOTS = re.compile(r"(\.{2,})")
_CLOSING_APOSTROPHE = re.compile(r"([^'])' ")
_SHORT_ENDING = re.compile(r"([^' ])('[sSmMdD]?) ")
_LONG_ENDING = re.compile(r"([^' ])('(?:ll|LL|re|RE|ve|VE)|n't|N'T) ")


def words(text: str) -> list[str]:
    """Give the words and signs of a text in order, in lower case."""
    text = text.strip()
    spoken = text.rstrip(_CLOSING)
    if spoken.endswith(".") and not spoken.endswith(".."):
        # The period that ends the text may stand inside brackets and quotes.
        text = f"{spoken[:-1]} .{text[len(spoken) :]}"
    tokens: list[str] = []
    place = 0
    is_first = True
    for piece in text.split():
        if piece.isalnum():
            lower = piece.lower()
            if lower.isascii() and lower not in _DOUBLE:
                tokens.append(lower)
            else:
                tokens += _pieces(" ", piece, " ")
            is_first = False
            continue
        # Only pieces without any sign were passed over, so this is not found inside of them.
        place = text.index(piece, place)
        before = "" if is_first else text[place - 1]
        place += len(piece)
        is_first = piece[-1] in ".!?"
        after = "" if is_first else text[place : place + 1]
        tokens += _pieces(before, piece, after)
    return tokens


def _pieces(before: str, piece: str, after: str) -> list[str]:
    cut = _cut if len(piece) > _REMEMBERED_CHARS else _remembered
    return cut(before, piece, after)


def _cut(before: str, piece: str, after: str) -> list[str]:
    """Cut a piece, given the blanks around it; none where its sentence begins or ends."""
    if not after and piece.endswith(".") and not piece.endswith("..") and len(piece) > 1:
        return [*_cut(before, piece[:-1], " "), "."]
    text = _OPENING_SIGNS.sub(r" \1 ", before + piece + after)
    if '"' in text or "''" in text or "`" in text:
        if text[0] == '"':
            text = f"``{text[1:]}"
        text = _OPENING_QUOTE.sub(r"\1 `` ", text.replace("``", " `` "))
    text = _OPENING_APOSTROPHE.sub("' ", text)
    text = _COMMA.sub(r" \1 \2", text)
    text = _DOTS.sub(r" \1 ", text).translate(_FIRST_ALONE)
    if "'" in text:
        text = _CLOSING_APOSTROPHE.sub(r"\1 ' ", text)
    text = text.translate(_THEN_ALONE).replace("--", " -- ").replace("''", " '' ")
    text = f" {' '.join(text.split())} "
    if "'" in text:
        text = _SHORT_ENDING.sub(r"\1 \2 ", text)
        text = _LONG_ENDING.sub(r"\1 \2 ", text)
    return _DOUBLE_INSIDE.sub(_apart, text).lower().split()


def _apart(double: re.Match[str]) -> str:
    return f" {' '.join(filter(None, double.groups()))} "


_remembered = lru_cache(maxsize=_REMEMBERED)(_cut)
