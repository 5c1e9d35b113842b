"""Finds what only the words before it show to be personal: birth dates, customer numbers and so on."""

import re
from collections.abc import Iterator

from phonenumbers import SUPPORTED_REGIONS

from evals_app.formats.masking.spans import Span

_JOIN = r"(?:\s*(?::|=|#|\b(?:is|was|ist|lautet|est|es|am|on|le|el)\b))*\s*"
_DATE = (
    r"\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2,4}|\d{4}-\d\d-\d\d"
    r"|\d{1,2}(?:\.|st|nd|rd|th|er)?\s(?:de\s)?[^\W\d_]{3,10}\.?,?\s(?:de\s)?\d{4}"
    r"|[^\W\d_]{3,9}\.?\s\d{1,2}(?:st|nd|rd|th)?,?\s\d{4}"
)
_BIC = re.compile(r"[A-Z]{4}([A-Z]{2})[A-Z0-9]{2}(?:[A-Z0-9]{3})?")
# By what the mask says: the words before, in any case, and what follows them as it is written.
_CUES = {
    "birth date": (
        (
            r"born|birth\s?day|date\sof\sbirth|d\.?o\.?b|geburts(?:datum|tag)|geboren|geb\.|n[ée]e?|date\sde\snaissance"
            r"|nacid[oa]|fecha\sde\snacimiento"
        ),
        _DATE,
    ),
    "tax number": (
        r"steuer-?\s?(?:nummer|nr\.?)|st\.?-?nr\.?|tax\s(?:number|no\.?|id)|num[ée]ro\sfiscal|n[úu]mero\sfiscal",
        r"\d{2,3}[/ ]\d{3}[/ ]\d{4,5}|\d{10,13}",
    ),
    "customer number": (
        (
            r"(?:customer|client|account|contract|policy|member(?:ship)?)[\s-]?(?:number|no\.?|id)"
            r"|(?:kunden|vertrags|mitglieds)-?\s?(?:nummer|nr\.?)|(?:num[ée]ro|n°)\s?(?:de\s)?(?:client|contrat)"
            r"|n[úu]mero\sde\s(?:cliente|contrato)"
        ),
        r"[A-Z]{0,4}[-/]?\d[\dA-Z/-]{2,19}",
    ),
    "BIC": (r"bic|swift(?:[\s-]?code)?", _BIC.pattern),
    "number plate": (
        (
            r"(?:kfz-?|auto)?kennzeichen|licen[cs]e\splate|number\splate|plaque(?:\sd['\u2019]immatriculation)?"
            r"|immatriculation|matr[íi]cula"
        ),
        (
            r"[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[- ]?\d{1,4}[EH]?|[A-Z]{2}-\d{3}-[A-Z]{2}|\d{4}\s?[A-Z]{3}"
            r"|[A-Z]{2}\d\d\s?[A-Z]{3}"
        ),
    ),
}
# Parts of the words before, in small letters, because these are found faster.
_NEEDS = {
    "birth date": (
        "born",
        "birth",
        "dob",
        "d.o.b",
        "geb",
        "naissance",
        "né",
        "ne le",
        "nee le",
        "nacid",
        "nacimiento",
    ),
    "tax number": ("steuer", "nr", "tax", "fiscal"),
    "customer number": ("number", "nummer", "nr", "no", "id", "num", "n°", "núm"),
    "BIC": ("bic", "swift"),
    "number plate": ("kennzeichen", "plate", "plaque", "immatric", "matr"),
}
_DIGIT = re.compile(r"\d")
_PATTERNS = tuple(
    (kind, re.compile(rf"(?i:(?<!\w)(?:{words})(?!\w){_JOIN})(?P<value>{value})(?!\w)"))
    for kind, (words, value) in _CUES.items()
)


def find_cued(text: str) -> Iterator[Span]:
    """Yield what follows words that say what it is."""
    small = text.lower()
    has_digit = _DIGIT.search(text) is not None
    for kind, pattern in _PATTERNS:
        if not (has_digit or kind == "BIC") or not any(word in small for word in _NEEDS[kind]):
            continue
        for found in pattern.finditer(text):
            if kind != "BIC" or _names_a_country(found["value"]):
                yield Span(*found.span("value"), kind)


def _names_a_country(bic: str) -> bool:
    found = _BIC.fullmatch(bic)
    return found is not None and found[1] in SUPPORTED_REGIONS
