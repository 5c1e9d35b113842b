r"""Patterns that people write: RE2, so that no pattern and no text can make a search hang.

RE2 has no lookaround, no backreferences and no possessive repeats. Whoever uses one of them is
told what to write instead. In RE2 `\d \w \b` are ASCII and `.` stops at a newline.
"""

import re
import string
from collections import OrderedDict
from threading import Lock

import re2

MAX_PATTERN_CHARS = 1_000
_MAX_MEMORY_BYTES = 8 << 20
# Of all compiled patterns that are kept, together; a usual one has about 50.
_MAX_KEPT_INSTRUCTIONS = 300_000

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT_WITH_ONE_BACKSLASH = frozenset("dDwWsSbB.")

_REFERS_BACK = "A pattern cannot refer back to a group. Write the repeated text out."
# What RE2 says begins with the key; the most special key stands first.
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
        "An atomic group (?>...) is not supported. Write (?:...); it never hangs here."
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
    "invalid repetition size": "A repeat goes up to 1,000. Use * or +, or a smaller number.",
    "pattern too large": "The pattern needs too much memory. Use smaller repeats or split it.",
    "no argument for repetition operator": r"Nothing stands before it. For the sign itself write \ before it.",
    "trailing \\": r"It ends in a single backslash. For a backslash itself write \\.",
    "missing )": "A group is not closed.",
    "unexpected )": r"A bracket closes no group. For the sign itself write \).",
    "missing ]": r"A set is not closed. For the sign itself write \[.",
}


class _Kept:
    """Compiled patterns, as many as fit into memory; those used last stay.

    The library keeps 128 at most. A script of more rules than that would compile each of them
    anew for each message.
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
        compiled = _compile(pattern, case_sensitive=case_sensitive)
        with self._lock:
            if key not in self._compiled:
                self._compiled[key] = compiled
                self._instructions += compiled.programsize
            while self._instructions > self._max_instructions and len(self._compiled) > 1:
                _, oldest = self._compiled.popitem(last=False)
                self._instructions -= oldest.programsize
        return compiled


_KEPT = _Kept(_MAX_KEPT_INSTRUCTIONS)


def _compile(pattern: str, *, case_sensitive: bool) -> "re2._Regexp":
    options = re2.Options()
    options.case_sensitive = case_sensitive
    options.max_mem = _MAX_MEMORY_BYTES
    options.log_errors = False
    return re2.compile(pattern, options)


def pattern_problem(pattern: str) -> str | None:
    """Say what is wrong with a pattern and what to write instead; None if it can be used."""
    if not pattern:
        return "An empty pattern matches every text."
    if len(pattern) > MAX_PATTERN_CHARS:
        return (
            f"The pattern has {len(pattern):,} characters; up to {MAX_PATTERN_CHARS:,} are possible."
            " Split it into several checks."
        )
    if _LONE_SURROGATE.search(pattern):
        return "The pattern holds half of a character (a lone surrogate)."
    try:
        _KEPT.get(pattern, case_sensitive=True)
        _KEPT.get(pattern, case_sensitive=False)  # needs more memory
    except re2.error as exc:
        found = exc.args[0]
        found = found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)
        return f"The pattern cannot be used.{_alternative(found) or f' What is wrong: {found}.'}"
    return None


def _alternative(found: str) -> str:
    for beginning, advice in _ALTERNATIVES.items():
        if found.startswith(beginning):
            return f" {advice}"
    if re.match(r"invalid escape sequence: \\[1-9]", found):
        return f" {_REFERS_BACK}"
    if re.fullmatch(r"bad repetition operator: .+\+", found):
        return " A possessive repeat is not supported. Leave the second + out; it never hangs here."
    if found.startswith("bad repetition operator"):
        return " Put what is repeated twice into a group: (?:a*)*."
    return ""


def pattern_warnings(pattern: str) -> list[str]:
    r"""Name doubled backslashes: `\\d` asks for a backslash and a d, where a digit is meant."""
    warnings = []
    for match in _ESCAPE.finditer(pattern):
        following = pattern[match.end() : match.end() + 1]
        if match[1] == "\\" and following in _MEANT_WITH_ONE_BACKSLASH:
            warnings.append(
                f"The pattern holds \\\\{following}: a backslash, then {following!r}."
                f" If \\{following} is meant, write one backslash (in YAML, single quotes keep"
                " backslashes as they are)."
            )
    return list(dict.fromkeys(warnings))


def search(pattern: str, text: str, *, case_sensitive: bool) -> str | None:
    """Give the first piece of the text that matches; None if nothing does."""
    # Replaced one for one: RE2 reads UTF-8, which has no place for half a character.
    readable = _LONE_SURROGATE.sub("\ufffd", text)
    found = _KEPT.get(pattern, case_sensitive=case_sensitive).search(readable)
    return None if found is None else text[found.start() : found.end()]


def fits(pattern: str, text: str) -> bool:
    """Whether the pattern matches the whole text, case-sensitively."""
    readable = _LONE_SURROGATE.sub("\ufffd", text)
    return _KEPT.get(pattern, case_sensitive=True).fullmatch(readable) is not None


# Texts that have nothing in common: what matches all of them matches every reply. An empty one, or
# one of spaces, is none. The longest is longer than any repeat goes.
_ANYTHING = (
    *string.digits,
    *string.ascii_letters,
    *string.punctuation,
    "\ue000",
    "\ue000 \n" * 5_000,
)


def matches_everything(pattern: str, *, case_sensitive: bool) -> bool:
    """Say whether a search finds the pattern in every reply, as `(refund)?`, `yes|` and `.+` are."""
    return all(
        search(pattern, text, case_sensitive=case_sensitive) is not None for text in _ANYTHING
    )


def matches_nothing(pattern: str, *, case_sensitive: bool) -> bool:
    """Say whether no text matches, as with `$a`; patterns of other kinds are not seen through."""
    if search(pattern, "", case_sensitive=case_sensitive) is not None:
        return False
    try:
        least, most = _KEPT.get(pattern, case_sensitive=case_sensitive).possiblematchrange(10)
    except re2.error:
        return False
    return not least and not most
