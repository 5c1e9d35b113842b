"""Make cases of the rows of a sheet: one row a turn, the rows of a case together."""

from typing import Any

from evals_app.formats.problems import Loc
from evals_app.formats.tables.columns import NO_CHECK, USUAL, AnyColumn, Column, ComparedColumn
from evals_app.formats.tables.sheet import Owner, Sheet
from evals_app.formats.tables.values import NAME

Json = dict[str, Any]


def read_cases(sheet: Sheet, *, compares: bool) -> list[Json]:
    """Read the cases of a sheet; what is wrong is reported there.

    `compares`: an expected text is compared in the usual way unless its row says how.
    """
    cases: list[Json] = []
    begun: dict[str, int] = {}
    column = _name_column(sheet)
    sheet.names = column or 0
    first = 0
    for row in sheet.filled_rows():
        name = None if column is None else sheet.value(row, column, NAME.read)
        if column is None or not cases or name not in (None, cases[-1].get("name")):
            first = row
            if name in begun:
                where = sheet.named(begun[name], column or 0)
                message = f"This case begins in {where}. Keep the rows of a case together."
                sheet.report(row, column or 0, message)
            elif name is None and column is not None:
                sheet.report(row, column, "Write the name of a case in its first row.")
            cases.append({"turns": []})
        if name is not None:
            begun.setdefault(name, row)
        _add_row(sheet, row, cases, first=first, compares=compares)
    return cases


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
        if not isinstance(column, Column) or column.owner == "suite":
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
    _add_checks(sheet, row, turn, notes, compares=compares)
    _check_message(sheet, row, turn)
    sheet.note_turn(row, notes, begins=row == first)
    cases[-1]["turns"].append(turn)


def _put(owner: Json, path: tuple[str, ...], value: Any) -> bool:
    """Put a value in its place, parameters next to others; say whether the place was free."""
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
        message = (
            f"This applies to the whole case. Write it in its first row, {sheet.named(first, n)}."
        )
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
    sheet: Sheet, row: int, turn: Json, notes: dict[tuple[Owner, Loc], int], *, compares: bool
) -> None:
    """Collect the checks of a turn: those of the columns in their order, then those in data."""
    data = turn.get("assertions", [])
    lines = [(n, item, line) for n, item in sheet.check_columns() for line in _lines(sheet, row, n)]
    if not isinstance(data, list) or not ("assertions" in turn or lines):
        return  # it is wrong, and will be reported; or the turn has the suite's checks
    checks: list[tuple[Json, int]] = [
        (check, n)
        for n, column, line in lines
        if not _is_none(column, line) and (check := sheet.read(row, n, line, column.read))
    ]
    says_how = "assertions" in turn or any(isinstance(item, ComparedColumn) for _, item, _ in lines)
    if compares and "expected" in turn and not (says_how or turn.get("inherit")):
        checks.insert(0, (dict(USUAL), notes["turn", ("expected",)]))
    checks += [(check, notes["turn", ("assertions",)]) for check in data]
    turn["assertions"] = [check for check, _ in checks]
    for k, (_, n) in enumerate(checks):
        notes["turn", ("assertions", k)] = n


def _lines(sheet: Sheet, row: int, n: int) -> list[str]:
    lines = sheet.value(row, n, str.splitlines) or []
    return [stripped for line in lines if (stripped := line.strip())]


def _is_none(column: AnyColumn, line: str) -> bool:
    return isinstance(column, ComparedColumn) and line.casefold() == NO_CHECK
