"""A file of sheets, rows and cells; what stands in a cell is the text that a person sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from openpyxl.utils import get_column_letter

from evals_app.formats.document import Document
from evals_app.formats.problems import Level, Loc, Problem, shown

# The name of the one sheet of a CSV file.
NO_NAME = ""
TITLES = 10  # rows that may stand above the header
MAX_ROWS = 200_000
MAX_COLUMNS = 1_000
MAX_CELLS = 1_000_000  # of a sheet, blank ones up to the last of each row too
TOO_MANY_CELLS = f"A table has at most {MAX_CELLS:,} cells; split it."


# By name of the sheet; the first row is row 1 of the sheet, whatever stands in it.
Sheets = dict[str, list[list[str]]]


@dataclass(frozen=True, slots=True)
class Table(Document):
    """Sheets as a document: a place in it is `(sheet, row, column)`, both counted from 0.

    `faults` are cells that show no value that could be meant, `merged` those that only repeat what
    is merged over them, `unseen` the names of hidden sheets.
    """

    faults: Mapping[Loc, str] = field(default_factory=dict)
    merged: frozenset[Loc] = frozenset()
    unseen: tuple[str, ...] = ()

    # Whether columns that nobody knows are left out and reported, rather than refused.
    overlooks: ClassVar[bool] = False

    def named(self, loc: Loc) -> str:
        """Name a place for people."""
        return cell_name(loc)

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        """Give row and column, counted from 1."""
        row, column = (*(int(step) + 1 for step in loc[1:3]), 1, 1)[:2]
        return row, column

    def problem(
        self,
        loc: Loc,
        message: str,
        *,
        value: str | None = None,
        at_key: bool = False,
        level: Level = "error",
    ) -> Problem:
        """Make a Problem for a cell; its keys are Sheet1!B3."""
        loc = loc[:3]
        row, column = self.place(loc)
        found = shown(self.value(loc), loc) if value is None else value
        return Problem(self.path, row, column, cell_name(loc), found, message, level)


def cell_name(loc: Loc) -> str:
    """Name a place as spreadsheet programs do: Sheet1!B3, and B3 where there is one sheet."""
    sheet, *cell = loc or (NO_NAME,)
    if not cell:
        return str(sheet)
    row, column = (int(step) + 1 for step in (*cell, 0)[:2])
    name = f"{get_column_letter(column)}{row}"
    return f"{sheet}!{name}" if sheet else name
