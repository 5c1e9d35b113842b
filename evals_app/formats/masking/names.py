"""Finds names of people: after words that announce one, or by a first name that is known."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from evals_app.formats.masking.spans import Span

NAME = "name"

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_TOKEN = rf"{_CAPITAL}[\w'\u2019]*(?:-{_CAPITAL}[\w'\u2019]*)*"
_PARTICLE = r"(?:von|vom|van|der|den|de|del|della|di|da|dos|du|la|le|los|zu|zum|bin|ibn|al|el|y|e)"
_SEVERAL = rf"{_TOKEN}\.?(?:[ ]+(?:{_PARTICLE}[ ]+){{0,2}}{_TOKEN}){{0,3}}"
_NO_GREETING = r"(?!(?:Viele|Liebe|Beste|Freundliche|Herzliche|Schöne|Mit|Best|Kind|Many|Warm)\b)"
_LEAD = r"(?:(?:von|van|v\.|de|zu)[ ]+)?"  # stays before the mask
_TITLE = (
    r"(?:[Mm]rs?|[Mm]s|[Mm]iss|Mx|[Dd]r|Prof|[Hh]errn?|[Ff]rau|Fräulein|[Ff]amilie|[Mm]onsieur|[Mm]adame"
    r"|[Mm]ademoiselle|Mme|Mlle|Mgr|Maître|[Ss]eñora?|[Ss]eñorita|[Ss]r(?:ta)?|[Ss]ra|Don|Doña|[Ss]ignora?|Sig"
    r"|Sir|Lady)\.?"
)
_GREETING = (
    r"(?:Hi|Hello|Hey|Dear|Good[ ](?:morning|afternoon|evening|day)|Hallo|Hallöchen|Guten[ ](?:Tag|Morgen"
    r"|Abend)|Moin|Servus|Grüezi|Lieber?|Sehr[ ]geehrte[rs]?|Bonjour|Bonsoir|Salut|Ch[eè]re?|Hola"
    r"|Buen(?:os|as)?[ ](?:días|día|tardes|noches)|Estimad[oa]|Querid[oa]|Ciao|Buongiorno|Cara|Caro)"
)
_CLOSING = (
    r"(?:regards|wishes|sincerely|faithfully|truly|thanks|thank[ ]you|cheers|best|yours|Grü(?:ß|ss)en?"
    r"|Gru(?:ß|ss)|LG|VG|MfG|BG|dank|danke|cordialement|salutations|[àa][ ]vous|merci|bises|saludos?"
    r"|atentamente|cordiales|abrazo|gracias|saluti)"
)


class _Cue(NamedTuple):
    """Words that announce a name. `needs` are parts of them in small letters, looked for first."""

    needs: tuple[str, ...]
    pattern: re.Pattern[str]


def _cue(needs: str, pattern: str) -> _Cue:
    return _Cue(tuple(needs.split(",")), re.compile(pattern))


# Any words with a capital letter after these are a name.
_CUES = (
    _cue("", rf"(?<!\w){_TITLE}[ ]+(?:{_TITLE}[ ]+)*{_LEAD}(?P<name>{_SEVERAL})"),
    _cue(
        "name,heiß,heiss,spricht,appelle,nom,llamo,nombre,chiamo",
        r"(?i:\b(?:my[ ](?:full[ ])?name(?:[ ]is|['\u2019]s|:)|name[ ]is|under[ ]the[ ]name(?:[ ]of)?"
        r"|in[ ]the[ ]name[ ]of|mein[ ]name[ ](?:ist|lautet)|ich[ ]hei(?:ß|ss)e|auf[ ]den[ ]namen"
        r"|hier[ ]spricht|je[ ]m['\u2019]appelle|mon[ ]nom[ ]est|au[ ]nom[ ]de|me[ ]llamo"
        rf"|mi[ ]nombre[ ]es|a[ ]nombre[ ]de|mi[ ]chiamo)[ ]+)(?P<name>{_SEVERAL})",
    ),
    _cue(
        ":",
        r"(?im:(?:^|[,;(]|\s{2,})\s*(?:full[ ]name|(?:first|last|customer|contact|account)?[ ]?name"
        r"|customer|contact|kunde|kundin|kundenname|vorname|nachname|ansprechpartner(?:in)?|nom"
        r"|pr[ée]nom|cliente?|nombre|apellidos?|titular|contacto)[ ]?:[ ]*)"
        rf"(?P<name>{_SEVERAL})",
    ),
    _cue(
        "",
        rf"(?:^|[\n.!?][ ]*){_GREETING},?[ ]+(?P<name>{_SEVERAL})(?=[ ]*(?:[,!.:;\n\u2013\u2014-]|$))",
    ),
    _cue(
        "\n",
        rf"(?i:\b{_CLOSING})[ ]?[,.!]*[ ]*\n\s*{_NO_GREETING}{_LEAD}(?P<name>{_SEVERAL})[ ]*(?=[,.\n]|$)",
    ),
    _cue(
        "regards,wishes,sincerely,grü,gru,lg,vg,mfg,cordialement,saludos,atentamente",
        r"(?i:\b(?:regards|wishes|sincerely|Grü(?:ß|ss)en?|Gru(?:ß|ss)|LG|VG|MfG|cordialement|saludos"
        rf"|atentamente)),?[ ]+(?P<name>{_SEVERAL})[ .!]*$",
    ),
    _cue(
        " here,speaking,apparat,appareil,al habla",
        rf"(?P<name>{_SEVERAL})(?=[ ](?:here|speaking|am[ ]Apparat|[àa][ ]l['\u2019]appareil|al[ ]habla)\b)",
    ),
)
# After these only a known first name is one, in small letters too.
_INTRODUCED = _cue(
    "i am,i'm,i\u2019m,this is,name i,heiße,heisse,ich bin,hier ist,appelle,je suis,llamo,nombre es,soy",
    r"(?i:\b(?:my name is|i am|i['\u2019]m|this is|mein name ist|ich hei(?:ß|ss)e|ich bin|hier ist"
    r"|je m['\u2019]appelle|je suis|me llamo|mi nombre es|soy)\s+)(?P<name>[^\W\d_]+(?:[ ][^\W\d_]+)?)",
)
_MIN_SMALL_LETTERS = 4  # of a first name that is written in small letters
_TITLES = re.compile(rf"(?:{_TITLE}[ ]+)+")
_CANDIDATE = re.compile(_SEVERAL)
_WORD = re.compile(_TOKEN)
_LETTERS = re.compile(r"[^\W\d_]+")


def find_names(text: str) -> Iterator[Span]:
    """Yield names; places may overlap."""
    small = text.lower()
    for cue in _CUES:
        for found in _places(cue, text, small):
            yield from _spans(text, found.start("name"), found.end("name"))
    for found in _places(_INTRODUCED, text, small):
        yield from _introduced_by(found)
    for found in _CANDIDATE.finditer(text):
        yield from _known_in(text, found)


def find_again(text: str, words: re.Pattern[str] | None) -> Iterator[Span]:
    """Yield words of names: a single one only where it begins with a capital letter."""
    for found in words.finditer(text) if words else ():
        if found[0][0].isupper() or " " in found[0]:
            yield Span(*found.span(), NAME)


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters, particles left out."""
    words = (word.lower() for word in re.findall(r"[^\W\d_][\w'\u2019-]*", name))
    return tuple(word for word in words if not re.fullmatch(_PARTICLE, word))


@cache
def _no_names() -> frozenset[str]:
    """Return words that often follow a cue with a capital letter, in the four languages."""
    return _words_in("no_names.txt")


@cache
def first_names() -> frozenset[str]:
    """Return first names, without those that are also ordinary words in English, German, French or Spanish."""
    return _words_in("first_names.txt")


def _words_in(file: str) -> frozenset[str]:
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    return frozenset(text.lower().split())


def _places(cue: _Cue, text: str, small: str) -> Iterator[re.Match[str]]:
    return cue.pattern.finditer(text) if any(word in small for word in cue.needs) else iter(())


def _spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a name, without titles, up to the first word that is none."""
    if title := _TITLES.match(text, start, end):
        start = title.end()
    last = start
    for found in _LETTERS.finditer(text, start, end):
        word = found[0]
        is_particle = last > start and re.fullmatch(_PARTICLE, word)
        if not is_particle and (word[0].islower() or word.lower() in _no_names()):
            break
        if word[0].isupper() and len(word) + (last > start) > 1:
            last = found.end()
    if last > start:
        yield Span(start, last, NAME)


def _introduced_by(found: re.Match[str]) -> Iterator[Span]:
    """Yield a name that begins with a known first name, in small letters too."""
    first, *rest = found["name"].split()
    start = found.start("name")
    if first.lower() not in first_names() or (
        first[0].islower() and len(first) < _MIN_SMALL_LETTERS
    ):
        return
    is_whole = (
        rest and rest[0].lower() not in _no_names() and rest[0][0].isupper() == first[0].isupper()
    )
    keeps = is_whole and (first[0].isupper() or "my name is" in found[0].lower())
    yield Span(start, found.end("name") if keeps else start + len(first), NAME)


def _known_in(text: str, found: re.Match[str]) -> Iterator[Span]:
    """Yield what begins at each known first name among words with a capital letter."""
    for word in _WORD.finditer(text, found.start(), found.end()):
        if first_names() & {*word[0].lower().split("-")}:
            yield from _spans(text, word.start(), found.end())
            return
