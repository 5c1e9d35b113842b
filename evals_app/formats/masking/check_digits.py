"""Check digits, which few other numbers of the same length have.

Sources: ISO 13616 and ISO 7064 (IBAN), ISO/IEC 7812 (cards), and what the authorities of each country
publish about their numbers.
"""

import re
from string import ascii_uppercase, digits

_VALUES = {char: str(value) for value, char in enumerate(digits + ascii_uppercase)}
_SPANISH = "TRWAGMYFPDXBNJZSQVHLCKE"


def is_iban(written: str) -> bool:
    """Whether a text is an IBAN: its remainder by 97 is 1."""
    text = _compact(written)
    if not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return int("".join(_VALUES[char] for char in text[4:] + text[:4])) % 97 == 1


def is_luhn(number: str) -> bool:
    """Whether the last digit is that of Luhn's formula, as on cards."""
    doubled = (str(2 * int(digit)) for digit in number[-2::-2])
    return sum(map(int, number[-1::-2] + "".join(doubled))) % 10 == 0


def is_spanish_id(written: str) -> bool:
    """Whether a text is a DNI or NIE of Spain: the letter follows from the number."""
    text = _compact(written)
    if not re.fullmatch(r"[XYZ]\d{7}[A-Z]|\d{8}[A-Z]", text):
        return False
    number = text[:-1].translate(str.maketrans("XYZ", "012"))
    return _SPANISH[int(number) % 23] == text[-1]


def is_french_id(written: str) -> bool:
    """Whether a text is a number of the French social security: a key of two digits, by 97."""
    text = _compact(written)
    if not re.fullmatch(r"[12]\d\d(?:0[1-9]|[1-9]\d)(?:\d\d|2A|2B)\d{8}", text):
        return False
    number = text[:13].replace("2A", "19").replace("2B", "18")
    return 97 - int(number) % 97 == int(text[13:])


def is_german_tax_id(written: str) -> bool:
    """Whether a text is a tax number of a person in Germany: eleven digits, by ISO 7064, MOD 11,10."""
    text = _compact(written)
    if not re.fullmatch(r"[1-9]\d{10}", text):
        return False
    check = 10
    for digit in text[:-1]:
        check = ((int(digit) + check) % 10 or 10) * 2 % 11
    return (11 - check) % 10 == int(text[-1])


def _compact(written: str) -> str:
    return re.sub(r"[\s.-]", "", written).upper()
