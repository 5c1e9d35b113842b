"""The benchmark of start-up at its smallest size: every process works and is measured."""

import subprocess
import sys

from benchmarks.processes import ROOT
from benchmarks.startup import FILES, IMPORT, LIST, LOOP, RUN, START, Figures


def test_every_process_is_measured() -> None:
    options = ["--rounds", "1", "--cases", "2", "--api", "openai"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.startup", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )

    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in (START, LIST, IMPORT, LOOP, RUN, FILES))


def test_a_ratio_is_the_median_of_those_of_each_round() -> None:
    figures = Figures("openai", [{"a": 1, "b": 2}, {"a": 9, "b": 3}, {"a": 4, "b": 4}])

    assert figures.cpu_s("a") == 4
    assert figures.ratio("a", "b") == 1
