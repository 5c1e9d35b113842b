"""Read tables: files into sheets, and each sheet of cases into a suite."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evals_app.formats.foreign.draft import Draft, make_draft
from evals_app.formats.foreign.shapes import ReaderContext, slug_of
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.reading.problems import Json, NoAgent, Problem
from evals_app.formats.tables.cases import read_cases, take_common_check
from evals_app.formats.tables.chosen import ColumnChoices
from evals_app.formats.tables.records import cells_with_keys, read_records
from evals_app.formats.tables.separated import read_csv
from evals_app.formats.tables.sheet import EXAMPLE_TABLE, Sheet, sheets_of
from evals_app.formats.tables.suites import is_about_suites, read_about, read_settings
from evals_app.formats.tables.table import Table, TableLimits

_NOBODY = "nobody"  # means an agent that is not named, so that all other errors are found
_ONE_COLUMN = (
    " There is only one column here. Separate the cells of a CSV file with commas, semicolons, "
    "tabs or bars."
)
_NO_AGENT = (
    "No agent to test is given. Choose one with --agent, or write its slug in a column agent."
)


def read_table(path: str, content: bytes, limits: TableLimits = TableLimits()) -> Table:  # noqa: B008 - frozen
    """Read a CSV or XLSX file into its sheets; limits are those of CSV.

    Raises:
        FormatError: it cannot be read.
    """
    if not path.lower().endswith(".xlsx"):
        return read_csv(path, content, limits)
    from evals_app.formats.tables.workbook import read_xlsx  # noqa: PLC0415 - loads openpyxl

    return read_xlsx(path, content)


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read all tables."""
    chosen = ColumnChoices(around.tables)
    for document in documents:
        table, problems = _table_of(document, chosen)
        if problems:
            yield Draft("suite", "table", document, {}, None, (), tuple(problems))
        if table is not None:
            yield from _suites(table, around, chosen)
    if problems := list(chosen.problems("columns")):
        yield Draft("suite", "table", documents[0], {}, None, (), tuple(problems))


def _table_of(document: ParsedFile, chosen: ColumnChoices) -> tuple[Table | None, list[Problem]]:
    if not isinstance(document, Table):
        return read_records(document, chosen)
    sheets = list(sheets_of(document, chosen))
    records = cells_with_keys(sheets[0]) if len(sheets) == 1 else None
    return read_records(records, chosen) if records else (document, [])


def _suites(table: Table, around: ReaderContext, chosen: ColumnChoices) -> Iterator[Draft]:
    sheets = list(sheets_of(table, chosen))
    about = [item for item in sheets if is_about_suites(item)]
    cases = [item for item in sheets if item.has_messages]
    others = [item for item in sheets if item not in (*about, *cases)]
    hidden = "The sheet {} is hidden and was not read."
    problems = [
        table.problem((), hidden.format(name), value="", level="warning") for name in table.unseen
    ]
    problems += _others(table, others, cases)
    around.seen.sheets += (item for item in sheets if item.has_messages or item.asked)
    for sheet in cases:
        sheet.check_headers()
    settings = {case.name: read_settings(case) for case in cases}
    for sheet in about:
        read_about(sheet, cases, settings)
        problems += sheet.problems
    if problems or not cases:
        yield Draft("suite", "table", table, {}, None, (), tuple(problems))
    for sheet in cases:
        stem = around.file_name(table) or "table"
        name = stem if len(cases) == 1 else sheet.name
        slug = slug_of(stem if len(cases) == 1 else f"{stem} {sheet.name}", instead="table")
        yield _suite(sheet, {"suite": name, "slug": slug}, settings[sheet.name], around)


def _others(table: Table, others: Sequence[Sheet], cases: Sequence[Sheet]) -> Iterator[Problem]:
    """Report sheets without messages: notes next to cases are left out, anything else is wrong."""
    if not (others or cases):
        yield table.problem((), f"This table is empty. {EXAMPLE_TABLE}", value="")
    for sheet in others:
        if cases and not sheet.columns:
            message = f"The sheet {sheet.name} has no known column and was not read."
            yield table.problem((sheet.name,), message, value="", level="warning")
            continue
        is_narrow = max(map(len, sheet.rows)) == 1 and not table.are_records
        if is_narrow or not sheet.filled_rows():
            sheet.complain(f"There is no column of messages. {EXAMPLE_TABLE}{_ONE_COLUMN}")
        else:
            sheet.ask_for_messages()
        yield from sheet.problems


def _suite(sheet: Sheet, named: Json, settings: Json, around: ReaderContext) -> Draft:
    compares = "assertions" not in settings
    cases = read_cases(sheet, compares=compares)
    if not cases:
        sheet.complain("There are no rows below the header, so there are no cases.")
    if compares and (common := take_common_check(sheet, cases)):
        settings = {**settings, "assertions": common}
    agent = settings.get("agent", around.agent)
    data = {**named, **settings, "agent": agent or _NOBODY, "cases": cases}
    draft = make_draft("suite", "table", sheet.table, data, place=sheet.place)
    if reported := {problem.keys for problem in sheet.problems if problem.level == "error"}:
        # Consequences of an error are not reported again.
        draft = draft.without_spec()
        errors = (problem for problem in draft.problems if problem.keys not in reported)
        draft = replace(draft, problems=tuple(errors))
    if agent is None:
        sheet.problems.append(NoAgent(sheet.table.path, 1, 1, sheet.name, "", _NO_AGENT))
        draft = draft.without_agent()
    return replace(draft, problems=(*draft.problems, *sheet.problems))
