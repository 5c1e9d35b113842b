"""Runs for GitHub Actions: the summary of a job, and annotations of what went wrong.

Both by GitHub's documentation, "Workflow commands for GitHub Actions".
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePath

from evals_app.reports.renderers.markdown import link_to, reason_line, run_head
from evals_app.reports.renderers.results import WENT_WRONG, Results, trial_name

# GitHub takes 1 MiB of summary from a step, and shows 10 errors of it.
MAX_SUMMARY_BYTES = 1_000_000
MAX_ANNOTATIONS = 10
_MAX_FAILURES = 1000  # of one run


def github_summary(runs: Sequence[Results]) -> Iterator[str]:
    """Return the summary of a job: verdict, numbers and gates, and what went wrong as far as it fits."""
    left = MAX_SUMMARY_BYTES // max(1, len(runs))
    for results in runs:
        yield from _summary(results, most_bytes=left)


def _summary(results: Results, *, most_bytes: int) -> Iterator[str]:
    head = run_head(results.run)
    yield head
    used, shown, total = len(head.encode()), 0, 0
    for execution in results.executions:
        if execution["verdict"] not in WENT_WRONG:
            continue
        total += 1
        word = "❌" if execution["verdict"] == "failed" else "⚠️"
        line = f"- {word} {link_to(execution)}: {reason_line(execution['reason'] or '')}\n"
        used += len(line.encode())
        if used < most_bytes and shown == total - 1 and shown < _MAX_FAILURES:
            yield ("\n## Failures and errors\n\n" if not shown else "") + line
            shown += 1
    if total > shown:
        yield f"\n{total - shown:,} more failures and errors are not listed here.\n"
    yield "\n"


def annotations(runs: Sequence[Results], *, root: str = "") -> Iterator[str]:
    """Return a workflow command for each failure; `root` is the folder of the repository."""
    wrong = (
        (results, execution)
        for results in runs
        for execution in results.executions
        if execution["verdict"] in WENT_WRONG
    )
    for results, execution in islice(wrong, MAX_ANNOTATIONS - 1):
        level = "error" if execution["verdict"] == "failed" else "warning"
        title = f"{results.run['suite_name']}: {trial_name(execution)}"
        file, line = source_in(results, root), results.lines.get(execution["case"], 1)
        yield _command(level, execution["reason"] or "", title, file, line)
    if more := sum(1 for _ in wrong):
        yield _command("error", f"{more:,} more failures and errors.", "Evalwell", "")


def source_in(results: Results, root: str) -> str:
    """Return the file of a suite as a path within a repository; empty if it is not in there."""
    source = PurePath(results.run["source"])
    if not root or not source.is_relative_to(root):
        return ""
    return source.relative_to(root).as_posix()


def _command(level: str, message: str, title: str, file: str, line: int = 1) -> str:
    properties = {"file": file, "line": str(line) if file else "", "title": title}
    listed = ",".join(f"{name}={_property(text)}" for name, text in properties.items() if text)
    return f"::{level} {listed}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
