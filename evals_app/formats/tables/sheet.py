"""One sheet while it is read: its header, its cells, and everything that is wrong with it."""

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Literal, Unpack

from evals_app.formats.foreign.words import OUTPUTS, RESULTS, SESSIONS, plain, sounds_like_check
from evals_app.formats.reading.problems import (
    Json,
    Level,
    Loc,
    Problem,
    ProblemDetails,
    keys_text,
    shorten,
)
from evals_app.formats.tables.answers import AnswerChecks, AnswerKind
from evals_app.formats.tables.choices import ChoiceQuestion, option_columns
from evals_app.formats.tables.chosen import (
    IGNORED,
    AnswerGuess,
    ColumnChoices,
    IgnoredColumn,
    UnknownColumn,
)
from evals_app.formats.tables.columns import (
    AMBIGUOUS,
    CHECK_COLUMNS,
    CHOICES,
    COLUMNS,
    FOR_PEOPLE,
    HEADERS,
    LEFT_OUT,
    AnyColumn,
    CheckColumn,
    ComparedColumn,
    SheetColumn,
    ToolsColumn,
    column_of,
    is_for_people,
    is_misspelt,
    is_of_promptfoo,
    near_header,
    nearest_header,
    option_column,
)
from evals_app.formats.tables.table import TITLES, Table
from evals_app.formats.tables.texts import from_cell
from evals_app.formats.tables.wanted import is_number
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.ground.written_data import data_in

# Where a part of a case or a turn was written: its place in that, and the column.
Owner = Literal["case", "turn"]
Note = tuple[tuple[Owner, Loc], int]
Notes = Mapping[tuple[Owner, Loc], int]

_LOOKED_AT = 20  # rows
# What says in a suite column or a column of data what is checked.
_SAY_WHAT = (("expected",), ("assertions",), ("final_assertions",), ("limits",), ())
_CASE = next(column for column in COLUMNS if column.header == "case")
_ONE_SESSION = "Rows with the same value here are the turns of one conversation."
_NAMES_LOST = (
    "The rows are turns of conversations, so they have no names of their own. It is left out."
)
_OF_TOOLS = frozenset({"description", "parameters", "input schema", "schema", "strict"})
_ANSWERED = "Another column has the expected answers, so this is what an agent answered once. It is left out."
_PROMPTFOO = (
    "The cells of this column are checks as promptfoo writes them. Write `tests: file://{}` and the prompt into a "
    "promptfooconfig.yaml next to this file, and import that."
)
_OFFERED = "These are tools that are offered, not tools that must be called. They are left out."

EXAMPLE_TABLE = (
    "The smallest table has a header user (or question), a header expected (or answer), and one "
    "row for each case."
)


@dataclass(slots=True)
class Sheet:
    """A sheet, its header found: the first of the first rows that has a column of messages.

    Without one it is the first row with several texts, apart from numbers.

    Rows and columns are counted from 0. `columns` are those whose header is known; `origins` says
    in which cell each part of the suite was written, but for its cases. These are said by row:
    `turns` are the rows of turns, `begins` which of them begin a case, `notes` the columns of what
    each says. `with_keys` says which cells contain data with keys, `guessed` are the turns
    whose only checks were chosen by the kind of their answer. `chosen` is what a person chose for
    columns; `has_kept_header`: the header is one that they chose for an earlier file.
    """

    table: Table
    name: str
    chosen: ColumnChoices = field(default_factory=ColumnChoices)
    answers: AnswerChecks = field(default_factory=AnswerChecks)
    header: int = 0
    has_kept_header: bool = False
    columns: dict[int, AnyColumn] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)  # columns of which all is said
    asked: dict[int, str] = field(default_factory=dict)  # columns, with what each probably is
    problems: list[Problem] = field(default_factory=list)
    origins: dict[Loc, Loc] = field(default_factory=dict)
    names: int = 0  # the column of the names of cases
    turns: "array[int]" = field(default_factory=lambda: array("I"))
    begins: "array[int]" = field(default_factory=lambda: array("I"))
    notes: list[Notes] = field(default_factory=list)
    with_keys: set[Loc] = field(default_factory=set)
    questions: list[ChoiceQuestion] = field(default_factory=list)
    guessed: list[Json] = field(default_factory=list)
    _remarks: dict[str, list[Loc]] = field(default_factory=dict)
    _known_notes: dict[frozenset[Note], Notes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.origins[()] = (self.name,)
        self.header = self._find_header()
        headers = map(self._meaning, self.rows[self.header] if self.rows else ())
        self.columns = {n: item for n, item in enumerate(headers) if item}
        self._join_sessions()
        if CHOICES not in self.columns.values():
            self.columns |= {
                n: option_column(label) for n, label in option_columns(self._unknown()).items()
            }

    def _join_sessions(self) -> None:
        """Let rows of one session be one case, if rows next to each other are of the same one."""
        for n in [n for n, header in enumerate(self.headers) if plain(header) in SESSIONS]:
            values = [self.text(row, n) for row in self.filled_rows()]
            if self._choice(n) is None and any(
                first and first == second for first, second in pairwise(values)
            ):
                names = self.column("case")
                if names is not None:
                    del self.columns[names]
                    self.left_out.add(names)
                    self.report(self.header, names, _NAMES_LOST, level="loss")
                self.columns[n] = _CASE
                self.report(self.header, n, _ONE_SESSION, level="guess")
                return

    def _find_header(self) -> int:
        filled = [row for row in range(len(self.rows)) if not self.is_blank(row)][:TITLES]
        if self.table.are_records:
            return 0
        if row := self.chosen.given.header_row:
            return min(row, len(self.rows)) - 1 if self.rows else 0
        if (kept := self.chosen.kept_header({row: self.rows[row] for row in filled})) is not None:
            self.has_kept_header = True
            return kept
        known = {row: list(map(self._meaning, self.rows[row])) for row in filled}
        asks = (row for row in filled if any(map(_is_user, known[row])))
        most = max(filled, key=lambda row: sum(map(bool, known[row])), default=0)
        several = (row for row in filled if sum(map(_is_title, self.rows[row])) > 1)
        return next(asks, most if any(known.get(most, ())) else next(several, most))

    def _unknown(self) -> dict[int, str]:
        """Return the headers that no one has chosen a meaning for and that have none."""
        return {
            n: plain(header)
            for n, header in enumerate(self.headers)
            if n not in self.columns and self._choice(n) is None
        }

    def _choice(self, n: int) -> str | None:
        """Return what a person chose for a column; of records only that a key is ignored."""
        header = self.headers[n]
        if not self.table.are_records:
            return self.chosen.of(header)
        return IGNORED if self._ignored_key(header) else None

    def _ignored_key(self, header: str) -> str:
        key = header.removeprefix(FOR_PEOPLE)
        return key if key != header and self.chosen.of(key) == IGNORED else ""

    def _meaning(self, header: str) -> AnyColumn | None:
        choice = None if self.table.are_records else self.chosen.of(header)
        return column_of(header if choice is None else choice)

    @property
    def rows(self) -> list[list[str]]:
        items: list[list[str]] = self.table.data[self.name]
        return items

    @property
    def headers(self) -> list[str]:
        return [header.strip() for header in self.rows[self.header]] if self.rows else []

    @property
    def has_messages(self) -> bool:
        return any(map(_is_user, self.columns.values()))

    def column(self, header: str) -> int | None:
        return next((n for n, column in self.columns.items() if column.header == header), None)

    def check_columns(self) -> list[tuple[int, CheckColumn | ComparedColumn | ToolsColumn]]:
        """Return the columns of checks, in the order of the checks of a turn."""
        order = {column.header: n for n, column in enumerate(CHECK_COLUMNS)}
        columns = [
            (n, item) for n, item in self.columns.items() if not isinstance(item, SheetColumn)
        ]
        return sorted(columns, key=lambda pair: (order[pair[1].header], pair[0]))

    def filled_rows(self) -> list[int]:
        """Return the rows below the header that say something."""
        return [row for row in range(self.header + 1, len(self.rows)) if not self.is_blank(row)]

    def is_blank(self, row: int) -> bool:
        return not any(map(str.strip, self.rows[row]))

    def text(self, row: int, column: int) -> str | None:
        """Return what a cell says; None if it is empty."""
        cells = self.rows[row]
        return from_cell(cells[column]) if column < len(cells) else None

    def value(self, row: int, column: int, read: Callable[[str], Any]) -> Any:
        """Read a cell; None if it is empty, or says nothing that could be meant: that is reported."""
        text = self.text(row, column)
        if fault := self.table.faults.get((self.name, row, column)):
            self.report(row, column, fault)
            return None
        return None if text is None else self.read(row, column, text, read)

    def read(self, row: int, column: int, text: Any, read: Callable[[Any], Any]) -> Any:
        """Read what is in a cell; None if it says nothing that could be meant: that is reported."""
        try:
            value = read(text)
        except ValueError as error:
            self.report(row, column, str(error))
            return None
        if any(isinstance(item, dict) for item in (value if isinstance(value, list) else [value])):
            self.with_keys.add((self.name, row, column))
        return value

    def place_text(self, row: int, column: int) -> str:
        return self.table.place_text((self.name, row, column))

    def report(self, row: int, column: int, message: str, *, level: Level = "error") -> None:
        self.problems.append(self.table.problem((self.name, row, column), message, level=level))

    def remark(self, row: int, column: int, message: str) -> None:
        """Note what is worth saying once, however many cells it is true of."""
        self._remarks.setdefault(message, []).append((self.name, row, column))

    def guess(self, row: int, column: int, message: str, kind: AnswerKind, rows: int) -> None:
        """Report how answers of a kind are compared, in the first cell that has one."""
        at = self.table.problem((self.name, row, column), message)
        place = (at.path, at.line, at.column, at.keys, at.value, at.message)
        self.problems.append(
            AnswerGuess(*place, "guess", kind=kind, name=self.answers.name(kind), rows=rows)
        )

    def report_remarks(self) -> None:
        """Report each remark in the first cell that it is about."""
        for message, cells in self._remarks.items():
            more = f" This applies to {len(cells)} cells." if len(cells) > 1 else ""
            problem = self.table.problem(cells[0], f"{message}{more}", level="warning")
            self.problems.append(problem)
        self._remarks.clear()

    def complain(self, message: str) -> None:
        """Report what is wrong with the sheet as a whole."""
        self.problems.append(self.table.problem((self.name,), message))

    def note_turn(self, row: int, notes: Notes, *, begins: bool) -> None:
        """Remember in which columns the parts of the next turn, and of its case, were written."""
        if begins:
            self.begins.append(len(self.turns))
        self.turns.append(row)
        # Most rows say the same things: one note serves them all.
        self.notes.append(self._known_notes.setdefault(frozenset(notes.items()), notes))

    def _origin(self, loc: Loc) -> tuple[Loc, Loc]:
        """Return the cell nearest to a part of the suite, and the path inside that cell."""
        match loc:
            case ("cases", int(c), "turns", int(t), *_) if c < len(self.begins):
                return self._nearest_note("turn", self.begins[c] + t, loc[4:])
            case ("cases", int(c), *_) if c < len(self.begins):
                return self._nearest_note("case", self.begins[c], loc[2:])
        length = next(n for n in range(len(loc), -1, -1) if loc[:n] in self.origins)
        return self.origins[loc[:length]], loc[length:]

    def _nearest_note(self, owner: Owner, turn: int, loc: Loc) -> tuple[Loc, Loc]:
        notes = self.notes[turn]
        length = next(n for n in range(len(loc), -1, -1) if (owner, loc[:n]) in notes)
        return (self.name, self.turns[turn], notes[owner, loc[:length]]), loc[length:]

    def place(self, loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem:
        """Make a Problem in the cell that is nearest to a part of the suite."""
        origin, below = self._origin(loc)
        if below and origin in self.with_keys:
            message = f"{keys_text(below)}: {message}"
        return self.table.problem(origin, message, **about)

    def check_headers(self) -> None:
        """Report columns that appear twice, are unknown, may mean two things, or have no header.

        Of two for the same the first is kept.
        """
        self._ask_about_ambiguous()
        first: dict[str, int] = {}
        for n in range(max(map(len, self.rows), default=0)):
            column = self.columns.get(n)
            header = self.headers[n] if n < len(self.headers) else ""
            if column is None and header and n in self.left_out:
                continue
            if isinstance(column, SheetColumn):
                known = first.setdefault(column.header, n)
                if known != n:
                    self._report_twice(n, known, column)
            elif column is None and header and self._choice(n) == IGNORED:
                self._report_ignored(n, self._ignored_key(header) or header)
            elif column is None and header and not is_for_people(header):
                self._report_unknown(n, header)
            elif not header:
                self._check_headless(n)

    def _ask_about_ambiguous(self) -> None:
        """Ask about columns whose headers mean two things, unless others say which it is."""
        says_what = any(
            not isinstance(column, SheetColumn) or column.path[:1] in _SAY_WHAT
            for n, column in self.columns.items()
            if plain(self.headers[n]) not in AMBIGUOUS
        )
        has_results = any(plain(header) in RESULTS for header in self.headers)
        for n in list(self.columns):
            header, word = self.headers[n], plain(self.headers[n])
            if self._choice(n) is not None:
                continue
            if word in OUTPUTS and self._expects_beside(n):
                self.report(self.header, n, _ANSWERED, level="loss")
                del self.columns[n]
                self.left_out.add(n)
            elif word in OUTPUTS and has_results:
                message = (
                    f"{header!r} may be what an agent answered in an earlier run, because this table "
                    "has results, too."
                )
                self._ask(n, message, "expected", "")
            elif word in AMBIGUOUS and self._lists_tools(n):
                self.report(self.header, n, _OFFERED, level="loss")
                del self.columns[n]
                self.left_out.add(n)
            elif word in AMBIGUOUS and (word == "tools" or not says_what):
                first, second = AMBIGUOUS[word]
                self._ask(n, f"{header!r} may mean two things.", first, second)

    def _expects_beside(self, n: int) -> bool:
        """Whether a column beside this one has the expected answers, and not by such a name."""
        return any(
            column.header == "expected" and m != n and plain(self.headers[m]) not in OUTPUTS
            for m, column in self.columns.items()
        )

    def _lists_tools(self, n: int) -> bool:
        """Whether a column describes tools with their parameters: what is offered, not expected."""
        texts = (self.text(row, n) for row in range(self.header + 1, len(self.rows)))
        data = data_in(next(filter(None, texts), ""))
        items = data if isinstance(data, list) else []
        return any(isinstance(item, dict) and _describes_tool(item) for item in items)

    def _ask(self, n: int, message: str, *meanings: str) -> None:
        """Ask what a column is; what it is taken for meanwhile changes nothing."""
        header = self.headers[n]
        ways = [f"--map-column {header}={meaning}" for meaning in meanings if meaning]
        ways += [] if all(meanings) else [f"--ignore-column {header}"]
        about = f"{message} Say which: {' or '.join(ways)}."
        self.problems.append(self._unknown_column(n, about, nearest=meanings[0]))

    def _report_twice(self, n: int, known: int, column: SheetColumn) -> None:
        """Report a column that means what an earlier one means; that one is kept."""
        del self.columns[n]
        means = f"This means {column.header}, as {self.place_text(self.header, known)} does."
        if self.table.are_records and column.owner == "case":
            self.report(self.header, n, f"{means} It is left out.", level="loss")
        else:
            hint = f"Begin the header with {FOR_PEOPLE} if it is for people only."
            self.asked[n] = ""
            self.report(self.header, n, f"{means} {hint}")

    def _report_ignored(self, n: int, header: str) -> None:
        message = f"The column {header!r} is ignored, as you chose."
        at = self.table.problem((self.name, self.header, n), message)
        place = (at.path, at.line, at.column, at.keys, at.value, at.message)
        filled = self._count_filled(n)
        self.problems.append(IgnoredColumn(*place, "loss", header=header, rows=filled))

    def _report_unknown(self, n: int, header: str) -> None:
        if is_of_promptfoo(header):
            message = _PROMPTFOO.format(PurePosixPath(self.table.path).name)
            self.report(self.header, n, message)
            return
        is_left_out = plain(header) in LEFT_OUT
        if is_left_out or (self.table.are_records and not is_misspelt(header)):
            count = self._count_filled(n)
            checks = count if sounds_like_check(header) else 0
            rows = f"{count:,} row{'' if count == 1 else 's'}"
            message = f"There is no column for {header!r} here. It is left out ({rows})."
            if checks:
                message += " It may say what is expected."
            problem = self.table.problem((self.name, self.header, n), message, level="loss")
            self.problems.append(replace(problem, checks=checks))
            return
        hint = near_header(header) or f" Known: {', '.join(HEADERS)}."
        message = (
            f"Unknown column {header!r}.{hint} Begin the header with {FOR_PEOPLE} if the column is "
            "for people only."
        )
        self.problems.append(self._unknown_column(n, message, nearest=nearest_header(header)))

    def _unknown_column(self, n: int, message: str, *, nearest: str = "") -> UnknownColumn:
        at = self.table.problem((self.name, self.header, n), message)
        place = (at.path, at.line, at.column, at.keys, at.value, at.message)
        header = self.headers[n]
        self.asked[n] = nearest
        return UnknownColumn(*place, header=header, nearest=nearest, sample=self._sample(n, header))

    def ask_for_messages(self) -> None:
        """Ask which column has the questions, if a table has none that is known to."""
        headers = [header for header in self.headers if header and not is_for_people(header)]
        count = len(self.filled_rows())
        rows = f"{count:,} row{'' if count == 1 else 's'}"
        message = (
            f"There {'is' if count == 1 else 'are'} {rows} here with the columns "
            f"{cut_middle(', '.join(headers))}: which one is the question? Say it with "
            "--map-column NAME=question."
        )
        misspelt = [n for n, header in enumerate(self.headers) if nearest_header(header) == "user"]
        hint = near_header(self.headers[misspelt[0]]) if misspelt else ""
        n = misspelt[0] if misspelt else self._likely_question()
        self.problems.append(self._unknown_column(n, message + hint, nearest="user"))
        self.left_out.add(n)
        self.check_headers()

    def _likely_question(self) -> int:
        """Return the column that probably asks something: with most question marks, then letters."""

        def weight(n: int) -> tuple[int, int]:
            texts = [self.text(row, n) or "" for row in self.filled_rows()[:_LOOKED_AT]]
            texts = [text for text in texts if data_in(text) is None]
            return sum("?" in text for text in texts), sum(map(len, texts))

        free = [n for n in range(len(self.headers)) if n not in self.columns and self.headers[n]]
        return max(free, key=weight, default=0)

    def _count_filled(self, n: int) -> int:
        """Count the rows that say something in a column."""
        rows = range(self.header + 1, len(self.rows))
        return sum(self.text(row, n) is not None for row in rows)

    def _sample(self, n: int, header: str) -> str:
        texts = (self.text(row, n) for row in range(self.header + 1, len(self.rows)))
        return shorten(next(filter(None, texts), ""), (header,))

    def _check_headless(self, n: int) -> None:
        for row in range(self.header + 1, len(self.rows)):
            if self.text(row, n) is not None:
                message = "This column has no header, so the meaning of this cell is unknown."
                self.report(row, n, message)
                return


def _describes_tool(item: dict[str, object]) -> bool:
    """Whether a mapping describes what a tool is and takes, rather than one call of it."""
    function = item.get("function")
    inner = function if isinstance(function, dict) else item
    return any(plain(key) in _OF_TOOLS for key in inner)


def _is_title(cell: str) -> bool:
    """Whether a cell may be a header: a text that is not only a number."""
    return bool(cell.strip()) and not is_number(cell)


def _is_user(column: AnyColumn | None) -> bool:
    return isinstance(column, SheetColumn) and column.path == ("user",)


def sheets_of(table: Table, chosen: ColumnChoices) -> Iterator[Sheet]:
    """Return the sheets of a table that say anything."""
    sheets = (Sheet(table, name, chosen) for name in table.data)
    return (
        sheet
        for sheet in sheets
        if sheet.rows and not all(map(sheet.is_blank, range(len(sheet.rows))))
    )
