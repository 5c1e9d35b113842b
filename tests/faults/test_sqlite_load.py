"""Workers and people who write to one SQLite file at the same time."""

import json
import subprocess
import sys
from typing import Any

from benchmarks.processes import ROOT


def load(*options: str) -> dict[str, Any]:
    """Run the benchmark at a reduced size; it makes a site of its own."""
    size = ["--cases", "50", "--writers", "3", "--transactions", "150"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.sqlite_load", *size, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def test_no_transaction_is_refused_while_two_worker_commands_record_and_people_edit() -> None:
    figures = load("--commands", "2", "--processes", "4")

    assert figures["problems"] == [], figures.get("said")
    assert (figures["locked"], figures["transactions"]) == (0, 450)


def test_transactions_of_sqlites_own_kind_would_be_refused() -> None:
    figures = load("--deferred")

    assert figures["locked"] > 0
