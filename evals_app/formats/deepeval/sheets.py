"""A sheet as a list of mappings: the headers of goldens are the keys of their JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Loc, Problem
from evals_app.formats.tables.table import Table


@dataclass(frozen=True, slots=True)
class SheetRows(ParsedFile):
    """Rows by their headers; a place in it is `(row, header)`, and people are shown the cell."""

    table: Table | None = None
    sheet: str = ""
    header: int = 0
    headers: tuple[str, ...] = ()

    def _cell(self, loc: Loc) -> Loc:
        if not loc or not isinstance(loc[0], int):
            return (self.sheet,)
        key = loc[1] if len(loc) > 1 else ""
        column = self.headers.index(str(key)) if key in self.headers else 0
        return (self.sheet, self.header + 1 + loc[0], column)

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        return self.table.place(self._cell(loc)) if self.table else (0, 0)

    def place_text(self, loc: Loc) -> str:
        return self.table.place_text(self._cell(loc)) if self.table else ""


def first_row(rows: Sequence[Sequence[str]]) -> int | None:
    """Return where the first row with a text is; None: there is none."""
    return next((n for n, row in enumerate(rows) if any(cell.strip() for cell in row)), None)


def rows_of(table: Table, sheet: str) -> tuple[SheetRows, list[Problem]]:
    """Return the rows of a sheet below its first row with a text, and what is wrong with cells.

    Blank rows stay, without keys.
    """
    rows = table.data[sheet]
    header = first_row(rows) or 0
    headers = tuple(cell.strip() for cell in rows[header]) if rows else ()
    data = [
        {key: cell for key, cell in zip(headers, row, strict=False) if key and cell.strip()}
        for row in rows[header + 1 :]
    ]
    problems = [
        table.problem(loc, message) for loc, message in table.faults.items() if loc[0] == sheet
    ]
    return SheetRows(table.path, data, table.marks, (), table, sheet, header, headers), problems
