"""The reference of the benchmarks makes the calls that it says it makes."""

import json
import subprocess
import sys
from typing import Any

from benchmarks.model_server import Behaviour, Model
from benchmarks.processes import ROOT
from tests.model_server import Answer, ModelServer


def test_the_bare_loop_makes_each_call_once_and_grades_the_reply() -> None:
    with ModelServer(is_fast=True) as server:
        model = Model(Behaviour(), server)
        calls = []

        def answer(request: dict[str, Any]) -> Answer:
            calls.append(request)
            return model(request)

        server.answers(answer)
        command = [sys.executable, "benchmarks/bare_loop.py", "--url", server.url, "--calls", "5"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    figures = json.loads(done.stdout)
    assert (figures["calls"], figures["passed"]) == (5, 5)
    assert figures["loop_s"] > 0
    assert figures["cpu_s"] > 0
    assert len(calls) == 5
