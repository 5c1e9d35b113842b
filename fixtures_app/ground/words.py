"""Finds the known name that was probably meant, and names that are free."""

import difflib
import re
import unicodedata
from collections.abc import Iterable
from itertools import chain, count, islice

_CLOSE = 0.6
_SLIP = 0.85
_STEM = 2  # letters that say which name is meant, if only one begins so
# Comparing is slow, and longer names are not misspelt but different.
_CANDIDATES = 1000
_CHARS = 200
_KNOWN_SHOWN = 8


def nearest(word: str, known: Iterable[str], *, is_slip: bool = False) -> str:
    """Return the known name that is close to a word in any case, or begins with it; empty if none.

    With `is_slip` they may differ by one or two letters only.
    """
    if len(word) > _CHARS:
        return ""
    names = {name.casefold(): name for name in islice(known, _CANDIDATES) if len(name) <= _CHARS}
    cutoff = _SLIP if is_slip else _CLOSE
    close = difflib.get_close_matches(word.casefold(), names, n=1, cutoff=cutoff)
    if close or is_slip:
        return names[close[0]] if close else ""
    begun = [name for known, name in names.items() if _begins(word.casefold(), known)]
    return begun[0] if len(begun) == 1 else ""


def _begins(word: str, known: str) -> bool:
    """Whether one of two names is how the other begins: `f1` of `f1_score`."""
    short, long = sorted((word, known), key=len)
    return len(short) >= _STEM and long.startswith(short)


def near(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?` for the nearest known name; empty if none is close."""
    meant = nearest(word, known)
    return f" Did you mean {meant!r}?" if meant else ""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the question for the nearest known name, or else the first few known names."""
    names = list(islice(known, _CANDIDATES))
    more = ", ..." if len(names) > _KNOWN_SHOWN else ""
    listing = f" Known: {', '.join(names[:_KNOWN_SHOWN])}{more}." if names else ""
    return near(word, names) or listing


def plain_name(text: str) -> str:
    """Return a text as a name of plain letters, digits and hyphens: "Parcel-Grosse"."""
    letters = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", letters.encode("ascii", "ignore").decode())
    return re.sub(r"[-_]{2,}", "-", plain).strip("-_")


def numbered_name(wanted: str, taken: Iterable[str], *, length: int, mark: str = "-") -> str:
    """Return a name that is free: "parcel-desk", or "parcel-desk-2"."""
    known = set(taken)
    start = wanted[: length - len("-1000000")]
    others = (f"{start}{mark}{number}" for number in count(2))
    return next(name for name in chain((start,), others) if name not in known)


def free_name(
    wanted: str, taken: Iterable[str], *, length: int, mark: str = " ", word: str = "copy"
) -> str:
    """Return a free name: Refund copy, Refund copy 2."""
    known = set(taken)
    number = 1
    while True:
        end = f"{mark}{word}" if number == 1 else f"{mark}{word}{mark}{number}"
        # A slug must not end up with two hyphens in a row.
        name = f"{wanted[: length - len(end)].rstrip(' -_')}{end}"
        if name not in known:
            return name
        number += 1
