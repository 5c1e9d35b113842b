"""The table of agents and models in words, as Markdown and as sheets of a workbook."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evals_app.reports.answers.compared_cases import HeadCases
from evals_app.reports.answers.comparison import VERDICTS, finding, points_text
from evals_app.reports.answers.model_comparison import (
    CaseInColumn,
    CaseInTable,
    ColumnTotals,
    MissCount,
    MissedPoint,
    ModelComparison,
    PassShare,
    SuiteCell,
    column_names,
)
from evals_app.reports.answers.model_comparison_answers import conclusion
from evals_app.reports.renderers.markdown import WORDS, escape_text, reason_line, table
from evals_app.reports.words.coverage import NOT_MIXED
from evals_app.reports.words.figures import UNKNOWN, count_text, duration, score_text
from evals_app.reports.words.shares import share_text
from evals_app.reports.words.sums import sums

TITLE = "Agents and models"
MISSED_TITLE = "What each one misses"
FAILED_TITLE = "Trials that did not pass"
MAX_FAILED = 200  # trials that did not pass, in a file

Values = list[str | float]
Sheet = tuple[str, list[Values]]


class TotalRow(NamedTuple):
    """A number with its name, once for each column."""

    label: str
    texts: tuple[str, ...]


class FailedTrial(NamedTuple):
    """An execution that did not pass; without a site it has no address."""

    execution: int
    run: int
    suite: str
    column: str
    name: str
    verdict: str
    reason: str
    url: str


# In words


def total_rows(comparison: ModelComparison) -> list[TotalRow]:
    """Return the totals of each column, in words; those of the tests only if there are several."""
    columns = [_totals_in_words(totals) for totals in comparison.totals]
    rows = [TotalRow(label, tuple(column[label] for column in columns)) for label in columns[0]]
    if len(comparison.columns) > 1:
        first = column_names(comparison.columns)[0]
        against = tuple(against_text(totals.against) for totals in comparison.totals)
        rows.insert(2, TotalRow(f"Against {first}", against))
    return rows


def _totals_in_words(totals: ColumnTotals) -> dict[str, str]:
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in totals.verdicts.items())
    never = "no reply" if totals.replies else UNKNOWN  # this many turns were not answered
    times = [never if ms is None else duration(ms) for ms in (totals.median_ms, totals.p95_ms)]
    replies = f" ({count_text(totals.replies, 'turn')})" if totals.replies else ""
    score = score_text(totals.score, scale=totals.score_scale)
    return {
        "Trials passed": pass_text(totals.trials),
        "Cases passed": pass_text(totals.cases),
        "Suites": verdicts or UNKNOWN,
        "Mean score": f"{score} ({count_text(totals.scored, 'case')})" if totals.scored else score,
        "Reply time, median": f"{times[0]}{replies}",
        "Reply time, p95": f"{times[1]}{replies}",
        **dict(sums(totals.sums, totals.at_least)),
    }


def pass_text(share: PassShare) -> str:
    """Write a share with its number and its interval."""
    return share_text(
        share.passed, share.graded, not_graded=share.not_graded, bounds=share.interval
    )


def against_text(head: HeadCases | None) -> str:
    """Write how a column compares with the first one, which has no such text."""
    if head is None:
        return UNKNOWN
    test = head.test
    word = "Too few cases differ" if head.is_too_small else VERDICTS[head.verdict]
    if test.mean is None:
        return word
    sign = "lower" if test.mean < 0 else "higher"
    change = f"{points_text(test.mean)} {sign}, " if test.differing else ""
    return f"{word} ({change}{count_text(test.cases, 'case')})"


def findings(comparison: ModelComparison) -> list[str]:
    """Return which column is better, and a sentence on each against the first one."""
    names = column_names(comparison.columns)
    said = conclusion(comparison)
    return ([said] if said else []) + [
        f"{name} against {names[0]}: {finding(totals.against)}"
        for name, totals in zip(names, comparison.totals, strict=True)
        if totals.against is not None
    ]


def cell_text(cell: SuiteCell | None, *, scale: str) -> str:
    """Write a run in its cell: `failed, 12 of 15 trials, score 0.80`."""
    if cell is None:
        return UNKNOWN
    if cell.is_open:
        return f"{cell.status}, {cell.ended_count:,} of {cell.total:,} done"
    return f"{cell.verdict}, {numbers_text(cell, scale=scale)}"


def numbers_text(cell: SuiteCell | CaseInColumn, *, scale: str) -> str:
    """Write the numbers of a run or a case: `12 of 15 trials, 1 not graded, score 0.80`."""
    passed, graded, not_graded = cell.trials
    parts = [f"{passed:,} of {count_text(graded, 'trial')}"] if graded else []
    parts += [f"{not_graded:,} not graded"] if not_graded else []
    parts += [f"score {score_text(cell.score, scale=scale)}"] if cell.score is not None else []
    return ", ".join(parts) or "no trial can pass or fail"


def missed_text(count: MissCount | None) -> str:
    """Write how often a column missed a check: `3 of 15`."""
    return f"{count.missed:,} of {count.decided:,}" if count and count.decided else UNKNOWN


def point_label(point: MissedPoint) -> str:
    """Name a check or a bullet, with the turn that it is about."""
    return f"{point.label} (turn {point.turn})" if point.turn is not None else point.label


def notes(comparison: ModelComparison) -> list[str]:
    """Return what to know before the numbers are compared."""
    return [*_notes_on_runs(comparison), *_notes_on_grading(comparison)]


def _notes_on_runs(comparison: ModelComparison) -> Iterator[str]:
    names = column_names(comparison.columns)
    if count := sum(totals.open for totals in comparison.totals):
        verb = "has" if count == 1 else "have"
        yield (
            f"{count_text(count, 'run')} {verb} not ended yet. The totals are of those that have."
        )
    for row in comparison.rows:
        if not row.has_same_cases:
            yield (
                f"{row.name}: its cases were edited between the runs, so its numbers are not comparable."
            )
    for place, name in enumerate(names):
        if missing := sum(row.cells[place] is None for row in comparison.rows):
            suites = count_text(missing, "suite")
            yield f"{name} has no run of {suites}, so its totals are of fewer cases."
    scripted = [
        name for name, column in zip(names, comparison.columns, strict=True) if column.is_scripted
    ]
    if scripted:
        verb = "follows" if len(scripted) == 1 else "follow"
        yield f"{', '.join(scripted)} {verb} a script, without any model."

    if any(column.is_simulated for column in comparison.columns):
        yield f"Simulated: a model played the user. {NOT_MIXED}"


def _notes_on_grading(comparison: ModelComparison) -> Iterator[str]:
    if len(comparison.judges) > 1:
        judges = ", ".join(comparison.judges)
        yield f"Several judges graded these runs: {judges}. Scores may differ because of that."
    if count := comparison.without_bullets:
        yield (
            f"{count_text(count, 'run')} of an earlier version did not count the bullets of rubrics;"
            " these are missing below."
        )
    if count := comparison.more_missed:
        yield f"{count:,} more checks and bullets were missed, but less often."


# Markdown


def models_markdown(
    comparison: ModelComparison, failed: Sequence[FailedTrial], *, more_failed: int
) -> Iterator[str]:
    """Return the table as Markdown, and below it the trials that did not pass."""
    names = list(map(escape_text, column_names(comparison.columns)))
    yield f"# {TITLE}\n\n"
    yield f"{table(('Suite', *names), _suite_lines(comparison))}\n"
    lines = [tuple(map(escape_text, (row.label, *row.texts))) for row in total_rows(comparison)]
    yield f"\n## In total\n\n{table(('', *names), lines)}\n"
    for sentence in (*findings(comparison), *notes(comparison)):
        yield f"\n> {escape_text(sentence)}\n"
    if comparison.missed:
        points = [
            (escape_text(point_label(point)), *map(missed_text, point.counts))
            for point in comparison.missed
        ]
        yield f"\n## {MISSED_TITLE}\n\nHow often, of the trials in which it was decided.\n\n"
        yield f"{table(('Check', *names), points)}\n"
    if failed:
        yield f"\n## {FAILED_TITLE}\n\n"
    for trial in failed:
        name = escape_text(f"{trial.suite}: {trial.name}")
        link = f"[{name}](<{trial.url}>)" if trial.url else name
        column = escape_text(trial.column)
        yield f"- {WORDS[trial.verdict]}, {column}, {link}: {reason_line(trial.reason)}\n"
    if more_failed:
        yield f"- … and {more_failed:,} more\n"


def _suite_lines(comparison: ModelComparison) -> Iterable[tuple[str, ...]]:
    for row in comparison.rows:
        cells = [
            f"{WORDS[cell.verdict]}, {numbers_text(cell, scale=row.score_scale)}"
            if cell and cell.verdict
            else cell_text(cell, scale=row.score_scale)
            for cell in row.cells
        ]
        yield escape_text(row.name), *cells


# Sheets


def model_sheets(
    comparison: ModelComparison, cases: Mapping[str, Sequence[CaseInTable]]
) -> list[Sheet]:
    """Return the sheets of a workbook: suites, totals, cases and what was missed."""
    names = column_names(comparison.columns)
    numbers = ("verdict", "passed", "graded", "not graded", "score")
    heads = [f"{name}: {number}" for name in names for number in numbers]
    suites: list[Values] = [
        [row.name, *(value for cell in row.cells for value in _cell_values(cell))]
        for row in comparison.rows
    ]
    by_suite = {row.slug: row.name for row in comparison.rows}
    of_cases: list[Values] = [
        [by_suite[suite], row.name, *(value for cell in row.cells for value in _cell_values(cell))]
        for suite, rows in cases.items()
        for row in rows
    ]
    missed: list[Values] = [
        [point_label(point), *(value for count in point.counts for value in _miss_values(count))]
        for point in comparison.missed
    ]
    totals: list[Values] = [[row.label, *row.texts] for row in total_rows(comparison)]
    remarks: list[Values] = [[text] for text in (*findings(comparison), *notes(comparison))]
    of_missed = [f"{name}: {number}" for name in names for number in ("missed", "decided")]
    return [
        ("Suites", [["suite", *heads], *suites]),
        ("Totals", [["", *names], *totals]),
        ("Cases", [["suite", "case", *heads], *of_cases]),
        ("Missed", [["check", *of_missed], *missed]),
        ("Notes", [["note"], *remarks]),
    ]


def _cell_values(cell: SuiteCell | CaseInColumn | None) -> Values:
    """Return the numbers of a cell; what is unknown is empty, not 0."""
    if cell is None:
        return [""] * 5
    return [cell.verdict, *cell.trials, "" if cell.score is None else cell.score]


def _miss_values(count: MissCount | None) -> Values:
    return ["", ""] if count is None else list(count)
