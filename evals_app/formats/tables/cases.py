"""Make cases of the rows of a sheet: one row a turn, the rows of a case together."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from evals_app.engine.basics.folding import fold_text
from evals_app.formats.foreign.shapes import distinct_names, first_words
from evals_app.formats.reading.problems import Json, Loc
from evals_app.formats.tables.answers import (
    NOTHING,
    AnswerChecks,
    alternatives,
    bare_answer,
    is_loose,
    labels_in,
)
from evals_app.formats.tables.choices import (
    BOTH_WAYS,
    COUNTED,
    ONE_ANSWER,
    SENT,
    UNCLEAR,
    ChoiceQuestion,
    Options,
    counted_from,
    with_options,
)
from evals_app.formats.tables.columns import (
    COMPARING,
    SAME_MEANING,
    CheckColumn,
    ComparedColumn,
    SheetColumn,
    ToolsColumn,
)
from evals_app.formats.tables.sheet import Owner, Sheet
from evals_app.formats.tables.values import NAME
from evals_app.formats.tables.wanted import (
    USUAL,
    Wanted,
    is_number,
    is_short,
    looks_like_data,
    one_of,
    read_wanted,
)
from fixtures_app.ground.quoting import in_quotes
from fixtures_app.ground.written_data import data_in

_NOTHING = (
    "This means that there is nothing here, so no check is made of it. To look for the word itself, "
    'write a list: ["..."].'
)
_COMMAS = "Each of the texts between the commas is looked for by itself."
_EMPTY = "This list is empty, so no check is made of it."
_READ_AS_LIST = (
    "This text is a list, so each text in it is read by itself. To look for it as it is written, "
    "brackets and all, write the check in the column checks."
)
_NO_LIST = (
    "This begins like a list, but is not one in JSON, so it is looked for as it is written. Write "
    'a list as ["...", "..."], or several texts in one cell, each on its own line.'
)
_SAID_OTHERWISE = (
    "A right reply may say this in other words, and then it fails. If any one of several texts is "
    'enough, write a list: ["...", "..."]. Otherwise compare by same meaning.'
)
_ANY_ONE = "A reply passes if it has any one of these expected answers."
_SHORT = (
    "With contains this is also found inside longer words and numbers. Choose whole words or any "
    "number, or leave the check blank."
)
_LIST = (
    "With contains only a reply with the same brackets and quotation marks has this. Leave the check "
    "blank if any one of its texts is enough."
)
_COMPARED_OTHERWISE = (
    "Only one expected answer can be compared in this way. Keep one, or leave out how it is compared: "
    "then any one of them is enough."
)


def read_cases(sheet: Sheet, *, compares: bool) -> list[Json]:
    """Read the cases of a sheet; what is wrong is reported there.

    `compares`: an expected text is compared in the usual way unless its row says how.
    """
    cases: list[Json] = []
    begun: dict[str, int] = {}
    column = _name_column(sheet)
    sheet.names = column or 0
    sheet.answers = _answer_checks_of(sheet)
    first = 0
    for row in sheet.filled_rows():
        name = None if column is None else sheet.value(row, column, NAME.read)
        if column is None or not cases or name not in (None, cases[-1].get("name")):
            first = row
            if name in begun:
                where = sheet.place_text(begun[name], column or 0)
                message = f"This case begins in {where}. Keep the rows of a case together."
                sheet.report(row, column or 0, message)
            elif name is None and column is not None:
                sheet.report(row, column, "Write the name of a case in its first row.")
            cases.append({"turns": []})
        if name is not None:
            begun.setdefault(name, row)
        _add_row(sheet, row, cases, first=first, compares=compares)
    if column is None:
        _name_cases(cases)
    _settle_questions(sheet)
    sheet.report_remarks()
    for kind, places in sheet.answers.met.items():
        sheet.guess(*places[0], sheet.answers.sentence(kind), kind, len(places))
    return cases


def take_common_check(sheet: Sheet, cases: Sequence[Json]) -> list[Json]:
    """Take the commonest guessed check from all turns that have no other: it is the suite's.

    A judge would also judge turns that expect nothing, so it is the suite's only if there are none.
    """
    turns = [turn for case in cases for turn in case["turns"]]
    alone = [turn for turn in sheet.guessed if turn["assertions"] in ([c] for c in COMPARING)]
    judges = all("expected" in turn or "assertions" in turn for turn in turns)
    counts = Counter(COMPARING.index(turn["assertions"][0]) for turn in alone)
    for n, _ in counts.most_common():
        if judges or COMPARING[n] != SAME_MEANING:
            for turn in alone:
                if turn["assertions"] == [COMPARING[n]]:
                    del turn["assertions"]
            return [dict(COMPARING[n])]
    return []


def _answer_checks_of(sheet: Sheet) -> AnswerChecks:
    n = sheet.column("expected")
    kept = {} if n is None else sheet.chosen.kept_checks(sheet.headers[n])
    ways = {**kept, **sheet.chosen.given.checks}
    return AnswerChecks(ways, labels_in(_answers(sheet)), kept=frozenset(kept))


def _answers(sheet: Sheet) -> list[str]:
    """Return the expected texts of a sheet, but for lists and what means that nothing is expected."""
    n = sheet.column("expected")
    texts = [] if n is None else [sheet.text(row, n) for row in sheet.filled_rows()]
    return [text for text in texts if text and data_in(text) is None]


def _name_cases(cases: Sequence[Json]) -> None:
    """Name cases that have no names by the first words of their questions."""
    asked = [" ".join(str(case["turns"][0].get("user", "")).split()) for case in cases]
    names = distinct_names([first_words(text) or "?" for text in asked])
    for case, name in zip(cases, names, strict=True):
        case["name"] = name


def _name_column(sheet: Sheet) -> int | None:
    """Find the column of names; None if there are not names, so that each row is a case."""
    column = sheet.column("case")
    rows = sheet.filled_rows()
    return column if column is not None and any(sheet.text(row, column) for row in rows) else None


def _add_row(sheet: Sheet, row: int, cases: list[Json], *, first: int, compares: bool) -> None:
    turn: Json = {}
    notes: dict[tuple[Owner, Loc], int] = {
        ("case", ()): sheet.names,
        ("turn", ()): sheet.column("user") or 0,
    }
    for n, column in sheet.columns.items():
        if not isinstance(column, SheetColumn) or column.owner == "suite":
            continue
        if column.owner == "case" and row != first:
            if column.path != ("name",):
                _check_repeated(sheet, row, n, first)
            continue
        value = sheet.value(row, n, column.kind.read)
        if value is not None:
            owner = cases[-1] if column.owner == "case" else turn
            notes[column.owner, column.path] = n
            if not _put(owner, column.path, value):
                sheet.report(row, n, "Another column sets this too. Write it once.")
    options: Options = turn.pop("choices", {})
    _add_checks(sheet, row, turn, notes, options, compares=compares)
    _check_message(sheet, row, turn)
    if options:
        turn["user"] = with_options(turn["user"], options)
    sheet.note_turn(row, notes, begins=row == first)
    cases[-1]["turns"].append(turn)


def _put(owner: Json, path: tuple[str, ...], value: Any) -> bool:
    """Put a value in its place, parameters next to others; return whether the place was free."""
    for key in path[:-1]:
        owner = owner.setdefault(key, {})
        if not isinstance(owner, dict):
            return False
    known = owner.get(path[-1], {})
    if not isinstance(known, dict) or (known and not isinstance(value, dict)):
        return False
    owner[path[-1]] = {**known, **value} if isinstance(value, dict) else value
    return not (known and known.keys() & value.keys())


def _check_repeated(sheet: Sheet, row: int, n: int, first: int) -> None:
    if sheet.text(row, n) not in (None, sheet.text(first, n)):
        message = f"This applies to the whole case. Write it in its first row, {sheet.place_text(first, n)}."
        sheet.report(row, n, message)


def _check_message(sheet: Sheet, row: int, turn: Json) -> None:
    column = sheet.column("user") or 0
    if "user" not in turn:
        message = (
            "This row has no message. A row is one turn. Write several checks of a turn in one "
            "cell, each on its own line."
        )
        sheet.report(row, column, message)
        turn["user"] = "?"  # it has been reported
    elif (sheet.name, row, column) in sheet.table.merged:
        message = (
            "This message is merged over several rows, so it would be sent several times. Write "
            "it in one row, and several checks in one cell, each on its own line."
        )
        sheet.report(row, column, message)


def _add_checks(
    sheet: Sheet,
    row: int,
    turn: Json,
    notes: dict[tuple[Owner, Loc], int],
    options: Options,
    *,
    compares: bool,
) -> None:
    """Collect the checks of a turn: those of the columns in their order, then those in data."""
    data = turn.get("assertions", [])
    if not isinstance(data, list):
        return  # it is wrong, and will be reported
    parts = [
        (n, item, part) for n, item in sheet.check_columns() for part in _parts(sheet, row, n, item)
    ]
    says_how = "assertions" in turn or any(isinstance(item, ComparedColumn) for _, item, _ in parts)
    compares = compares and (not says_how or bool(turn.get("inherit")))
    n = notes.get(("turn", ("expected",)), 0)
    if options and compares and isinstance(turn.get("expected"), str):
        answer = _choice_checks(sheet, row, n, turn, options)
    else:
        answer = _answer_checks(sheet, row, n, turn, compares=compares)
    if not ("assertions" in turn or parts or answer):
        return  # the turn has the suite's checks
    if not ("assertions" in turn or parts):
        sheet.guessed.append(turn)
    checks: list[tuple[Json, int]] = [
        (check, n)
        for n, column, part in parts
        for check in sheet.read(row, n, part, column.read) or []
    ]
    _remark_on_contains(sheet, row, n, turn, [check for check, _ in checks])
    if answer:
        turn.pop("inherit", None)  # the suite only compares expected texts, and this does
    if not turn.get("inherit"):
        checks = [(check, n) for check in answer] + checks
    checks += [(check, notes["turn", ("assertions",)]) for check in data]
    turn["assertions"] = [check for check, _ in checks]
    for k, (_, n) in enumerate(checks):
        notes["turn", ("assertions", k)] = n


def _remark_on_contains(sheet: Sheet, row: int, n: int, turn: Json, checks: Sequence[Json]) -> None:
    """Warn of an expected text for which `contains` is a poor choice."""
    expected = turn.get("expected")
    if isinstance(expected, str) and USUAL in checks:
        if data_in(expected) is not None:
            sheet.remark(row, n, _LIST)
        elif is_number(expected) or is_short(expected):
            sheet.remark(row, n, _SHORT)


def _parts(
    sheet: Sheet, row: int, n: int, column: CheckColumn | ComparedColumn | ToolsColumn
) -> list[Wanted]:
    """Return what a cell of checks says; each part is read by itself."""
    text = sheet.text(row, n) or ""
    if text.strip().casefold() in NOTHING and not isinstance(column, ComparedColumn):
        sheet.remark(row, n, _NOTHING)
        return []
    parts: list[Wanted] | None = sheet.value(row, n, column.parts)
    if parts is None or isinstance(column, ComparedColumn):
        return parts or []
    if isinstance(column, ToolsColumn):
        return parts
    _remark_on_lists(sheet, row, n, text, is_empty=not parts)
    if (
        isinstance(column, CheckColumn)
        and column.has_commas
        and len(parts) > len(text.splitlines())
    ):
        sheet.remark(row, n, _COMMAS)
    is_odd = not column.is_pattern and column.header != "criteria" and data_in(text) is None
    if is_odd and any(looks_like_data(part) for part in parts if isinstance(part, str)):
        sheet.remark(row, n, _NO_LIST)
    return parts


def _remark_on_lists(sheet: Sheet, row: int, n: int, text: str, *, is_empty: bool) -> None:
    """Report what happens to an empty list, and to a text that is taken for a list."""
    if is_empty:
        sheet.remark(row, n, _EMPTY)
    elif data_in(text) is not None and (sheet.name, row, n) not in sheet.table.lists:
        sheet.remark(row, n, _READ_AS_LIST)


def _answer_checks(sheet: Sheet, row: int, n: int, turn: Json, *, compares: bool) -> list[Json]:
    """Return the checks that compare the expected text, if nothing says how.

    Of a list any one text is enough, and the turn then expects no text.
    """
    expected = turn.get("expected")
    if not isinstance(expected, str):
        return []
    if not compares:
        if (sheet.name, row, n) in sheet.table.lists:
            sheet.report(row, n, _COMPARED_OTHERWISE)
        return []
    seen = expected.strip().casefold()
    if seen in NOTHING and seen not in sheet.answers.labels:
        sheet.remark(row, n, _NOTHING)
        del turn["expected"]
        return []
    if data_in(expected) is None:
        return _compare(sheet, row, n, turn)
    wanted: list[Wanted] | None = sheet.read(row, n, expected, read_wanted)
    del turn["expected"]
    if wanted is None:
        return []
    _remark_on_lists(sheet, row, n, expected, is_empty=not wanted)
    texts = [text for item in wanted for text in ([item] if isinstance(item, str) else item)]
    if len(texts) == 1:
        turn["expected"] = texts[0]
        return _compare(sheet, row, n, turn)
    if not texts:
        return []
    sheet.remark(row, n, _ANY_ONE)
    return [one_of(texts)]


def _compare(sheet: Sheet, row: int, n: int, turn: Json) -> list[Json]:
    """Return the checks of one expected text; a turn expects no text that only describes a good reply."""
    labels = sheet.answers.labels
    turn["expected"], said = bare_answer(turn["expected"], labels)
    if said:
        sheet.remark(row, n, said)
    texts = alternatives(turn["expected"])
    if (
        len(texts) > 1
        and not sheet.answers.way("short")
        and fold_text(turn["expected"]) not in labels
    ):
        del turn["expected"]
        sheet.remark(row, n, _ANY_ONE)
        return [one_of(texts)]
    if is_loose(turn["expected"]) and not sheet.answers.way("short"):
        sheet.remark(row, n, _SAID_OTHERWISE)
    checks = sheet.answers.checks_for(turn["expected"], (row, n))
    if sheet.answers.drops_text(checks):
        del turn["expected"]
    return checks


def _choice_checks(sheet: Sheet, row: int, n: int, turn: Json, options: Options) -> list[Json]:
    """Return the check of the right option; it is written when all answers of the sheet are read."""
    wanted: list[Wanted] = sheet.read(row, n, turn["expected"], read_wanted) or []
    if len(wanted) != 1 or not isinstance(wanted[0], str):
        sheet.report(row, n, ONE_ANSWER)
        return []
    turn["expected"] = wanted[0]
    question = ChoiceQuestion(row, n, turn, options)
    sheet.questions.append(question)
    return [question.check]


def _settle_questions(sheet: Sheet) -> None:
    """Find the right option of each question: what numbers count from depends on all of them."""
    counts = counted_from(sheet.questions)
    for question in sheet.questions:
        place = (question.row, question.column)
        if question.number is not None and counts:
            sheet.remark(*place, COUNTED.format(counts[0]))
        if question.number is not None and len(counts) > 1:
            sheet.report(*place, BOTH_WAYS)
        elif label := question.label(counts[0] if counts else None):
            question.settle(label)
            sheet.remark(*place, SENT)
        else:
            sheet.report(
                *place, UNCLEAR.format(in_quotes(question.answer), ", ".join(question.options))
            )
