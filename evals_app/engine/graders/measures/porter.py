"""English word stems: refunds, refunded and refunding all become refund.

Porter's algorithm with the exceptions that NLTK added to it and uses by default; tests compare the
two. A stem need not be a word: happiness and happy both become happi.

snowballstemmer has no such exceptions: it gives other stems for 2 % of the words of our documentation
(one becomes on, as becomes a), so METEOR would no longer have NLTK's values. It takes four times as
long, and 4 s for a single word of 200,000 letters.

Source: Porter, An algorithm for suffix stripping, Program 14.3 (1980), 130-137.
"""

import re
from collections.abc import Iterable

from evals_app.engine.graders.measures.remembered import cached_by_word

# Words that the rules would get wrong.
_IRREGULAR = {
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
    "news": "news",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
    "sky": "sky",
    "inning": "inning",
    "outing": "outing",
    "canning": "canning",
    "howe": "howe",
}

# In each list the first ending that a word has is the only one that is tried.
_ENDINGS_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_ENDINGS_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_ENDING_4 = re.compile(
    "(?:al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ion|ou|ism|ate|iti|ous|ive|ize)$"
)


@cached_by_word
def stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:  # noqa: PLR2004 - nothing to take away
        return word
    word = _without_y(_without_past(_without_plural(word)))
    if word.endswith("alli") and _measure(word[:-4]):
        word = word[:-2]
    if word.endswith("logi"):
        word = word[:-1] if _measure(word[:-3]) else word
    else:
        word = _replace_ending(word, _ENDINGS_2)
    word = _without_suffix(_replace_ending(word, _ENDINGS_3))
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _without_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == len("dies") else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    """Remove -ed and -ing and repair the rest: hopping becomes hop, filing file."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == len("died") else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    rest = word.removesuffix("ed") if word.endswith("ed") else word.removesuffix("ing")
    if rest == word or "v" not in _shape(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return f"{rest}e"
    if rest[-1] == rest[-2:-1] and _shape(rest)[-1] == "c":
        return rest if rest[-1] in "lsz" else rest[:-1]
    return f"{rest}e" if _measure(rest) == 1 and _ends_short(rest) else rest


def _without_y(word: str) -> str:
    is_behind_consonant = word.endswith("y") and len(word) > 2 and _shape(word[:-1])[-1] == "c"  # noqa: PLR2004
    return f"{word[:-1]}i" if is_behind_consonant else word


def _replace_ending(word: str, endings: Iterable[tuple[str, str]]) -> str:
    for ending, other in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + other if _measure(rest) else word
    return word


def _without_suffix(word: str) -> str:
    ending = _ENDING_4.search(word)
    if ending is None:
        return word
    rest = word[: ending.start()]
    is_suffix = _measure(rest) > 1 and (ending[0] != "ion" or rest[-1] in "st")
    return rest if is_suffix else word


def _shape(text: str) -> str:
    """Write c for each consonant and v for each vowel; y is a vowel behind a consonant."""
    shape = ""
    last = "v"
    for letter in text:
        last = "v" if letter in "aeiou" or (letter == "y" and last == "c") else "c"
        shape += last
    return shape


def _measure(text: str) -> int:
    """Count how often a consonant follows a vowel: tree 0, trouble 1, oaten 2."""
    return _shape(text).count("vc")


def _ends_short(text: str) -> bool:
    """Return whether it ends in a short syllable, as hop and us do: an e that follows it stays."""
    shape = _shape(text)
    if len(text) == len("us"):
        return shape == "vc"
    return shape.endswith("cvc") and text[-1] not in "wxy"
