"""Tables that are not read here, and how to make them ones that are."""

_INSTEAD = {
    ".xls": (
        "This is a workbook in the old format. Open it in Excel and save it as “Excel Workbook "
        "(.xlsx)”."
    ),
    ".xlsm": "This workbook has macros. Open it in Excel and save it as “Excel Workbook (.xlsx)”.",
    ".xlsb": "This is a binary workbook. Open it in Excel and save it as “Excel Workbook (.xlsx)”.",
    ".ods": "This is a workbook of LibreOffice. Open it there and save it as “Excel 2007-365 (.xlsx)”.",
    ".numbers": "This is a workbook of Numbers. Open it there, choose File > Export To > Excel.",
    ".tsv": "This looks like a table. Rename it to end in .csv. Tabs between the cells are fine.",
}


def instead_of(path: str) -> str:
    """Say what to send instead of a table that is not read here; empty: it is not a table."""
    hints = (item for ending, item in _INSTEAD.items() if path.lower().endswith(ending))
    return next(hints, "")
