"""Finds postal addresses: a street with its number, with the place after it."""

import re
from collections.abc import Iterator

from evals_app.formats.masking.spans import Span

ADDRESS = "address"

_WORD = r"[^\W\d_a-zß-öø-ÿ][\w'\u2019.-]*"  # begins with a capital letter
_PLACE = (
    rf"{_WORD}(?:[ -](?:(?:am|an der|im|a\.|de|la|le|les|del|los|upon|sur|en)[ -])?{_WORD}){{0,2}}"
)
# A town after its code ends where a sentence ends, and where the next word may begin another one.
_NAME = r"[^\W\d_a-zß-öø-ÿ][\w'\u2019]*(?:[-/][^\W\d_][\w'\u2019]*)*"
_BEFORE_TOWN = (
    r"(?:Bad|St\.|Sankt|Ste\.|Saint|Sainte|San|Santa|Los|Las|Le|La|Les|L['\u2019]|El|A|New|Den|Neu|Alt"
    r"|Villa|Puerto|Port|Fort|Mount|Mt\.)"
)
_LINK = r"(?:am|an der|in der|ob der|im|de|de la|la|le|les|del|de los|upon|sur|en)"
_TOWN = (
    rf"(?:{_BEFORE_TOWN}[ -]?){{0,2}}{_NAME}(?:[ ]{_LINK}[ ]{_NAME}){{0,2}}(?:[ ]a\.[ ]?[A-Z]\.?)?"
)
_UK_CODE = r"[A-Z]{1,2}\d[A-Z\d]?[ ]?\d[A-Z]{2}"
_THEN_PLACE = (
    rf"(?:,?\s+(?:(?:[A-Z]{{1,2}}-)?\d{{4,5}}(?:[ ]?[A-Z]{{2}})?\s+{_TOWN}"
    rf"|{_PLACE},?\s+(?:[A-Z]{{2}}\s+\d{{5}}(?:-\d{{4}})?|{_UK_CODE}|\d{{5}})|{_UK_CODE}))?"
)
_NUMBER = r"\d{1,5}(?:[ ]?[a-hA-H](?!\w))?(?:[-/]\d{1,4})?"

# 12 Baker Street, London NW1 6XE
_ENGLISH = (
    rf"\b{_NUMBER},?\s(?:{_WORD}\s){{1,3}}(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard"
    r"|Blvd|Court|Ct|Way|Square|Sq|Close|Terrace|Place|Pl|Crescent|Gardens|Grove|Hill|Row|Mews"
    r"|Parkway|Pkwy|Highway|Hwy)\b\.?"
    rf"(?:,?\s(?:Apt|Apartment|Flat|Unit|Suite|\#)\.?\s?\w+)?{_THEN_PLACE}"
)
# Hauptstraße 12a, 10115 Berlin
_GERMAN = (
    rf"\b(?:{_WORD}[ -])?(?:{_WORD})?(?:[Ss]tra(?:ß|ss)e|[Ss]tr\.|[Ww]eg|[Pp]latz|[Aa]llee|[Gg]asse"
    rf"|[Rr]ing|[Dd]amm|[Uu]fer|[Hh]of|[Ss]teig|[Cc]haussee|[Mm]arkt)\s?{_NUMBER}\b{_THEN_PLACE}"
)
# 12 rue de la Paix, 75002 Paris
_FRENCH = (
    rf"\b{_NUMBER}(?:\s(?:bis|ter))?,?\s(?:[Rr]ue|[Aa]venue|[Bb]oulevard|[Bb]d|[Pp]lace|[Cc]hemin"
    r"|[Aa]ll[ée]e|[Ii]mpasse|[Qq]uai|[Rr]oute|[Cc]ours|[Pp]assage|[Ss]quare)\s"
    rf"(?:(?:de\sla|de\sl['\u2019]|des|du|de|d['\u2019]|la|le|les)\s?)?{_NAME}"
    rf"(?:[ -](?:de[ ]|du[ ]|la[ ])?{_NAME}){{0,3}}{_THEN_PLACE}"
)
# Calle Mayor 5, 28013 Madrid
_SPANISH = (
    r"\b(?:[Cc]alle|C/|[Aa]venida|[Aa]vda\.?|[Aa]v\.|[Pp]laza|[Pp]aseo|[Cc]amino|[Cc]arretera"
    r"|[Rr]onda|[Vv]ia|[Pp]iazza|[Cc]orso|[Vv]iale)\s?"
    rf"(?:(?:de\slas?|de\slos|del|de|della|dei)\s)?{_WORD}"
    rf"(?:\s(?:(?:de|del|la|y)\s){{0,2}}{_WORD}){{0,3}},?\s(?:n[.ºo°]+\s?|n[úu]mero\s)?"
    rf"{_NUMBER}\b(?:,?\s\d{{1,2}}[.º°]?\s?[A-Za-z]?\b(?!\d))?{_THEN_PLACE}"
)
# A code and a town, where the words before say so
_CODE = (
    r"(?i:\b(?:PLZ|postcode|zip(?:[ ]code)?|code[ ]postal|c[óo]digo[ ]postal|CP)\b[ ]?:?[ ])"
    rf"(?P<code>\d{{4,5}}\b(?:[ ]{_TOWN})?)"
)
# Words that each kind has, in small letters, because these are found faster; and the kind.
_KINDS = tuple(
    (re.compile(words), re.compile(pattern))
    for words, pattern in {
        r"st|road|rd|ave|lane|ln|dr|b.*v|court|ct|way|sq|close|terrace|pl|cres|gard|grove|hill"
        r"|row|mews|p.*kwa?y|hwy": _ENGLISH,
        r"stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|ring|damm|ufer|hof|steig|chaussee|markt": _GERMAN,
        r"rue|av|bo|bd|pla|chem|all[ée]e|imp|quai|route|cours|passage|square": _FRENCH,
        r"calle|c/|av|plaza|paseo|camino|carretera|ronda|via|piazza|corso|viale": _SPANISH,
        r"\d[a-z]{2}\b": rf"\b{_UK_CODE}\b",
        r"plz|post|zip|cp": _CODE,
    }.items()
)
_DIGIT = re.compile(r"\d")


def find_addresses(text: str) -> Iterator[Span]:
    """Yield the addresses in a text."""
    if not _DIGIT.search(text):
        return
    small = text.lower()
    for words, pattern in _KINDS:
        if words.search(small):
            for found in pattern.finditer(text):
                written = found.groupdict().get("code") or found[0]
                start = found.end() - len(written)
                yield Span(start, start + len(written.rstrip(".'-")), ADDRESS)
