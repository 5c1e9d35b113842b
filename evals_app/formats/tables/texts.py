"""Write any text to a cell so that it is read back unchanged."""

import re

# A cell that looks empty says nothing, so text that looks empty is put in quotes.
_BLANK = re.compile(r'["\s]*')
# What a spreadsheet program that opens a CSV file would calculate.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
# Characters that XML does not have are written by their number in XLSX.
_NO_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
# Not zero and not half of a surrogate pair, which nothing stores.
_NUMBERED = re.compile("_x(?!0000|[dD][89a-fA-F])([0-9A-Fa-f]{4})_")


def in_cell(text: str) -> str:
    """Return what is in a cell for a text."""
    return f'"{text}"' if _BLANK.fullmatch(text) else text


def from_cell(cell: str) -> str | None:
    """Return the text that a cell means; None: it is empty."""
    if not cell.strip():
        return None
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and _BLANK.fullmatch(cell)
    return cell[1:-1] if is_quoted else cell


def in_csv(cell: str) -> str:
    """Keep spreadsheet programs from taking a text for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def from_csv(cell: str) -> str:
    """Return a cell without the apostrophe that keeps it a text."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def in_xlsx(cell: str) -> str:
    """Write what XML does not have by its number: _x0007_."""
    return _NO_XML.sub(lambda match: f"_x{ord(match[0]):04X}_", cell)


def from_xlsx(cell: str) -> str:
    """Return a cell with what is there by its number."""
    return _NUMBERED.sub(lambda match: chr(int(match[1], 16)), cell) if "_x" in cell else cell
