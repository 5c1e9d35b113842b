"""The page of agents and models: runs that are followed while they run, and then one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Min
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from evals_app.admin.comparing.side_by_side import comparison_url, read_number
from evals_app.admin.kit.presentation import SIGNS, badge, plural
from evals_app.admin.starting.run_dialog import models_url
from evals_app.admin.starting.run_suites import RUNNING_SUITES, run_suites_url
from evals_app.library.importing.rights import Rights
from evals_app.models import Execution, Run, Suite
from evals_app.reports.answers.compared_cases import HeadCases
from evals_app.reports.answers.comparison import VERDICTS, finding
from evals_app.reports.answers.model_comparison import (
    CaseInColumn,
    CaseInTable,
    MissedPoint,
    ModelComparison,
    SuiteCell,
    SuiteInTable,
    TableRun,
    column_names,
)
from evals_app.reports.answers.model_comparison_answers import conclusion
from evals_app.reports.renderers.model_tables import (
    TotalRow,
    missed_text,
    notes,
    numbers_text,
    point_label,
    total_rows,
)
from evals_app.reports.renderers.results import WENT_WRONG
from evals_app.reports.words.figures import count_text
from evals_app.runs.reading.model_comparison import (
    NoTableError,
    Wanted,
    model_comparison,
    run_columns,
    suite_cases,
    table_runs,
)

CASES_ON_A_PAGE = 50
SHOWN_MISSED = 12  # the others are folded


@dataclass(frozen=True, slots=True)
class ModelCell:
    """A run, or a case of one; `change` is against the first column, `url` of what did not pass."""

    column: str
    run: int
    badge: SafeString
    text: str
    done: int = 0
    total: int = 0
    change: str = ""
    is_worse: bool = False
    wrong: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class ModelLine:
    """A suite or a case in all columns; None where one has no run of it."""

    name: str
    slug: str
    note: str
    cells: tuple[ModelCell | None, ...]


@dataclass(frozen=True, slots=True)
class AgainstLine:
    """What is said of a column against the first one, with the runs in which it is worst."""

    tone: str
    name: str
    finding: str
    worst: str
    url: str


@dataclass(frozen=True, slots=True)
class TotalCell:
    """A number of a column, and what it is of."""

    column: str
    value: str
    detail: str


@dataclass(frozen=True, slots=True)
class TotalLine:
    """A number with its name, once for each column."""

    label: str
    cells: tuple[TotalCell, ...]


@dataclass(frozen=True, slots=True)
class MissedLine:
    """A check or a bullet, and how often each column missed it."""

    label: str
    texts: tuple[tuple[str, str], ...]  # the column, and how often


def read_wanted(query: QueryDict) -> Wanted:
    """Read what an address asks for.

    Raises:
        NoTableError: it is neither a group nor numbers of runs.
    """
    if text := query.get("group"):
        try:
            return UUID(text)
        except ValueError:
            raise NoTableError(f"“{text[:40]}” is not a group of runs.") from None
    numbers = [read_number(text) for text in query.getlist("run")]
    if None in numbers:
        raise NoTableError("Name runs by their numbers, as in ?run=1&run=2.")
    return [number for number in numbers if number is not None]


def models_page(request: HttpRequest, wanted: Wanted) -> dict[str, object]:
    """Return what the page shows: while a run is open only how far each is.

    Raises:
        NoTableError: there is no such table.
    """
    runs = run_columns(wanted)
    is_open = any(run.is_open for run in runs)
    comparison = model_comparison(runs if is_open else table_runs(wanted))
    names = column_names(comparison.columns)
    context: dict[str, object] = {
        "is_open": is_open,
        "wanted": wanted,
        "live_url": models_url(wanted, name="run_models_live"),
        "names": names,
        "status_line": _status_line(comparison, runs),
        "started_at": runs[0].row["created_at"],
        "lines": [_suite_line(request, row, names) for row in comparison.rows],
    }
    return context if is_open else context | _results(request, comparison, names, wanted, runs)


def _results(
    request: HttpRequest,
    comparison: ModelComparison,
    names: Sequence[str],
    wanted: Wanted,
    runs: Sequence[TableRun],
) -> dict[str, object]:
    shows_labels = Rights.of(request.user).may_see_everything()
    missed = comparison.missed if shows_labels else ()
    rows = sorted(comparison.rows, key=_difference, reverse=True)
    return {
        "lines": [_suite_line(request, row, names) for row in rows],
        "cases_url": models_url(wanted, name="run_models_cases"),
        "conclusion": conclusion(comparison),
        "against": _against_lines(comparison, names),
        "totals": [_total_line(row, names) for row in total_rows(comparison)],
        "notes": notes(comparison),
        "missed": [_missed_line(point, names) for point in missed[:SHOWN_MISSED]],
        "more_missed": [_missed_line(point, names) for point in missed[SHOWN_MISSED:]],
        "report_urls": _report_urls(request, wanted),
        "add_url": _add_url(request, comparison, runs),
    }


def _status_line(comparison: ModelComparison, runs: Sequence[TableRun]) -> str:
    suites, columns = count_text(len(comparison.rows), "suite"), _columns_text(comparison)
    left = sum(run.is_open for run in runs)
    if left:
        done = sum(cell.ended_count for cell in comparison.cells)
        total = sum(cell.total for cell in comparison.cells)
        return (
            f"{suites} with {columns}. {len(runs) - left:,} of {count_text(len(runs), 'run')} have ended;"
            f" {done:,} of {count_text(total, 'conversation')} done."
        )
    ended = f"All {len(runs):,} runs have ended." if len(runs) > 1 else "The run has ended."
    return f"{suites} with {columns}. {ended}"


def _columns_text(comparison: ModelComparison) -> str:
    number = len(comparison.columns)
    if number == 1:
        return column_names(comparison.columns)[0]
    agents = len({column.agent for column in comparison.columns})
    models = len({column.model for column in comparison.columns})
    if agents == number:
        return count_text(number, "agent")
    if models == number:
        return count_text(number, "model")
    return f"{number:,} combinations of agents and models"


# Suites and cases


def _suite_line(request: HttpRequest, row: SuiteInTable, names: Sequence[str]) -> ModelLine:
    first = row.cells[0]
    sizes = {cell.cases.graded + cell.cases.not_graded for cell in row.cells if cell and cell.cases}
    return ModelLine(
        row.name,
        row.slug,
        plural(max(sizes), "case") if sizes else "",
        tuple(
            _suite_cell(request, cell, first, name=name, scale=row.score_scale) if cell else None
            for name, cell in zip(names, row.cells, strict=True)
        ),
    )


def _suite_cell(
    request: HttpRequest, cell: SuiteCell, first: SuiteCell | None, *, name: str, scale: str
) -> ModelCell:
    if cell.is_open:
        text = f"{cell.ended_count:,} of {cell.total:,}"
        return ModelCell(name, cell.run, badge(cell.status), text, cell.ended_count, cell.total)
    change, is_worse = _change(cell, first)
    wrong = [kind for kind in WENT_WRONG if cell.counts[kind]]
    may_read = request.user.has_perm("evals_app.view_execution")
    return ModelCell(
        *(name, cell.run, badge(cell.verdict), numbers_text(cell, scale=scale)),
        change=change,
        is_worse=is_worse,
        wrong=", ".join(f"{cell.counts[kind]:,} {kind}" for kind in wrong),
        url=_executions_url(cell.run, wrong[0]) if wrong and may_read else "",
    )


def _change(
    cell: SuiteCell | CaseInColumn, first: SuiteCell | CaseInColumn | None
) -> tuple[str, bool]:
    """Return how many more or fewer trials passed than in the first column, and whether that is marked."""
    if first is None or first is cell or cell.trials.graded != first.trials.graded:
        return "", False
    more = cell.trials.passed - first.trials.passed
    if not more:
        return "", False
    is_worse = more < 0 and cell.verdict == "failed"
    return f"{abs(more):,} {'more' if more > 0 else 'fewer'}", is_worse


def _executions_url(run: int, verdict: str) -> str:
    query = urlencode([("run", run), ("verdict__exact", verdict)])
    return f"{reverse('admin:evals_app_execution_changelist')}?{query}"


def _difference(row: SuiteInTable) -> float:
    """Return how far apart the columns are."""
    rates = [cell.trials.rate for cell in row.cells if cell and cell.trials.rate is not None]
    return max(rates) - min(rates) if rates else 0.0


def cases_context(request: HttpRequest, wanted: Wanted) -> dict[str, object]:
    """Return some cases of a suite, first those in which the columns differ.

    Raises:
        NoTableError: there is no such table.
    """
    suite = request.GET.get("suite", "")
    columns, rows, scale = suite_cases(wanted, suite)
    page = Paginator(rows, CASES_ON_A_PAGE).get_page(request.GET.get("p"))
    names = column_names(columns)
    may_read = request.user.has_perm("evals_app.view_execution")
    failed = _failed_executions(list(page)) if may_read else {}
    lines = [
        ModelLine(
            row.name,
            suite,
            "",
            tuple(
                _case_cell(
                    cell, row.cells[0], failed.get((cell.run, row.name)), name=name, scale=scale
                )
                if cell
                else None
                for name, cell in zip(names, row.cells, strict=True)
            ),
        )
        for row in page
    ]
    more_url = ""
    if page.has_next():
        number = str(page.next_page_number())
        more_url = models_url(wanted, name="run_models_cases", suite=suite, p=number)
    return {
        "lines": lines,
        "width": len(names) + 1,
        "more_url": more_url,
        "left": len(rows) - page.end_index(),
    }


def _failed_executions(rows: Sequence[CaseInTable]) -> dict[tuple[int, str], int]:
    """Return the first execution that did not pass, by run and case."""
    runs = {cell.run for row in rows for cell in row.cells if cell}
    cases = [row.name for row in rows]
    wrong: Any = Execution.objects.filter(run__in=runs, case__in=cases, verdict__in=WENT_WRONG)
    first = wrong.values_list("run", "case").annotate(first=Min("pk")).order_by()
    return {(run, case): pk for run, case, pk in first}


def _case_cell(
    cell: CaseInColumn, first: CaseInColumn | None, failed: int | None, *, name: str, scale: str
) -> ModelCell:
    change, is_worse = _change(cell, first)
    url = reverse("admin:evals_app_execution_change", args=[failed]) if failed else ""
    return ModelCell(
        *(name, cell.run, badge(cell.verdict or "not_run")),
        numbers_text(cell, scale=scale),
        change=change,
        is_worse=is_worse,
        url=url,
    )


# The rest of the table


def _against_lines(comparison: ModelComparison, names: Sequence[str]) -> list[AgainstLine]:
    return [
        AgainstLine(
            _against_tone(totals.against),
            f"{name}: {_against_word(totals.against)}",
            finding(totals.against),
            *_worst(comparison, place),
        )
        for place, (name, totals) in enumerate(zip(names, comparison.totals, strict=True))
        if totals.against is not None
    ]


def _against_tone(head: HeadCases) -> str:
    return SIGNS["undecided" if head.is_too_small else head.verdict].tone


def _against_word(head: HeadCases) -> str:
    return "too few cases differ" if head.is_too_small else VERDICTS[head.verdict].lower()


def _worst(comparison: ModelComparison, place: int) -> tuple[str, str]:
    """Return the suite in which a column fell the most, and the address to compare its runs."""
    falls = [
        (rate - base, row.name, cell, first)
        for row in comparison.rows
        if (cell := row.cells[place]) and (first := row.cells[0])
        if (rate := cell.trials.rate) is not None and (base := first.trials.rate) is not None
    ]
    fall, name, cell, first = min(falls, key=lambda found: found[0], default=(0.0, "", None, None))
    if fall >= 0 or cell is None or first is None:
        return "", ""
    counts = [f"{one.trials.passed:,} of {one.trials.graded:,}" for one in (cell, first)]
    text = f"Worst in {name}: {counts[0]} trials passed, against {counts[1]}."
    return text, comparison_url([first.run, cell.run])


def _total_line(row: TotalRow, names: Sequence[str]) -> TotalLine:
    parts = [text.partition(" (") for text in row.texts]
    cells = [
        TotalCell(name, value, detail.removesuffix(")"))
        for name, (value, _, detail) in zip(names, parts, strict=True)
    ]
    return TotalLine(row.label, tuple(cells))


def _missed_line(point: MissedPoint, names: Sequence[str]) -> MissedLine:
    texts = map(missed_text, point.counts)
    return MissedLine(point_label(point), tuple(zip(names, texts, strict=True)))


def _add_url(request: HttpRequest, comparison: ModelComparison, runs: Sequence[TableRun]) -> str:
    """Return the page that starts the same suites once more; empty if the runs have no common table."""
    groups = {run.row["group"] for run in runs}
    if len(groups) != 1 or None in groups or not request.user.has_perms(RUNNING_SUITES):
        return ""
    suites = Suite.objects.current().filter(slug__in=[row.slug for row in comparison.rows])
    overrides = Run.objects.values_list("overrides", flat=True).get(pk=runs[0].row["id"])
    trials = {"trials": overrides["trials"]} if "trials" in overrides else {}
    return run_suites_url(suites, group=groups.pop(), **trials)


_TITLES = {
    "html": "One page to send by mail (HTML)",
    "md": "Text for a chat or a pull request (Markdown)",
    "xlsx": "Table for Excel (XLSX)",
    "json": "Everything, for programs (JSON)",
}


def _report_urls(request: HttpRequest, wanted: Wanted) -> list[tuple[str, str]]:
    may_read = request.user.has_perm("evals_app.view_execution")
    return [
        (models_url(wanted, name="run_models_report", kind=kind), title)
        for kind, title in _TITLES.items()
        if may_read or kind != "html"
    ]
