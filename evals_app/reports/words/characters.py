"""Which characters a text may have in XML and HTML."""

import re

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def legal(text: str) -> str:
    """Return a text with a mark in place of each character that neither XML nor HTML can have."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
