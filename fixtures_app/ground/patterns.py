r"""Patterns that people write: RE2, so that no pattern and no text can make a search hang.

RE2 has no lookaround, no backreferences and no possessive repeats. The error for each says what to
write instead. In RE2 `\d \w \b` are ASCII and `.` stops at a newline.
"""

import re
import string
from collections import OrderedDict
from threading import Lock

import re2

MAX_PATTERN_CHARS = 1_000
_MAX_MEMORY_BYTES = 8 << 20
# Of all kept patterns together; a typical pattern has about 50.
_MAX_KEPT_INSTRUCTIONS = 300_000

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT_WITH_ONE_BACKSLASH = frozenset("dDwWsSbB.")

_REFERS_BACK = "A pattern cannot refer back to a group. Write out the repeated text."
# RE2's message begins with the key; special keys come before general ones.
_ALTERNATIVES = {
    "invalid perl operator: (?=": (
        "Lookahead (?=...) is not supported. Use one check for each text that must occur."
    ),
    "invalid perl operator: (?!": (
        "Negative lookahead (?!...) is not supported. Use not_matches for what must not occur."
    ),
    "invalid perl operator: (?<=": (
        "Lookbehind (?<=...) is not supported. Write the text before it into the pattern."
    ),
    "invalid perl operator: (?<!": (
        "Negative lookbehind (?<!...) is not supported. Use not_matches for what must not occur."
    ),
    "invalid perl operator: (?>": (
        "An atomic group (?>...) is not supported. Write (?:...). It never hangs here."
    ),
    "invalid perl operator: (?#": "A comment (?#...) is not supported. Leave it out.",
    "invalid perl operator: (?x": "The flag x is not supported. Write the pattern without spaces.",
    "invalid perl operator: (?(": "A condition (?(...)...) is not supported. Write both cases: a|b.",
    "invalid perl operator: (?P": _REFERS_BACK,
    r"invalid escape sequence: \Z": r"\Z is not supported. Write \z for the end of the text.",
    r"invalid escape sequence: \u": r"\uXXXX is not supported. Write \x{XXXX}.",
    r"invalid escape sequence: \U": r"\UXXXXXXXX is not supported. Write \x{XXXXXXXX}.",
    r"invalid escape sequence: \N": r"\N{...} is not supported. Write the character itself.",
    r"invalid escape sequence: \h": r"\h is not supported. Write [ \t].",
    r"invalid escape sequence: \R": r"\R is not supported. Write \r?\n.",
    r"invalid escape sequence: \K": r"\K is not supported. Leave it out.",
    r"invalid escape sequence: \k": _REFERS_BACK,
    r"invalid escape sequence: \g": _REFERS_BACK,
    "invalid repetition size": "A repeat can be at most 1,000. Use * or +, or a smaller number.",
    "pattern too large": "The pattern needs too much memory. Use smaller repeats or split it.",
    "no argument for repetition operator": r"There is nothing to repeat. To match the character itself, write \ before it.",
    "trailing \\": r"It ends in a single backslash. To match a backslash, write \\.",
    "missing )": "A group is not closed.",
    "unexpected )": r"A closing bracket has no group. To match the bracket itself, write \).",
    "missing ]": r"A set is not closed. To match the bracket itself, write \[.",
}


class _Kept:
    """Compiled patterns, as many as fit in memory; the most recently used stay.

    The library keeps at most 128. A script with more rules would compile each of them again for
    each message.
    """

    def __init__(self, max_instructions: int) -> None:
        self._max_instructions = max_instructions
        self._compiled: OrderedDict[tuple[str, bool], re2._Regexp] = OrderedDict()
        self._instructions = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._compiled)

    def get(self, pattern: str, *, case_sensitive: bool) -> "re2._Regexp":
        """Return the pattern, compiled."""
        key = (pattern, case_sensitive)
        with self._lock:
            if (kept := self._compiled.get(key)) is not None:
                self._compiled.move_to_end(key)
                return kept
        options = re2.Options()
        options.case_sensitive = case_sensitive
        options.max_mem = _MAX_MEMORY_BYTES
        options.log_errors = False
        compiled = re2.compile(pattern, options)
        with self._lock:
            if key not in self._compiled:
                self._compiled[key] = compiled
                self._instructions += compiled.programsize
            while self._instructions > self._max_instructions and len(self._compiled) > 1:
                _, oldest = self._compiled.popitem(last=False)
                self._instructions -= oldest.programsize
        return compiled


_KEPT = _Kept(_MAX_KEPT_INSTRUCTIONS)


def pattern_problem(pattern: str) -> str | None:
    """Return what is wrong with a pattern and what to write instead; None if it is valid."""
    if not pattern:
        return "An empty pattern matches every text."
    if len(pattern) > MAX_PATTERN_CHARS:
        return (
            f"The pattern has {len(pattern):,} characters. The limit is {MAX_PATTERN_CHARS:,}."
            " Split it into several checks."
        )
    if _LONE_SURROGATE.search(pattern):
        return "The pattern contains half of a character (a lone surrogate)."
    try:
        _KEPT.get(pattern, case_sensitive=True)
        _KEPT.get(pattern, case_sensitive=False)  # needs more memory
    except re2.error as exc:
        error = exc.args[0]
        error = error.decode("utf-8", "replace") if isinstance(error, bytes) else str(error)
        return f"The pattern cannot be used.{_alternative(error) or f' The error: {error}.'}"
    return None


def _alternative(error: str) -> str:
    for beginning, advice in _ALTERNATIVES.items():
        if error.startswith(beginning):
            return f" {advice}"
    if re.match(r"invalid escape sequence: \\[1-9]", error):
        return f" {_REFERS_BACK}"
    if re.fullmatch(r"bad repetition operator: .+\+", error):
        return " A possessive repeat is not supported. Leave out the second +. It never hangs here."
    if error.startswith("bad repetition operator"):
        return " Put the part that is repeated twice in a group: (?:a*)*."
    return ""


def pattern_warnings(pattern: str) -> list[str]:
    r"""Return warnings about doubled backslashes: `\\d` is a backslash and a d, not a digit."""
    warnings = []
    for match in _ESCAPE.finditer(pattern):
        following = pattern[match.end() : match.end() + 1]
        if match[1] == "\\" and following in _MEANT_WITH_ONE_BACKSLASH:
            warnings.append(
                f"The pattern contains \\\\{following}: a backslash, then {following!r}."
                f" If you mean \\{following}, write one backslash. In YAML, single quotes keep"
                " backslashes unchanged."
            )
    return list(dict.fromkeys(warnings))


def search(pattern: str, text: str, *, case_sensitive: bool) -> str | None:
    """Return the first part of the text that matches; None if nothing does."""
    # Replaced one for one, because RE2 reads UTF-8, which cannot contain half a character.
    readable = _LONE_SURROGATE.sub("\ufffd", text)
    match = _KEPT.get(pattern, case_sensitive=case_sensitive).search(readable)
    return None if match is None else text[match.start() : match.end()]


def find_all(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return where a pattern is found in a text, from left to right: begin and end of each place."""
    readable = _LONE_SURROGATE.sub("\ufffd", text)
    found = _KEPT.get(pattern, case_sensitive=True).finditer(readable)
    return [place.span() for place in found]


def fits(pattern: str, text: str) -> bool:
    """Whether the pattern matches the whole text, case-sensitively."""
    readable = _LONE_SURROGATE.sub("\ufffd", text)
    return _KEPT.get(pattern, case_sensitive=True).fullmatch(readable) is not None


# Texts that have nothing in common: a pattern that matches all of them matches every reply. Empty
# texts and spaces are not replies. The longest is longer than any repeat.
_ANYTHING = (
    *string.digits,
    *string.ascii_letters,
    *string.punctuation,
    "\ue000",
    "\ue000 \n" * 5_000,
)


def matches_everything(pattern: str, *, case_sensitive: bool) -> bool:
    """Whether a search finds the pattern in every reply, as with `(refund)?`, `yes|` and `.+`."""
    return all(
        search(pattern, text, case_sensitive=case_sensitive) is not None for text in _ANYTHING
    )


def matches_nothing(pattern: str, *, case_sensitive: bool) -> bool:
    """Whether no text matches, as with `$a`; not all such patterns are recognized."""
    if search(pattern, "", case_sensitive=case_sensitive) is not None:
        return False
    try:
        least, most = _KEPT.get(pattern, case_sensitive=case_sensitive).possiblematchrange(10)
    except re2.error:
        return False
    return not least and not most
