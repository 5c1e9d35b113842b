"""Suites as tables: CSV and XLSX, one row for each turn, read and written.

`separated` and `workbook` make sheets of texts of files, and back; `columns` knows what headers mean,
`values` how a value stands in a cell; `reading` makes suites of sheets, `writing` sheets of suites.
"""

from evals_app.formats.tables.other_tables import instead_of
from evals_app.formats.tables.reading import read
from evals_app.formats.tables.separated import read_csv
from evals_app.formats.tables.table import Table
from evals_app.formats.tables.workbook import read_xlsx, write_workbook
from evals_app.formats.tables.writing import write_csv, write_xlsx

__all__ = [
    "Table",
    "instead_of",
    "read",
    "read_table",
    "write_csv",
    "write_workbook",
    "write_xlsx",
]


def read_table(path: str, content: bytes) -> Table:
    """Read a CSV or XLSX file into its sheets.

    Raises:
        FormatError: it cannot be read.
    """
    return read_xlsx(path, content) if path.lower().endswith(".xlsx") else read_csv(path, content)
