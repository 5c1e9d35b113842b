"""A file of sheets, rows and cells; what is in a cell is the text that a person sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Unpack

from evals_app.formats.reading.parsed_file import MAX_BYTES, ParsedFile
from evals_app.formats.reading.problems import Loc, Problem, ProblemDetails

# The name of the one sheet of a CSV file.
NO_NAME = ""
TITLES = 10  # rows that may be above the header
MAX_ROWS = 200_000
MAX_COLUMNS = 1_000
MAX_CELLS = 1_000_000  # of a sheet, blank ones up to the last of each row too
TOO_MANY_CELLS = f"A table has at most {MAX_CELLS:,} cells. Split it."


@dataclass(frozen=True, slots=True)
class TableLimits:
    """How large a table may be."""

    bytes: int = MAX_BYTES
    rows: int = MAX_ROWS
    cells: int = MAX_CELLS


# By name of the sheet; the first row is row 1 of the sheet, whatever is in it.
Sheets = dict[str, list[list[str]]]


@dataclass(frozen=True, slots=True)
class Table(ParsedFile):
    """Sheets as a document: a place in it is `(sheet, row, column)`, both counted from 0.

    `faults` are cells that show no value that could be meant, `merged` those that only repeat what
    is merged over them, `unseen` the names of hidden sheets, `lists` cells that are a list in the file
    rather than the text of one.
    """

    faults: Mapping[Loc, str] = field(default_factory=dict)
    merged: frozenset[Loc] = frozenset()
    unseen: tuple[str, ...] = ()
    lists: frozenset[Loc] = frozenset()

    # Whether rows are records, whose keys are the headers: what a person chose for them is done
    # already, and unknown ones are left out and reported, rather than refused.
    are_records: ClassVar[bool] = False

    def keys_of_columns(self) -> Mapping[int, str]:
        """Return the key that each column was read from; nothing if columns are written as such."""
        return {}

    def place_text(self, loc: Loc) -> str:
        return cell_name(loc)

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        """Return row and column, counted from 1."""
        row, column = (*(int(step) + 1 for step in loc[1:3]), 1, 1)[:2]
        return row, column

    def problem(self, loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem:
        """Make a Problem for a cell; its keys are Sheet1!B3."""
        return ParsedFile.problem(self, loc[:3], message, **about)


def cell_name(loc: Loc) -> str:
    """Name a place as spreadsheet programs do: Sheet1!B3, and B3 where there is one sheet."""
    sheet, *cell = loc or (NO_NAME,)
    if not cell:
        return str(sheet)
    row, column = (int(step) + 1 for step in (*cell, 0)[:2])
    name = f"{column_letter(column)}{row}"
    return f"{sheet}!{name}" if sheet else name


def column_letter(column: int) -> str:
    """Return the name of a column, counted from 1: A, Z, AA."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
