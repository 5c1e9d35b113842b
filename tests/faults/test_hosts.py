"""Two machines on one database, and what is left of the runs when one of them fails."""

import json
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.two_hosts import ROOT, why_not

LEASE_S, REAP_S = 6.0, 2.0
SLACK_S = 15.0  # the machine may be busy with other things


def play(*, broker: str, fault: str) -> dict[str, Any]:
    """Run the benchmark at a reduced size."""
    if reason := why_not(broker=broker):
        pytest.skip(f"two hosts: {reason}")
    command = [sys.executable, "-m", "benchmarks.two_hosts", "--broker", broker, "--fault", fault]
    command += ["--cases", "50", "--lease", str(LEASE_S), "--reap", str(REAP_S)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


@pytest.mark.parametrize(
    ("broker", "fault"),
    [
        pytest.param("orm", "power", id="it vanishes without a word"),
        pytest.param("orm", "partition", id="it is cut off, works on, and comes back"),
        pytest.param("redis", "kill", id="its worker is killed, Redis"),
        pytest.param("redis", "partition", id="it is cut off, works on, and comes back, Redis"),
    ],
)
def test_a_host_that_fails_loses_and_doubles_nothing(broker: str, fault: str) -> None:
    figures = play(broker=broker, fault=fault)

    assert figures["problems"] == [], figures.get("logs")
    assert figures["running_at_the_fault"] > 0
    assert figures["held_more_than_once"] > 0  # the fault did hit conversations
    assert figures["recovery_s"] <= LEASE_S + REAP_S + SLACK_S
