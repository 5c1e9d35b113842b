"""The script that measures previews of tables, at its smallest size."""

import subprocess
import sys

import pytest

from benchmarks.processes import ROOT


@pytest.mark.parametrize("form", ["csv", "xlsx", "jsonl"])
def test_the_page_shows_every_form_of_the_table(form: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.preview", "--rows", "20", "--only", form],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert f"{form:6} 20 rows" in done.stdout
