"""Write suites as tables that read back equal."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.reading.parsed_file import decode_text
from evals_app.formats.reading.problems import (
    FormatError,
    Json,
    Loc,
    Problem,
    keys_text,
    value_text,
)
from evals_app.formats.tables.columns import (
    CHECK_COLUMNS,
    COLUMNS,
    NO_CHECK,
    SheetColumn,
    column_of,
    param_column,
)
from evals_app.formats.tables.guide import Guide, guides_of
from evals_app.formats.tables.separated import write_csv_rows
from evals_app.formats.tables.suites import SHEET, SUITE_KINDS
from evals_app.formats.tables.texts import in_cell, in_xlsx
from evals_app.formats.tables.values import DATA

# The cells of a row by their headers.
Row = dict[str, str]

# The limits of Excel, in characters.
_MAX_CELL = 32_767
_MAX_TITLE = 31
_MAX_PARAMS = 50  # columns of parameters; more are written as data
_ORDER = {column.header: n for n, column in enumerate(COLUMNS)}
_PLAIN_COLUMNS = [
    item for item in COLUMNS if isinstance(item, SheetColumn) and item.owner != "suite"
]
# Titles that Excel keeps for itself, and those of our own sheet.
_NO_TITLES = ("history", "suite", "suites")


def write_csv(suite: SuiteSpec) -> tuple[bytes, list[Problem]]:
    """Write a suite as CSV, with everything that cells cannot express as a loss."""
    writer = _Writer(suite, f"{suite.slug}.suite.csv", _csv_takes)
    rows = writer.rows()
    if rows:
        rows[0] |= writer.suite_cells()
    return write_csv_rows(_table(rows)), writer.losses


def write_xlsx(
    suites: Iterable[SuiteSpec], *, tools: Mapping[str, Collection[str]] = MappingProxyType({})
) -> tuple[bytes, list[Problem]]:
    """Write suites as a workbook with a sheet for each; what does not fit into a cell is a loss.

    `tools` are those of agents by their slugs: cells that name tools offer them.
    """
    titles = list(_NO_TITLES)
    sheets: list[tuple[str, list[list[str]]]] = []
    guides: dict[str, list[Guide | None]] = {}
    about: list[Row] = []
    losses: list[Problem] = []
    for suite in suites:
        writer = _Writer(suite, f"{suite.slug}.suite.xlsx", _xlsx_takes)
        titles.append(_title(suite.slug, titles))
        rows = _table(writer.rows())
        sheets.append((titles[-1], rows))
        guides[titles[-1]] = guides_of(rows, tools=tools.get(suite.agent, ()))
        about.append({SHEET: titles[-1], **writer.about()})
        losses += writer.losses
    headers = [key for key in (SHEET, *SUITE_KINDS) if any(key in row for row in about)]
    described = [headers, *([row.get(key, "") for key in headers] for row in about)]
    from evals_app.formats.tables.workbook_writing import write_workbook  # noqa: PLC0415 - loads openpyxl

    return write_workbook([*sheets, ("Suite", described)], guides=guides), losses


def _table(rows: Sequence[Row]) -> list[list[str]]:
    """Put cells under headers, in the order of the columns, and parameters among them."""
    used = dict.fromkeys(header for row in rows for header in row)
    params = _ORDER["context params"]
    headers = sorted(used or ("case", "user"), key=lambda header: _ORDER.get(header, params))
    return [headers, *([row.get(header, "") for header in headers] for row in rows)]


def _title(slug: str, taken: Sequence[str]) -> str:
    titles = (slug[:_MAX_TITLE], *(f"{slug[: _MAX_TITLE - 5]}~{n}" for n in range(2, 9999)))
    return next(title for title in titles if title not in taken)


def _csv_takes(cell: str) -> str | None:
    """Return why a text cannot be in a CSV file."""
    try:
        decode_text("", cell.encode())
    except FormatError:
        return "This text has characters that no CSV file can hold."
    return None


def _xlsx_takes(cell: str) -> str | None:
    """Return why a text cannot be in a workbook."""
    if len(in_xlsx(cell).encode("utf-16-le")) // 2 > _MAX_CELL:
        return f"This text is longer than the {_MAX_CELL:,} characters that a cell can hold."
    return None


@dataclass(slots=True)
class _Writer:
    """Writes one suite; `takes` says why a text cannot be in a cell of such a file."""

    suite: SuiteSpec
    path: str
    takes: Callable[[str], str | None]
    losses: list[Problem] = field(default_factory=list)

    def rows(self) -> list[Row]:
        if not self.suite.cases:
            message = "A suite without cases cannot be a table. Export it as YAML."
            self._lose(("cases",), message, "")
        cases = [case.model_dump(mode="json", exclude_defaults=True) for case in self.suite.cases]
        params = self._param_columns(cases)
        return [
            row for c, case in enumerate(cases) for row in self._case(case, ("cases", c), params)
        ]

    def about(self) -> Row:
        """Return what the sheet about suites says."""
        return self._cells_of(self._settings())

    def suite_cells(self) -> Row:
        """Return what the first row says of the suite."""
        settings = self._settings()
        cells = self._cells_of({key: settings.pop(key) for key in ("suite", "slug", "agent")})
        return cells | ({"settings": self._cell(DATA.write(settings), ())} if settings else {})

    def _cells_of(self, settings: Json) -> Row:
        return {
            key: self._cell(SUITE_KINDS[key].write(value), (key,))
            for key, value in settings.items()
        }

    def _settings(self) -> Json:
        """Return everything of the suite but its cases, as it has to be read."""
        settings: Json = self.suite.model_dump(
            mode="json", exclude_defaults=True, exclude={"cases"}
        )
        if any(turn.expected is not None for case in self.suite.cases for turn in case.turns):
            # Where nothing is said of checks, each expected text would be compared by its kind.
            settings.setdefault("assertions", [])
        return settings

    def _param_columns(self, cases: Sequence[Json]) -> list[SheetColumn]:
        """Return a column for each context parameter that can be the name of one, if they are few."""
        names = dict.fromkeys(name for case in cases for name in case.get("context_params", ()))
        columns = [param_column(name) for name in names if not self.takes(name)]
        fitting = [column for column in columns if column_of(column.header) == column]
        return fitting if len(fitting) <= _MAX_PARAMS else []

    def _case(self, case: Json, loc: Loc, params: Sequence[SheetColumn]) -> list[Row]:
        turns = case.pop("turns")
        left = dict(case.pop("context_params", {}))
        cells: Row = {}
        for param in params:
            if left.get(param.path[-1]) is not None:
                text = param.kind.write(left.pop(param.path[-1]))
                cells[param.header] = self._cell(text, (*loc, *param.path))
        cells |= self._cells({**case, **({"context_params": left} if left else {})}, loc, "case")
        name = {"case": cells["case"]}
        rows = []
        for t, turn in enumerate(turns):
            own = self._turn(turn, (*loc, "turns", t))
            rows.append((name if t else cells) | own)
        return rows

    def _turn(self, turn: Json, loc: Loc) -> Row:
        cells: Row = {}
        if (checks := turn.get("assertions")) is not None:
            lines, rest = self._lines(checks)
            cells = {header: self._cell("\n".join(line), loc) for header, line in lines.items()}
            turn = {**turn, "assertions": rest or None}
        return cells | self._cells(turn, loc, "turn")

    def _lines(self, checks: Sequence[Json]) -> tuple[dict[str, list[str]], list[Json]]:
        """Write checks as lines in their columns; from the first that does not fit on, as data."""
        if not checks:
            return {"check": [NO_CHECK]}, []
        lines: dict[str, list[str]] = {}
        at = 0  # earlier columns are read earlier
        for k, check in enumerate(checks):
            fitting = (
                (n, line)
                for n in range(at, len(CHECK_COLUMNS))
                if (line := CHECK_COLUMNS[n].write(check)) and not self.takes(line)
            )
            at, line = next(fitting, (-1, ""))
            if not line:
                return lines, list(checks[k:])
            lines.setdefault(CHECK_COLUMNS[at].header, []).append(line)
        return lines, []

    def _cells(self, values: Mapping[str, object], loc: Loc, owner: str) -> Row:
        cells = {}
        for column in _PLAIN_COLUMNS:
            value: object = values
            for key in column.path:
                value = value.get(key) if isinstance(value, dict) else None
            if column.owner == owner and value is not None:
                cells[column.header] = self._cell(column.kind.write(value), (*loc, *column.path))
        return cells

    def _cell(self, text: str, loc: Loc) -> str:
        cell = in_cell(text)
        if reason := self.takes(cell):
            self._lose(
                loc, f"{reason} It is left out. Export the suite as YAML.", value_text(text, loc)
            )
            return ""
        return cell

    def _lose(self, loc: Loc, message: str, value: str) -> None:
        self.losses.append(Problem(self.path, 0, 0, keys_text(loc), value, message, "loss"))
