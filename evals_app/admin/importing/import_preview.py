"""The preview of an import: its changes, and every problem next to its line."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from django.utils.text import Truncator

from evals_app.admin.importing.import_changes import ObjectPreview, count_by_kind
from evals_app.admin.importing.import_forms import AGENT_FIELD
from evals_app.formats.foreign.shapes import TablesRead
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import (
    FormatError,
    Level,
    NoAgent,
    Problem,
    has_secret,
    is_secret,
)
from evals_app.formats.table_mapping import SheetShown, map_sheet
from evals_app.formats.tables import is_spreadsheet
from evals_app.formats.tables.chosen import AnswerGuess, IgnoredColumn, UnknownColumn
from evals_app.formats.tables.reader import read_table
from evals_app.formats.tables.table import NO_NAME, Table, cell_name
from evals_app.library.changes.import_report import ImportReport, ObjectChange
from evals_app.reports.answers.losses import checks_not_read

MAX_SHOWN = 100  # problems of one level
MAX_SHEETS = 5  # of which columns are shown
MAX_WRITTEN = 50  # objects, new ones and changed ones each
_MAX_LINE = 160
_BEFORE = 60  # characters of a long line that are shown before the place

_CELLS = 7  # of a row, around the place
_CELL_LENGTH = 60

_IN_CELL = re.compile(r"(?:(.*)!)?[A-Z]+\d+")
_BREAK = re.compile("\r?\n")
_YAML_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
# What is marked: a text in quotes, a word, or one character.
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s,\]}]*[^\s,\]}:]|\S")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a file, split where a problem is; `is_hidden`: it may contain a secret."""

    before: str = ""
    marked: str = ""
    after: str = ""
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table: its name and text."""

    name: str
    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True)
class QuotedProblem:
    """A problem with its line, or with the cells of its row, if there are any."""

    problem: Problem
    line: SourceLine | None = None
    cells: tuple[TableCell, ...] = ()

    @property
    def message(self) -> str:
        return self.problem.message_on_page(agent_field=AGENT_FIELD)


@dataclass(frozen=True, slots=True)
class ProblemsByFile:
    """All problems of one level, by file."""

    count: int
    files: list[tuple[str, list[QuotedProblem]]]
    more: int

    def __bool__(self) -> bool:
        return self.count > 0


@dataclass(frozen=True, slots=True)
class Preview:
    """The changes of an import; none if there are errors.

    `sheets` say what columns of tables become, `answers` how expected answers of other files are
    compared, `guesses` everything else that was taken for something, `ignored` are columns that a person left out.
    `unassigned` are the files that need an agent, `objects` names what would be written, `counts`
    how much is new, changed and unchanged. `unknown` are columns that someone has to choose for,
    `lost_checks` is the number of lost checks in words.
    """

    errors: ProblemsByFile
    warnings: ProblemsByFile
    losses: ProblemsByFile
    lost_checks: str
    unassigned: list[str]
    unknown: list[UnknownColumn]
    sheets: list[SheetShown]
    answers: list[AnswerGuess]
    guesses: ProblemsByFile
    ignored: list[IgnoredColumn]
    objects: str
    counts: list[str]
    created: list[ObjectPreview]
    updated: list[ObjectPreview]
    more_created: int
    more_updated: int
    unchanged: list[ObjectChange]
    more_unchanged: int
    edited: list[ObjectChange]
    unchecked: list[ObjectChange]

    @property
    def ignored_names(self) -> str:
        """The columns that were left out, with how many rows they fill."""
        return ", ".join(f"{item.header} ({item.rows:,} filled)" for item in self.ignored)

    @property
    def asks(self) -> bool:
        """Whether only an agent is missing."""
        return bool(self.unassigned) and not (self.errors or self.unknown)


def preview(
    outcome: ImportReport | FormatError,
    contents: Mapping[str, bytes],
    seen: TablesRead | None = None,
) -> Preview:
    """Return the outcome of a dry run, with lines of the uploaded files and what was `seen` of tables."""
    seen = seen or TablesRead()
    quotes = _Quotes(contents, seen.tables)
    changes = [] if isinstance(outcome, FormatError) else outcome.changes
    sheets = [map_sheet(item) for item in seen.sheets[:MAX_SHEETS]]
    shown = {sheet.path for sheet in sheets}
    problems = [
        item
        for item in _problems_of(outcome)
        if not (isinstance(item, AnswerGuess) and item.path in shown)
    ]
    apart = (NoAgent, UnknownColumn, IgnoredColumn)
    others = [item for item in problems if not isinstance(item, apart)]

    def remarks(level: Level) -> ProblemsByFile:
        return quotes.remarks([problem for problem in others if problem.level == level])

    created, updated, unchanged = (
        [change for change in changes if change.what == what]
        for what in ("created", "updated", "unchanged")
    )
    counts = {"New": created, "Changed": updated, "Unchanged": unchanged}
    return Preview(
        errors=remarks("error"),
        warnings=remarks("warning"),
        losses=remarks("loss"),
        lost_checks=_lost_checks(outcome),
        unknown=[problem for problem in problems if isinstance(problem, UnknownColumn)],
        sheets=sheets,
        answers=[problem for problem in problems if isinstance(problem, AnswerGuess)],
        guesses=remarks("guess"),
        ignored=[problem for problem in problems if isinstance(problem, IgnoredColumn)],
        unassigned=_paths_without_agent(problems),
        objects=count_by_kind([*created, *updated]),
        counts=[f"{word}: {count_by_kind(group)}" for word, group in counts.items() if group],
        created=list(map(ObjectPreview, created[:MAX_WRITTEN])),
        updated=list(map(ObjectPreview, updated[:MAX_WRITTEN])),
        more_created=max(0, len(created) - MAX_WRITTEN),
        more_updated=max(0, len(updated) - MAX_WRITTEN),
        unchanged=unchanged[:MAX_SHOWN],
        more_unchanged=max(0, len(unchanged) - MAX_SHOWN),
        edited=[change for change in changes if change.overwrites],
        unchecked=[change for change in changes if change.checks_nothing],
    )


def _problems_of(outcome: ImportReport | FormatError) -> list[Problem]:
    if isinstance(outcome, FormatError):
        return outcome.problems
    return [*outcome.guesses, *outcome.warnings, *outcome.losses]


def _paths_without_agent(problems: Iterable[Problem]) -> list[str]:
    return list(dict.fromkeys(item.path for item in problems if isinstance(item, NoAgent)))


def _lost_checks(outcome: ImportReport | FormatError) -> str:
    """Return how many checks an import loses; empty if none."""
    if isinstance(outcome, FormatError) or not outcome.checks_lost:
        return ""
    return checks_not_read(outcome.checks_lost, outcome.checks_read)


class _Quotes:
    """Finds the lines of problems; each file is read once."""

    def __init__(self, contents: Mapping[str, bytes], tables: Mapping[str, ParsedFile]) -> None:
        self._contents = contents
        self._lines: dict[str, list[str]] = {}
        self._tables: dict[str, Table | None] = {
            path: table for path, table in tables.items() if isinstance(table, Table)
        }

    def remarks(self, problems: list[Problem]) -> ProblemsByFile:
        shown = problems[:MAX_SHOWN]
        files = groupby(map(self._quote, shown), key=lambda quoted: quoted.problem.path)
        return ProblemsByFile(
            len(problems),
            [(path, list(quoted)) for path, quoted in files],
            len(problems) - len(shown),
        )

    def _quote(self, problem: Problem) -> QuotedProblem:
        if is_spreadsheet(problem.path):
            return self._in_table(problem)
        if not problem.line:
            return QuotedProblem(problem)
        lines = self._lines_of(problem.path)
        if problem.line > len(lines):
            return QuotedProblem(problem)
        line = lines[problem.line - 1]
        # Without a known key, the line may belong to any of the keys above.
        above = [] if problem.keys else _above(lines[: problem.line])
        if is_secret((problem.keys,)) or any(map(has_secret, (line, *above))):
            return QuotedProblem(problem, SourceLine(is_hidden=True))
        return QuotedProblem(problem, _cut(line, problem.column))

    def _in_table(self, problem: Problem) -> QuotedProblem:
        """Return the problem with the cells around its cell."""
        cell = _IN_CELL.fullmatch(problem.keys)
        table = self._table(problem.path) if cell else None
        if cell is None or table is None:
            return QuotedProblem(problem)
        rows = table.data.get(cell[1] or "", [])
        row = rows[problem.line - 1] if problem.line <= len(rows) else []
        if any(map(has_secret, row)):
            return QuotedProblem(problem, SourceLine(is_hidden=True))
        first = max(0, min(problem.column - 1 - _CELLS // 2, len(row) - _CELLS))
        last = max(min(len(row), first + _CELLS), problem.column)
        cells = (
            TableCell(
                cell_name((NO_NAME, problem.line - 1, n)),
                Truncator("".join(_visible(row[n]))).chars(_CELL_LENGTH) if n < len(row) else "",
                n + 1 == problem.column,
            )
            for n in range(first, last)
        )
        return QuotedProblem(problem, cells=tuple(cells))

    def _table(self, path: str) -> Table | None:
        """Return a table; None: it could not be read, which is reported."""
        if path not in self._tables:
            self._tables[path] = None
            with suppress(FormatError):  # a part of another file
                self._tables[path] = read_table(path, self._contents.get(path, b""))
        return self._tables[path]

    def _lines_of(self, path: str) -> list[str]:
        if path not in self._lines:
            text = self._contents.get(path, b"").decode("utf-8-sig", "replace")
            is_yaml = path.endswith((".yaml", ".yml"))
            self._lines[path] = _YAML_BREAK.split(text) if is_yaml else _BREAK.split(text)
        return self._lines[path]


def _above(lines: list[str]) -> Iterator[str]:
    """Yield the possible parents of the last line: the line above, and those it is indented under."""
    *others, last = lines
    yield from others[-1:]
    depth = len(last) - len(last.lstrip())
    for line in reversed(others):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < depth:
            yield line
            depth = indent


def _cut(line: str, column: int) -> SourceLine:
    line = "".join(_visible(line))
    start = max(0, column - 1)
    word = _WORD.match(line, start) if column else None
    end = word.end() if word else start
    first = max(0, start - _BEFORE) if len(line) > _MAX_LINE else 0
    last = first + _MAX_LINE
    return SourceLine(
        before=("…" if first else "") + line[first:start],
        marked=line[start : min(end, last)],
        after=line[end:last] + ("…" if last < len(line) else ""),
    )


def _visible(line: Iterable[str]) -> Iterator[str]:
    """Replace characters that would change the text around them."""
    return (char if char.isprintable() or char == "\t" else "\ufffd" for char in line)
