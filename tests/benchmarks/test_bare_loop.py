"""The reference of the benchmarks makes the calls that it says it makes."""

import json
import subprocess
import sys

import httpx2

from benchmarks.processes import ROOT
from benchmarks.runs import model_server


def test_the_bare_loop_makes_each_call_once_and_grades_the_reply() -> None:
    with model_server(0) as url:
        command = [sys.executable, "benchmarks/bare_loop.py", "--url", url, "--calls", "5"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        stats = httpx2.get(f"{url}/stats").json()

    figures = json.loads(done.stdout)
    assert (figures["calls"], figures["passed"]) == (5, 5)
    assert figures["loop_s"] > 0
    assert figures["cpu_s"] > 0
    assert stats["answered"] == {"ok": 5}
