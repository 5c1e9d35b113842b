"""Conditions on a message in words, and the pattern of a rule: contains a word, is exactly this."""

import re

ALWAYS, CONTAINS, ANY_OF, EXACTLY, PATTERN = "always", "contains", "any_of", "exactly", "pattern"
MATCHES = (
    (CONTAINS, "contains"),
    (ANY_OF, "contains one of (separated by commas)"),
    (EXACTLY, "is exactly"),
    (ALWAYS, "is anything"),
    (PATTERN, "matches a pattern (advanced)"),
)
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
_LITERAL = re.compile(r"(?:[^\\.+*?()|\[\]{}^$]|\\[\\.+*?()|\[\]{}^$])*")


def pattern_of(match: str, words: str) -> str | None:
    """Return the pattern for a message; None for every message."""
    if match == ALWAYS:
        return None
    if match == ANY_OF:
        parts = filter(None, (part.strip() for part in words.split(",")))
        return "|".join(map(_escape_words, parts))
    if match == EXACTLY:
        return f"^{_escape_words(words.strip())}$"
    return _escape_words(words.strip()) if match == CONTAINS else words


def words_of(pattern: str | None) -> tuple[str, str]:
    """Return how a pattern matches, and its words; a real pattern is returned unchanged."""
    if pattern is None:
        return ALWAYS, ""
    for match, words in _guesses(pattern):
        if pattern_of(match, words) == pattern:
            return match, words
    return PATTERN, pattern


def _guesses(pattern: str) -> list[tuple[str, str]]:
    if not pattern:
        return []
    if _LITERAL.fullmatch(pattern):
        return [(CONTAINS, _plain(pattern))]
    if _LITERAL.fullmatch(pattern[1:-1]):
        return [(EXACTLY, _plain(pattern[1:-1]))]
    parts = re.split(r"(?<!\\)\|", pattern)
    is_plain = all(_LITERAL.fullmatch(part) for part in parts)
    return [(ANY_OF, ", ".join(map(_plain, parts)))] if is_plain else []


def _escape_words(words: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", words)


def _plain(literal: str) -> str:
    return re.sub(r"\\(.)", r"\1", literal)
