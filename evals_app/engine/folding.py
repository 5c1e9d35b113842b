"""The form in which texts compare as people see them."""

import re
import unicodedata

# Characters that hide text or change its order: control, zero-width, bidi, tags, lone surrogates.
# Tab and newline stay.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
# Line ends among them: they separate words.
_LINE_ENDS = str.maketrans(dict.fromkeys("\x0b\x0c\r\x1c\x1d\x1e\x85\u2028\u2029", "\n"))
# Models write typographic signs where people type those of a keyboard, and the other way round.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4\u0060", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u2026": "...",
    }
)


def folded(text: str, *, case_sensitive: bool = False) -> str:
    """Return the text as people see it, for comparing: two texts that look alike become equal.

    Invisible characters are removed; quotation marks, dashes and the ellipsis become those of a
    keyboard; NFKC makes one of full-width, composed and other variants of a letter; white space
    is trimmed, and inside collapsed to single blanks.
    """
    plain = INVISIBLE.sub("", text.translate(_LINE_ENDS)).translate(_PLAIN)
    plain = unicodedata.normalize("NFKC", plain).translate(_PLAIN)
    if not case_sensitive:
        # casefold, not lower: German "STRASSE" must match "straße". Folding may take letters apart.
        plain = unicodedata.normalize("NFKC", plain.casefold())
    return " ".join(plain.split())
