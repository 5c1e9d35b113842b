"""What each column of a table becomes, in words, with a reply that passes and one that fails."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from evals_app.engine.basics.folding import fold_text
from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.engine.verdicts.probes import opposite, with_near_number
from evals_app.engine.verdicts.rehearsal import passes
from evals_app.formats.reading.problems import Json, has_secret
from evals_app.formats.tables.answers import CRITERIA, NAMES, NOTHING, AnswerKind, bare_answer
from evals_app.formats.tables.columns import NO_CHECK, CheckColumn, ways
from evals_app.formats.tables.guide import ABOUT, ABOUT_PARAM
from evals_app.formats.tables.sheet import Sheet
from evals_app.formats.tables.table import column_letter
from fixtures_app.ground.quoting import cut_middle

MAX_COLUMNS = 200  # of a sheet that are shown
# What people read about the usual ways to compare; others are called by their names.
WAYS = {
    "contains": "the reply contains it, whatever the case",
    "whole words": "the reply contains it as whole words",
    "exact match": "the reply is exactly this",
    "number": "the last number in the reply is this one",
    "any number": "the reply gives this number",
    "same meaning": "a judge compares the meaning",
    CRITERIA: "a judge checks the reply against it",
    NO_CHECK: "it is not compared",
    "number comma": "the last number in the reply is this one; decimals have a comma",
}
_ROWS = 5
_CELL_CHARS = 160
_BRIEF_WORDS = 4  # of a text that fits into a sentence
_HIDDEN = "(not shown: it may contain a secret)"
_TEXT_CHECKS = {"contains", "not contains", "exact match", "number"}
_ANY = ("any reply", "")
_BY_MEANING = ("a reply that says the same in other words", "a reply that says something else")
_BY_CRITERION = ("a reply of which this is true", "a reply of which it is not true")


@dataclass(frozen=True, slots=True)
class TextsShown:
    """How texts of a column are checked: answers of one kind, or all texts of a column of checks.

    `passes` and `fails` are replies that were graded, or describe one where `is_described`. `way` is
    what a person chose, for an earlier file if it `is_kept`; empty: nothing.
    """

    kind: AnswerKind | None
    name: str
    count: int
    how: str
    passes: str
    fails: str
    is_described: bool
    way: str = ""
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class ColumnShown:
    """A column: `became` is the known header that it was taken for, empty if it is left out.

    `nearest` is what a column that `is_asked` probably is. `is_kept`: a person chose it for an earlier
    file. `is_part`: it is one of several that were read from one key, so nothing can be chosen for it
    alone. A key of records has no `letter`.
    """

    header: str
    letter: str
    became: str
    about: str
    filled: int
    sample: str
    is_asked: bool = False
    nearest: str = ""
    is_kept: bool = False
    is_part: bool = False
    texts: tuple[TextsShown, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstRow:
    """One of the first rows of a sheet; its number is counted from 1, 0 for the keys of records."""

    number: int
    cells: tuple[str, ...]
    is_above: bool = False  # the headers, so it is left out
    is_header: bool = False


@dataclass(frozen=True, slots=True)
class SheetShown:
    """A sheet of cases as it was read; `header_row` is counted from 1, 0 where keys are headers.

    `has_kept_header`: that row has headers which a person chose for an earlier file.
    """

    path: str
    name: str
    header_row: int
    rows: tuple[FirstRow, ...]
    columns: tuple[ColumnShown, ...]
    has_kept_header: bool = False


def map_sheet(sheet: Sheet) -> SheetShown:
    """Return what the columns of a sheet became when it was read."""
    columns = []
    keys = sheet.table.keys_of_columns()
    counts = Counter(keys.values())
    for n, known_as in enumerate(sheet.headers[:MAX_COLUMNS]):
        header = keys.get(n, known_as)
        if not header:
            continue
        known = sheet.columns[n].header if n in sheet.columns else ""
        cells = [text for row in sheet.filled_rows() if (text := sheet.text(row, n)) is not None]
        columns.append(
            ColumnShown(
                header=header,
                letter="" if keys else column_letter(n + 1),
                became=known,
                about=_about(known),
                filled=len(cells),
                sample=_show_text(next(iter(cells), "")),
                is_asked=n in sheet.asked,
                nearest=sheet.asked.get(n, ""),
                is_kept=sheet.chosen.is_kept(header),
                is_part=counts[header] > 1,
                texts=tuple(_texts(sheet, n, cells)),
            )
        )
    rows = tuple(_first_rows(sheet, keys))
    header_row = 0 if keys else sheet.header + 1
    return SheetShown(
        *(sheet.table.path, sheet.name, header_row, rows, tuple(columns)),
        has_kept_header=sheet.has_kept_header,
    )


def _about(known: str) -> str:
    if known.startswith("option "):
        return "An option of the question."
    return ABOUT.get(known, ABOUT_PARAM) if known else ""


def _first_rows(sheet: Sheet, keys: Mapping[int, str]) -> Iterator[FirstRow]:
    """Yield what is above the headers, the headers, and the first rows below."""
    above = [row for row in range(sheet.header) if not sheet.is_blank(row)]
    width = min(MAX_COLUMNS, max(map(len, sheet.rows)))
    for row in [*above, sheet.header, *sheet.filled_rows()[:_ROWS]]:
        cells = sheet.rows[row][:width]
        if keys and row == sheet.header:
            cells = [keys.get(n, cell) for n, cell in enumerate(cells)]
        padded = tuple(map(_show_text, [*cells, *[""] * (width - len(cells))]))
        yield FirstRow(row + (not keys), padded, row < sheet.header, row == sheet.header)


def _show_text(text: str) -> str:
    return _HIDDEN if has_secret(text) else cut_middle(text.strip(), _CELL_CHARS)


def _texts(sheet: Sheet, n: int, cells: Sequence[str]) -> Iterator[TextsShown]:
    column = sheet.columns.get(n)
    if column is None:
        return
    if column.header == "expected":
        yield from _answers(sheet, cells)
    elif column.header == "criteria":
        yield TextsShown(None, "", len(cells), WAYS[CRITERIA], *_BY_CRITERION, is_described=True)
    elif isinstance(column, CheckColumn) and column.header in _TEXT_CHECKS:
        said = [cell for cell in cells if cell.strip().casefold() not in NOTHING]
        texts = [part for cell in said for part in _parts(column, cell)]
        if texts:
            checks = column.read(texts[0])
            replies = _grade_replies(checks, None, texts[0], texts[1:])
            yield TextsShown(None, "", len(texts), "", *replies, is_described=False)


def _parts(column: CheckColumn, cell: str) -> list[str]:
    try:
        return [part for part in column.parts(cell) if isinstance(part, str)]
    except ValueError:  # it is reported
        return []


def _answers(sheet: Sheet, cells: Sequence[str]) -> Iterator[TextsShown]:
    for kind, places in sheet.answers.met.items():
        text, _ = bare_answer(sheet.text(*places[0]) or "", sheet.answers.labels)
        way = sheet.answers.way(kind)
        checks = sheet.answers.checks_for(text)
        replies, is_described = _replies(checks, text, cells)
        name = sheet.answers.name(kind)
        how = WAYS.get(way, way) if way else NAMES[kind][1]
        yield TextsShown(
            *(kind, name, len(places), how, *replies, is_described),
            way=way,
            is_kept=kind in sheet.answers.kept,
        )


def _replies(
    checks: Sequence[Json], text: str, others: Iterable[str]
) -> tuple[tuple[str, str], bool]:
    """Return a reply that passes and one that fails, and whether they are only described."""
    if not checks:
        return _ANY, True
    judged = [check for check in checks if check["type"] == "llm_judge"]
    if judged:
        return (_BY_CRITERION if judged[0].get("criteria") == text else _BY_MEANING), True
    return _grade_replies(checks, text, text, others), False


def _grade_replies(
    checks: Sequence[Json], expected: str | None, text: str, others: Iterable[str]
) -> tuple[str, str]:
    """Return the first replies that pass and fail; an empty one if none of those that we try does."""
    if has_secret(text):
        return "", ""
    own = fold_text(text)
    other = next((item for item in others if fold_text(item) != own and not has_secret(item)), "")
    is_brief = len(text.split()) <= _BRIEF_WORDS
    sentence = f"The answer is {text.strip().rstrip('.')}." if is_brief else text
    near = with_near_number(text) or opposite(text) if is_brief else ""
    both = f"{text} or {other}" if other and is_brief else ""
    wrong = [f"The answer is {near}." if near else "", both, other]
    replies = [sentence, *filter(None, wrong), "I don't know."]
    try:
        specs = list(map(AssertionSpec.model_validate, checks))
    except ValidationError:  # it is reported
        return "", ""
    if not all(isinstance(spec.grader, PlainGrader) for spec in specs):
        return "", ""

    def is_right(reply: str) -> bool | None:
        graded = [passes(spec, reply, expected) for spec in specs]
        return False if False in graded else None if None in graded else True

    passing = next((reply for reply in [sentence, text, *reversed(replies)] if is_right(reply)), "")
    failing = next((reply for reply in replies if is_right(reply) is False), "")
    return cut_middle(passing, _CELL_CHARS), cut_middle(failing, _CELL_CHARS)


def way_choices() -> list[tuple[str, str]]:
    """Return the ways to compare that a person may choose, in words; those by their names last."""
    named = [(way, words[:1].upper() + words[1:]) for way, words in WAYS.items()]
    return [*named, *((way, way.capitalize()) for way in ways() if way not in WAYS)]
