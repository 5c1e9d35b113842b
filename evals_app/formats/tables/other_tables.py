"""Tables that are not read here, and how to make them ones that are."""

_INSTEAD = {
    ".xls": "This is a workbook of an old kind. Open it in Excel and save it as “Excel Workbook (.xlsx)”.",
    ".xlsm": "This workbook holds macros. Open it in Excel and save it as “Excel Workbook (.xlsx)”.",
    ".xlsb": "This is a binary workbook. Open it in Excel and save it as “Excel Workbook (.xlsx)”.",
    ".ods": "This is a workbook of LibreOffice. Open it there and save it as “Excel 2007-365 (.xlsx)”.",
    ".numbers": "This is a workbook of Numbers. Open it there, choose File > Export To > Excel.",
    ".tsv": "This looks like a table. Let its name end in .csv; tabs between the cells may stay.",
}


def instead_of(path: str) -> str:
    """Say what to send instead of a table that is not read here; empty: it is no table."""
    found = (each for ending, each in _INSTEAD.items() if path.lower().endswith(ending))
    return next(found, "")
