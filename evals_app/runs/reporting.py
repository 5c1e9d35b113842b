"""Reports of runs: read from rows, and written in every kind."""

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from evals_app.models import Run
from evals_app.reports.answers.model_comparison import TableRun, arrange, case_rows
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.answers.run_json import (
    DETAIL_COLUMNS,
    SCHEMA_VERSION,
    execution_row_json,
    json_pieces,
    run_details_json,
)
from evals_app.reports.renderers.decision_html import decision_page
from evals_app.reports.renderers.folder import File, folder
from evals_app.reports.renderers.github import github_summary
from evals_app.reports.renderers.gitlab import code_quality
from evals_app.reports.renderers.html import html_page
from evals_app.reports.renderers.junit import junit
from evals_app.reports.renderers.markdown import markdown
from evals_app.reports.renderers.model_page import models_page
from evals_app.reports.renderers.model_tables import model_sheets, models_markdown
from evals_app.reports.renderers.results import NO_LINES, Again, CaseLines, Results
from evals_app.reports.renderers.rows import Cell, result_rows
from evals_app.reports.words.kinds import ComparisonKind, KindName
from evals_app.reports.words.report_plugins import (
    ReportPluginError,
    all_kinds,
    own_kind,
    plugin_report,
)
from evals_app.runs.reading.model_comparison import failed_trials, model_comparison, table_json
from evals_app.runs.reading.run_readers import (
    case_results,
    execution_rows,
    run_document,
    runs_document,
    whole_executions,
)
from evals_app.runs.release import decision_on
from evals_app.runs.sent_decisions import (
    ANSWER_ALONE,
    CannotSendError,
    Link,
    Shown,
    decision_on_run,
)

ROWS_AT_ONCE = 2000
# Conversations of a run: plug-ins get all of them at once, in the memory of the site.
MAX_FOR_PLUGINS = 5000
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the same archive each time
_READABLE = 0o644 << 16


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report of a run: its file, whose content is read while it is sent."""

    name: str
    media_type: str
    content: Iterator[bytes] = field(repr=False)


def report(kind: str, run: Run, *, link: Link, shown: Shown = ANSWER_ALONE) -> ReportFile:
    """Return a report of one run as a file; of a decision it has what is `shown`.

    Raises:
        CannotSendError: nothing can be decided about the run, or a plug-in cannot make its report.
    """
    about = all_kinds()[kind]
    if own_kind(kind) is None and run.total > MAX_FOR_PLUGINS:
        raise CannotSendError(
            f"This run has {run.total:,} conversations, and reports of plug-ins can be downloaded for up"
            f" to {MAX_FOR_PLUGINS:,}. Write it with: runs attach {run.pk} --report {kind}=FILE"
        )
    name = f"run-{run.pk}-{run.suite_slug}{about.suffix}"
    return ReportFile(name, about.media_type, report_content(kind, [run], link=link, shown=shown))


def report_content(
    kind: str,
    runs: Sequence[Run],
    *,
    link: Link,
    root: str = "",
    lines: CaseLines = NO_LINES,
    shown: Shown = ANSWER_ALONE,
) -> Iterator[bytes]:
    """Return one report over runs, in pieces; `root` is the folder of the repository of their files.

    `lines` are those of their cases in the files.

    Raises:
        CannotSendError: nothing can be decided about a run, or a plug-in cannot make its report.
    """
    ours = own_kind(kind)
    if ours is None:
        return iter([_by_plugin(kind, run) for run in runs])
    if kind == "decision":
        return encode(decision_page([decision_on_run(run, link=link, shown=shown) for run in runs]))
    if kind == "json":
        return encode(json_pieces(run_document(runs[0]) if len(runs) == 1 else runs_document(runs)))
    results = [results_of(run, link=link, lines=lines) for run in runs]
    if kind == "folder":
        return _archive(folder(results))
    if kind == "xlsx":
        return iter([write_one_sheet("Results", partial(result_rows, results))])
    texts: Mapping[KindName, Callable[[Sequence[Results]], Iterator[str]]] = {
        "html": html_page,
        "markdown": markdown,
        "csv": lambda of_runs: write_csv(result_rows(of_runs)),
        "junit": partial(junit, root=root),
        "github": github_summary,
        "gitlab": partial(code_quality, root=root),
    }
    return encode(texts[ours](results))


def _by_plugin(kind: str, run: Run) -> bytes:
    # In one piece: a plug-in that fails must do so before anything is sent.
    results = json.loads("".join(json_pieces(run_document(run))))
    try:
        text = plugin_report(kind, results)
    except (LookupError, ReportPluginError) as error:
        raise CannotSendError(str(error)) from error
    return f"{text.rstrip()}\n".encode(errors="replace")


def comparison_content(
    kind: ComparisonKind, runs: Sequence[TableRun], *, link: Link, shows_labels: bool = True
) -> Iterator[bytes]:
    """Return the table of runs as a file of this kind, with all of its cases.

    Without `shows_labels` it names no checks, which not everyone may read.
    """
    grid = arrange(runs)[1]
    if kind == "json":
        answer = table_json(runs, suites=grid, shows_labels=shows_labels)
        return encode(json_pieces({"schema_version": SCHEMA_VERSION, "comparison": answer}))
    comparison = model_comparison(runs)
    comparison = comparison if shows_labels else comparison.without_labels()
    cases = {slug: case_rows(cells) for slug, cells in grid.items()}
    if kind == "xlsx":
        from evals_app.formats.tables.workbook_writing import write_workbook  # noqa: PLC0415 - loads openpyxl

        return iter([write_workbook(model_sheets(comparison, cases))])
    failed, more = failed_trials(runs, link=link)
    if kind == "md":
        return encode(models_markdown(comparison, failed, more_failed=more))
    return encode(
        models_page(
            comparison, cases=cases, failed=failed, more_failed=more, details=whole_executions
        )
    )


def write_folder(runs: Sequence[Run], path: Path, *, link: Link) -> None:
    """Write a folder for each run into a folder, which is made, or raise OSError."""
    for name, content in folder([results_of(run, link=link) for run in runs]):
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as out:
            out.writelines(encode(content))


def encode(pieces: Iterable[str]) -> Iterator[bytes]:
    """Return text as UTF-8, in which only half of a surrogate pair cannot be written."""
    return (piece.encode(errors="replace") for piece in pieces)


def results_of(run: Run, *, link: Link, lines: CaseLines = NO_LINES) -> Results:
    """Return the results of a run, which are read when a report needs them."""

    def executions() -> Iterator[Json]:
        rows = execution_rows().filter(run=run).order_by("position", "trial")
        for row in rows.iterator(chunk_size=ROWS_AT_ONCE):
            yield execution_row_json(row) | {"url": link("execution", row["id"])}

    row = Run.objects.values(*DETAIL_COLUMNS).get(pk=run.pk)
    return Results(
        run={
            **run_details_json(row, ()),
            "suite_name": run.suite_name,
            "agent_name": run.agent_name,
            "set_name": run.conversation_set.name if run.conversation_set else "",
            "score_scale": run.score_scale,
            "stand_in_note": run.stand_in_note,
            "snapshot": run.snapshot_id,
            "url": link("run", run.pk),
            "source": run.suite.source if run.suite else "",
            "decision": decision_on(run),
        },
        cases=Again(lambda: case_results(run.pk)),
        executions=Again(executions),
        details=whole_executions,
        lines=lines.get(run.suite_slug, {}),
    )


def write_csv(rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    """Return a table as CSV, in pieces."""
    from evals_app.formats.tables.separated import csv_lines  # noqa: PLC0415 - loads PyYAML

    return csv_lines(["" if cell is None else str(cell) for cell in row] for row in rows)


def write_one_sheet(title: str, rows: Callable[[], Iterable[Sequence[Cell]]]) -> bytes:
    """Return a table as a workbook; its rows are read twice."""
    from evals_app.formats.tables.workbook_writing import write_workbook  # noqa: PLC0415 - loads openpyxl

    def cells() -> Iterator[list[str | float]]:
        for row in rows():
            yield ["" if cell is None else cell for cell in row]

    return write_workbook([(title, Again(cells))])


class _Sent(io.RawIOBase):
    """Takes what an archive writes until it is sent; it cannot be read or wound back."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def take_new(self) -> bytes:
        """Return what was written since the last time."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _archive(files: Iterable[File]) -> Iterator[bytes]:
    sent = _Sent()
    with zipfile.ZipFile(sent, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name, _FIRST_DAY)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _READABLE
            with archive.open(entry, "w") as file:
                for piece in encode(content):
                    file.write(piece)
            yield sent.take_new()
    yield sent.take_new()
