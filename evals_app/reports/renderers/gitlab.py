"""Runs for GitLab: a Code Quality report, and sections of a job's log that fold.

GitLab's documentation, "Code Quality report format" and "Custom collapsible sections".
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence

from evals_app.reports.renderers.github import source_in
from evals_app.reports.renderers.results import WENT_WRONG, Results, trial_name

_SEVERITIES = {"failed": "major", "errored": "minor"}


def code_quality(runs: Sequence[Results], *, root: str = "") -> Iterator[str]:
    """Return what went wrong as a Code Quality report; `root` is the folder of the repository."""
    before = "["
    for results in runs:
        for execution in results.executions:
            if execution["verdict"] in WENT_WRONG:
                finding = _finding(results, execution, root)
                yield f"{before}\n{json.dumps(finding, ensure_ascii=False)}"
                before = ","
    yield "\n]\n" if before == "," else "[]\n"


def _finding(results: Results, execution: dict[str, object], root: str) -> dict[str, object]:
    suite = results.run["suite"]
    name = trial_name(execution)
    # Equal in the next run, so that GitLab can say what is new and what is gone.
    same = "\0".join([suite, name, str(execution["verdict"]), str(execution["cause"])])
    source = source_in(results, root)
    line = results.lines.get(str(execution["case"]), 1) if source else 1
    return {
        "description": f"{name}: {execution['reason'] or ''}",
        "check_name": f"evalwell/{execution['cause']}",
        "fingerprint": hashlib.sha256(same.encode(errors="replace")).hexdigest(),
        "severity": _SEVERITIES[str(execution["verdict"])],
        # A place is required: without a file in the repository it is the name of the suite.
        "location": {"path": source or suite, "lines": {"begin": line}},
    }


def section_start(name: str, title: str, *, at: int) -> str:
    """Return the line that begins a folded section; `at` are seconds since 1970."""
    return f"\x1b[0Ksection_start:{at}:{_word(name)}[collapsed=true]\r\x1b[0K{title}"


def section_end(name: str, *, at: int) -> str:
    """Return the line that ends a section."""
    return f"\x1b[0Ksection_end:{at}:{_word(name)}\r\x1b[0K"


def _word(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)
