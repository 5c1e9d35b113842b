"""Rows of JSON as a table: a data set in JSON Lines, or a list of records."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from evals_app.engine.basics.template import PARAMS
from evals_app.engine.basics.template import escape_braces as with_backslashes
from evals_app.formats.foreign.chats import (
    INSTRUCTIONS,
    Chat,
    is_chat,
    last_answer,
    own_prompt,
    read_chat,
    read_turns,
)
from evals_app.formats.foreign.shapes import distinct_names, first_words
from evals_app.formats.foreign.words import (
    CONVERSATIONS,
    EXPECTED,
    MESSAGES,
    NAME,
    OUTPUTS,
    RESULTS,
    USER,
    flat_rows,
    plain,
    record_in,
    record_places,
    rows_in,
    rows_place,
    text_of,
    wrapper_of,
)
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Json, Level, Loc, Problem, ProblemDetails, keys_text
from evals_app.formats.tables.chosen import IGNORED, ColumnChoices
from evals_app.formats.tables.columns import (
    CHOICES,
    FOR_PEOPLE,
    CheckColumn,
    SheetColumn,
    column_of,
    ways,
)
from evals_app.formats.tables.sheet import Sheet
from evals_app.formats.tables.table import NO_NAME, Table
from evals_app.formats.tables.texts import in_cell
from evals_app.formats.tables.values import write_scalar
from evals_app.formats.tables.wanted import with_keys
from fixtures_app.ground.quoting import join_list
from fixtures_app.ground.written_data import data_in

_NAME_CHARS = 200
_NO_TEXT = "Expected a text. Keep one under this key, for example as {}."
_NO_FLAG = "Expected a text or a list of texts. Put true or false in quotes if you mean the word."
_PARAMETER = "`{}` of the message is a parameter of the case. The agent gets it where its prompt has {variable}."
# Under these a mapping has the text that it is about.
_TEXTS = ("text", "content", "value")
# What an answer may have with it that says nothing of the reply: where it is in its passage.
_ABOUT_ANSWERS = frozenset({"answer start", "answer id", "id", "start", "end", "start char"})
# What a message may have with it that is no parameter.
_OF_CASES = ("history", "files", "channel", CHOICES.header, *CHOICES.others)
# Keys that may say how the text next to them is compared, and values that say only what it is.
_HOW = frozenset(
    {"type", "kind", "operator", "op", "match", "matcher", "mode", "condition", "relation"}
)
_INVERTS = frozenset({"not", "negate", "negated", "negative", "inverse", "inverted", "invert"})
_ONLY_TYPES = frozenset({"text", "string", "str", "plain", "markdown", "output text", "input text"})
_NEGATION = re.compile(r"\b(?:no|not|never|without|excludes?|excluding|absent|forbidden)\b|!")
_FILES = ("files", "file")
_SANDBOX = "Files by their names are for a sandbox, which an agent has not here. They are left out."
# Under these a mapping says what the reply must and must not have.
_CHECKS = ("checks", "response checks", "reply checks", "answer checks", "constraints")
_UNKNOWN_WAY = (
    "This may say how {} is compared, and is not known here. Write the check as the key, for "
    'example {{"contains": "..."}} or {{"not_contains": "..."}}.'
)
_EACH_TURN = (
    "Each user message is a turn here, and the agent answers all of them. If earlier messages are only "
    "what was said before: --map-column {}=messages."
)
_LAST_MESSAGE = (
    "The agent answers the last user message; earlier ones are what was said before. If it has to "
    "answer all of them: --map-column {}=turns."
)
_IMPOSSIBLE = "is impossible"
_NO_ANSWER = "The reply says that what is asked cannot be answered from what is given."
_UNANSWERED = f"Where `{{}}` is true, a judge checks: {_NO_ANSWER}"
_PASSAGE = (
    "Judges see `context`, and the agent does not. To make it a parameter of the case, for the prompt of "
    "the agent: --map-column context=param:context."
)
_NOTHING_ASKED = "No message in this list asks anything."
_REPORTED = "?"  # the message of a row whose own is refused
_LISTS = "There are {} lists of records here, under {}. Keep one of them, or save each as a file of its own."
_LOOKED_AT = 20  # rows
_NO_ROWS = (
    'There are no rows with questions here. Write rows as {"input": "...", "expected": "..."}, '
    "one per line. The names question, prompt and messages mean the same as input."
)


@dataclass(frozen=True, slots=True)
class Records(Table):
    """A table whose rows are records; a place in it is that of a key in the file."""

    source: ParsedFile = field(kw_only=True)
    above: Loc = ()  # where the records are
    steps: Sequence[Loc] = ()  # from there to the record of each row
    origins: Mapping[Loc, Loc] = field(default_factory=dict)

    are_records = True

    def keys_of_columns(self) -> Mapping[int, str]:
        return {int(n): self._key(at) for (row, n), at in self.origins.items() if row == 0}

    def _key(self, written: Loc) -> str:
        """Return the key of a record that a place is in."""
        below = written[len(self.above) :]
        depth = next((len(step) for step in self.steps if below[: len(step)] == step), 1)
        is_wrapped = bool(wrapper_of(self.source.value(written[: len(self.above) + depth])))
        below = below[depth + is_wrapped :]
        return str(below[0]) if below else ""

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
        return (
            (*self.above, *self.steps[row - 1]) if isinstance(row, int) and row > 0 else self.above
        )


@dataclass(frozen=True, slots=True)
class CellRecords(ParsedFile):
    """The rows of a sheet as records: what is in a cell is a value of the key that is its header."""

    table: Table = field(kw_only=True)
    sheet: str = field(kw_only=True)
    columns: Mapping[str, int] = field(kw_only=True)
    rows: Sequence[int] = field(kw_only=True)  # where each record is

    def place(self, loc: Loc, *, at_key: bool = False) -> tuple[int, int]:
        return self.table.place(self._cell(loc), at_key=at_key)

    def problem(self, loc: Loc, message: str, **about: Unpack[ProblemDetails]) -> Problem:
        below = keys_text(loc[2:])
        return self.table.problem(
            self._cell(loc), f"{below}: {message}" if below else message, **about
        )

    def place_text(self, loc: Loc) -> str:
        return self.table.place_text(self._cell(loc))

    def _cell(self, loc: Loc) -> Loc:
        row = self.rows[loc[0]] if loc and isinstance(loc[0], int) else 0
        return (self.sheet, row, self.columns.get(str(loc[1]), 0) if len(loc) > 1 else 0)


def cells_with_keys(sheet: Sheet) -> CellRecords | None:
    """Return the rows of a sheet as records if its messages or answers are keys with values.

    So tools export data sets whose inputs have several keys. Cells that show no value are reported
    first, by reading the sheet as it is.
    """
    asked = [sheet.column("user"), sheet.column("expected")]
    rows = sheet.filled_rows()
    if any(loc[0] == sheet.name for loc in sheet.table.faults) or not any(
        isinstance(data_in(sheet.text(row, n) or ""), dict)
        for n in asked
        if n is not None
        for row in rows[:_LOOKED_AT]
    ):
        return None
    headers = {header: n for n, header in enumerate(sheet.headers) if header}
    data = [
        {header: _value_in(text) for header, n in headers.items() if (text := sheet.text(row, n))}
        for row in rows
    ]
    table = sheet.table
    return CellRecords(
        *(table.path, data, table.marks),
        table=table,
        sheet=sheet.name,
        columns=headers,
        rows=rows,
    )


def _value_in(cell: str) -> object:
    data = data_in(cell)
    return cell if data is None else data


def read_records(document: ParsedFile, chosen: ColumnChoices) -> tuple[Table | None, list[Problem]]:
    """Make a table of the records of a file; None if it has none, and what is wrong or lost."""
    asked = [plain(key) for key, meaning in chosen.given.columns.items() if _is_asked(meaning)]
    above = rows_place(document.data, asked)
    if above is None:
        named = [f"`{loc[-1]}`" for loc, _ in record_places(document.data) if loc]
        message = _LISTS.format(len(named), join_list(named)) if len(named) > 1 else _NO_ROWS
        return None, [document.problem((), message, value="")]
    reader = _Reader(document, above, chosen)
    written = document.value(above)
    steps, rows = _placed_rows(written)
    for step, row in zip(steps, rows, strict=True):
        if len(step) > 1 and isinstance(row, dict) and "context" in row:
            reader.say_once((*above, *step), _PASSAGE, "guess")
    conversations = [reader.record(step, row) for step, row in zip(steps, rows, strict=True)]
    _name_apart(conversations)
    read = [record for conversation in conversations for record in conversation]
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
        steps=[
            step
            for step, conversation in zip(steps, conversations, strict=True)
            for _ in conversation
        ],
        origins=origins,
    )
    return table, reader.problems


def _placed_rows(written: object) -> tuple[list[Loc], list[object]]:
    """Return where each row is in what was written, and the rows."""
    rows = rows_in(written)
    if any(row is written for row in rows):
        return [()], rows
    names = list(written) if isinstance(written, dict) and len(written) == len(rows) else []
    flat = flat_rows(rows)
    steps = [(names[int(at[0])], *at[1:]) if names else at for at, _ in flat]
    return steps, [row for _, row in flat]


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

    def record(self, step: Loc, row: object) -> list[_Record]:
        """Read a record: what has a meaning of its own here, and everything else as it is.

        A conversation of several turns is several rows.
        """
        here: Loc = (*self.above, *step)
        here, row = (*here, *filter(None, [wrapper_of(row)])), record_in(row)
        if not isinstance(row, dict):
            message = 'A row is written {"input": "...", "expected": "..."}.'
            self.problems.append(self.document.problem(here, message))
            return [{}]
        record: _Record = {}
        later: list[_Record] = []
        has_results = any(plain(key) in RESULTS for key in row)
        has_answer = not any(plain(key) == _IMPOSSIBLE and row[key] is True for key in row)
        for key, value in row.items():
            loc = (*here, key)
            if value == [] and not has_answer:
                continue
            choice = self.chosen.of(key)
            if choice is None and _denies(key, value) and (answer := _first_key(row, EXPECTED)):
                message = _UNKNOWN_WAY.format(f"`{answer}`")
                self.problems.append(self.document.problem(loc, message))
                continue
            if choice != IGNORED and plain(choice or key) in CONVERSATIONS and is_chat(value):
                first, *later = self._turns(value, loc)
                cells = iter(first.items())
            elif choice == IGNORED:
                # Another key may have this name among the columns.
                cells = iter([(f"{FOR_PEOPLE}{key}", self._cell(value, loc))])
            elif choice is None and has_results and plain(key) in OUTPUTS:
                cells = iter([(key, self._cell(value, loc))])
            else:
                cells = self._cells(choice or key, value, loc)
            for header, cell in cells:
                if header in record and cell.text:
                    other = record[header].loc[-1]
                    message = (
                        f"This means {header}, as `{other}` does in this row. Keep one of them."
                    )
                    self.problems.append(self.document.problem(cell.loc, message))
                elif cell.text:
                    record[header] = replace(cell, text=in_cell(cell.text))
        return [record, *later]

    def _turns(self, messages: Sequence[Json], loc: Loc) -> list[_Record]:
        """Read a conversation: each user message is a turn, and what followed is expected."""
        turns = read_turns(messages)
        if not turns:
            self.problems.append(self.document.problem(loc, _NOTHING_ASKED))
            return [{}]
        if len(turns) > 1:
            self.say_once(loc, _EACH_TURN.format(loc[-1]), "guess")
        return [dict(self._chat(chat, loc)) for chat in turns]

    def _cells(self, key: str, value: object, loc: Loc) -> Iterator[tuple[str, _Cell]]:
        word = plain(key)
        if word == _IMPOSSIBLE and isinstance(value, bool):
            if value:
                self.say_once(loc, _UNANSWERED.format(key), "guess")
                yield "criteria", _Cell(_NO_ANSWER, loc)
            return
        if isinstance(value, dict) and word in _FILES:
            self.lose(loc, _SANDBOX)
            return
        if isinstance(value, dict) and word in _CHECKS and "type" not in value:
            yield from self._read_expected_mapping(value, loc, word)
            return
        if word in (*USER, *MESSAGES):
            yield from self._read_message(value, loc, word)
        elif word in EXPECTED:
            yield from self._read_expected(value, loc, word)
        elif isinstance(value, bool) and isinstance(column_of(key), CheckColumn):
            self.problems.append(self.document.problem(loc, _NO_FLAG))
        else:
            yield key, self._cell(value, loc)

    def _read_message(self, value: object, loc: Loc, word: str) -> Iterator[tuple[str, _Cell]]:
        """Read a message: a text, a chat, or a mapping that has one of them."""
        if is_chat(value if isinstance(value, list) else [value]):
            messages = value if isinstance(value, list) else [value]
            if chat := read_chat(messages):
                if any(item["role"] == "user" for item in chat.history):
                    self.say_once(loc, _LAST_MESSAGE.format(loc[-1]), "guess")
                yield from self._chat(chat, loc)
            else:
                self.problems.append(self.document.problem(loc, _NOTHING_ASKED))
        elif isinstance(value, dict):
            yield from self._input(value, loc, word)
        elif isinstance(value, list):
            self._refuse(loc, word)
            yield "user", _Cell(_REPORTED, loc)
        else:
            # Braces in data are not variables that someone forgot.
            yield "user", _Cell(with_backslashes(self._text(value, loc)), loc)

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
                yield key, self._cell(item, here)
            elif key != said and item is not None:
                self.warn(here, _PARAMETER.format(key, variable=f"{{{{{PARAMS}{key}}}}}"))
                text = write_scalar(item) if isinstance(item, str) else self._text(item, here)
                yield f"param:{key}", _Cell(text, here)

    def _read_expected(self, value: object, loc: Loc, word: str) -> Iterator[tuple[str, _Cell]]:
        """Read an expected answer: a text, several, a chat, or a mapping that has one of them."""
        if is_chat(value if isinstance(value, list) else [value]):
            answer, calls = last_answer(value if isinstance(value, list) else [value])
            chat = read_chat(value) if isinstance(value, list) else None
            yield "expected", _Cell(answer or (chat.user if chat else ""), loc)
            if calls:
                yield "tool calls", self._cell(calls, loc)
        elif isinstance(value, dict):
            yield from self._read_expected_mapping(value, loc, word)
        elif isinstance(value, list) and any(isinstance(text, dict | list) for text in value):
            if texts := _texts_in(value):
                yield from self._read_expected(texts, loc, word)
            else:
                self._refuse(loc, word)
        elif isinstance(value, list) and len(value) != 1:
            texts = [self._text(text, (*loc, n)) for n, text in enumerate(value)]
            yield "expected", self._cell(texts, loc)
        else:
            here = (*loc, 0) if isinstance(value, list) else loc
            text = self._text(value[0] if isinstance(value, list) else value, here)
            yield "expected", _Cell(text, loc)

    def _read_expected_mapping(
        self, value: Json, loc: Loc, word: str
    ) -> Iterator[tuple[str, _Cell]]:
        """Read what a mapping says of the reply: the answer, and checks; every other key is a loss."""
        answer = _first_key(value, (*EXPECTED, *_TEXTS, *MESSAGES))
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
            elif value[key] is not None and plain(key) not in _ABOUT_ANSWERS:
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

    def _chat(self, chat: Chat, loc: Loc) -> Iterator[tuple[str, _Cell]]:
        for remark in chat.remarks:
            self.lose(loc, remark)
        yield "user", _Cell(with_backslashes(chat.user), loc)
        if chat.history:
            yield "history", self._cell(chat.history_in_case, loc)
        if chat.answer is not None:
            yield "expected", _Cell(chat.answer, loc)
        if chat.calls:
            yield "tool calls", self._cell(chat.calls, loc)
        if chat.system:
            self.lose(loc, own_prompt(None))
            yield "context params", self._cell({INSTRUCTIONS: chat.system}, loc)

    def _cell(self, value: object, loc: Loc) -> _Cell:
        return _Cell(self._text(value, loc), loc, is_list=isinstance(value, list))

    def _text(self, value: object, loc: Loc) -> str:
        """Write a value as text: what YAML takes for a number or a flag stays as it is written."""
        if isinstance(value, str | None) or not self.document.is_yaml:
            return text_of(value)
        if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
            return text_of(
                [
                    item if isinstance(item, bool | None) else self._text(item, (*loc, n))
                    for n, item in enumerate(value)
                ]
            )
        if isinstance(value, list | dict):
            return text_of(value)
        return self.document.raw(loc) or text_of(value)

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
        self.say_once(loc, message, "loss", checks=checks)

    def warn(self, loc: Loc, message: str) -> None:
        """Report a doubt, in the first place that has it."""
        self.say_once(loc, message, "warning")

    def say_once(self, loc: Loc, message: str, level: Level, *, checks: int = 0) -> None:
        if message not in self.reported:
            self.reported[message] = len(self.problems)
            about: ProblemDetails = {"value": "", "level": level, "checks": checks}
            self.problems.append(self.document.problem(loc, message, **about))


def _texts_in(answers: Sequence[Any]) -> list[str]:
    """Return the texts of answers such as `{"text": "Oslo", "answer_start": 0}`; none if one has more."""
    texts: list[str] = []
    for answer in answers:
        key = _first_key(answer, _TEXTS) if isinstance(answer, dict) else None
        others = {plain(other) for other in answer if other != key} if key else set()
        if key is None or not isinstance(answer[key], str) or not others <= _ABOUT_ANSWERS:
            return []
        texts.append(answer[key])
    return list(dict.fromkeys(texts))


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
    return None if column is None or isinstance(column, SheetColumn) else column.header


def _is_asked(meaning: str) -> bool:
    return plain(meaning) in (*USER, *MESSAGES)


def _name_apart(conversations: Sequence[Sequence[_Record]]) -> None:
    """Return every record a name of its own: in a table the same name would join them."""
    named = [header for (record, *_) in conversations for header in record if plain(header) in NAME]
    if not named and all(len(records) == 1 for records in conversations):
        return
    header = named[0] if named else "case"
    names = [_name_of(records[0], header) for records in conversations]
    for records, name in zip(conversations, distinct_names(names), strict=True):
        for record in filter(None, records):
            loc = record.get(header, next(iter(record.values()))).loc
            record[header] = _Cell(name, loc)


def _name_of(record: _Record, header: str) -> str:
    """Return the name of a case: its own, or the first words of its question."""
    for key, limit in ((header, _NAME_CHARS), ("user", None)):
        if key in record and (text := record[key].text.strip()):
            return text[:limit] if limit else first_words(text)
    return "?"
