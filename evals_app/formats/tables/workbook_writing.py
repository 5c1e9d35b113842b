"""XLSX: sheets of texts and numbers written, with notes and drop-downs."""

import io
import re
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.comments import Comment
from openpyxl.styles import Alignment, Font, NamedStyle
from openpyxl.worksheet.datavalidation import DataValidation

from evals_app.formats.tables.guide import Guide
from evals_app.formats.tables.table import MAX_ROWS, column_letter
from evals_app.formats.tables.texts import in_xlsx

_PROPERTIES = "docProps/core.xml"
_WRITTEN_AT = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")
_AUTHOR = "Evalwell"
_NOTE_SIZE = (100, 240)  # height and width in pixels
_NARROW, _WIDE = 10, 60  # characters of a column
_LAYOUT = Alignment(wrap_text=True, vertical="top")
# The format @ keeps what people type a text, too.
_CELL = NamedStyle("Cell of a table", number_format="@", alignment=_LAYOUT)
_NUMBER = NamedStyle("Number of a table", alignment=_LAYOUT)
_HEADER = NamedStyle("Header of a table", Font(bold=True), number_format="@", alignment=_LAYOUT)


def write_workbook(
    sheets: Iterable[tuple[str, Iterable[Sequence[str | float]]]],
    *,
    guides: Mapping[str, Sequence[Guide | None]] = MappingProxyType({}),
) -> bytes:
    """Write sheets of texts and numbers, by title; equal sheets give equal bytes.

    `guides` are those of the columns of a sheet, by its title.
    The rows of a sheet are read twice, so they may be read from elsewhere each time.
    """
    book = Workbook(write_only=True)
    for style in (_CELL, _HEADER, _NUMBER):
        book.add_named_style(style)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        sheet.freeze_panes = "A2"
        for n, width in enumerate(_widths(rows), 1):
            sheet.column_dimensions[column_letter(n)].width = width
        guided = guides.get(title, ())
        _offer(sheet, guided)
        for n, row in enumerate(rows):
            style = _CELL if n else _HEADER
            cells = [_cell(sheet, value, style.name) for value in row]
            if not n:
                _note(cells, guided)
            sheet.append(cells)
    written = io.BytesIO()
    book.save(written)
    return _timeless(written)


def _offer(sheet: Any, guides: Sequence[Guide | None]) -> None:
    """Offer values in drop-downs; others may be typed."""
    for n, guide in enumerate(guides, 1):
        if guide and guide.values:
            letter = column_letter(n)
            values = '"{}"'.format(",".join(guide.values).replace('"', '""'))
            sheet.data_validations.append(
                DataValidation(
                    *("list", values),
                    sqref=f"{letter}2:{letter}{MAX_ROWS}",
                    showErrorMessage=False,
                    allow_blank=True,
                )
            )


def _note(cells: Sequence[Any], guides: Sequence[Guide | None]) -> None:
    """Put a note on headers."""
    for cell, guide in zip(cells, guides, strict=False):
        if cell is not None and guide:
            cell.comment = Comment(guide.note, _AUTHOR, *_NOTE_SIZE)


def _widths(rows: Iterable[Sequence[str | float]]) -> list[int]:
    """Return each column the room that its longest line takes, within reason."""
    longest: list[int] = []
    for row in rows:
        longest += [0] * (len(row) - len(longest))
        for n, value in enumerate(row):
            longest[n] = max(longest[n], *map(len, str(value).splitlines()), 0)
    return [min(max(length + 2, _NARROW), _WIDE) for length in longest]


def _cell(sheet: Any, value: str | float, style: str) -> object:
    if value == "":
        return None
    if not isinstance(value, str):
        cell = WriteOnlyCell(sheet, value)
        cell.style = _NUMBER.name
        return cell
    cell = WriteOnlyCell(sheet, in_xlsx(value))
    # Whatever it looks like, it is neither a formula nor an error.
    cell.data_type = "s"
    cell.style = style
    return cell


def _timeless(written: io.BytesIO) -> bytes:
    """Leave out when a workbook was written."""
    result = io.BytesIO()
    with (
        zipfile.ZipFile(written) as parts,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in parts.namelist():
            part = zipfile.ZipInfo(name)
            part.compress_type = zipfile.ZIP_DEFLATED
            if name == _PROPERTIES:
                text = _WRITTEN_AT.sub(rb"\g<1>2000-01-01T00:00:00Z", parts.read(name))
                archive.writestr(part, text)
                continue
            # A sheet of many rows is large.
            with parts.open(name) as source, archive.open(part, "w") as target:
                shutil.copyfileobj(source, target)
    return result.getvalue()
