"""Read cells of checks (a text or a list of texts), and find short texts in replies."""

import re
import unicodedata
from collections.abc import Sequence

from evals_app.engine.basics.decimals import read_amount
from evals_app.engine.basics.folding import SPACELESS, fold_text, in_plain_digits
from evals_app.formats.foreign.words import text_of
from evals_app.formats.reading.problems import Json
from fixtures_app.ground.quoting import cut_middle, in_quotes
from fixtures_app.ground.written_data import data_in

# A text, or several of which any one is enough.
Wanted = str | tuple[str, ...]

# By what a suite compares expected texts where its table says no more than `contains`.
USUAL: Json = {"type": "contains"}
WHOLE_WORDS: Json = {"type": "contains", "whole_words": True}
ANY_NUMBER: Json = {"type": "numeric", "extract": "any"}

_DECIMAL = re.compile(r"[-+]?\d+[.,]\d{1,2}")
_OTHER_SIGN = str.maketrans(".,", ",.")
_MIN_LETTERS = 4  # of a text that is unlikely to be part of another word
_FLAGS = frozenset({"true", "false", "yes", "no"})
_MEANS_CHARS = 200
_TEXTS = "Write a text, or a list of texts."
# What people type in several ways, such as the apostrophe of `it's`.
_VARIANTS = {"'": "['\u2018\u2019]", '"': '["\u201c\u201d\u201e]', "-": "[-\u2010-\u2015]"}
_TYPED = str.maketrans({chr(n): re.escape(chr(n)) for n in range(128)} | _VARIANTS | {" ": r"\s+"})
_LETTER = r"\p{L}\p{M}\p{N}_"
# Scripts that put no space between words.
_NO_SPACES = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
# What may be next to a whole word, and next to a whole number: by the character at its edge.
_BEFORE = {
    "letter": rf"(?:^|[^{_LETTER}]|{_NO_SPACES})",
    "digit": rf"(?:^|[^{_LETTER}.,]|{_NO_SPACES}|(?:^|\P{{N}})[.,])",
    "": "",
}
_AFTER = {
    "letter": rf"(?:$|[^{_LETTER}]|{_NO_SPACES})",
    "digit": rf"(?:$|[^{_LETTER}.,]|{_NO_SPACES}|[.,](?:$|\P{{N}}))",
    "": "",
}


def read_wanted(cell: str) -> list[Wanted]:
    """Return the texts of a cell: its lines, or those of the list that it is.

    Raises:
        ValueError: it contains something else.
    """
    data = data_in(cell)
    if data is None:
        return [stripped for line in cell.splitlines() if (stripped := line.strip())]
    if isinstance(data, dict):
        raise ValueError(f"{with_keys(data)} {_TEXTS}")  # noqa: TRY004 - one kind of error
    wanted = (_read_wanted(item) for item in data)
    return [item for item in wanted if item]


def with_keys(data: Json) -> str:
    """Return the message about keys where text is expected."""
    keys = cut_middle(", ".join(f"`{key}`" for key in data)) if data else "none"
    return f"These are keys with values, not a text. Found: {keys}."


def _read_wanted(item: object) -> Wanted:
    if not isinstance(item, list):
        return _text(item)
    texts = tuple(filter(None, map(_text, item)))
    return texts[0] if len(texts) == 1 else texts


def _text(item: object) -> str:
    if isinstance(item, dict):
        raise ValueError(f"{with_keys(item)} {_TEXTS}")  # noqa: TRY004 - one kind of error
    if isinstance(item, bool | list):
        message = f"This list has {text_of(item)} in it. {_TEXTS}"
        raise ValueError(message)  # noqa: TRY004 - one kind of error
    return text_of(item) if text_of(item).strip() else ""


def looks_like_data(text: str) -> bool:
    """Whether a text begins as lists and mappings do."""
    return text.lstrip().startswith(("[", "{"))


# Short answers.


def is_number(text: str) -> bool:
    """Whether a text is a number and nothing else."""
    amount = read_amount(in_plain_digits(text), decimal="auto")
    return amount is not None and amount[1]


def number_check(text: str) -> Json:
    """Return the check that a reply gives a number; of other texts, that it contains them.

    With a comma or a point that can be of thousands or of decimals, either spelling is right.
    """
    bare = text.strip()
    if is_number(bare):
        return {**ANY_NUMBER, "value": bare}
    if is_decimal(bare):
        return one_of([bare, bare.translate(_OTHER_SIGN)])
    return {**WHOLE_WORDS, "value": bare}


def is_decimal(text: str) -> bool:
    """Whether a text is a number with one or two digits after a point or a comma."""
    return _DECIMAL.fullmatch(text) is not None


def is_short(text: str) -> bool:
    """Whether longer words or numbers may contain a text by chance."""
    seen = fold_text(text)
    letters = [character for character in seen if character.isalnum()]
    if not letters:
        return False
    has_number_at_edge = seen[0].isdecimal() or seen[-1].isdecimal()
    return len(letters) < _MIN_LETTERS or has_number_at_edge or seen in _FLAGS


def one_of(texts: Sequence[str]) -> Json:
    """Return the check that finds any one of several texts, short ones as whole words."""
    by_edges: dict[tuple[str, str], list[str]] = {}
    for text in texts:
        seen = unicodedata.normalize("NFC", " ".join(text.split()))
        by_edges.setdefault(_edges(seen), []).append(_typing_pattern(seen))
    pattern = "|".join(
        f"{_BEFORE[first]}(?:{'|'.join(written)}){_AFTER[last]}"
        for (first, last), written in by_edges.items()
    )
    return {"type": "matches", "value": pattern, "means": means(texts)}


def word_pattern(text: str) -> str:
    """Return the pattern that finds a text as whole words."""
    seen = unicodedata.normalize("NFC", " ".join(text.split()))
    return f"{_BEFORE[_edge(seen[0])]}{_typing_pattern(seen)}{_AFTER[_edge(seen[-1])]}"


def means(texts: Sequence[str]) -> str:
    """Name several texts of which any one is enough."""
    named = " or ".join(map(in_quotes, texts))
    return named if len(named) <= _MEANS_CHARS else f"any one of {len(texts)} texts"


def _edges(text: str) -> tuple[str, str]:
    is_whole = is_short(text) or is_number(text)
    return (_edge(text[0]), _edge(text[-1])) if is_whole else ("", "")


def _edge(character: str) -> str:
    if character.isdecimal():
        return "digit"
    return "letter" if character.isalnum() and not SPACELESS.match(character) else ""


def _typing_pattern(text: str) -> str:
    """Return the pattern of a text, however its spaces, quotes and dashes are typed."""
    return text.translate(_TYPED)
