"""Graders of the reply's text."""

import re
import string
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from evals_app.engine.folding import as_written, find_folded, folded, plain, without_emphasis
from evals_app.engine.graders.base import TextGrader, seen_in_reply
from evals_app.engine.graders.json_paths import PathGrader, ResponsePath
from evals_app.engine.graders.unlike import hidden_difference
from evals_app.engine.patterns import (
    matches_everything,
    matches_nothing,
    pattern_problem,
    pattern_warnings,
    search,
)
from evals_app.engine.quoting import quoted, says
from evals_app.engine.trial import Cause, Grade, View

_LEAST_LETTERS = 4  # of a text that is hardly a part of another word
_BARE_NUMBER = re.compile(r"[-+$€£¥%\s]*\d(?:[.,\s]?\d)*[$€£¥%\s]*")
# Signs without which a number would be another one: between digits, or before the first.
_IN_NUMBER = re.compile(
    r"(?<=\d)[^\w\s](?=\d)"
    r"|(?<![\w.,])[-+\u2212](?=[.,]?\d)"
    r"|(?<![\w.,])[.,](?=\d)"
)

CaseSensitive = Annotated[
    bool,
    Field(
        title="Upper and lower case must agree",
        description="Otherwise “Refund”, “refund” and “REFUND” are the same.",
    ),
]


def _pattern(value: str) -> str:
    if problem := pattern_problem(value):
        raise ValueError(problem)
    return value


Pattern = Annotated[
    str,
    AfterValidator(_pattern),
    Field(
        title="Pattern",
        description=r"A regular expression (RE2), for example: order #\d{6}",
        json_schema_extra={"mono": True},
    ),
]


Means = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=200,
        title="What the pattern means",
        description=(
            "Shown to people instead of the pattern, for example: an order number (# and six"
            " digits)"
        ),
    ),
]
WholeWords = Annotated[
    bool,
    Field(
        title="Whole words only",
        description="“5 days” is then not in “15 days”, nor “42” in “1042” or “42.5”.",
    ),
]


def _found(
    needle: str, replies: Iterable[str], *, case_sensitive: bool = False, whole_words: bool = False
) -> str | None:
    """Return the first piece of these replies that people read as the needle.

    Markdown around words is looked at first, and then left out: people see **30** days without it.
    """
    wanted = folded(needle, case_sensitive=case_sensitive)
    for reply in replies:
        for shown in dict.fromkeys([reply, without_emphasis(reply)]):
            text = folded(shown, case_sensitive=case_sensitive)
            start = find_folded(wanted, text, whole_words=whole_words)
            if start >= 0:
                return as_written(shown, start, len(wanted), case_sensitive=case_sensitive)
    return None


def _replies(view: View) -> Sequence[str]:
    """Return each reply by itself: nothing begins in one and ends in the next."""
    return [turn.reply for turn in view.turns] if view.whole_text else [view.reply]


def _is_invisible(text: str) -> bool:
    return not folded(text)


_INVISIBLE = "There is nothing to see in this text but spaces, so it is in every reply."


def _hardly_meant(text: str | None, *, whole_words: bool) -> list[str]:
    """Warn of a text that stands in other words and numbers as well, and of spaces around it."""
    if text is None or whole_words or _is_invisible(text):
        return []
    seen = folded(text)
    letters = [each for each in seen if each.isalnum()]
    # Scripts without spaces between words have short words, and no whole ones.
    has_spaces = not any(unicodedata.category(each) == "Lo" for each in letters)
    is_short = 0 < len(letters) < _LEAST_LETTERS
    if has_spaces and (is_short or _BARE_NUMBER.fullmatch(seen)):
        longer = "words" if any(map(str.isalpha, letters)) else "numbers"
        message = (
            f"{quoted(text)} also counts inside longer {longer}. Set whole_words to count it only"
            " as a whole word."
        )
        return [message]
    if text.strip(" ") != text:
        return ["Spaces around the text are ignored. Set whole_words to look for whole words."]
    return []


class Contains(TextGrader):
    """Pass when the reply contains the text.

    Score 1 or 0. Both are compared as people see them: invisible characters are left out; all kinds
    of quotation marks, apostrophes, dashes and spaces are one; line breaks are spaces, several
    spaces are one, and those around the text are ignored; letters compare equal however they are
    encoded. “30 days” is also in “**30** days”: Markdown that makes words bold, italic or code does
    not keep them apart.
    """

    label: ClassVar[str] = "Reply contains text"
    named_by: ClassVar[tuple[str, ...]] = ("Struere", "Agentura", "Lobu")
    example: ClassVar[dict[str, Any]] = {"value": "refund"}
    uses_expected: ClassVar[bool] = True

    value: Annotated[
        str | None,
        Field(
            min_length=1,
            title="Text to look for",
            description="Leave blank to take the turn's expected text.",
        ),
    ] = None
    case_sensitive: CaseSensitive = False
    whole_words: WholeWords = False

    def grade_reply(self, reply: str, view: View) -> Grade:
        needle = view.expected(self.value)
        if problem := self.expected_problem(needle):
            return Grade.ungraded(Cause.CASE, problem)
        found = _found(
            needle,
            _replies(view),
            case_sensitive=self.case_sensitive,
            whole_words=self.whole_words,
        )
        if found is None:
            return Grade.miss(
                f"The reply does not contain {quoted(needle)}{self._near(needle, view)}"
            )
        reason = f"The reply contains {quoted(needle)}."
        return Grade.hit(reason).but(evidence=seen_in_reply(view, found))

    def _near(self, needle: str, view: View) -> str:
        """Say what is there instead."""
        replies = _replies(view)
        instead = says(view.reply, wanted=needle)
        anywhere = _found(needle, replies)
        if anywhere is None:
            return f"; {instead}."
        if _found(needle, replies, case_sensitive=self.case_sensitive):
            return f" as whole words, only as a part of others; {instead}."
        return f" in this case; it has {quoted(anywhere)}."

    def expected_problem(self, expected: str) -> str | None:
        if not expected:
            return "The expected text is empty; every reply contains it."
        return _INVISIBLE if _is_invisible(expected) else None

    def cannot_fail(self) -> str | None:
        if self.value is None or not _is_invisible(self.value):
            return None
        return f"{_INVISIBLE} Write the text to look for."

    def warnings(self) -> list[str]:
        return _hardly_meant(self.value, whole_words=self.whole_words)

    def summary(self) -> str:
        return "Reply contains " + (quoted(self.value) if self.value else "the expected text")


class NotContains(TextGrader):
    """Pass when the reply does not contain the text.

    Score 1 or 0. Both are compared as by `contains`.
    """

    label: ClassVar[str] = "Reply does not contain text"
    example: ClassVar[dict[str, Any]] = {"value": "as an AI"}

    value: Annotated[str, Field(min_length=1, title="Text that must not occur")]
    case_sensitive: CaseSensitive = False
    whole_words: WholeWords = False

    def grade_reply(self, reply: str, view: View) -> Grade:
        if problem := self.cannot_fail():
            return Grade.ungraded(Cause.CASE, problem)
        found = _found(
            self.value,
            _replies(view),
            case_sensitive=self.case_sensitive,
            whole_words=self.whole_words,
        )
        if found is None:
            return Grade.hit(f"The reply does not contain {quoted(self.value)}.")
        written = "" if found == self.value else f" as {quoted(found)}"
        reason = f"The reply contains {quoted(self.value)}{written}, which must not occur."
        return Grade.miss(reason).but(evidence=seen_in_reply(view, found))

    def cannot_fail(self) -> str | None:
        if not _is_invisible(self.value):
            return None
        return (
            "There is nothing to see in this text but spaces. Write the text that must not occur."
        )

    def warnings(self) -> list[str]:
        return _hardly_meant(self.value, whole_words=self.whole_words)

    def summary(self) -> str:
        return f"Reply does not contain {quoted(self.value)}"


class Matches(TextGrader):
    r"""Pass when the pattern matches somewhere in the reply.

    Score 1 or 0. Patterns are RE2: they never hang, and have no lookaround, no backreferences
    and no possessive repeats. `\d`, `\w` and `\b` know ASCII only; `.` stops at a newline. The reply
    is searched as it is written: unlike `contains`, a pattern tells an apostrophe from a
    typographic one. In YAML write patterns in single quotes, which leave backslashes alone.
    """

    label: ClassVar[str] = "Reply matches a pattern"
    named_by: ClassVar[tuple[str, ...]] = ("Struere", "Lobu")
    example: ClassVar[dict[str, Any]] = {"value": r"order #\d{6}"}

    value: Pattern
    case_sensitive: CaseSensitive = False
    means: Means = None

    def grade_reply(self, reply: str, view: View) -> Grade:
        found = search(self.value, reply, case_sensitive=self.case_sensitive)
        if found is None:
            reason = f"Nothing in the reply matches the pattern {self.value}; {says(reply)}."
            if self.means:
                reason = f"Not in the reply: {self.means}; {says(reply)}."
            return Grade.miss(f"{reason}{self._near(reply)}")
        reason = f"The reply matches the pattern {self.value}: {quoted(found)}."
        if self.means:
            reason = f"The reply has {quoted(found)}, as expected: {self.means}."
        return Grade.hit(reason, found=found).but(evidence=seen_in_reply(view, found))

    def _near(self, reply: str) -> str:
        near = search(self.value, plain(reply), case_sensitive=self.case_sensitive)
        if near is None:
            return ""
        return f" {quoted(near)} would match, but the reply writes it with special spaces or signs."

    def cannot_fail(self) -> str | None:
        if not matches_everything(self.value, case_sensitive=self.case_sensitive):
            return None
        return (
            f"Every reply matches {self.value}. Write what only a right reply has, and take out what may"
            " be left out, such as a ? or * behind everything, or an | with nothing beside it."
        )

    def summary(self) -> str:
        return f"Reply matches {self.means or self.value}"

    def warnings(self) -> list[str]:
        warnings = pattern_warnings(self.value)
        if matches_nothing(self.value, case_sensitive=self.case_sensitive):
            warnings.append(f"No text matches {self.value}, so this check can never pass.")
        return warnings


class NotMatches(TextGrader):
    """Pass when the pattern matches nowhere in the reply.

    Score 1 or 0. The pattern is of the same kind as that of `matches`. The reply is searched as it is
    written, and once more in the signs of a keyboard: a typographic apostrophe, an unbreakable space
    or an invisible character hides nothing.
    """

    label: ClassVar[str] = "Reply does not match a pattern"
    example: ClassVar[dict[str, Any]] = {"value": r"\b\d{16}\b"}

    value: Pattern
    case_sensitive: CaseSensitive = False
    means: Means = None

    def grade_reply(self, reply: str, view: View) -> Grade:
        found = self._search(reply)
        if found is None:
            if self.means:
                return Grade.hit(f"Not in the reply, as expected: {self.means}.")
            return Grade.hit(f"Nothing in the reply matches the pattern {self.value}.")
        reason = (
            f"The reply matches the pattern {self.value}, which must not occur: {quoted(found)}."
        )
        if self.means:
            reason = f"The reply has {quoted(found)}, which must not occur: {self.means}."
        return Grade.miss(reason, found=found).but(evidence=seen_in_reply(view, found))

    def _search(self, reply: str) -> str | None:
        for text in dict.fromkeys([reply, plain(reply)]):
            found = search(self.value, text, case_sensitive=self.case_sensitive)
            if found is not None:
                return found
        return None

    def cannot_fail(self) -> str | None:
        if not matches_nothing(self.value, case_sensitive=self.case_sensitive):
            return None
        return f"No text matches {self.value}. Write a pattern for what must not occur."

    def summary(self) -> str:
        return f"Reply does not match {self.means or self.value}"

    def warnings(self) -> list[str]:
        warnings = pattern_warnings(self.value)
        if matches_everything(self.value, case_sensitive=self.case_sensitive):
            message = f"Every reply matches {self.value}, so this check always fails."
            warnings.append(message)
        return warnings


class ExactMatch(PathGrader):
    """Pass when the reply is exactly the text.

    Score 1 or 0. To the letter: a space or line break at the end, an unbreakable space or a
    typographic apostrophe makes a difference, which the reason names. Both sides are brought into one
    form first, in this order: composed characters (NFC), case, punctuation, whitespace; the last
    three only if chosen. Signs, decimal points and whatever else stands inside a number stay: -5
    never equals 5, nor 1.5 15.
    """

    label: ClassVar[str] = "Reply is exactly"
    named_by: ClassVar[tuple[str, ...]] = ("Agentura", "HoloDeck")
    example: ClassVar[dict[str, Any]] = {
        "value": "Paris",
        "case_insensitive": True,
        "strip_whitespace": True,
    }
    uses_expected: ClassVar[bool] = True

    value: Annotated[
        str | None,
        Field(
            min_length=1,
            title="Exact text",
            description="Leave blank to take the turn's expected text.",
        ),
    ] = None
    case_insensitive: Annotated[bool, Field(title="Ignore upper and lower case")] = False
    strip_whitespace: Annotated[
        bool,
        Field(
            title="Ignore surplus spaces",
            description="Trims the text; inside, spaces and line breaks in a row count as one.",
        ),
    ] = False
    strip_punctuation: Annotated[
        bool,
        Field(
            title="Ignore punctuation",
            description="Leaves out . , ! ? … and quotation marks of all kinds, but not in numbers.",
        ),
    ] = False
    response_path: ResponsePath = None

    def grade_reply(self, reply: str, view: View) -> Grade:
        expected = view.expected(self.value)
        if problem := self.expected_problem(expected):
            return Grade.ungraded(Cause.CASE, problem)
        given, wanted = self._normal(reply), self._normal(expected)
        if given == wanted:
            return Grade.hit(f"The reply is {quoted(expected)}, as expected.")
        if hidden := hidden_difference(given, wanted):
            reason = f"The reply reads {quoted(reply.strip())}, as expected, but has {hidden}."
            return Grade.miss(reason)
        return Grade.miss(f"The reply should be {quoted(expected)}; {says(reply)}.")

    def _normal(self, text: str) -> str:
        text = unicodedata.normalize("NFC", text)
        if self.case_insensitive:
            # casefold, not lower: German "STRASSE" must match "straße".
            text = text.casefold()
        if self.strip_punctuation:
            text = _without_punctuation(text)
        if self.strip_whitespace:
            text = re.sub(r"\s+", " ", text).strip()
        return text

    def expected_problem(self, expected: str) -> str | None:
        # A part of a JSON reply may be empty; an empty reply is a failure of the agent before.
        if expected.strip() or self.response_path is not None:
            return None
        return "The expected text is empty, and an empty reply fails before it is compared."

    def summary(self) -> str:
        expected = quoted(self.value) if self.value else "the expected text"
        return f"Reply{self.place} is exactly {expected}"

    def warnings(self) -> list[str]:
        if self.value is None:
            return []
        if problem := self.expected_problem(self.value):
            return [problem]
        if not self._normal(self.value):
            message = (
                f"Nothing of {quoted(self.value)} is left to compare once punctuation and spaces"
                " are ignored; any reply of such signs passes."
            )
            return [message]
        return [] if self.strip_whitespace else _line_break(self.value)


def _line_break(text: str) -> list[str]:
    """Warn of a line break at the end: YAML's | and > leave one that no reply has there."""
    if not text.endswith("\n"):
        return []
    message = (
        "This text ends with a line break, which the reply would have to have too. In YAML write |-"
        " or >- instead of | or >."
    )
    return [message]


def _without_punctuation(text: str) -> str:
    in_numbers = {match.start() for match in _IN_NUMBER.finditer(text)}
    return "".join(
        sign for place, sign in enumerate(text) if place in in_numbers or not _is_punctuation(sign)
    )


def _is_punctuation(sign: str) -> bool:
    return sign in string.punctuation or unicodedata.category(sign).startswith("P")
