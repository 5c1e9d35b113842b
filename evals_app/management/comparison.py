"""What commands print of a comparison of runs."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.formats.snapshots.snapshot_differences import PartDifferences
from evals_app.reports.answers.compared_cases import ComparedCase
from evals_app.reports.answers.comparison import (
    NOT_COMPARABLE,
    UNREADABLE,
    case_change,
    checks_text,
    counts_in_words,
    finding,
    headline,
    outcome_text,
    unknown_content,
)
from evals_app.reports.answers.model_comparison import ModelComparison, column_names
from evals_app.reports.renderers.model_tables import (
    cell_text,
    findings,
    missed_text,
    notes,
    point_label,
    total_rows,
)
from evals_app.runs.reading.compared_runs import Comparison, ComparisonHead, changed_checks

SHOWN_CASES = 20
SHOWN_DIFFERENCES = 10
SHOWN_MISSED = 12


def print_comparison(
    comparison: Comparison,
    *,
    console: Console,
    site: str,
    cases: Sequence[ComparedCase] | None = None,
) -> None:
    """Print the numbers of runs side by side, each run against the base, and cases.

    Unless `cases` are given, they are those that changed.
    """
    print_matrix(comparison, console=console)
    for head in comparison.heads:
        _print_head(head, base=comparison.base.pk, console=console)
    if cases is None:
        cases = [case for case in comparison.cases.cases if case.change is not ChangeKind.SAME]
    _print_cases(cases, comparison, console=console)
    query = "&".join(f"run={run.run.pk}" for run in comparison.runs)
    _write(console, f"{site}/admin/evals_app/run/compare/?{query}")


def print_matrix(comparison: Comparison, *, console: Console) -> None:
    """Print the numbers of runs side by side."""
    base, *heads = (run.run.pk for run in comparison.runs)
    table = Table("", f"Base: run {base}", *(f"Run {pk}" for pk in heads))
    for label, values in comparison.matrix:
        table.add_row(label, *map(Text, values))
    console.print(table)


def print_model_comparison(comparison: ModelComparison, *, console: Console) -> None:
    """Print the table of agents and models, and what each one misses."""
    table = Table("Suite", *map(escape, column_names(comparison.columns)))
    for row in comparison.rows:
        cells = (cell_text(cell, scale=row.score_scale) for cell in row.cells)
        table.add_row(Text(row.name), *map(Text, cells))
    table.add_section()
    for label, texts in total_rows(comparison):
        table.add_row(label, *map(Text, texts))
    if comparison.missed:
        table.add_section()
        table.add_row("Missed, of the trials in which it was decided:")
    for point in comparison.missed[:SHOWN_MISSED]:
        table.add_row(Text(point_label(point)), *map(missed_text, point.counts))
    console.print(table)
    if (more := len(comparison.missed) - SHOWN_MISSED) > 0:
        _write(console, f"{more:,} more checks and bullets were missed.")
    for sentence in (*findings(comparison), *notes(comparison)):
        _write(console, escape(sentence))


def _print_head(head: ComparisonHead, *, base: int, console: Console) -> None:
    colour = "red" if head.cases.is_worse else "green"
    if head.cases.verdict == "not_comparable":
        colour = "yellow"
    _write(
        console, f"[bold {colour}]Run {head.run.pk} against run {base}:[/] {headline(head.cases)}"
    )
    _write(console, f"  {finding(head.cases)}")
    _write(console, f"  Cases: {counts_in_words(head.cases.counts)}.")
    if unknown := head.cases.unknown_content:
        _write(console, f"  {unknown_content(unknown)}")
    if head.differences is None:
        _write(console, f"  {UNREADABLE}")
        return
    yardsticks = [part for part in head.differences if part.part.is_yardstick]
    others = [part for part in head.differences if not part.part.is_yardstick]
    for title, parts in ((NOT_COMPARABLE, yardsticks), ("Different:", others)):
        if parts:
            _write(console, f"  {title}")
            _print_differences(parts, console)


def _print_differences(parts: Iterable[PartDifferences], console: Console) -> None:
    for part in parts:
        for value in part.values[:SHOWN_DIFFERENCES]:
            change = f"{value.before or '(default)'} -> {value.after or '(default)'}"
            _write(console, f"    {escape(value.keys)}: {escape(change)}")
        if (more := part.more + len(part.values) - SHOWN_DIFFERENCES) > 0:
            _write(console, f"    ... and {more:,} more in: {part.part}")


def _print_cases(
    cases: Sequence[ComparedCase], comparison: Comparison, *, console: Console
) -> None:
    scale, shown = comparison.base.score_scale, cases[:SHOWN_CASES]
    checks = changed_checks(comparison, shown)
    for case in shown:
        results = " -> ".join(outcome_text(outcome, scale=scale) for outcome in case.outcomes)
        label = case_change(case).lower()
        renamed = f" (was {escape(case.old_name)})" if case.old_name else ""
        _write(console, f"  {label}: {escape(case.name)}{renamed}: {results}")
        if case.name in checks:
            _write(console, f"    {escape(checks_text(checks[case.name]))}")
    if (more := len(cases) - SHOWN_CASES) > 0:
        _write(console, f"  ... and {more:,} more")


def _write(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)
