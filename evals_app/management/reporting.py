"""The reports of `run_evals`: those that are asked for, and what GitHub and GitLab show of a job."""

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evals_app.management import usage_error
from evals_app.management.run_options import WantedReport
from evals_app.models import Run
from evals_app.reports.renderers.github import annotations
from evals_app.reports.renderers.gitlab import section_end, section_start
from evals_app.reports.renderers.results import NO_LINES, CaseLines
from evals_app.runs.reading.model_comparison import NoTableError, table_runs
from evals_app.runs.reporting import (
    comparison_content,
    report_content,
    results_of,
    write_folder,
)
from evals_app.runs.sent_decisions import ALL_SHOWN, CannotSendError, Link


def refuse_unwritable(option: str, path: Path, *, is_folder: bool = False) -> None:
    """Refuse, before a run begins, a path that could not be written after it.

    Raises:
        CommandError: its folder does not exist, or something else has its name.
    """
    if not path.absolute().parent.is_dir():
        raise usage_error(f"{option}: there is no folder {path.parent}.")
    if is_folder and path.exists() and not path.is_dir():
        raise usage_error(f"{option}: {path} is a file; name a folder.")
    if not is_folder and path.is_dir():
        raise usage_error(f"{option}: {path} is a folder; name a file.")


def write_reports(
    runs: Sequence[Run],
    reports: Sequence[WantedReport],
    *,
    site: str | None,
    lines: CaseLines = NO_LINES,
) -> None:
    """Write the reports that were asked for, each over all runs; `lines` are those of their cases.

    Raises:
        CommandError: one cannot be written.
    """
    for one in reports:
        try:
            if one.kind == "folder":
                write_folder(runs, one.path, link=links(site))
                continue
            content = _content(one, runs, link=links(site), lines=lines)
            with one.path.open("wb") as file:
                file.writelines(content)
        except CannotSendError as error:
            raise usage_error(str(error)) from error
        except OSError as error:
            raise usage_error(f"{one.path} cannot be written: {error.strerror}.") from error


def _content(
    report: WantedReport, runs: Sequence[Run], *, link: Link, lines: CaseLines
) -> Iterator[bytes]:
    if report.kind == "comparison":
        try:
            chosen = table_runs([run.pk for run in runs])
        except NoTableError as error:
            raise usage_error(f"--report comparison: {error}") from error
        return comparison_content(report.comparison_kind or "json", chosen, link=link)
    if report.kind == "folder":
        raise ValueError("A folder is not one file.")
    return report_content(
        report.kind, runs, link=link, root=_repository(), lines=lines, shown=ALL_SHOWN
    )


@contextmanager
def no_commands(out: Any) -> Iterator[None]:
    """On GitHub, keep commands that replies in the output may contain from being executed."""
    if not _is_on("GITHUB_ACTIONS"):
        yield
        return
    token = secrets.token_hex(16)
    out.write(f"::stop-commands::{token}")
    try:
        yield
    finally:
        out.write(f"::{token}::")


@contextmanager
def fold(out: Any, run: Run) -> Iterator[None]:
    """On GitLab, fold what is printed about a run."""
    if not _is_on("GITLAB_CI"):
        yield
        return
    name = f"run_{run.pk}"
    title = f"{run.suite_name}: {run.get_verdict_display()}"
    out.write(section_start(name, title, at=int(time.time())))
    yield
    out.write(section_end(name, at=int(time.time())))


def tell_github(
    runs: Sequence[Run], out: Any, *, site: str | None, lines: CaseLines = NO_LINES
) -> None:
    """In a job of GitHub Actions, add to its summary and annotate what went wrong.

    Raises:
        CommandError: the summary cannot be written.
    """
    if not _is_on("GITHUB_ACTIONS"):
        return
    link = links(site)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(summary).open("ab") as file:
                file.writelines(report_content("github", runs, link=link))
        except OSError as error:
            raise usage_error(f"{summary} cannot be written: {error.strerror}.") from error
    results = [results_of(run, link=link, lines=lines) for run in runs]
    for line in annotations(results, root=_repository()):
        out.write(line)


def _is_on(variable: str) -> bool:
    return os.environ.get(variable) == "true"


def _repository() -> str:
    """Return the folder that the files of a repository are relative to."""
    return os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or str(Path.cwd())


def links(site: str | None) -> Link:
    """Return what makes addresses of pages; None: no site has them."""
    if site is None:
        return lambda _model, _pk: ""
    return lambda model, pk: f"{site}/admin/evals_app/{model}/{pk}/change/"
