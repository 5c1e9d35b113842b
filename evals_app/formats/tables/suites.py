"""What a table says of a suite itself: in cells next to its cases, or on a sheet about suites."""

from collections.abc import Mapping, Sequence

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.foreign.words import plain
from evals_app.formats.reading.problems import Json, Loc
from evals_app.formats.tables.columns import SheetColumn, is_for_people
from evals_app.formats.tables.sheet import Sheet
from evals_app.formats.tables.values import DATA, NAME, TAGS, TEXT, CellKind
from fixtures_app.ground.words import near

SHEET = "sheet"  # the column that names the sheet with the cases
SUITE_KINDS: dict[str, CellKind] = {
    **{key: DATA for key in SuiteSpec.model_fields if key != "cases"},
    **dict.fromkeys(("suite", "slug", "agent"), NAME),
    **dict.fromkeys(("description", "judge_prompt", "judge_context", "rubric"), TEXT),
    **dict.fromkeys(("tags", "fixtures"), TAGS),
}
_NAMES = {"suite", "suites"}


def is_about_suites(sheet: Sheet) -> bool:
    """Whether a sheet is about suites and contains no cases."""
    return plain(sheet.name) in _NAMES and not sheet.has_messages


def read_settings(sheet: Sheet) -> Json:
    """Read what a sheet of cases says of its suite, in the first cell of each such column."""
    settings: Json = {}
    for n, column in sheet.columns.items():
        if not isinstance(column, SheetColumn) or column.owner != "suite":
            continue
        rows = [row for row in sheet.filled_rows() if sheet.text(row, n) is not None]
        for row in rows[1:]:
            if sheet.text(row, n) != sheet.text(rows[0], n):
                message = f"{sheet.place_text(rows[0], n)} has another value. A table describes one suite."
                sheet.report(row, n, message)
        value = sheet.value(rows[0], n, column.kind.read) if rows else None
        if value is not None and not column.path and not isinstance(value, dict):
            sheet.report(rows[0], n, "Write keys of a suite here, for example trials: 3.")
        elif value is not None:
            values = {column.path[0]: value} if column.path else value
            for key, item in values.items():
                _say(sheet, settings, key, item, (sheet.name, rows[0], n))
            if "cases" in values:
                sheet.report(rows[0], n, "The rows are the cases. Remove the key `cases`.")
    return settings


def read_about(about: Sheet, cases: Sequence[Sheet], settings: Mapping[str, Json]) -> None:
    """Add what a sheet about suites says, a row a suite, to what the sheets of cases say."""
    keys = [_key(about, n, header) for n, header in enumerate(about.headers)]
    seen: set[str] = set()
    for row in about.filled_rows():
        written = {
            key: (about.value(row, n, kind.read), (about.name, row, n))
            for n, key in enumerate(keys)
            if key and (kind := SUITE_KINDS.get(key, TEXT))
        }
        name, place = written.pop(SHEET, (None, (about.name, row, 0)))
        sheet = _sheet_called(name, cases)
        if sheet is None:
            hint = near(name or "", [case.name for case in cases])
            message = f"This must name the sheet with the cases of the suite.{hint}"
            about.problems.append(about.table.problem(place, message))
        elif sheet.name in seen:
            message = f"An earlier row is about the sheet {sheet.name} already."
            about.problems.append(about.table.problem(place, message))
        else:
            seen.add(sheet.name)
            for key, (value, origin) in written.items():
                if value is not None:
                    _say(sheet, settings[sheet.name], key, value, origin)


def _key(about: Sheet, n: int, header: str) -> str | None:
    keys = {plain(key): key for key in (SHEET, *SUITE_KINDS)}
    key = keys.get(plain(header))
    if key is None and header and not is_for_people(header):
        known = ", ".join(keys.values())
        message = f"Unknown key {header!r}.{near(plain(header), keys)} Known: {known}."
        about.report(about.header, n, message)
    return key


def _sheet_called(name: str | None, sheets: Sequence[Sheet]) -> Sheet | None:
    if name is None:
        return sheets[0] if len(sheets) == 1 else None
    wanted = name.strip().casefold()
    return next((sheet for sheet in sheets if sheet.name.casefold() == wanted), None)


def _say(sheet: Sheet, settings: Json, key: str, value: object, origin: Loc) -> None:
    if key in settings:
        where = sheet.table.place_text(sheet.origins[key,])
        sheet.problems.append(sheet.table.problem(origin, f"{where} sets this too. Write it once."))
        return
    settings[key] = value
    sheet.origins[key,] = origin
