"""Reads conversations out of a file, whatever kind it is.

| kind | recognized by |
|---|---|
| table | `.csv`, `.tsv`, `.xlsx`; text whose lines have tabs, as spreadsheets copy them |
| traces | JSON with `resourceSpans`, or Protobuf |
| records | other JSON, or JSON Lines |
| text | anything else that says who wrote what |
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from evals_app.formats.conversations.messages import MessageReader, in_turns
from evals_app.formats.conversations.pasted import read_spoken, texts_of
from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation
from evals_app.formats.conversations.records import (
    NoConversationError,
    digest_of,
    read_record,
    records_in,
)
from evals_app.formats.conversations.tables import (
    FIRST_ROWS,
    ColumnsError,
    conversations_of,
    header_row,
    table_of,
)
from evals_app.formats.conversations.times import TimeReader
from evals_app.formats.conversations.traces import conversations_in_traces
from evals_app.formats.otlp import OtlpError, read_spans
from evals_app.formats.reading.parsed_file import decode_text
from evals_app.formats.reading.problems import FormatError
from evals_app.formats.tables import is_spreadsheet
from evals_app.formats.tables.reader import read_table
from evals_app.formats.tables.separated import as_utf8, is_pasted_table, read_csv
from evals_app.formats.tables.table import Sheets, TableLimits
from fixtures_app.ground.strict_json import Json, read_strictly

TABLE, TRACES, RECORDS, TEXT = "table", "traces", "records", "text"
MAX_BYTES = 500 * 1024 * 1024
_LIMITS = TableLimits(MAX_BYTES, rows=2_000_000, cells=10_000_000)
_BINARY = (".pb", ".binpb", ".otlp")
# Letters of UTF-8, and words all of which are beyond ASCII, as in Greek or Cyrillic.
_NOT_WESTERN = re.compile(rb"[\xc3-\xf4][\x80-\xbf]|[\xc0-\xff]{4}")
_SPANS = ("resourceSpans", "resource_spans")
_EMPTY = "The file is empty."
_NO_TEXT = (
    "It is not clear who wrote what. Begin each message with who wrote it, as “Customer: ...” and "
    "“Agent: ...”."
)
_MIN_LINES = 2  # of JSON Lines: a single one is JSON
_MAX_DATE_CHARS = 40
_MAX_DATES = 1000  # that are looked at to tell days from months


def read_conversations(
    name: str, content: bytes, *, columns: Mapping[str, str] | None = None
) -> ConversationFile:
    """Read the conversations of a file.

    `columns` says by header what the columns of a table are, as `tables.MEANINGS` names it, and ""
    for those that are facts; None guesses. What cannot be read is in `problems` of the result.
    """
    file = ConversationFile(name, TABLE, (), digest=hashlib.sha256(content).hexdigest())
    try:
        content = _as_utf8(file, content)
        if is_spreadsheet(name):
            _read_table(file, read_table(name, content, _LIMITS).data, columns)
        elif name.lower().endswith(_BINARY):
            _read_traces(file, [content], is_json=False)
        else:
            _read_text(file, decode_text(name, content, max_bytes=MAX_BYTES), columns)
    except FormatError as error:
        file.problems += [str(problem) for problem in error.problems]
    except (ColumnsError, OtlpError, NoConversationError) as error:
        file.problems.append(f"{name}: {error}")
    return file


def _as_utf8(file: ConversationFile, content: bytes) -> bytes:
    """Return a text as UTF-8, also that of Excel in Western Europe; other files as they are."""
    if file.name.lower().endswith((".xlsx", *_BINARY)):
        return content
    content = as_utf8(file.name, content)
    try:
        content.decode()
    except UnicodeDecodeError:
        if _NOT_WESTERN.search(content):
            return content
        try:
            written = content.decode("cp1252")
        except UnicodeDecodeError:
            return content
        file.remark(
            "The file is not UTF-8. Its letters are read as those of Windows in Western Europe: look"
            " at some such as ä or é."
        )
        return written.encode()
    return content


def _read_table(file: ConversationFile, sheets: Sheets, columns: Mapping[str, str] | None) -> None:
    rows: list[list[str]] = next((rows for rows in sheets.values() if any(map(any, rows))), [])
    for other in [
        title for title, rows_of in sheets.items() if rows_of is not rows and any(map(any, rows_of))
    ]:
        file.lose(f"The sheet {other} was left out: conversations are read from the first one.")
    head = header_row(rows, columns or {})
    file.headers = tuple(cell.strip() for cell in rows[head])
    below = (row for row in rows[head + 1 :] if any(cell.strip() for cell in row))
    file.first_rows = tuple(map(tuple, islice(below, FIRST_ROWS)))
    if any(any(row) for row in rows[:head]):
        file.remark(f"The headings are in row {head + 1}. What is above them is left out.")
    table = table_of(rows, columns)
    file.columns = table.meanings
    table.require_messages()
    file.conversations = _Again(file, lambda: conversations_of(table, file))


def _read_text(file: ConversationFile, text: str, columns: Mapping[str, str] | None) -> None:
    if not text.strip():
        raise NoConversationError(_EMPTY)
    is_spoken = bool(read_spoken(next(iter(texts_of(text)), "")))
    if not is_spoken and is_pasted_table(text):
        _read_table(file, read_csv(file.name, text.encode(), _LIMITS).data, columns)
        return
    if text.lstrip()[0] not in "[{" or is_spoken:
        file.kind = TEXT
        file.conversations = _Again(file, lambda: _in_text(file, text))
        return
    file.kind = RECORDS
    try:
        document = read_strictly(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < _MIN_LINES or not lines[0].rstrip().endswith(("}", "]")):
            raise NoConversationError(f"This is not valid JSON: {error}") from None
        if any(f'"{key}"' in lines[0] for key in _SPANS):
            _read_traces(file, [line.encode() for line in lines], is_json=True)
        else:
            file.conversations = _Again(file, lambda: _in_lines(file, text))
        return
    if isinstance(document, dict) and any(key in document for key in _SPANS):
        _read_traces(file, [text.encode()], is_json=True)
    else:
        file.conversations = _Again(file, lambda: _in_document(file, document))


def _read_traces(file: ConversationFile, requests: list[bytes], *, is_json: bool) -> None:
    file.kind = TRACES
    spans = [span for request in requests for span in read_spans(request, is_json=is_json)]
    file.conversations = _Again(file, lambda: conversations_in_traces(spans, file))


def _in_text(file: ConversationFile, text: str) -> Iterator[RecordedConversation]:
    for number, part in enumerate(texts_of(text), 1):
        place = f"{file.name}, conversation {number}"
        reader = MessageReader(file).read(read_spoken(part))
        history, turns = in_turns(reader.said, reports_calls=False)
        if turns:
            yield RecordedConversation(digest_of(turns), turns, history, place=place)
        else:
            file.problems.append(f"{place}: {_NO_TEXT}")


def _in_lines(file: ConversationFile, text: str) -> Iterator[RecordedConversation]:
    times: TimeReader | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        place = f"{file.name}:{number}"
        try:
            value = read_strictly(line)
        except (ValueError, RecursionError) as error:
            file.problems.append(f"{place}: this is not valid JSON: {error}")
            continue
        times = times or TimeReader(_dates(value))
        yield from _record(file, value, place, times)


def _in_document(file: ConversationFile, document: Json) -> Iterator[RecordedConversation]:
    records = records_in(document)
    times = TimeReader(date for record in records[:_MAX_DATES] for date in _dates(record))
    for number, record in enumerate(records, 1):
        yield from _record(file, record, f"{file.name}, conversation {number}", times)


def _dates(record: Json) -> Iterator[str]:
    """Return the short texts of a record, among which its dates are."""
    if isinstance(record, dict):
        yield from (
            value
            for value in record.values()
            if isinstance(value, str) and len(value) < _MAX_DATE_CHARS
        )


def _record(
    file: ConversationFile, value: Json, place: str, times: TimeReader
) -> Iterator[RecordedConversation]:
    try:
        yield read_record(file, value, place, times=times)
    except NoConversationError as error:
        file.problems.append(f"{place}: {error}")


class _Again:
    """The conversations of a file, read again each time that someone goes through them."""

    def __init__(
        self, file: ConversationFile, read: Callable[[], Iterator[RecordedConversation]]
    ) -> None:
        self._file = file
        self._read = read
        self._losses, self._remarks = dict(file.losses), list(file.remarks)  # those of before

    def __iter__(self) -> Iterator[RecordedConversation]:
        self._file.losses = dict(self._losses)
        self._file.problems, self._file.remarks = [], list(self._remarks)
        return self._read()
