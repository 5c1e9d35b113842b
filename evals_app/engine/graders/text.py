"""Graders of the reply's text."""

import re
import string
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from evals_app.engine.basics.folding import (
    as_written,
    find_folded,
    fold_text,
    plain,
    without_emphasis,
)
from evals_app.engine.basics.reasoning import tag_warnings
from evals_app.engine.graders.kit.base import FROM_TURN, TextGrader, seen_in_reply
from evals_app.engine.graders.kit.json_paths import PathGrader, ResponsePath, place_of
from evals_app.engine.graders.kit.unlike import hidden_difference
from evals_app.engine.record.grade import Grade
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from fixtures_app.ground.patterns import (
    matches_everything,
    matches_nothing,
    pattern_problem,
    pattern_warnings,
    search,
)
from fixtures_app.ground.quoting import in_quotes, says
from fixtures_app.ground.written_data import data_in

_MIN_LETTERS = 4  # of a text that is rarely part of another word
_BARE_NUMBER = re.compile(r"[-+$€£¥%\s]*\d(?:[.,\s]?\d)*[$€£¥%\s]*")
# Signs that change a number: between digits, or before the first.
_IN_NUMBER = re.compile(
    r"(?<=\d)[^\w\s](?=\d)"
    r"|(?<![\w.,])[-+\u2212](?=[.,]?\d)"
    r"|(?<![\w.,])[.,](?=\d)"
)

CaseSensitive = Annotated[
    bool,
    Field(
        title="Case-sensitive",
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
        json_schema_extra={"advanced": True},
    ),
]
WholeWords = Annotated[
    bool,
    Field(
        title="Whole words only",
        description="“5 days” is then not found in “15 days”, nor “42” in “1042” or “42.5”.",
    ),
]


def _find_piece(
    needle: str, replies: Iterable[str], *, case_sensitive: bool = False, whole_words: bool = False
) -> str | None:
    """Return the first piece of these replies that people read as the needle.

    Each reply is searched with its Markdown and then without it, as people see **30** days.
    """
    wanted = fold_text(needle, case_sensitive=case_sensitive)
    for reply in replies:
        for shown in dict.fromkeys([reply, without_emphasis(reply)]):
            text = fold_text(shown, case_sensitive=case_sensitive)
            start = find_folded(wanted, text, whole_words=whole_words)
            if start >= 0:
                return as_written(shown, start, len(wanted), case_sensitive=case_sensitive)
    return None


def _replies(view: View) -> Sequence[str]:
    """Return each reply by itself: nothing begins in one and ends in the next."""
    return [turn.reply for turn in view.turns] if view.whole_text else [view.reply]


def _is_invisible(text: str) -> bool:
    return not fold_text(text)


def _is_written_list(text: str) -> bool:
    """Return whether a text is a list or a mapping; numbers in brackets, such as [1], may be a reference."""
    data = data_in(text)
    is_reference = bool(data) and isinstance(data, list) and not any(map(_has_text, data))
    return data is not None and not is_reference


def _has_text(item: object) -> bool:
    return not isinstance(item, int | float)


_WRITTEN_LIST = (
    "{} is a list or keys with values, written as one text, so only a reply with the same brackets and "
    "quotation marks has it. Write a check for each text."
)
_INVISIBLE = "This text has no visible characters, so every reply contains it."


class _PieceGrader(TextGrader):
    """A grader that looks for a text in the reply."""

    value: str | None
    case_sensitive: CaseSensitive = False
    whole_words: WholeWords = False

    def find(self, needle: str, view: View) -> str | None:
        """Return the piece of the reply that people read as the needle."""
        return _find_piece(
            needle,
            _replies(view),
            case_sensitive=self.case_sensitive,
            whole_words=self.whole_words,
        )

    def warnings(self) -> list[str]:
        """Warn of a text that is also part of other words and numbers, and of spaces around it."""
        text = self.value
        if text is None or _is_invisible(text):
            return []
        if warned := tag_warnings(text):
            return warned
        if _is_written_list(text):
            return [_WRITTEN_LIST.format(in_quotes(text))]
        if self.whole_words:
            return []
        seen = fold_text(text)
        letters = [character for character in seen if character.isalnum()]
        # Scripts without spaces between words have short words, and no whole ones.
        has_spaces = not any(unicodedata.category(letter) == "Lo" for letter in letters)
        is_short = 0 < len(letters) < _MIN_LETTERS
        if has_spaces and (is_short or _BARE_NUMBER.fullmatch(seen)):
            longer = "words" if any(map(str.isalpha, letters)) else "numbers"
            message = (
                f"{in_quotes(text)} is also found inside longer {longer}. Set whole_words to find it"
                " only as a whole word."
            )
            return [message]
        if text.strip(" ") != text:
            return ["Spaces around the text are ignored. Set whole_words to find whole words only."]
        return []


class Contains(_PieceGrader):
    """Pass when the reply contains the text.

    Score 1 or 0. Both are compared as people see them. Invisible characters are ignored. All kinds
    of quotation marks are equal, and so are apostrophes, dashes and spaces. Line breaks and several
    spaces count as one space; spaces around the text are ignored. Accented letters are equal however
    they are encoded. “30 days” is also found in “**30** days”: Markdown for bold, italic or code
    makes no difference.
    """

    label: ClassVar[str] = "Reply contains text"
    in_words: ClassVar[str] = "The reply mentions “refund”."
    named_by: ClassVar[tuple[str, ...]] = ("Struere", "Agentura", "Lobu")
    example: ClassVar[dict[str, object]] = {"value": "refund"}
    uses_expected: ClassVar[bool] = True

    value: Annotated[str | None, FROM_TURN, Field(title="Text to look for")] = None

    def grade_reply(self, reply: str, view: View) -> Grade:
        needle = view.expected_value(self.value)
        if problem := self.expected_problem(needle):
            return Grade.without_result(Cause.CASE, problem)
        quote = self.find(needle, view)
        if quote is None:
            return Grade.miss(
                f"The reply does not contain {in_quotes(needle)}{self._near(needle, view)}"
            )
        reason = f"The reply contains {in_quotes(needle)}."
        return Grade.hit(reason).but(evidence=seen_in_reply(view, quote))

    def _near(self, needle: str, view: View) -> str:
        """Describe what the reply has instead."""
        replies = _replies(view)
        instead = says(view.reply, wanted=needle)
        anywhere = _find_piece(needle, replies)
        if anywhere is None:
            return f"; {instead}."
        if _find_piece(needle, replies, case_sensitive=self.case_sensitive):
            return f" as whole words, only inside longer ones; {instead}."
        return f" in this upper and lower case; it has {in_quotes(anywhere)}."

    def expected_problem(self, expected: str) -> str | None:
        if not expected:
            return "The expected text is empty, so every reply contains it."
        return _INVISIBLE if _is_invisible(expected) else None

    def cannot_fail(self) -> str | None:
        if self.value is None or not _is_invisible(self.value):
            return None
        return f"{_INVISIBLE} Write the text to look for."

    def summary(self) -> str:
        return "Reply contains " + (in_quotes(self.value) if self.value else "the expected text")


class NotContains(_PieceGrader):
    """Pass when the reply does not contain the text.

    Score 1 or 0. Both are compared as in `contains`.
    """

    label: ClassVar[str] = "Reply does not contain text"
    in_words: ClassVar[str] = "The reply never says “as an AI”."
    example: ClassVar[dict[str, object]] = {"value": "as an AI"}

    value: Annotated[str, Field(min_length=1, title="Text that must not occur")]

    def grade_reply(self, reply: str, view: View) -> Grade:
        if problem := self.cannot_fail():
            return Grade.without_result(Cause.CASE, problem)
        quote = self.find(self.value, view)
        if quote is None:
            return Grade.hit(f"The reply does not contain {in_quotes(self.value)}.")
        written = "" if quote == self.value else f" as {in_quotes(quote)}"
        reason = f"The reply contains {in_quotes(self.value)}{written}, which must not occur."
        return Grade.miss(reason).but(evidence=seen_in_reply(view, quote))

    def cannot_fail(self) -> str | None:
        if not _is_invisible(self.value):
            return None
        return "This text has no visible characters. Write the text that must not occur."

    def only_forbids(self) -> bool:
        return True

    def summary(self) -> str:
        return f"Reply does not contain {in_quotes(self.value)}"


_LIST_AS_PATTERN = (
    "{} is a list or keys with values, written as one text. As a pattern it means something else. "
    "Write a check for each pattern."
)


class _PatternGrader(TextGrader):
    """A grader that searches the reply for a pattern."""

    value: Pattern
    case_sensitive: CaseSensitive = False
    means: Means = None

    def list_warnings(self) -> list[str]:
        """Warn of a list, which as a pattern means any one of its characters."""
        return (
            [_LIST_AS_PATTERN.format(in_quotes(self.value))] if _is_written_list(self.value) else []
        )

    def search(self, *texts: str) -> str | None:
        """Return the first match in the first of these texts that has one."""
        matches = (search(self.value, text, case_sensitive=self.case_sensitive) for text in texts)
        return next((match for match in matches if match is not None), None)


class Matches(_PatternGrader):
    r"""Pass when the pattern matches somewhere in the reply.

    Score 1 or 0. Patterns are RE2: they never hang, and support no lookaround, backreferences or
    possessive quantifiers. `\d`, `\w` and `\b` are ASCII only; `.` does not match a newline. The
    reply is searched exactly as it is written: unlike in `contains`, a plain and a typographic
    apostrophe differ. In YAML, write patterns in single quotes, which keep backslashes as they are.
    """

    label: ClassVar[str] = "Reply matches a pattern"
    in_words: ClassVar[str] = "The reply gives an order number: “order #” and six digits."
    named_by: ClassVar[tuple[str, ...]] = ("Struere", "Lobu")
    example: ClassVar[dict[str, object]] = {"value": r"order #\d{6}"}

    def grade_reply(self, reply: str, view: View) -> Grade:
        match = self.search(reply)
        if match is None:
            reason = f"Nothing in the reply matches the pattern {self.value}; {says(reply)}."
            if self.means:
                reason = f"Not in the reply: {self.means}; {says(reply)}."
            return Grade.miss(f"{reason}{self._near(reply)}")
        reason = f"The reply matches the pattern {self.value}: {in_quotes(match)}."
        if self.means:
            reason = f"The reply has {in_quotes(match)}, as expected: {self.means}."
        return Grade.hit(reason, found=match).but(evidence=seen_in_reply(view, match))

    def _near(self, reply: str) -> str:
        near = self.search(plain(reply))
        if near is None:
            return ""
        return (
            f" {in_quotes(near)} would match, but the reply has special spaces or characters in it."
        )

    def cannot_fail(self) -> str | None:
        if not matches_everything(self.value, case_sensitive=self.case_sensitive):
            return None
        return (
            f"Every reply matches {self.value}. Describe what only a correct reply has, and remove what"
            " makes everything optional, such as a ? or * at the end, or a | with nothing next to it."
        )

    def summary(self) -> str:
        return f"Reply matches {self.means or self.value}"

    def warnings(self) -> list[str]:
        warnings = [*pattern_warnings(self.value), *tag_warnings(self.value)]
        warnings += self.list_warnings()
        if matches_nothing(self.value, case_sensitive=self.case_sensitive):
            warnings.append(f"No text matches {self.value}, so this check can never pass.")
        return warnings


class NotMatches(_PatternGrader):
    """Pass when the pattern matches nowhere in the reply.

    Score 1 or 0. Patterns work as in `matches`. The reply is searched as it is written, and again
    in plain keyboard characters, so a typographic apostrophe, a non-breaking space or an invisible
    character cannot hide a match.
    """

    label: ClassVar[str] = "Reply does not match a pattern"
    in_words: ClassVar[str] = "The reply never shows a card number of 16 digits."
    example: ClassVar[dict[str, object]] = {"value": r"\b\d{16}\b"}

    def grade_reply(self, reply: str, view: View) -> Grade:
        match = self.search(*dict.fromkeys([reply, plain(reply)]))
        if match is None:
            if self.means:
                return Grade.hit(f"Not in the reply, as expected: {self.means}.")
            return Grade.hit(f"Nothing in the reply matches the pattern {self.value}.")
        reason = (
            f"The reply matches the pattern {self.value}, which must not occur: {in_quotes(match)}."
        )
        if self.means:
            reason = f"The reply has {in_quotes(match)}, which must not occur: {self.means}."
        return Grade.miss(reason, found=match).but(evidence=seen_in_reply(view, match))

    def cannot_fail(self) -> str | None:
        if not matches_nothing(self.value, case_sensitive=self.case_sensitive):
            return None
        return f"No text matches {self.value}. Write a pattern for what must not occur."

    def only_forbids(self) -> bool:
        return True

    def summary(self) -> str:
        return f"Reply does not match {self.means or self.value}"

    def warnings(self) -> list[str]:
        warnings = [*pattern_warnings(self.value), *tag_warnings(self.value)]
        warnings += self.list_warnings()
        if matches_everything(self.value, case_sensitive=self.case_sensitive):
            message = f"Every reply matches {self.value}, so this check always fails."
            warnings.append(message)
        return warnings


class ExactMatch(PathGrader):
    """Pass when the reply is exactly the text.

    Score 1 or 0. Every character counts: a space or line break at the end, a non-breaking space or a
    typographic apostrophe makes a difference, and the reason names it. Both texts are normalized
    first, in this order: composed characters (NFC), case, punctuation, whitespace; the last three
    only if chosen. Signs, decimal points and other characters inside a number stay: -5 never equals
    5, nor 1.5 15.
    """

    label: ClassVar[str] = "Reply is exactly"
    in_words: ClassVar[str] = "Asked for one word, the agent answers “Paris” and nothing else."
    named_by: ClassVar[tuple[str, ...]] = ("Agentura", "HoloDeck")
    example: ClassVar[dict[str, object]] = {
        "value": "Paris",
        "case_insensitive": True,
        "strip_whitespace": True,
    }
    uses_expected: ClassVar[bool] = True

    value: Annotated[str | None, FROM_TURN, Field(title="Exact text")] = None
    case_insensitive: Annotated[bool, Field(title="Ignore upper and lower case")] = False
    strip_whitespace: Annotated[
        bool,
        Field(
            title="Ignore extra spaces",
            description="Trims the text. Inside it, several spaces and line breaks count as one space.",
        ),
    ] = False
    strip_punctuation: Annotated[
        bool,
        Field(
            title="Ignore punctuation",
            description="Ignores . , ! ? … and all kinds of quotation marks, except inside numbers.",
        ),
    ] = False
    response_path: ResponsePath = None

    def grade_reply(self, reply: str, view: View) -> Grade:
        expected = view.expected_value(self.value)
        if problem := self.expected_problem(expected):
            return Grade.without_result(Cause.CASE, problem)
        given, wanted = self._normal(reply), self._normal(expected)
        if given == wanted:
            return Grade.hit(f"The reply is {in_quotes(expected)}, as expected.")
        if hidden := hidden_difference(given, wanted):
            reason = f"The reply reads {in_quotes(reply.strip())}, as expected, but has {hidden}."
            return Grade.miss(reason)
        return Grade.miss(f"The reply should be {in_quotes(expected)}; {says(reply)}.")

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
        expected = in_quotes(self.value) if self.value else "the expected text"
        return f"Reply{place_of(self)} is exactly {expected}"

    def warnings(self) -> list[str]:
        if self.value is None:
            return []
        if problem := self.expected_problem(self.value):
            return [problem]
        if not self._normal(self.value):
            message = (
                f"Nothing of {in_quotes(self.value)} is left to compare when punctuation and spaces"
                " are ignored, so any reply without letters and digits passes."
            )
            return [message]
        return [] if self.strip_whitespace else _line_break(self.value)


def _line_break(text: str) -> list[str]:
    """Warn of a line break at the end: YAML's | and > leave one that no reply has there."""
    if not text.endswith("\n"):
        return []
    message = (
        "This text ends with a line break, so the reply must end with one too. In YAML, write |-"
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
