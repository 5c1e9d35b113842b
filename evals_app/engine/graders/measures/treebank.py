"""English words and punctuation, split as in the Penn Treebank, with NLTK's additions.

“I can't pay $3.50.” becomes I, ca, n't, pay, $, 3.50 and a period. A sentence ends after a period,
question mark or exclamation mark that is followed by a space; the tokens of each sentence are those
of NLTK's NLTKWordTokenizer, with which the tests compare. Each piece between spaces is split by
itself and remembered, so a text costs about what its new words cost. NLTK itself takes ten times as
long, and 20 MB.
"""

import re

from evals_app.engine.graders.measures.remembered import cached_by_word

_CLOSING = "])}>\"'»”\u2019 "

# Where there are quotes, the spaces and ends of sentences around them show which of them open.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_QUOTE = re.compile(r"\"|'(?!\w)")
_WITH_BLANKS = re.compile(r"(?=(\s?\S+\s?))\s?\S+")

# Words that are two, if only spaces are around them.
_DOUBLE = re.compile(
    r"\b(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n)|(wan)(na)(?=\s))\b",
    re.IGNORECASE,
)

# The order matters where punctuation meets: apostrophes are handled twice, after the first
# characters are separated and after all of them are.
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
    """Return the words and punctuation of a text in order, in lower case."""
    text = text.strip()
    spoken = text.rstrip(_CLOSING)
    if spoken.endswith(".") and not spoken.endswith(".."):
        # The period that ends the text may be inside brackets and quotes.
        text = f"{spoken[:-1]} .{text[len(spoken) :]}"
    tokens: list[str] = []
    for piece in _pieces(text):
        tokens += _cut(piece)
    return tokens


def _pieces(text: str) -> list[str]:
    """Divide a text at its spaces; where there are quotes, each piece keeps the spaces around it."""
    if not _QUOTE.search(text):
        return text.split()
    return [
        piece for sentence in _SENTENCE_END.split(text) for piece in _WITH_BLANKS.findall(sentence)
    ]


@cached_by_word
def _cut(piece: str) -> list[str]:
    if piece.endswith(".") and not piece.endswith(".."):
        return [*_cut(f"{piece[:-1]} "), "."]
    text = _OPENING_SIGNS.sub(r" \1 ", piece)
    if '"' in text or "''" in text or "`" in text:
        if text.startswith('"'):
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
    return _DOUBLE.sub(_apart, text).lower().split()


def _apart(double: re.Match[str]) -> str:
    return f" {' '.join(filter(None, double.groups()))} "
