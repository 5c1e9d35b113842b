"""The form in which texts compare as people see them."""

import re
import unicodedata
from bisect import bisect_left, bisect_right

# Characters that hide text or change its order: control, zero-width, bidi, tags, lone surrogates.
# Tab and newline stay.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
# Line ends among them: they separate words.
_LINE_ENDS = str.maketrans(dict.fromkeys("\x0b\x0c\r\x1c\x1d\x1e\x85\u2028\u2029", "\n"))
# Invisible characters between a letter and its marks do not keep them apart.
_MARKS = re.compile(f"(?:{INVISIBLE.pattern}*[\u0300-\u036f\u3099\u309a])+")
# Models write typographic characters where people type keyboard characters, and vice versa.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4\u0060", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u2026": "...",
    }
)
# The only change to ASCII text.
_ASCII = {code: "" for code in range(128) if INVISIBLE.match(chr(code))} | {
    code: sign
    for code, sign in (_PLAIN | _LINE_ENDS).items()
    if code < 128  # noqa: PLR2004 - ASCII
}
# Letters of other scripts that look like Latin ones. In a word of both scripts they count as such.
_CYRILLIC = (
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405"
)
_GREEK = (
    "\u03bf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
)
_LOOKS_LATIN = str.maketrans(_CYRILLIC + _GREEK, "aeopcyxijshdABEKMHOPCTYXIJSoABEZHIKMNOPTYX")
_LOOKALIKE = re.compile(f"[{_CYRILLIC}{_GREEK}]")
_LATIN = re.compile("[A-Za-z]")
_WORD = re.compile(r"\w+")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_OTHER_SIGNS = str.maketrans("\uff0e\u066b\uff0c\u066c\uff05\u066a\uff0d\uff0b", "..,,%%-+")
# Markdown around words of a line, such as **30** days.
_EMPHASIS = re.compile(
    r"(?<![\w*_`~\\])(\*{1,3}|_{1,3}|~~|`)(?=\S)((?:[^*_`~\n]|(?<=\w)_(?=\w)){1,300})(?<=\S)\1"
    r"(?![\w*_`~])"
)
_MAX_NESTED = 3
# Letters of scripts that put no space between words, or join endings to them.
SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)


def fold_text(text: str, *, case_sensitive: bool = False) -> str:
    """Return the text as people see it, for comparing: two texts that look alike become equal.

    Invisible characters are removed; quotation marks, dashes and the ellipsis become those of a
    keyboard; NFKC makes one of full-width, composed and other variants of a letter; a letter of
    another script counts as the Latin one that it looks like, inside a Latin word; white space is
    trimmed and collapsed to single spaces.
    """
    seen = plain(text)
    if not case_sensitive:
        # casefold, not lower: German "STRASSE" must match "straße". Folding may take letters apart.
        seen = unicodedata.normalize("NFKC", seen.casefold())
    return " ".join(seen.split())


def plain(text: str) -> str:
    """Return the text in keyboard characters, with its layout.

    A letter of another script that looks like a Latin one becomes it inside a Latin word.
    """
    if text.isascii():  # most are, and this is four times as fast
        return text.translate(_ASCII)
    seen = visible(text).translate(_PLAIN)
    seen = unicodedata.normalize("NFKC", seen).translate(_PLAIN)
    return _WORD.sub(_in_latin, seen) if _LOOKALIKE.search(seen) else seen


def visible(text: str) -> str:
    """Return the text without invisible characters."""
    return INVISIBLE.sub("", text.translate(_LINE_ENDS))


def in_plain_digits(text: str) -> str:
    """Return the text with keyboard digits and signs instead of those of other scripts.

    Superscripts stay: 10\u00b2 is not 102.
    """
    return _OTHER_DIGIT.sub(
        lambda digit: str(unicodedata.decimal(digit[0])), visible(text).translate(_OTHER_SIGNS)
    )


def _in_latin(word: re.Match[str]) -> str:
    is_mixed = _LATIN.search(word[0]) and _LOOKALIKE.search(word[0])
    return word[0].translate(_LOOKS_LATIN) if is_mixed else word[0]


def without_emphasis(text: str) -> str:
    """Return the text without the Markdown that makes words bold, italic or code."""
    for _ in range(_MAX_NESTED):
        text = _EMPHASIS.sub(r"\2", text)
    return text


def find_folded(needle: str, text: str, *, whole_words: bool = False) -> int:
    """Return where a text has another, both folded; -1 where it does not.

    With `whole_words`, what is next to it may not continue a word or a number: `5 days` is not
    in `15 days`, nor `42` in `42.5`. Scripts that put no space between words have no whole ones.
    """
    start = text.find(needle)
    while whole_words and start >= 0 and not _is_whole(text, start, start + len(needle)):
        start = text.find(needle, start + 1)
    return start


def _is_whole(text: str, start: int, end: int) -> bool:
    return not (
        _goes_on(text[max(0, start - 2) : start][::-1], text[start : start + 1])
        or _goes_on(text[end : end + 2], text[end - 1 : end])
    )


def _goes_on(beyond: str, edge: str) -> bool:
    """Return whether the characters beyond an edge, nearest first, continue the same word."""
    if not _is_word(edge) or SPACELESS.match(edge) or SPACELESS.match(beyond):
        return False
    if _is_word(beyond[:1]):
        return True
    return edge.isdecimal() and beyond[:1] in {".", ","} and beyond[1:2].isdecimal()


def _is_word(character: str) -> bool:
    if character == "_" or character.isalnum():
        return True
    return character != "" and unicodedata.category(character).startswith("M")


def as_written(text: str, start: int, length: int, *, case_sensitive: bool = False) -> str:
    """Return the piece of a text of which `fold_text` makes these characters."""
    if text.isascii() and len(fold_text(text)) == len(text):
        return text[start : start + length]

    def folded_length(end: int) -> int:
        return len(fold_text(text[: _letter_end(text, end)], case_sensitive=case_sensitive))

    ends = range(len(text) + 1)
    first = bisect_right(ends, start, key=folded_length) - 1
    last = bisect_left(ends, start + length, key=folded_length)
    return text[max(0, first) : _letter_end(text, last)]


def _letter_end(text: str, end: int) -> int:
    """Move behind the marks of the letter that ends here: they are folded together with it."""
    marks = _MARKS.match(text, end) if end else None
    return marks.end() if marks else end
