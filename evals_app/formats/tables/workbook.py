"""XLSX: sheets of cells, read as a person sees them."""

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from openpyxl import Workbook, load_workbook
from openpyxl.reader import strings
from openpyxl.utils.cell import range_boundaries
from openpyxl.worksheet import _reader

from evals_app.formats.reading.parsed_file import MAX_BYTES, Node
from evals_app.formats.reading.problems import FormatError, Loc, Problem, shorten
from evals_app.formats.tables.shown import shown_text
from evals_app.formats.tables.table import (
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_ROWS,
    TOO_MANY_CELLS,
    Sheets,
    Table,
)
from evals_app.formats.tables.texts import from_xlsx

_MAX_UNPACKED = 60_000_000  # bytes of all parts together
_MAX_MARKS = 3_000_000  # of XML: each costs time, however short it is
_MAX_MERGED = 500_000  # cells
_LAST_ROW = 1_048_576
_CHUNK = 1_000_000
_MAX_ROWS = MAX_ROWS + MAX_ROWS // 4  # blank ones too: reading each takes its time
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})"')
# In UTF-16, too.
_DTD = re.compile(rb"<\0?!\0?D\0?O\0?C\0?T\0?Y\0?P\0?E")
_READ = (".xml", ".rels")  # ends of parts that are read; a picture in SVG, for example, is not
_HAS_DTD = (
    "The part {} of this workbook has a DTD, which spreadsheet programs do not write. Open it in one and "
    "save it again as XLSX."
)
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s>/]")
_ERROR = "This cell shows the error {}. Correct its formula, or write the value."
_BROKEN = (
    "This workbook cannot be read: it is empty, damaged, or not a workbook. Open it in a "
    "spreadsheet program and save it as XLSX."
)
_OLE = b"\xd0\xcf\x11\xe0"  # begins old workbooks, and those that are encrypted
_OLD = (
    "This workbook has a password, or is in the old format (.xls) under a new name. Open it in "
    "Excel, remove the password, and save it as “Excel Workbook (.xlsx)”."
)
_NO_VALUE = (
    "This formula has no value because it was never calculated. Open the file in a spreadsheet "
    "program and save it."
)


# The XML reader of defusedxml is written in Python and takes several times as long as that in C. What it
# refuses is refused before: parts with a DTD, where entities are declared.
for _module in (_reader, strings):
    setattr(_module, "iterparse", ET.iterparse)  # noqa: B010 - not exported


class _RefusedError(Exception):
    """A file that is not read; the message says why, and what to do."""


def read_xlsx(path: str, content: bytes) -> Table:
    """Read a workbook; formulas give the values that were calculated last.

    Raises:
        FormatError: it is not a workbook, or too large.
    """
    try:
        if len(content) > MAX_BYTES:
            message = "The file is larger than 10 MB. Split it into several workbooks."
            raise _RefusedError(message)  # noqa: TRY301 - said where all others are
        parts = dict(_parts(content))
        with warnings.catch_warnings():
            # It warns of what it leaves out: colours, charts, validations.
            warnings.simplefilter("ignore")
            return _table(path, _archive_of(parts), parts)
    except _RefusedError as error:
        raise FormatError([Problem(path, 0, 0, "", "", str(error))]) from None
    except Exception as error:
        # Archives and XML break in more ways than their readers name.
        message = _OLD if content.startswith(_OLE) else _BROKEN
        raise FormatError([Problem(path, 0, 0, "", "", message)]) from error


def _parts(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Unpack an archive, as far as it says nothing that would take too long to read."""
    size = marks = 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            chunks = []
            with archive.open(info) as part:
                # What an archive says of the size of its parts may be a lie.
                while chunk := part.read(_CHUNK):
                    size, marks = size + len(chunk), marks + chunk.count(b"<")
                    if size > _MAX_UNPACKED or marks > _MAX_MARKS:
                        raise _RefusedError(
                            f"Unpacked, the workbook has more than {_MAX_UNPACKED:,} bytes or "
                            f"{_MAX_MARKS:,} XML tags. Split it."
                        )
                    chunks.append(chunk)
            xml = b"".join(chunks)
            if sum(1 for _ in _ROW.finditer(xml)) > _MAX_ROWS:
                raise _RefusedError(
                    f"A sheet has more than {_MAX_ROWS:,} rows, even if most look blank. Delete "
                    "the blank rows below the table, or copy the table into a new workbook."
                )
            if not _DTD.search(xml):
                yield info.filename, xml
            elif info.filename.lower().endswith(_READ):
                raise _RefusedError(_HAS_DTD.format(shorten(info.filename)))


def _archive_of(parts: Mapping[str, bytes]) -> bytes:
    """Return an archive of parts, so that nothing else is read than what was looked at."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return packed.getvalue()


def _table(path: str, content: bytes, parts: Mapping[str, bytes]) -> Table:
    book = _load(content, data_only=True)
    calculated = None
    sheets: Sheets = {}
    faults: dict[Loc, str] = {}
    merged: set[Loc] = set()
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        name = sheet.title
        sheets[name], wrong = _rows(sheet)
        faults |= {(name, *place): fault for place, fault in wrong.items()}
        # Sheets that are streamed do not report merged cells.
        xml = parts[sheet._worksheet_path]  # type: ignore[attr-defined]  # noqa: SLF001
        merged |= {(name, *place) for place in _fill(sheets[name], xml)}
        if _FORMULA.search(xml):
            calculated = calculated or _load(content, data_only=False)
            faults |= {(name, *place): _NO_VALUE for place in _empty(sheet, calculated[name])}
    unseen = tuple(
        worksheet.title for worksheet in book.worksheets if worksheet.title not in sheets
    )
    return Table(path, sheets, Node(1, 1), (), faults, frozenset(merged), unseen)


def _load(content: bytes, *, data_only: bool) -> Workbook:
    return load_workbook(io.BytesIO(content), read_only=True, data_only=data_only, keep_links=False)


def _cells(sheet: Any) -> Iterator[Sequence[Any]]:
    # What a sheet says of its size may be a lie.
    sheet.reset_dimensions()
    for n, row in enumerate(sheet.iter_rows(), 1):
        if len(row) > MAX_COLUMNS:
            raise _RefusedError(
                f"Row {n} of the sheet {sheet.title} has cells after column {MAX_COLUMNS}. "
                "Delete the columns to the right of the table."
            )
        if n > _LAST_ROW:
            raise _RefusedError(
                f"The sheet {sheet.title} has more rows than any spreadsheet program writes."
            )
        yield row


def _rows(sheet: Any) -> tuple[list[list[str]], dict[tuple[int, int], str]]:
    """Read what a person sees, without blank rows at the end; and the errors of formulas."""
    rows: list[list[str]] = []
    faults: dict[tuple[int, int], str] = {}
    count = 0
    for r, cells in enumerate(_cells(sheet)):
        row = [_text(cell) for cell in cells]
        if not any(row):
            continue
        if r >= MAX_ROWS:
            raise _RefusedError(
                f"The sheet {sheet.title} has more than {MAX_ROWS:,} rows. Split it."
            )
        while not row[-1]:
            row.pop()
        count += len(row)
        if count > MAX_CELLS:
            raise _RefusedError(TOO_MANY_CELLS)
        rows += [[] for _ in range(len(rows), r)]
        rows.append(row)
        faults |= {
            (r, n): _ERROR.format(cell.value)
            for n, cell in enumerate(cells)
            if cell.data_type == "e"
        }
    return rows, faults


def _text(cell: Any) -> str:
    if isinstance(cell.value, str):
        return from_xlsx(cell.value)
    return shown_text(cell.value, cell.number_format) if cell.value is not None else ""


def _fill(rows: list[list[str]], xml: bytes) -> Iterator[tuple[int, int]]:
    """Repeat values of merged cells in each row that has content; report where."""
    filled = {r for r, row in enumerate(rows) if any(row)}
    budget = _MAX_MERGED
    for match in _MERGED.finditer(xml):
        bounds = range_boundaries(match[1].decode())
        column, first, _, last = ((bound or 1) - 1 for bound in bounds)
        budget -= min(last, len(rows)) - first
        if budget < 0:
            raise _RefusedError(f"More than {_MAX_MERGED:,} cells are merged. Split the table.")
        text = rows[first][column] if first < len(rows) and column < len(rows[first]) else ""
        for r in range(first + 1, min(last + 1, len(rows))):
            if text and r in filled:
                rows[r] += [""] * (column + 1 - len(rows[r]))
                rows[r][column] = text
                yield r, column


def _empty(shown: object, written: object) -> Iterator[tuple[int, int]]:
    """Find formulas that were never calculated."""
    for r, pair in enumerate(zip(_cells(shown), _cells(written), strict=True)):
        for n, (value, formula) in enumerate(zip(*pair, strict=True)):
            # A formula may give an empty text: then the cell is one of text.
            if formula.data_type == "f" and value.value is None and value.data_type == "n":
                yield r, n
