"""CSV: rows of cells apart by commas, semicolons or tabs; read and written."""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from evals_app.formats.reading.parsed_file import MAX_BYTES, Node, decode_text
from evals_app.formats.reading.problems import FormatError, Problem, value_text
from evals_app.formats.tables.columns import column_of
from evals_app.formats.tables.table import (
    MAX_COLUMNS,
    NO_NAME,
    TITLES,
    Table,
    TableLimits,
)
from evals_app.formats.tables.texts import from_csv, in_csv

_SEPARATORS = ",;\t|"
# Excel's own first line, which it does not show.
_SEP = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_YAML_KEY = re.compile(r"(?:- )?[\w-]+:\t")
_QUOTED = re.compile(r'^\s|\s$|[",;\t|\r\n]')

# Of one cell. Python's own limit, which applies to the process, is shorter than texts we write.
csv.field_size_limit(MAX_BYTES)


def read_csv(path: str, content: bytes, limits: TableLimits = TableLimits()) -> Table:  # noqa: B008 - frozen
    """Read a CSV file, or one with tabs between its cells.

    Raises:
        FormatError: it is too long, no text, or a quote is wrong.
    """
    text = _text(path, content, limits.bytes)
    separator = None
    if match := _SEP.match(text):
        separator, text = match[1], text[match.end() :]
    rows: list[list[str]] = []
    if path.lower().endswith(".tsv") and "\t" in text:
        separator = separator or "\t"
    reader = _reader(text, separator or _separator(text))
    begin = cells = 0  # where a row begins, in lines; how many cells there were
    try:
        for row in reader:
            begin = reader.line_num
            rows.append([from_csv(cell) for cell in row])
            if len(rows) > limits.rows or len(row) > MAX_COLUMNS:
                message = f"A table has at most {limits.rows:,} rows and {MAX_COLUMNS:,} columns."
                raise FormatError([Problem(path, len(rows), 1, "", "", message)])
            cells += len(row)
            if cells > limits.cells:
                message = f"A table has at most {limits.cells:,} cells. Split it."
                raise FormatError([Problem(path, len(rows), 1, "", "", message)])
    except csv.Error as error:
        message = (
            f"The quotes of this row do not match: {error}. Quotes enclose a whole cell. Inside "
            "it, write a quote twice."
        )
        row = len(rows) + 1
        line = next(islice(_lines(text), begin, None)).rstrip("\r\n")
        raise FormatError([Problem(path, row, 1, f"A{row}", value_text(line), message)]) from None
    return Table(path, {NO_NAME: rows}, Node(1, 1))


def is_pasted_table(text: str) -> bool:
    """Whether a text is rows as spreadsheet programs copy them: at least half of the lines have tabs."""
    lines = [line.strip() for line in islice(filter(str.strip, _lines(text)), TITLES)]
    tabbed = sum("\t" in line and not _YAML_KEY.match(line) for line in lines)
    return tabbed > 0 and tabbed >= len(lines) / 2


def write_csv_rows(rows: Iterable[Sequence[str]]) -> bytes:
    """Write rows as a file."""
    return "".join(csv_lines(rows)).encode()


def csv_lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write rows one by one; the mark at the beginning makes Excel read it as UTF-8."""
    yield "\ufeff"
    for row in rows:
        yield f"{','.join(map(_field, row))}\r\n"


def _field(cell: str) -> str:
    cell = in_csv(cell)
    return '"{}"'.format(cell.replace('"', '""')) if _QUOTED.search(cell) else cell


def as_utf8(path: str, content: bytes) -> bytes:
    """Return the content as UTF-8 if it is UTF-16 with its mark, which Excel calls Unicode text.

    Raises:
        FormatError: it only begins like that.
    """
    if not content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content
    try:
        return content.decode("utf-16").encode()
    except UnicodeError:
        message = "The file begins like UTF-16 but is not. Save it with the encoding UTF-8."
        raise FormatError([Problem(path, 0, 0, "", "", message)]) from None


def _text(path: str, content: bytes, max_bytes: int) -> str:
    content = as_utf8(path, content)
    if len(content) <= max_bytes:
        _check_letters(path, content)
    return decode_text(path, content, max_bytes=max_bytes)


def _check_letters(path: str, content: bytes) -> None:
    """Refuse a file that is not UTF-8, and say how a spreadsheet program writes it."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        written = content.split(b"\n")[line - 1].decode(errors="replace").strip()
        message = (
            "Some letters on this line cannot be read. In Excel, save the file as “CSV UTF-8” or "
            "as a workbook (.xlsx). In other programs choose the encoding UTF-8."
        )
        raise FormatError(
            [Problem(path, line, 1, f"A{line}", value_text(written), message)]
        ) from None


def _lines(text: str) -> Iterable[str]:
    return io.StringIO(text, newline="")


def _reader(text: str, separator: str) -> Any:
    # A space after a separator does not count unless it is in quotes.
    return csv.reader(_lines(text), delimiter=separator, skipinitialspace=True, strict=True)


def _separator(text: str) -> str:
    """Choose the separator that finds most known headers, or most cells in the first row."""

    def score(separator: str) -> tuple[int, int]:
        most = widest = 0
        with suppress(csv.Error):  # reported when the file is read
            for row in islice(_reader(text, separator), TITLES):
                most = max(most, sum(map(bool, map(column_of, row))))
                widest = widest or len(row)
        return most, 0 if most else widest

    return max(_SEPARATORS, key=score)
