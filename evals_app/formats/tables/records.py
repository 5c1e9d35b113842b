"""Rows of JSON as a table: a data set in JSON Lines, or a list of records."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from evals_app.engine.basics.template import PARAMS
from evals_app.engine.basics.template import escape_braces as with_backslashes
from evals_app.formats.foreign.chats import INSTRUCTIONS, is_chat, own_prompt, read_chat
from evals_app.formats.foreign.shapes import distinct_names
from evals_app.formats.foreign.words import (
    EXPECTED,
    MESSAGES,
    NAME,
    USER,
    plain,
    record_in,
    rows_place,
    text_of,
)
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Level, Loc, Problem, ProblemDetails
from evals_app.formats.tables.chosen import IGNORED, ColumnChoices
from evals_app.formats.tables.columns import CHOICES, CheckColumn, ComparedColumn, column_of, ways
from evals_app.formats.tables.table import NO_NAME, Table
from evals_app.formats.tables.texts import in_cell
from evals_app.formats.tables.values import write_scalar
from evals_app.formats.tables.wanted import with_keys

Json = dict[str, object]

_NAME_CHARS = 200
_NO_TEXT = "Expected a text. Keep one under this key, for example as {}."
_NO_FLAG = "Expected a text or a list of texts. Put true or false in quotes if you mean the word."
_PARAMETER = "`{}` of the message is a parameter of the case. The agent gets it where its prompt has {variable}."
# Under these a mapping has the text that it is about.
_TEXTS = ("text", "content", "value")
# What a message may have with it that is no parameter.
_OF_CASES = ("history", "files", "channel", CHOICES.header, *CHOICES.others)
# Keys next to an expected answer that say what the reply must or must not have.
_SAY = "(?:contain|include|mention|say|have)s?"
_MUST = re.compile(
    rf"(?P<not>(?:must|should|may|does|do) (?:not|never)(?: {_SAY})?|never(?: {_SAY})?|not {_SAY})"
    rf"|(?:must|should)(?: {_SAY})?|includes?|mentions?"
)
# Keys that may say how the text next to them is compared, and values that say only what it is.
_HOW = frozenset(
    {"type", "kind", "operator", "op", "match", "matcher", "mode", "condition", "relation"}
)
_INVERTS = frozenset({"not", "negate", "negated", "negative", "inverse", "inverted", "invert"})
_ONLY_TYPES = frozenset({"text", "string", "str", "plain", "markdown", "output text", "input text"})
_NEGATION = re.compile(r"\b(?:no|not|never|without|excludes?|excluding|absent|forbidden)\b|!")
_UNKNOWN_WAY = (
    "This may say how {} is compared, and is not known here. Write the check as the key, for "
    'example {{"contains": "..."}} or {{"not_contains": "..."}}.'
)
_NOTHING_ASKED = "No message in this list asks anything."
_REPORTED = "?"  # the message of a row whose own is refused
_NO_ROWS = (
    'There are no rows with questions here. Write rows as {"input": "...", "expected": "..."}, '
    "one per line. The names question, prompt and messages mean the same as input."
)


@dataclass(frozen=True, slots=True)
class Records(Table):
    """A table whose rows are records; a place in it is that of a key in the file."""

    source: ParsedFile = field(kw_only=True)
    above: Loc = ()  # where the records are
    origins: Mapping[Loc, Loc] = field(default_factory=dict)

    overlooks = True

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        return self.source.place(self._place_in_file(loc), at_key=at_key)

    def problem(self, loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem:
        return self.source.problem(self._place_in_file(loc), message, **about)

    def place_text(self, loc: Loc) -> str:
        written = self._place_in_file(loc)
        line, _ = self.source.place(written)
        return f"line {line}, {written[-1]}" if written else "this file"

    def _place_in_file(self, loc: Loc) -> Loc:
        """Return the place in the file: of a cell, its record or the records."""
        if origin := self.origins.get(loc[1:3]):
            return origin
        row = loc[1] if len(loc) > 1 else 0
        return (*self.above, row - 1) if isinstance(row, int) and row > 0 else self.above


def read_records(document: ParsedFile, chosen: ColumnChoices) -> tuple[Table | None, list[Problem]]:
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
        [record[header].text if header in record else "" for header in headers] for record in read
    ]
    origins: dict[Loc, Loc] = {}
    lists: set[Loc] = set()
    for n, record in enumerate(read):
        for k, header in enumerate(headers):
            if header in record:
                origins[n + 1, k] = record[header].loc
                origins.setdefault((0, k), record[header].loc)
                if record[header].is_list:
                    lists.add((NO_NAME, n + 1, k))
    if above and isinstance(document.data, dict):
        for key in document.data.keys() - {above[0]}:
            reader.lose((key,), "Only the rows of this file are read. This is left out.")
    data = {NO_NAME: [headers, *cells]}
    table = Records(
        document.path,
        data,
        document.marks,
        lists=frozenset(lists),
        source=document,
        above=above,
        origins=origins,
    )
    return table, reader.problems


@dataclass(frozen=True, slots=True)
class _Cell:
    """What is in a cell, where it was written, and whether it is a list there."""

    text: str
    loc: Loc
    is_list: bool = False


_Record = dict[str, _Cell]  # by header


@dataclass(slots=True)
class _Reader:
    document: ParsedFile
    above: Loc
    chosen: ColumnChoices
    problems: list[Problem] = field(default_factory=list)
    reported: dict[str, int] = field(default_factory=dict)  # where in `problems` a message is

    def record(self, n: int, row: object) -> _Record:
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
            if choice is None and _denies(key, value) and (answer := _first_key(row, EXPECTED)):
                message = _UNKNOWN_WAY.format(f"`{answer}`")
                self.problems.append(self.document.problem(loc, message))
                continue
            ignored = [(key, _cell(value, loc))]
            cells = ignored if choice == IGNORED else self._cells(choice or key, value, loc)
            for header, cell in cells:
                if header in record and cell.text:
                    other = record[header].loc[-1]
                    message = (
                        f"This means {header}, as `{other}` does in this row. Keep one of them."
                    )
                    self.problems.append(self.document.problem(cell.loc, message))
                elif cell.text:
                    record[header] = replace(cell, text=in_cell(cell.text))
        return record

    def _cells(self, key: str, value: object, loc: Loc) -> Iterator[tuple[str, _Cell]]:
        word = plain(key)
        if word in (*USER, *MESSAGES):
            yield from self._read_message(value, loc, word)
        elif word in EXPECTED:
            yield from self._read_expected(value, loc, word)
        elif isinstance(value, bool) and isinstance(column_of(key), CheckColumn):
            self.problems.append(self.document.problem(loc, _NO_FLAG))
        else:
            yield key, _cell(value, loc)

    def _read_message(self, value: Any, loc: Loc, word: str) -> Iterator[tuple[str, _Cell]]:
        """Read a message: a text, a chat, or a mapping that has one of them."""
        if is_chat(value if isinstance(value, list) else [value]):
            yield from self._chat(value if isinstance(value, list) else [value], loc)
        elif isinstance(value, dict):
            yield from self._input(value, loc, word)
        elif isinstance(value, list):
            self._refuse(loc, word)
            yield "user", _Cell(_REPORTED, loc)
        else:
            # Braces in data are not variables that someone forgot.
            yield "user", _Cell(with_backslashes(text_of(value)), loc)

    def _input(self, value: Json, loc: Loc, word: str) -> Iterator[tuple[str, _Cell]]:
        """Read a message of several keys: one of them is said, the others are parameters."""
        said = _first_key(value, (*MESSAGES, *USER, *_TEXTS))
        if said is None:
            self._refuse_keys(loc, value, word)
            yield "user", _Cell(_REPORTED, loc)
            return
        yield from self._read_message(value[said], (*loc, said), word)
        for key, item in value.items():
            here = (*loc, key)
            if plain(key) in _OF_CASES:
                yield key, _cell(item, here)
            elif key != said and item is not None:
                self.warn(here, _PARAMETER.format(key, variable=f"{{{{{PARAMS}{key}}}}}"))
                text = write_scalar(item) if isinstance(item, str) else text_of(item)
                yield f"param:{key}", _Cell(text, here)

    def _read_expected(self, value: Any, loc: Loc, word: str) -> Iterator[tuple[str, _Cell]]:
        """Read an expected answer: a text, several, a chat, or a mapping that has one of them."""
        if is_chat(value):
            chat = read_chat(value)
            yield "expected", _Cell((chat.answer or chat.user) if chat else "", loc)
        elif isinstance(value, dict):
            yield from self._read_expected_mapping(value, loc, word)
        elif isinstance(value, list) and len(value) != 1:
            if any(isinstance(text, dict | list) for text in value):
                self._refuse(loc, word)
            else:
                yield "expected", _cell([text_of(text) for text in value], loc)
        elif isinstance(value, list) and isinstance(value[0], dict | list):
            self._refuse(loc, word)
        else:
            yield "expected", _Cell(text_of(value[0] if isinstance(value, list) else value), loc)

    def _read_expected_mapping(
        self, value: Json, loc: Loc, word: str
    ) -> Iterator[tuple[str, _Cell]]:
        """Read what a mapping says of the reply: the answer, and checks; every other key is a loss."""
        answer = _first_key(value, (*EXPECTED, *_TEXTS))
        if answer is not None and (how := _how_compared(value, answer)):
            yield from self._read_comparison(value, answer, how, loc, word)
            return
        meant = {key: _check_of(key) for key in value if key != answer}
        if answer is None and not any(meant.values()):
            self._refuse_keys(loc, value, word)
            return
        if answer is not None:
            yield from self._read_expected(value[answer], (*loc, answer), word)
        for key, header in meant.items():
            here = (*loc, key)
            if header:
                yield from self._cells(header, value[key], here)
            elif value[key] is not None:
                message = f"`{key}` of an expected answer says nothing about the reply here."
                self.lose(here, message, checks=1)

    def _read_comparison(
        self, value: Json, answer: str, how: str, loc: Loc, word: str
    ) -> Iterator[tuple[str, _Cell]]:
        """Read a mapping with a key that says how its text is compared."""
        header = _named_check(value[how])
        rest = {key: item for key, item in value.items() if key not in {answer, how}}
        others = {key: item for key, item in rest.items() if not _is_way(key, item, answer)}
        if header is None or len(others) < len(rest):
            self.problems.append(
                self.document.problem((*loc, how), _UNKNOWN_WAY.format(f"`{answer}`"))
            )
            return
        if header in ways():
            yield from self._read_expected_mapping(
                {**others, answer: value[answer], "check": header}, loc, word
            )
        else:
            yield from self._cells(header, value[answer], (*loc, answer))
            yield from self._read_expected_mapping(others, loc, word) if others else ()

    def _chat(self, messages: Sequence[Json], loc: Loc) -> Iterator[tuple[str, _Cell]]:
        chat = read_chat(messages)
        if chat is None:
            self.problems.append(self.document.problem(loc, _NOTHING_ASKED))
            return
        for remark in chat.remarks:
            self.lose(loc, remark)
        yield "user", _Cell(with_backslashes(chat.user), loc)
        if chat.history:
            yield "history", _cell(chat.history_in_case, loc)
        if chat.answer is not None:
            yield "expected", _Cell(chat.answer, loc)
        if chat.system:
            self.lose(loc, own_prompt(None))
            yield "context params", _cell({INSTRUCTIONS: chat.system}, loc)

    def _refuse(self, loc: Loc, word: str) -> None:
        example = json.dumps({word: "..."})
        self.problems.append(self.document.problem(loc, _NO_TEXT.format(example)))

    def _refuse_keys(self, loc: Loc, value: Json, word: str) -> None:
        message = f"{with_keys(value)} {_NO_TEXT.format(json.dumps({word: '...'}))}"
        self.problems.append(self.document.problem(loc, message))

    def lose(self, loc: Loc, message: str, *, checks: int = 0) -> None:
        """Report a loss, in the first place that has it, with the lost checks of all places."""
        if message in self.reported and checks:
            at = self.reported[message]
            known = self.problems[at]
            self.problems[at] = replace(known, checks=known.checks + checks)
        self._say_once(loc, message, "loss", checks=checks)

    def warn(self, loc: Loc, message: str) -> None:
        """Report a doubt, in the first place that has it."""
        self._say_once(loc, message, "warning")

    def _say_once(self, loc: Loc, message: str, level: Level, *, checks: int = 0) -> None:
        if message not in self.reported:
            self.reported[message] = len(self.problems)
            about: ProblemDetails = {"value": "", "level": level, "checks": checks}
            self.problems.append(self.document.problem(loc, message, **about))


def _cell(value: object, loc: Loc) -> _Cell:
    return _Cell(text_of(value), loc, is_list=isinstance(value, list))


def _first_key(value: Json, words: Sequence[str]) -> str | None:
    """Return the first key of a mapping that is one of these words and says something."""
    return next(
        (key for key, item in value.items() if plain(key) in words and item is not None), None
    )


def _how_compared(value: Json, answer: str) -> str | None:
    """Return the key of a mapping that says how its text is compared; None: nothing does."""
    return next((key for key, item in value.items() if _is_way(key, item, answer)), None)


def _is_way(key: str, item: object, answer: str) -> bool:
    """Whether a key changes what the text next to it means for a reply.

    Beside an answer, `type` may be about the question, unless it is a check or denies something.
    """
    if plain(key) in _INVERTS:
        return bool(item)
    if plain(key) not in _HOW or not isinstance(item, str) or plain(item) in _ONLY_TYPES:
        return False
    return (
        plain(answer) in _TEXTS
        or _named_check(item) is not None
        or _NEGATION.search(f"{item} {plain(item)}".casefold()) is not None
    )


def _denies(key: str, item: object) -> bool:
    """Whether a key of a row says that its expected text must not be in the reply."""
    if plain(key) in _INVERTS:
        return item is True
    if plain(key) not in _HOW or not isinstance(item, str):
        return False
    return item.strip() in {"!=", "<>"} or "not" in (_check_of(item) or "").split()


def _named_check(name: object) -> str | None:
    """Return the way to compare, or the header of the checks, that a value names; None: none."""
    if not isinstance(name, str):
        return None
    return plain(name) if plain(name) in ways() else _check_of(name)


def _check_of(key: str) -> str | None:
    """Return the header of the checks that a key next to an expected answer means; None if none."""
    column = column_of(key)
    if isinstance(column, CheckColumn | ComparedColumn):
        return column.header
    said = _MUST.fullmatch(plain(key))
    return None if said is None else "not contains" if said["not"] else "contains"


def _name_apart(records: Sequence[_Record]) -> None:
    """Return every record a name of its own: in a table the same name would join them."""
    headers = [header for record in records for header in record if plain(header) in NAME]
    if not headers:
        return
    header = headers[0]
    names = [
        record[header].text[:_NAME_CHARS].strip() if header in record else "" for record in records
    ]
    filled = [name or f"row-{n:04}" for n, name in enumerate(names, 1)]
    for record, name in zip(records, distinct_names(filled), strict=True):
        if record:
            loc = record.get(header, next(iter(record.values()))).loc
            record[header] = _Cell(name, loc)
