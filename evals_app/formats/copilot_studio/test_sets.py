"""Test sets of Copilot Studio: sheets with a row for each question and its test method."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack

from evals_app.engine.basics.template import escape_braces
from evals_app.engine.graders import GRADERS
from evals_app.formats.copilot_studio import ASKED, DIALECT, METHODS, header_row
from evals_app.formats.copilot_studio.methods import GOOD, SAFE, SAME_MEANING, judge_share
from evals_app.formats.foreign.building import Placed, suite_drafts
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import first_words, slug_of
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.words import plain
from evals_app.formats.reading.problems import Json, Loc, ProblemDetails
from fixtures_app.ground.words import near

_EXPECTED = ("expected response", "expected answer", "expected result")
_SCORE = ("passing score", "pass score")
_KEYWORDS = re.compile(r"[;|\n]|,(?!\d)")
_USUAL_SHARE = 0.5  # where a method needs a passing score, and none is given

# By their names in files, and as Copilot Studio shows them. The second is its older name.
_METHODS = (
    *("general quality", "compare meaning", "exact match", "partial match", "keyword match"),
    *("tool use", "capability use", "text similarity", "similarity", "content safety"),
)
_NAMED = ("Custom", "GeneralQuality", "CompareMeaning", "ExactMatch", "PartialMatch", "ToolUse")
_WITHOUT_EXPECTED = ("general quality", "content safety")
_LISTS = ("partial match", "keyword match", "tool use", "capability use")
_OF_CUSTOM = (
    "A test set does not contain what a custom method asks, so it is left out. Write it as criteria of a "
    "judge."
)
_NOTHING_EXPECTED = (
    "{} compares the reply with the expected response, and there is none. This check is left out."
)
_NO_METHOD = "No method is given, so a judge decides about the quality, as in Copilot Studio."
_SPLIT = (
    "Each text between commas or semicolons has to be in the reply. Change the checks of the case if "
    "they belong together."
)
_NOT_SCORED = "This method passes or fails, so its passing score is left out."


def read_test_set(reading: ForeignFile) -> Iterator[Draft]:
    """Return a suite for each sheet that has the headers of a test set."""
    data = reading.document.data
    sheets = data if isinstance(data, dict) else {}
    sets = {name: n for name, rows in sheets.items() if (n := header_row(rows)) is not None}
    for name in (*(sheets.keys() - sets.keys()), *getattr(reading.document, "unseen", ())):
        message = f"The sheet {name} has no column Test Method Type, or is hidden. It was not read."
        reading.say((), message, value="", level="warning")
    read = {
        name: _Sheet(reading, name, sheets[name], header).cases() for name, header in sets.items()
    }
    for name, cases in read.items():
        title = reading.around.file_name(reading.document)
        title = f"{title} {name}".strip() if len(sets) > 1 else title
        slug = slug_of(title, instead="test-set")
        yield from suite_drafts(DIALECT.name, Spot(reading, (name,)), title, cases, slug=slug)


def _contains(text: str) -> Json:
    """Return the check for a keyword; one that is found inside other words is a word of its own."""
    check: Json = {"type": "contains", "value": text}
    is_found_inside = bool(GRADERS["contains"].model_validate({"value": text}).warnings())
    return {**check, "whole_words": True} if is_found_inside else check


@dataclass(slots=True)
class _Sheet:
    reading: ForeignFile
    name: str
    rows: Sequence[Sequence[str]]
    header: int

    def cases(self) -> list[Placed]:
        headers = [plain(header) for header in self.rows[self.header]]
        asked, method, expected, score = (
            next((n for n, header in enumerate(headers) if header in words), None)
            for words in (ASKED, METHODS, _EXPECTED, _SCORE)
        )
        tags = next((n for n, header in enumerate(headers) if header.startswith("category")), None)
        self._tell_others({asked, method, expected, score, tags})
        cases: list[Placed] = []
        for row in range(self.header + 1, len(self.rows)):
            if not any(self._text(row, n) for n in range(len(headers))):
                continue
            question = self._text(row, asked)
            if not question:
                self._say((row, asked or 0), "This row has no question.")
                question = "unread"
            turn: Json = {"user": escape_braces(question)}
            checks, is_answer = self._checks(row, method, expected, score)
            if is_answer and (answer := self._text(row, expected)):
                turn["expected"] = Placed(answer, self._spot(row, expected))
            at = self._spot(row, method if is_answer else expected)
            turn["assertions"] = [Placed(check, at) for check in checks]
            tag = self._text(row, tags)[:200]
            case = {"name": first_words(question), "tags": [tag] if tag else [], "turns": [turn]}
            cases.append(Placed(case, self._spot(row, asked)))
        if not cases:
            self._say((self.header,), "There are no rows below the header, so there are no cases.")
        return cases

    def _spot(self, row: int, column: int | None) -> Spot:
        return Spot(self.reading, (self.name, row, column or 0))

    def _text(self, row: int, column: int | None) -> str:
        """Return what is in a cell; a cell without a value that can be meant is reported."""
        if column is None or column >= len(self.rows[row]):
            return ""
        faults = getattr(self.reading.document, "faults", {})
        if fault := faults.get((self.name, row, column)):
            self._say((row, column), fault)
        return self.rows[row][column].strip()

    def _say(self, cell: Loc, message: str, **about: Unpack[ProblemDetails]) -> None:
        problem = self.reading.document.problem((self.name, *cell), message, **about)
        if problem not in self.reading.problems:
            self.reading.problems.append(problem)

    def _tell_others(self, known: set[int | None]) -> None:
        """Report columns that are not read, each with the number of its rows."""
        for n, header in enumerate(self.rows[self.header]):
            below = range(self.header + 1, len(self.rows))
            count = sum(1 for row in below if n < len(self.rows[row]) and self.rows[row][n].strip())
            if n not in known and count:
                rows = f"{count:,} row" if count == 1 else f"{count:,} rows"
                message = f"The column {header.strip() or n + 1} is left out ({rows})."
                self._say((self.header, n), message, level="loss")

    def _checks(
        self, row: int, method: int | None, expected: int | None, score: int | None
    ) -> tuple[list[Json], bool]:
        """Return the checks of a row, and whether its expected response is an answer."""
        written = self._text(row, method)
        if not written:
            self._say((row, method or 0), _NO_METHOD, level="guess")
        answer, share = self._text(row, expected), self._share(row, score)
        checks: list[Json] = []
        is_answer = True
        for name in re.split(r"[,;|\n]", written or "GeneralQuality"):
            kind = plain(name)
            if kind == "custom":
                self._say((row, method or 0), _OF_CUSTOM, level="loss", checks=1)
            elif kind not in _METHODS:
                meant = near(name.strip(), _NAMED)
                message = f"This is not a known test method.{meant} Known: {', '.join(_NAMED)}."
                self._say((row, method or 0), message)
            elif not answer and kind not in _WITHOUT_EXPECTED:
                message = _NOTHING_EXPECTED.format(name.strip())
                self._say((row, method or 0), message, level="loss", checks=1)
            else:
                checks += self._of_method(kind, answer, share, (row, expected or 0))
                is_answer = is_answer and kind not in _LISTS
                if share is not None and kind in (*_LISTS, "exact match", "content safety"):
                    self._say((row, score or 0), _NOT_SCORED, level="loss")
        return checks, is_answer

    def _of_method(self, kind: str, answer: str, share: float | None, cell: Loc) -> list[Json]:
        """Return the checks that a method is."""
        needed = _USUAL_SHARE if share is None else share
        match kind:
            case "general quality":
                return [judge_share(GOOD, share)]
            case "content safety":
                return [judge_share(SAFE, None)]
            case "compare meaning":
                return [judge_share(SAME_MEANING, needed)]
            case "exact match":
                return [{"type": "exact_match"}]
            case "text similarity" | "similarity":
                return [{"type": "semantic_similarity", "threshold": needed}]
        texts = [text.strip() for text in _KEYWORDS.split(answer) if text.strip()]
        if kind in ("tool use", "capability use"):
            return [{"type": "tool_called", "value": text} for text in texts]
        if len(texts) > 1:
            self._say(cell, _SPLIT, level="guess")
        return [_contains(text) for text in texts]

    def _share(self, row: int, score: int | None) -> float | None:
        """Return the passing score as a share from 0 to 1; None if none is given."""
        written = self._text(row, score).removesuffix("%").strip()
        if not written:
            return None
        try:
            share = float(written.replace(",", ".")) / 100
        except ValueError:
            share = -1
        if 0 <= share <= 1:
            return share
        self._say((row, score or 0), "A passing score is a number from 0 to 100.")
        return None
