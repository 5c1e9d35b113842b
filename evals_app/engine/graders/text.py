"""Graders of the reply's text."""

import re
import string
import unicodedata
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from evals_app.engine.graders.base import TextGrader, seen_in_reply
from evals_app.engine.graders.json_paths import PathGrader, ResponsePath
from evals_app.engine.patterns import pattern_problem, pattern_warnings, search
from evals_app.engine.quoting import quoted, says
from evals_app.engine.trial import Cause, Evidence, Grade, View

_PUNCTUATION = str.maketrans("", "", string.punctuation)

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


def _comparable(text: str, *, case_sensitive: bool) -> str:
    # Composed first: an é may be one character or two. casefold, not lower: German "STRASSE"
    # must match "straße".
    composed = unicodedata.normalize("NFC", text)
    return composed if case_sensitive else composed.casefold()


def _find(needle: str, reply: str, *, case_sensitive: bool) -> int:
    return _comparable(reply, case_sensitive=case_sensitive).find(
        _comparable(needle, case_sensitive=case_sensitive)
    )


def _passage(view: View, reply: str, start: int, length: int) -> tuple[Evidence, ...]:
    """Give what was found as the reply has it."""
    passage = reply[start : start + length]
    # Folding may change lengths; then the position is not one of the text as written.
    is_in_place = len(_comparable(reply, case_sensitive=False)) == len(reply)
    return seen_in_reply(view, passage) if is_in_place else ()


def _line_break(text: str | None) -> list[str]:
    """Warn of a line break at the end: YAML's | and > leave one that no reply has there."""
    if text is None or not text.endswith("\n"):
        return []
    message = (
        "This text ends with a line break, which the reply would have to have too. In YAML write |- "
        "or >- instead of | or >."
    )
    return [message]


class Contains(TextGrader):
    """Pass when the reply contains the text.

    Score 1 or 0. Accented letters compare equal however they are encoded.
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
            description="Blank takes the turn's expected text.",
        ),
    ] = None
    case_sensitive: CaseSensitive = False

    def grade_reply(self, reply: str, view: View) -> Grade:
        needle = view.expected(self.value)
        if problem := self.expected_problem(needle):
            return Grade.ungraded(Cause.CASE, problem)
        start = _find(needle, reply, case_sensitive=self.case_sensitive)
        if start < 0:
            return Grade.miss(f"The reply does not contain {quoted(needle)}; {says(reply)}.")
        evidence = _passage(view, reply, start, len(needle))
        return Grade.hit(f"The reply contains {quoted(needle)}.").but(evidence=evidence)

    def expected_problem(self, expected: str) -> str | None:
        return None if expected else "The expected text is empty; every reply contains it."

    def warnings(self) -> list[str]:
        return _line_break(self.value)

    def summary(self) -> str:
        return "Reply contains " + (quoted(self.value) if self.value else "the expected text")


class NotContains(TextGrader):
    """Pass when the reply does not contain the text.

    Score 1 or 0. Accented letters compare equal however they are encoded.
    """

    label: ClassVar[str] = "Reply does not contain text"
    example: ClassVar[dict[str, Any]] = {"value": "as an AI"}

    value: Annotated[str, Field(min_length=1, title="Text that must not occur")]
    case_sensitive: CaseSensitive = False

    def grade_reply(self, reply: str, view: View) -> Grade:
        start = _find(self.value, reply, case_sensitive=self.case_sensitive)
        if start < 0:
            return Grade.hit(f"The reply does not contain {quoted(self.value)}.")
        evidence = _passage(view, reply, start, len(self.value))
        reason = f"The reply contains {quoted(self.value)}, which must not occur."
        return Grade.miss(reason).but(evidence=evidence)

    def warnings(self) -> list[str]:
        return _line_break(self.value)

    def summary(self) -> str:
        return f"Reply does not contain {quoted(self.value)}"


class Matches(TextGrader):
    r"""Pass when the pattern matches somewhere in the reply.

    Score 1 or 0. Patterns are RE2: they never hang, and have no lookaround, no backreferences
    and no possessive repeats. `\d`, `\w` and `\b` know ASCII only; `.` stops at a newline. In YAML
    write patterns in single quotes, which leave backslashes alone.
    """

    label: ClassVar[str] = "Reply matches a pattern"
    named_by: ClassVar[tuple[str, ...]] = ("Struere", "Lobu")
    example: ClassVar[dict[str, Any]] = {"value": r"order #\d{6}"}

    value: Pattern
    case_sensitive: CaseSensitive = False

    def grade_reply(self, reply: str, view: View) -> Grade:
        found = search(self.value, reply, case_sensitive=self.case_sensitive)
        if found is None:
            reason = f"Nothing in the reply matches the pattern {self.value}; {says(reply)}."
            return Grade.miss(reason)
        reason = f"The reply matches the pattern {self.value}: {quoted(found)}."
        return Grade.hit(reason, found=found).but(evidence=seen_in_reply(view, found))

    def summary(self) -> str:
        return f"Reply matches {self.value}"

    def warnings(self) -> list[str]:
        return pattern_warnings(self.value)


class NotMatches(TextGrader):
    """Pass when the pattern matches nowhere in the reply.

    Score 1 or 0. The pattern is of the same kind as that of `matches`.
    """

    label: ClassVar[str] = "Reply does not match a pattern"
    example: ClassVar[dict[str, Any]] = {"value": r"\b\d{16}\b"}

    value: Pattern
    case_sensitive: CaseSensitive = False

    def grade_reply(self, reply: str, view: View) -> Grade:
        found = search(self.value, reply, case_sensitive=self.case_sensitive)
        if found is None:
            return Grade.hit(f"Nothing in the reply matches the pattern {self.value}.")
        reason = (
            f"The reply matches the pattern {self.value}, which must not occur: {quoted(found)}."
        )
        return Grade.miss(reason, found=found).but(evidence=seen_in_reply(view, found))

    def summary(self) -> str:
        return f"Reply does not match {self.value}"

    def warnings(self) -> list[str]:
        return pattern_warnings(self.value)


class ExactMatch(PathGrader):
    """Pass when the reply is exactly the text.

    Score 1 or 0. Both sides are brought into one form first, in this order: composed characters
    (NFC), case, punctuation, whitespace; the last three only if chosen.
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
            description="Blank takes the turn's expected text.",
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
            description="Leaves out the ASCII signs, such as . , ! ? - and quotes.",
        ),
    ] = False
    response_path: ResponsePath = None

    def grade_reply(self, reply: str, view: View) -> Grade:
        expected = view.expected(self.value)
        if self._normal(reply) == self._normal(expected):
            return Grade.hit(f"The reply is {quoted(expected)}, as expected.")
        return Grade.miss(f"The reply should be {quoted(expected)}; {says(reply)}.")

    def _normal(self, text: str) -> str:
        text = _comparable(text, case_sensitive=not self.case_insensitive)
        if self.strip_punctuation:
            text = text.translate(_PUNCTUATION)
        if self.strip_whitespace:
            text = re.sub(r"\s+", " ", text).strip()
        return text

    def summary(self) -> str:
        expected = quoted(self.value) if self.value else "the expected text"
        return f"Reply{self.place} is exactly {expected}"

    def warnings(self) -> list[str]:
        if self.value is None or self._normal(self.value):
            return []
        problem = (
            f"Nothing of {quoted(self.value)} is left to compare once punctuation and spaces"
            " are ignored; any reply of such signs passes."
        )
        return [problem]
