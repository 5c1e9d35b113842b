"""Suites as tables: CSV, TSV and XLSX, one row for each turn, read and written.

`separated`, `workbook` and `workbook_writing` turn files into sheets of texts and back; `columns` knows
what headers mean, `chosen` what a person chose for them, `guide` what workbooks show about them,
`values` how a value is written in a cell; `reader` makes suites of sheets, `writing` sheets of suites.
"""

from evals_app.formats.dialect import Dialect

SPREADSHEETS = (".csv", ".tsv", ".xlsx")

DIALECT = Dialect(
    name="table",
    title="Spreadsheet (.xlsx, .csv, .tsv) or data set (.jsonl)",
    page="spreadsheets",
    about=(
        "One row for each question, below a header row that names the columns. A question and its "
        "expected answer are enough. “Check” says how the two are compared: contains, exact match, "
        "number or same meaning. Leave it blank for contains. Consecutive rows with the same “Case” "
        "are one conversation."
    ),
    sample=(
        (
            "refunds.csv",
            """\
Case,Question,Expected answer,Check,Must contain
Opening hours,When are you open?,from 9 to 5,,
Price of a ticket,How much is a ticket?,12,number,
Asks for a refund,I want my money back.,,,refund
""",
        ),
    ),
    names_agent=False,
    package=__name__,
    # In a folder a table may be anything, so its name says that it is a suite.
    files=("*.suite.csv", "*.suite.tsv", "*.suite.xlsx", "*.suite.jsonl"),
)


def is_spreadsheet(path: str) -> bool:
    """Whether a file is a table with cells, by its name."""
    return path.lower().endswith(SPREADSHEETS)
