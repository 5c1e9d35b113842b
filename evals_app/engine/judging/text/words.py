"""A text as the words that quotes are compared by: what they are, and which of them matter.

Punctuation, case, typography and Markdown are not words. Numbers keep their separators and their
sign, and currency, percent and comparison signs are words of their own: each of them changes what
is said.
"""

import re
import sys
from collections import defaultdict
from functools import cached_property
from itertools import accumulate

from evals_app.engine.basics.folding import INVISIBLE, fold_text
from evals_app.engine.judging.text.languages import (
    NEGATED_PAIRS,
    NEGATIONS,
    NUMBER_WORDS,
    SMALL_WORDS,
)

_CODE = re.compile(r"\\(?:u([0-9a-f]{4})|U(00[0-9a-f]{6}))")
_BRACKETS = "<\u2039\u2329\u276e\u27e8\u3008\ufe64\uff1c"  # shown as codes in our prompts
_JSON_ESCAPE = re.compile(r'\\([nrt"/])')

# Marks that we put in for the time of reading: a sentence ends here, markup begins, markup ends.
_END, _OPEN, _CLOSE = "\ue000", "\ue001", "\ue002"
_MARKUP = re.compile(
    r"(?P<bullet>^[ \t]*(?:[-*+>|\u2022]+|\#+)[ \t]+)"
    r"|^[ \t]*(?P<number>\d{1,3}[.)])[ \t]+"
    r"|(?P<blank>\n[ \t]*(?=\n))"
    r"|(?<=\])(?P<link>\([^()\s]{1,2000}\))"
    r"|(?P<tag></?[a-zA-Z][^<>]{0,200}>)"
    r"|(?P<note>\[\d{1,3}\])",
    re.MULTILINE,
)
_CONTRACTION = re.compile(r"\b(?:ca(n't)|ca(nnot)|wo(n't)|sha(n't)|(\w{2,8})n't)\b", re.IGNORECASE)
_FULL = {"s": "is", "re": "are", "m": "am", "ll": "will", "ve": "have"}
_EXACT = NEGATIONS | NUMBER_WORDS

_SIGNS = (
    r"%\u2030$\u00a2-\u00a5\u00b0\u20a0-\u20cf\u2610-\u2612\u2705\u2713-\u2718\u274c\u274e\u221e"
)
# Scripts that put no spaces between words: each character is one.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
# Everything else is part of a word, including combining marks, which other scripts need.
_NO_WORD = (
    r"\s!-/:-@\[-^`{-~\u00a1-\u00bf\u00d7\u00f7\u02c2-\u02df\u037e\u0387\u055a-\u055f\u0589\u05be"
    r"\u05f3\u05f4\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u2000-\u206f\u2190-\u2bff"
    r"\u3000-\u303f\u30fb\ue000-\ue002\U0001f000-\U0001faff"
)
_TOKEN = re.compile(
    rf"[{_END}{_OPEN}{_CLOSE}]"
    rf"|[{_SIGNS}]|[<>\u2264\u2265](?=\s?-?\d)"
    r"|(?<![.!?])[.!?]++(?=[\s\"')\]*_\ue000-\ue002]|$)|[\u3002\u0964\u06d4]"
    rf"|[{_UNSPACED}]"
    rf"|(?:(?<![^\s(\[{{\"':=|*~{_SIGNS}])-(?=\d))?"
    rf"(?:[^{_NO_WORD}{_SIGNS}{_UNSPACED}]|(?<=\d)[.,:/'-](?=\d))+"
)
_ENDS = frozenset(".!?\u3002\u0964\u06d4" + _END)

SMALL, STRICT, MARKUP, LAST = 1, 2, 4, 8
_MIN_MISSPELT = 4  # letters


class Words:
    """The words of a text in order.

    `kinds` states for each whether it is SMALL (it may be missing), STRICT (a name, a number or a code:
    never misspelt), MARKUP (a tag, the number of a list: it may be missing), and LAST in a sentence.
    """

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self.kinds = bytearray()
        plain = fold_text(_mark_sentence_ends(_decode_escapes(text)), case_sensitive=True)
        self._read(_CONTRACTION.sub(_in_full, plain))

    def _read(self, plain: str) -> None:
        known: dict[tuple[str, bool], tuple[str, int]] = {}
        begins = True  # a sentence
        is_markup = False
        for match in _TOKEN.finditer(plain):
            token = match[0]
            if token[0] in _ENDS:
                begins = True
                if self.kinds:
                    self.kinds[-1] |= LAST
            elif token in {_OPEN, _CLOSE}:
                is_markup = token == _OPEN
            elif word := token.strip("_"):
                if (word, begins) not in known:
                    known[word, begins] = _kind(word, begins=begins)
                folded_word, kind = known[word, begins]
                if folded_word in _FULL and plain[match.start() - 1 : match.start()] == "'":
                    folded_word, kind = _kind(_FULL[folded_word], begins=False)
                self.words.append(folded_word)
                self.kinds.append(kind | MARKUP if is_markup else kind)
                begins &= is_markup

    @cached_property
    def text_in_lines(self) -> str:
        """All words in one text, each between line ends."""
        return "".join(["\n", *(f"{word}\n" for word in self.words)])

    @cached_property
    def offsets(self) -> list[int]:
        """Where the line end before each word is in `text_in_lines`."""
        return [0, *accumulate(len(word) + 1 for word in self.words)]

    @cached_property
    def skeleton(self) -> list[int]:
        """The places of the words that must be there."""
        return [n for n, kind in enumerate(self.kinds) if not kind & (SMALL | MARKUP)]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where in the skeleton each word is."""
        by_word = defaultdict(list)
        for place, index in enumerate(self.skeleton):
            by_word[self.words[index]].append(place)
        return dict(by_word)

    @cached_property
    def alike(self) -> dict[str, list[str]]:
        """The words that a misspelling may mean, by their first letters."""
        by_letters = defaultdict(list)
        for word in self.places:
            if len(word) >= _MIN_MISSPELT and word.isalpha():
                by_letters[word[:2]].append(word)
        return dict(by_letters)

    def says_something(self, first: int, end: int) -> bool:
        """Return whether these words are two with a meaning between them, or a number."""
        kinds = self.kinds[first:end]
        if any(character.isdigit() for word in self.words[first:end] for character in word):
            return True
        return len(kinds) > 1 and any(not kind & SMALL for kind in kinds)

    def is_sentence(self, first: int, end: int) -> bool:
        """Return whether sentences begin and end just there."""
        begins = first == 0 or self.kinds[first - 1] & LAST
        return bool(begins and (end == len(self.words) or self.kinds[end - 1] & LAST))

    def may_skip(self, first: int, end: int) -> bool:
        """Return whether a quote may leave these words out: not a `not` inside of a sentence."""
        ends, negations = self._so_far
        return ends[end] > ends[max(0, first - 1)] or negations[end] == negations[first]

    @cached_property
    def _so_far(self) -> tuple[list[int], list[int]]:
        """How many sentences have ended, and how many negations were there, before each word."""
        pairs = zip(self.words, [*self.words[1:], ""], strict=True)
        negated = (word in NEGATIONS or word + after in NEGATED_PAIRS for word, after in pairs)
        ends = accumulate((kind & LAST for kind in self.kinds), initial=0)
        return list(ends), list(accumulate(negated, initial=0))


def _kind(word: str, *, begins: bool) -> tuple[str, int]:
    """Return a word in the form in which it is compared, and whether it is SMALL or STRICT.

    Small words are small at the beginning of a sentence too, where they have a capital.
    """
    plain = word.casefold()
    is_lower = word == word.lower()
    if plain in SMALL_WORDS and (is_lower or (begins and word.istitle())):
        return plain, SMALL
    is_strict = not is_lower or not plain.isalpha() or plain in _EXACT
    return plain, STRICT if is_strict else 0


def is_misspelt(one: str, other: str) -> bool:
    """Return whether a word is another with a letter more or less, two of them swapped, or s for z.

    The first two letters are the same: *un*, *in*, *dis* and the like turn a word around.
    """
    short, long = sorted((one, other), key=len)
    if short == long:
        return False
    if len(short) < _MIN_MISSPELT or short[:2] != long[:2] or len(long) > len(short) + 1:
        return False
    differs = next((n for n, letter in enumerate(short) if letter != long[n]), len(short))
    if len(long) > len(short):
        return short[differs:] == long[differs + 1 :]
    if {short[differs], long[differs]} == {"s", "z"}:
        return short[differs + 1 :] == long[differs + 1 :]
    is_swapped = short[differs : differs + 2] == long[differs : differs + 2][::-1]
    return is_swapped and short[differs + 2 :] == long[differs + 2 :]


def _decode_escapes(text: str) -> str:
    """Remove JSON escapes, and our codes for invisible characters."""
    text = _CODE.sub(_decode_code, text)
    return _JSON_ESCAPE.sub(lambda escape: "\n" if escape[1] in "nrt" else escape[1], text)


def _decode_code(code: re.Match[str]) -> str:
    point = int(code[1] or code[2], 16)
    if point > sys.maxunicode:
        return code[0]
    character = chr(point)
    if character in _BRACKETS:
        return character
    return "" if INVISIBLE.match(character) else code[0]


def _mark_sentence_ends(text: str) -> str:
    """Mark where Markdown and HTML end a sentence, and their markup characters."""
    return _MARKUP.sub(_mark, text.replace("\r\n", "\n"))


def _mark(match: re.Match[str]) -> str:
    if match.lastgroup in {"bullet", "blank"}:
        return f"\n {_END} "
    before = f"\n {_END} " if match.lastgroup == "number" else " "
    return f"{before}{_OPEN} {match[match.lastgroup or 0]} {_CLOSE} "


def _in_full(match: re.Match[str]) -> str:
    """Write a contraction in full, so that `don't` and `do not` are the same words."""
    can, cannot, will, shall, other = match.groups()
    if can or cannot:
        return "can not"
    return "will not" if will else "shall not" if shall else f"{other} not"
