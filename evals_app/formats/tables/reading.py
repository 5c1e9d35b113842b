"""Make suites of tables: each sheet of cases is one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from evals_app.formats.document import Document
from evals_app.formats.draft import Draft, drafted
from evals_app.formats.foreign import Around, slug_of
from evals_app.formats.problems import NoAgent, Problem
from evals_app.formats.tables.cases import read_cases
from evals_app.formats.tables.columns import USUAL
from evals_app.formats.tables.records import read_records
from evals_app.formats.tables.sheet import SMALLEST, Sheet, sheets_of
from evals_app.formats.tables.suites import is_about_suites, read_about, read_settings
from evals_app.formats.tables.table import Table

Json = dict[str, Any]

_NOBODY = "nobody"  # stands for an agent that is not named, so that all other mistakes are found
_ONE_COLUMN = (
    " Everything stands in one column here: in a CSV file commas, semicolons, tabs or bars are "
    "between the cells."
)
_NO_AGENT = (
    "Nobody says which agent is tested. Name it with --agent, or by its slug in a column agent."
)


def read(documents: Sequence[Document], around: Around) -> Iterator[Draft]:
    """Read all tables."""
    for document in documents:
        table, problems = (document, []) if isinstance(document, Table) else read_records(document)
        if problems:
            yield Draft("suite", "table", document, {}, None, (), tuple(problems))
        if table is not None:
            yield from _suites(table, around)


def _suites(table: Table, around: Around) -> Iterator[Draft]:
    sheets = list(sheets_of(table))
    about = [each for each in sheets if is_about_suites(each)]
    cases = [each for each in sheets if each.has_messages]
    others = [each for each in sheets if each not in (*about, *cases)]
    problems = [*_hidden(table), *_others(table, others, cases)]
    for sheet in cases:
        sheet.check_headers()
    settings = {each.name: read_settings(each) for each in cases}
    for sheet in about:
        read_about(sheet, cases, settings)
        problems += sheet.problems
    if problems or not cases:
        yield Draft("suite", "table", table, {}, None, (), tuple(problems))
    for sheet in cases:
        stem = _stem(table.path)
        name = stem if len(cases) == 1 else sheet.name
        slug = slug_of(stem if len(cases) == 1 else f"{stem} {sheet.name}", instead="table")
        yield _suite(sheet, {"suite": name, "slug": slug}, settings[sheet.name], around)


def _stem(path: str) -> str:
    name = PurePosixPath(path).name.rpartition(".")[0]
    return name.removesuffix(".suite") or "table"


def _hidden(table: Table) -> Iterator[Problem]:
    for name in table.unseen:
        message = f"The sheet {name} is hidden and was not read."
        yield table.problem((), message, value="", level="warning")


def _others(table: Table, others: Sequence[Sheet], cases: Sequence[Sheet]) -> Iterator[Problem]:
    """Report sheets without messages: notes beside cases are left out, anything else is wrong."""
    if not (others or cases):
        yield table.problem((), f"This table is empty. {SMALLEST}", value="")
    for sheet in others:
        if cases and not sheet.columns:
            message = f"The sheet {sheet.name} has no column that is known, and was not read."
            yield table.problem((sheet.name,), message, value="", level="warning")
            continue
        sheet.check_headers()
        hint = _ONE_COLUMN if max(map(len, sheet.rows)) == 1 else ""
        sheet.complain(f"There is no column of messages. {SMALLEST}{hint}")
        yield from sheet.problems


def _suite(sheet: Sheet, named: Json, settings: Json, around: Around) -> Draft:
    compares = "assertions" not in settings
    cases = read_cases(sheet, compares=compares)
    if not cases:
        sheet.complain("There is no row below the header, so there is no case.")
    if compares and any(map(_is_compared, cases)):
        settings = {**settings, "assertions": [dict(USUAL)]}
    agent = settings.get("agent", around.agent)
    data = {**named, **settings, "agent": agent or _NOBODY, "cases": cases}
    draft = drafted("suite", "table", sheet.table, data, place=sheet.place)
    if sheet.problems:
        # What follows from a mistake is no mistake of its own.
        told = {each.keys for each in sheet.problems}
        errors = (each for each in draft.without_spec().problems if each.keys not in told)
        draft = replace(draft, problems=tuple(errors))
    if agent is None:
        sheet.problems.append(NoAgent(sheet.table.path, 1, 1, sheet.name, "", _NO_AGENT))
        others = tuple(each for each in draft.references if each.kind != "agent")
        draft = replace(draft, spec=None, references=others)
    return replace(draft, problems=(*draft.problems, *sheet.problems))


def _is_compared(case: Json) -> bool:
    """Whether a turn of a case has an expected text that the suite's checks are to compare."""
    return any(
        "expected" in turn and ("assertions" not in turn or turn.get("inherit"))
        for turn in case["turns"]
    )
