"""The sample of a table as a workbook, for people who import for the first time."""

from evals_app.formats.tables import DIALECT
from evals_app.formats.tables.separated import read_csv


def sample_workbook() -> bytes:
    """Return the sample of a table as a workbook to fill in."""
    from evals_app.formats.tables.workbook import write_workbook  # noqa: PLC0415 - loads openpyxl

    ((path, text),) = DIALECT.sample
    return write_workbook([("Cases", rows) for rows in read_csv(path, text.encode()).data.values()])
