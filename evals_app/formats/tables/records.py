"""Rows of JSON as a table: a data set in JSON Lines, or a list of records."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from evals_app.engine.template import written as with_backslashes
from evals_app.formats.chats import INSTRUCTIONS, is_chat, own_prompt, read_chat
from evals_app.formats.document import Document
from evals_app.formats.foreign import distinct_names
from evals_app.formats.problems import About, Loc, Problem
from evals_app.formats.tables.chosen import IGNORED, Chosen
from evals_app.formats.tables.table import NO_NAME, Table
from evals_app.formats.tables.texts import in_cell
from evals_app.formats.words import (
    EXPECTED,
    MESSAGES,
    NAME,
    USER,
    plain,
    record_in,
    rows_place,
    text_of,
)

Json = dict[str, Any]

_NAME_CHARS = 200
_NO_TEXT = "Expected a text. Keep one under this key, for example as {}."
_NOTHING_ASKED = "No message in this list asks anything."
_NO_ROWS = (
    'There are no rows with questions here. Write rows as {"input": "...", "expected": "..."}, '
    "one per line. The names question, prompt and messages mean the same as input."
)


@dataclass(frozen=True, slots=True)
class Records(Table):
    """A table whose rows are records; a place in it is that of a key in the file."""

    source: Document = field(kw_only=True)
    above: Loc = ()  # where the records are
    origins: Mapping[Loc, Loc] = field(default_factory=dict)

    overlooks = True

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        return self.source.place(self._written(loc), at_key=at_key)

    def problem(self, loc: Loc, message: str, **about: Unpack[About]) -> Problem:
        return self.source.problem(self._written(loc), message, **about)

    def named(self, loc: Loc) -> str:
        written = self._written(loc)
        line, _ = self.source.place(written)
        return f"line {line}, {written[-1]}" if written else "this file"

    def _written(self, loc: Loc) -> Loc:
        """Return the place in the file: of a cell, else of its record, else of the records."""
        if origin := self.origins.get(loc[1:3]):
            return origin
        row = loc[1] if len(loc) > 1 else 0
        return (*self.above, row - 1) if isinstance(row, int) and row > 0 else self.above


def read_records(document: Document, chosen: Chosen) -> tuple[Table | None, list[Problem]]:
    """Make a table of the records of a file; None if it has none, and what is wrong or lost."""
    above = rows_place(document.data)
    if above is None:
        return None, [document.problem((), _NO_ROWS, value="")]
    reader = _Reader(document, above, chosen)
    rows = document.value(above)
    read = [reader.record(n, row) for n, row in enumerate(rows)]
    _name_apart(read)
    headers = list(dict.fromkeys(header for record in read for header in record))
    cells = [
        [record[header][0] if header in record else "" for header in headers] for record in read
    ]
    origins: dict[Loc, Loc] = {}
    for n, record in enumerate(read):
        for k, header in enumerate(headers):
            if header in record:
                origins[n + 1, k] = record[header][1]
                origins.setdefault((0, k), record[header][1])
    if above and isinstance(document.data, dict):
        for key in document.data.keys() - {above[0]}:
            reader.lose((key,), "Only the rows of this file are read. This is left out.")
    data = {NO_NAME: [headers, *cells]}
    table = Records(
        document.path, data, document.marks, source=document, above=above, origins=origins
    )
    return table, reader.problems


# By header: the text of the cell, and where it was written.
_Record = dict[str, tuple[str, Loc]]


@dataclass(slots=True)
class _Reader:
    document: Document
    above: Loc
    chosen: Chosen
    problems: list[Problem] = field(default_factory=list)
    reported: set[str] = field(default_factory=set)

    def record(self, n: int, row: Any) -> _Record:
        """Read a record: what has a meaning of its own here, and everything else as it is."""
        here: Loc = (*self.above, n)
        if (inner := record_in(row)) is not row:
            row, here = inner, (*here, "item")
        if not isinstance(row, dict):
            message = 'A row is written {"input": "...", "expected": "..."}.'
            self.problems.append(self.document.problem(here, message))
            return {}
        record: _Record = {}
        for key, value in row.items():
            loc = (*here, key)
            choice = self.chosen.of(key)
            ignored = [(key, text_of(value))]
            cells = ignored if choice == IGNORED else self._cells(choice or key, value, loc)
            for header, text in cells:
                if header in record and text:
                    other = record[header][1][-1]
                    message = (
                        f"This means {header}, as `{other}` does in this row. Keep one of them."
                    )
                    self.problems.append(self.document.problem(loc, message))
                elif text:
                    record[header] = (in_cell(text), loc)
        return record

    def _cells(self, key: str, value: Any, loc: Loc) -> Iterator[tuple[str, str]]:
        word = plain(key)
        if word in (*USER, *MESSAGES):
            # Braces in data are not variables that someone forgot.
            inner = _inner(value, (*MESSAGES, *USER))
            if is_chat(inner):
                yield from self._chat(inner, loc)
            elif isinstance(inner, str) or not isinstance(inner, dict | list):
                yield "user", with_backslashes(text_of(inner))
            else:
                self._refuse(loc, word)
        elif word in EXPECTED:
            inner = _inner(value, EXPECTED)
            texts = inner if isinstance(inner, list) else [inner]
            if is_chat(inner):
                chat = read_chat(inner)
                yield "expected", (chat.answer or chat.user) if chat else ""
            elif any(isinstance(text, dict | list) for text in texts):
                self._refuse(loc, word)
            elif len(texts) == 1:
                yield "expected", text_of(texts[0])
            elif texts:
                yield "checks", json.dumps(_one_of([text_of(text) for text in texts]))
        else:
            yield key, text_of(value)

    def _chat(self, messages: Sequence[Json], loc: Loc) -> Iterator[tuple[str, str]]:
        chat = read_chat(messages)
        if chat is None:
            self.problems.append(self.document.problem(loc, _NOTHING_ASKED))
            return
        for remark in chat.remarks:
            self.lose(loc, remark)
        yield "user", with_backslashes(chat.user)
        if chat.history:
            yield "history", json.dumps(chat.history_in_case, ensure_ascii=False)
        if chat.answer is not None:
            yield "expected", chat.answer
        if chat.system:
            self.lose(loc, own_prompt(None))
            yield "context params", json.dumps({INSTRUCTIONS: chat.system}, ensure_ascii=False)

    def _refuse(self, loc: Loc, word: str) -> None:
        example = json.dumps({word: "..."})
        self.problems.append(self.document.problem(loc, _NO_TEXT.format(example)))

    def lose(self, loc: Loc, message: str) -> None:
        """Report a loss, in the first place that has it."""
        if message not in self.reported:
            self.reported.add(message)
            self.problems.append(self.document.problem(loc, message, value="", level="loss"))


def _inner(value: Any, words: Sequence[str]) -> Any:
    """Open a mapping that only holds one value, or one under a word that is expected."""
    if not isinstance(value, dict):
        return value
    inner = next((item for key, item in value.items() if plain(key) in words), None)
    return next(iter(value.values())) if len(value) == 1 else value if inner is None else inner


def _one_of(texts: Sequence[str]) -> list[Json]:
    """Look for any of several expected answers."""
    pattern = "|".join(map(re.escape, filter(str.strip, texts)))
    return [{"type": "matches", "value": f"(?:{pattern})"}]


def _name_apart(records: Sequence[_Record]) -> None:
    """Return every record a name of its own: in a table the same name would join them."""
    headers = [header for record in records for header in record if plain(header) in NAME]
    if not headers:
        return
    header = headers[0]
    names = [
        record[header][0][:_NAME_CHARS].strip() if header in record else "" for record in records
    ]
    filled = [name or f"row-{n:04}" for n, name in enumerate(names, 1)]
    for record, name in zip(records, distinct_names(filled), strict=True):
        if record:
            _, loc = record.get(header, next(iter(record.values())))
            record[header] = (name, loc)
