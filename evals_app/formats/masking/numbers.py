"""Finds e-mail addresses, and numbers that identify people or their accounts."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, ip_address

from phonenumbers import NumberParseException, is_possible_number, is_valid_number, parse

from evals_app.formats.masking.check_digits import (
    is_french_id,
    is_german_tax_id,
    is_iban,
    is_luhn,
    is_spanish_id,
)
from evals_app.formats.masking.spans import Span

EMAIL, IBAN, CARD, PHONE, ADDRESS_OF_COMPUTER, PERSONAL_ID = (
    "e-mail", "IBAN", "card", "phone", "IP address", "ID number"
)  # fmt: skip

_DIGIT = re.compile(r"\d")
_EMAIL = re.compile(
    r"[\w.+%'-]*[\w+%-](?:@|\s?(?:\[at\]|\(at\))\s?)(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}\b"
)
_IBAN = re.compile(r"\b[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}\b")
_DIGITS = re.compile(r"(?<![\w.,-])\(?[+\d](?:[\d()/. -]{5,28}\d)(?![\w]|[.,-]\d)")
_IP = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f:]{2,}:[0-9A-Fa-f:.]*)(?![\w:]|\.\d)"
)
_DATE = re.compile(
    r"(?:\d{4}([-./])\d{1,2}\1\d{1,2}|\d{1,2}([-./])\d{1,2}\2(?:\d\d){1,2})(?: \d{1,2})?"
)
# Numbers of the USA and of Italy, whose shape is enough.
_BY_SHAPE = re.compile(r"(?!000|666|9)\d{3}-\d{2}-\d{4}|[A-Z]{6}\d\d[A-Z]\d\d[A-Z]\d{3}[A-Z]")
_IDS = re.compile(r"\b(?:[A-Z]{6}\w{10}|[XYZ]?\d{7,8}-?[A-Z]|\d[\d -]{9,20}\d)\b")

# Countries whose people write their numbers without the country: where such a number is valid.
_REGIONS = ("DE", "AT", "CH", "GB", "FR", "ES", "IT", "NL", "BE", "PT", "PL", "SE", "DK", "IE")
_NATIONAL = re.compile(
    r"\(?[2-9]\d\d\)?[ .-]?\d{3}[ .-]\d{4}"  # North America
    r"|[6789]\d\d([ .-])\d{3}\1\d{3}|[6789]\d\d([ .-])\d\d\2\d\d\2\d\d"  # Spain
)
_CARD_DIGITS = range(13, 20)
_CARD_GROUPS = {(4, 4, 4, 4), (4, 4, 4, 4, 3), (4, 6, 5), (4, 6, 4)}
_PHONE_DIGITS = range(6, 16)
_MIN_UNKNOWN_COUNTRY = 7  # digits of a number that only the words before call a phone
_MIN_COLONS = 3  # of an IPv6 address: with fewer it is a time
_SAYS_PHONE = re.compile(
    r"(?:phone|mobile|cell|call(?:ed)?|ring|tel|fax|whatsapp|text|reach(?:ed)?|telefon|handy|mobil"
    r"|anrufen|erreich\w*|r[uü]ck?ruf\w*|t[ée]l[ée]phone|portable|appel\w*|joindre|joignable"
    r"|tel[ée]fono|m[óo]vil|celular|llam\w+|localizable)\b\D{0,25}$",
    re.IGNORECASE,
)
_SAYS_ID = re.compile(
    r"(?:social security|ssn|tax|steuer|identifikation|s[ée]curit[ée] sociale|insee|dni|nie|nif"
    r"|passport|ausweis|passeport|pasaporte|identity|national id)\w*\b[^\n]{0,40}$",
    re.IGNORECASE,
)


def find_numbers(text: str) -> Iterator[Span]:
    """Yield what is found, of each kind; places may overlap, and then the first counts."""
    if "@" in text or "at]" in text or "at)" in text:
        yield from (Span(*found.span(), EMAIL) for found in _EMAIL.finditer(text))
    if not _DIGIT.search(text):
        return
    yield from _find_ibans(text)
    yield from _find_ids(text)
    if "." in text or ":" in text:
        yield from _find_ip_addresses(text)
    for found in _DIGITS.finditer(text):
        if kind := _kind_of(found[0], text[max(0, found.start() - 60) : found.start()]):
            is_open = found[0].startswith("(") and ")" not in found[0]
            yield Span(found.start() + is_open, found.end(), kind)


def _find_ibans(text: str) -> Iterator[Span]:
    for found in _IBAN.finditer(text):
        ends = [found.end(), *(found.start() + m.start() for m in re.finditer(r"[ -]", found[0]))]
        for end in sorted(ends, reverse=True):  # words after it look like a part of it
            if is_iban(text[found.start() : end]):
                yield Span(found.start(), end, IBAN)
                break


def _find_ids(text: str) -> Iterator[Span]:
    for found in _IDS.finditer(text):
        written = found[0]
        if written[0].isalpha() or written[-1].isalpha():
            is_id = is_spanish_id(written)
        else:
            said = _SAYS_ID.search(text[max(0, found.start() - 80) : found.start()])
            is_id = bool(said) and (is_german_tax_id(written) or is_french_id(written))
            is_id = is_id or bool(re.fullmatch(r"[12][ ]\d\d[ ]\d\d[ ].{8,14}", written)
                                  and is_french_id(written))  # fmt: skip
        if is_id or _BY_SHAPE.fullmatch(written):
            yield Span(*found.span(), PERSONAL_ID)


def _find_ip_addresses(text: str) -> Iterator[Span]:
    for found in _IP.finditer(text):
        try:
            address = ip_address(found[0])
        except ValueError:
            continue
        if isinstance(address, IPv4Address) or found[0].count(":") >= _MIN_COLONS:
            yield Span(*found.span(), ADDRESS_OF_COMPUTER)


def _kind_of(written: str, before: str) -> str:
    """Return what a number with separators is: a card, a phone, or nothing personal."""
    digits = re.sub(r"\D", "", written)
    written = written.strip("() ")
    if _is_card(written, digits):
        return CARD
    is_number = len(digits) in _PHONE_DIGITS and not _DATE.fullmatch(written)
    return PHONE if is_number and _is_phone(written, digits, before) else ""


def _is_card(written: str, digits: str) -> bool:
    groups = tuple(map(len, re.split(r"[ -]", written)))
    is_grouped = len(groups) == 1 or groups in _CARD_GROUPS
    return is_grouped and len(digits) in _CARD_DIGITS and is_luhn(digits)


def _is_phone(written: str, digits: str, before: str) -> bool:
    said = _SAYS_PHONE.search(before) is not None
    if written.startswith(("+", "00")):
        return said or _fits(re.sub(r"^\(?00", "+", written), None, valid=False)
    if _NATIONAL.fullmatch(written):
        return True
    if written.startswith("0"):
        return said or any(_fits(written, region, valid=True) for region in _REGIONS)
    return (
        said
        and len(digits) >= _MIN_UNKNOWN_COUNTRY
        and any(_fits(written, to, valid=False) for to in ("US", "DE"))
    )


def _fits(written: str, region: str | None, *, valid: bool) -> bool:
    try:
        number = parse(written, region)
    except NumberParseException:
        return False
    return is_valid_number(number) if valid else is_possible_number(number)
