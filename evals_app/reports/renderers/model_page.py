"""The table of agents and models as one HTML page to send by mail: it loads nothing."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from evals_app.reports.answers.model_comparison import (
    CaseInColumn,
    CaseInTable,
    ModelComparison,
    SuiteCell,
    column_names,
)
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.renderers.conversation_html import conversation
from evals_app.reports.renderers.html import MAX_CONVERSATIONS, badge, page_head
from evals_app.reports.renderers.model_tables import (
    FAILED_TITLE,
    MISSED_TITLE,
    TITLE,
    FailedTrial,
    cell_text,
    findings,
    missed_text,
    notes,
    numbers_text,
    point_label,
    total_rows,
)
from evals_app.reports.renderers.results import batches
from evals_app.reports.words.figures import UNKNOWN
from evals_app.reports.words.markup import Markup, scrolling_table, tag

_AT_ONCE = 50  # conversations


def models_page(
    comparison: ModelComparison,
    *,
    cases: Mapping[str, Sequence[CaseInTable]],
    failed: Sequence[FailedTrial],
    more_failed: int,
    details: Callable[[Sequence[int]], Iterable[Json]],
) -> Iterator[str]:
    """Return the page; `details` returns executions with their conversations, by id."""
    names = column_names(comparison.columns)
    listed = {trial.run for trial in failed}
    yield page_head(TITLE)
    yield tag("h1", TITLE)
    suites = (
        [
            tag("td", row.name),
            *(_cell(cell, scale=row.score_scale, listed=listed) for cell in row.cells),
        ]
        for row in comparison.rows
    )
    yield scrolling_table(("Suite", *names), suites, title="Suites")
    yield tag("h2", "In total")
    totals = (
        [tag("td", row.label), *(tag("td", text) for text in row.texts)]
        for row in total_rows(comparison)
    )
    yield scrolling_table(("", *names), totals, title="In total")
    yield from (tag("p", sentence) for sentence in findings(comparison))
    yield from (tag("p", note, class_="note") for note in notes(comparison))
    yield from _missed_points(comparison, names)
    yield from _cases(comparison, cases, names)
    yield from _failed_trials(comparison, failed, more_failed, details)
    yield "</body></html>\n"


def _cell(cell: SuiteCell | None, *, scale: str, listed: Collection[int]) -> Markup:
    if cell is None or cell.is_open:
        return tag("td", cell_text(cell, scale=scale))
    numbers = numbers_text(cell, scale=scale)
    wrong = cell.counts["failed"] + cell.counts["errored"]
    link = tag("a", f"{wrong:,} did not pass", href=f"#run-{cell.run}")
    more = (tag("br"), link) if cell.run in listed else None
    return tag("td", badge(cell.verdict), tag("br"), numbers, more)


def _missed_points(comparison: ModelComparison, names: Sequence[str]) -> Iterator[Markup]:
    if not comparison.missed:
        return
    yield tag("h2", MISSED_TITLE)
    yield tag("p", "How often, of the trials in which it was decided.", class_="quiet")
    rows = (
        [
            tag("td", point_label(point)),
            *(tag("td", missed_text(count)) for count in point.counts),
        ]
        for point in comparison.missed
    )
    yield scrolling_table(("Check", *names), rows, title=MISSED_TITLE)


def _cases(
    comparison: ModelComparison, cases: Mapping[str, Sequence[CaseInTable]], names: Sequence[str]
) -> Iterator[Markup]:
    yield tag("h2", "Cases")
    for row in comparison.rows:
        of_suite = cases.get(row.slug, ())
        lines = (
            [
                tag("td", case.name),
                *(_case_cell(cell, scale=row.score_scale) for cell in case.cells),
            ]
            for case in of_suite
        )
        table = scrolling_table(("Case", *names), lines, title=row.name)
        yield tag("details", tag("summary", f"{row.name} ({len(of_suite):,})"), table)


def _case_cell(cell: CaseInColumn | None, *, scale: str) -> Markup:
    if cell is None:
        return tag("td", UNKNOWN)
    return tag("td", badge(cell.verdict or "not_run"), " ", numbers_text(cell, scale=scale))


def _failed_trials(
    comparison: ModelComparison,
    failed: Sequence[FailedTrial],
    more_failed: int,
    details: Callable[[Sequence[int]], Iterable[Json]],
) -> Iterator[Markup]:
    scales = {cell.run: row.score_scale for row in comparison.rows for cell in row.cells if cell}
    if failed:
        yield tag("h2", FAILED_TITLE)
    characters, seen = 0, set[int]()
    for some in batches(failed, _AT_ONCE):
        has_room = characters < MAX_CONVERSATIONS
        wholes = details([trial.execution for trial in some]) if has_room else ()
        by_id = {whole["id"]: whole for whole in wholes}
        for trial in some:
            if trial.run not in seen:
                seen.add(trial.run)
                yield tag("h3", f"{trial.suite}, {trial.column}", id=f"run-{trial.run}")
            whole = by_id.get(trial.execution) if characters < MAX_CONVERSATIONS else None
            inside = conversation(whole, scale=scales[trial.run]) if whole else None
            characters += len(inside or "")
            yield _trial(trial, inside)
    if more_failed:
        text = f"{more_failed:,} more are not listed, to keep this file small."
        yield tag("p", text, class_="note")


def _trial(trial: FailedTrial, inside: Markup | None) -> Markup:
    link = tag("p", tag("a", "Open in Evalwell", href=trial.url)) if trial.url else None
    summary = tag(
        "summary",
        badge(trial.verdict),
        " ",
        tag("span", trial.name, class_="name"),
        tag("span", trial.reason, class_="why") if trial.reason else None,
    )
    return tag("details", summary, tag("div", link, inside, class_="inside"), class_="execution")
