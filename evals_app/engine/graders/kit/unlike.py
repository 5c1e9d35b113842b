"""What makes two texts differ that look the same."""

import re
import unicodedata
from collections.abc import Callable

from evals_app.engine.basics.folding import INVISIBLE, fold_text

Change = Callable[[str], str]

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4\u0060", "'"))
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'))
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"))
_SPACES = str.maketrans(
    dict.fromkeys((chr(n) for n in (0xA0, 0x202F, 0x3000, *range(0x2000, 0x200B))), " ")
)
_WORD = re.compile(r"\w+")
_INNER = re.compile(r"(?<=\S)[ \t\n]+(?=\S)")


def hidden_difference(reply: str, expected: str) -> str | None:
    """Describe what a reply has that the expected text, which looks the same, does not have.

    None if the difference is visible. The phrase continues `The reply has`.
    """
    if reply == expected or fold_text(reply) != fold_text(expected):
        return None
    kinds = [
        phrase(reply, expected)
        for number, (_, phrase) in enumerate(_KINDS)
        # This kind matters if the texts still differ when everything else is made the same.
        if _without(number, reply) != _without(number, expected)
    ]
    *most, last = kinds or ["characters in another form"]
    return f"{', '.join(most)} and {last}" if most else last


def _without(number: int, text: str) -> str:
    for other, (change, _) in enumerate(_KINDS):
        text = text if other == number else change(text)
    return text


def _at_edge(place: str, edge: Change) -> Callable[[str, str], str]:
    def phrase(reply: str, expected: str) -> str:
        here, there = edge(reply), edge(expected)
        if here and there:
            return f"other spaces or line breaks at its {place}"
        return f"{'a' if here else 'no'} {_space(here or there)} at its {place}"

    return phrase


def _space(edge: str) -> str:
    if "\n" in edge or "\r" in edge:
        return "line break"
    return "tab" if "\t" in edge else "space"


def _instead(name: str, table: dict[int, str]) -> Callable[[str, str], str]:
    def phrase(reply: str, expected: str) -> str:
        here, there = _signs(reply, expected, table), _signs(expected, reply, table)
        style = "typographic" if here and ord(here) in table else "plain"
        shown = f" ({here} where {there} is expected)" if here and there else ""
        return f"a {style} {name}{shown}"

    return phrase


def _signs(text: str, other: str, table: dict[int, str]) -> str:
    """Return the first sign of a kind that the other text does not have, or at least the first."""
    signs = [sign for sign in text if ord(sign) in table or sign in table.values()]
    return next((sign for sign in signs if sign not in other), signs[0] if signs else "")


def _non_breaking(reply: str, expected: str) -> str:
    here, there = (sum(ord(sign) in _SPACES for sign in text) for text in (reply, expected))
    return f"{'a' if here > there else 'no'} non-breaking space"


def _invisible_difference(reply: str, expected: str) -> str:
    has = bool(INVISIBLE.search(reply.replace("\r", "")))
    match = INVISIBLE.search((reply if has else expected).replace("\r", ""))
    code = f" (U+{ord(match[0]):04X})" if match else ""
    return f"{'an' if has else 'no'} invisible character{code}"


def _letters(text: str) -> str:
    return _WORD.sub(lambda word: unicodedata.normalize("NFKC", word[0]), text)


_KINDS: tuple[tuple[Change, Callable[[str, str], str]], ...] = (
    (str.rstrip, _at_edge("end", lambda text: text[len(text.rstrip()) :])),
    (str.lstrip, _at_edge("beginning", lambda text: text[: len(text) - len(text.lstrip())])),
    (
        lambda text: text.replace("\r\n", "\n").replace("\r", "\n"),
        lambda reply, _: f"{'' if chr(13) in reply else 'no '}Windows line breaks (CR/LF)",
    ),
    (lambda text: text.translate(_SPACES), _non_breaking),
    (
        lambda text: INVISIBLE.sub(lambda match: "\r" if match[0] == "\r" else "", text),
        _invisible_difference,
    ),
    (
        lambda text: _INNER.sub(" ", text),
        lambda _reply, _expected: "other spaces or line breaks between words",
    ),
    (lambda text: text.translate(_APOSTROPHES), _instead("apostrophe", _APOSTROPHES)),
    (lambda text: text.translate(_QUOTES), _instead("quotation mark", _QUOTES)),
    (lambda text: text.translate(_DASHES), _instead("dash", _DASHES)),
    (
        lambda text: text.replace("\u2026", "..."),
        lambda reply, _: f"{'a' if chr(0x2026) in reply else 'no'} single-character ellipsis",
    ),
    (str.casefold, lambda _reply, _expected: "different upper and lower case"),
    (_letters, lambda _reply, _expected: "letters in another form, such as full-width letters"),
)
