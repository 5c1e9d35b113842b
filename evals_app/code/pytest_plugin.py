"""The plug-in of pytest: each case of a suite is a test.

pytest loads this module in every project where Evalwell is installed, so it imports nothing of ours
until a suite is collected.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evals_app.code.pytest_items import SuiteFile, SuiteOfFunction

SUFFIXES = (".suite.yaml", ".suite.yml")
MARK = "evalwell_suite"  # what the decorator `evals` leaves on a function

# Name, help, and how a person may write it.
_OPTIONS = {
    "agent": "Agent for suite files: module:function, an agent file, or a slug.",
    "model": "provider/model instead of the agent's own.",
    "judge": "provider/model that judges, instead of the suite's.",
    "max-cost": "US dollars that all cases of this session may cost together.",
    "trials": "How often each case runs.",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options, for the command line and the ini file."""
    group = parser.getgroup("evalwell", "suites of Evalwell")
    group.addoption(
        "--evals",
        action="store_true",
        help="Collect *.suite.yaml in folders, too. Files that are named are always collected.",
    )
    parser.addini("evals", "Collect *.suite.yaml in folders.", type="bool", default=False)
    for name, about in _OPTIONS.items():
        group.addoption(f"--evals-{name}", help=about)
        parser.addini(f"evals_{name.replace('-', '_')}", about, default="")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    """Collect a suite file that is named, or any if the project asks for that."""
    if not file_path.name.endswith(SUFFIXES):
        return None
    config = parent.config
    if not (
        config.getoption("--evals")
        or config.getini("evals")
        or parent.session.isinitpath(file_path)
    ):
        return None
    from evals_app.code.pytest_items import SuiteFile  # noqa: PLC0415 - the engine

    return SuiteFile.from_parent(parent, path=file_path)


def pytest_pycollect_makeitem(
    collector: pytest.Collector, name: str, obj: object
) -> SuiteOfFunction | None:
    """Collect a function with the decorator `evals`."""
    if MARK not in getattr(obj, "__dict__", ()):
        return None
    from evals_app.code.pytest_items import SuiteOfFunction  # noqa: PLC0415 - the engine

    return SuiteOfFunction.from_parent(collector, name=name, function=obj)


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Iterator[None]:
    """Say at the end what models cost."""
    yield
    if items := sys.modules.get("evals_app.code.pytest_items"):
        terminalreporter.write_line(items.spent_in_words(config))
