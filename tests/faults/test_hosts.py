"""Two machines on one database, and what is left of the runs when one of them fails."""

import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest

from benchmarks.processes import ROOT
from benchmarks.two_hosts import HOSTS, Network, eventually, ip, postgres, silent_for, why_not

T = TypeVar("T")
CLONE_NEWNET = 0x40000000  # of Linux's sched.h
LEASE_S, REAP_S = 6.0, 2.0
SLACK_S = 15.0  # the machine may be busy with other things


def on_own_network(work: Callable[[], T]) -> T:
    """Call `work` in a thread with a network of its own, which its processes inherit.

    A Chromium of other tests takes new interfaces of the machine for a lost connection.
    """

    def work_there() -> T:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "no network of its own")
        ip("link", "set", "lo", "up")
        return work()

    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(work_there).result()


def play(*, broker: str, fault: str) -> dict[str, Any]:
    """Run the benchmark at a reduced size."""
    if reason := why_not(broker=broker):
        pytest.skip(f"two hosts: {reason}")
    command = [sys.executable, "-m", "benchmarks.two_hosts", "--broker", broker, "--fault", fault]
    command += ["--cases", "50", "--lease", str(LEASE_S), "--reap", str(REAP_S)]
    done = on_own_network(
        lambda: subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    )
    assert done.returncode in {0, 1}, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


@pytest.mark.parametrize(
    ("broker", "fault"),
    [
        pytest.param("orm", "power", id="it vanishes without a word"),
        pytest.param("redis", "partition", id="it is cut off, works on, and comes back, Redis"),
    ],
)
def test_a_host_that_fails_loses_and_doubles_nothing(broker: str, fault: str) -> None:
    figures = play(broker=broker, fault=fault)

    assert figures["problems"] == [], figures.get("logs")
    assert figures["running_at_the_fault"] > 0
    assert figures["run_more_than_once"] > 0  # the fault did hit conversations
    assert figures["recovery_s"] <= LEASE_S + REAP_S + SLACK_S


# Takes a lock and never says that the message has ended, as if the rest of it were on its way.
HOLDER = """
import sys, time, psycopg
server = psycopg.connect(sys.argv[1]).pgconn
server.enter_pipeline_mode()
server.send_query_params(b"SELECT pg_advisory_xact_lock(1)", [])
server.send_flush_request()
server.flush()
while server.is_busy():
    server.consume_input()
print("held", flush=True)
time.sleep(600)
"""
SILENCE_S = 4.0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the PostgreSQL server, which is another user, can reach."""
    with tempfile.TemporaryDirectory(prefix="hosts-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_a_host_that_vanishes_in_the_middle_of_a_message_lets_go_of_its_locks(
    open_folder: Path,
) -> None:
    if reason := why_not():
        pytest.skip(f"two hosts: {reason}")
    on_own_network(lambda: vanish(open_folder))


def vanish(open_folder: Path) -> None:
    host = HOSTS[0]
    with Network() as network, postgres(open_folder, network.address) as address:
        words = [sys.executable, "-c", HOLDER, silent_for(SILENCE_S, address)]
        there = ["ip", "netns", "exec", network.space(host), *words]
        with (
            subprocess.Popen(there, stdout=subprocess.PIPE, text=True) as holder,
            psycopg.connect(address, autocommit=True) as server,
        ):
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"

            def is_free() -> bool:
                row = server.execute("SELECT pg_try_advisory_lock(1)").fetchone()
                return bool(row and row[0])

            try:
                assert not is_free()
                network.cut(host)
                assert eventually(is_free, "the lock is let go") <= SILENCE_S + SLACK_S
            finally:
                holder.kill()
