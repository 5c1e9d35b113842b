"""Workers as real processes, and what is left when they are killed."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.test import TestCase

from evals_app.models import Execution, GradeResult, Lease, Run, Transcript, Worker
from evals_app.runs import start_run
from tests.runs.suites import make_suite

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE_S = 60.0

pytestmark = pytest.mark.django_db(transaction=True)


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that other processes do; generous, so that a slow machine may pass."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up, f"It did not happen: {what}"
        time.sleep(0.05)


@contextmanager
def worker(environment: dict[str, str], *options: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "worker", *options],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


def start(cases: int) -> Run:
    suite = make_suite(["slow"] * cases, contains="done", concurrency=4)
    with TestCase.captureOnCommitCallbacks(execute=False):
        return start_run(suite)


def state(run: Run) -> str:
    run.refresh_from_db()
    return run.status


def test_a_worker_killed_in_the_middle_of_a_run_loses_and_doubles_nothing(
    child_environment: dict[str, str],
) -> None:
    run = start(50)
    with worker(child_environment) as first:
        eventually(
            lambda: 5 < Execution.objects.filter(status="finished").count() < 45, "some results"
        )
        first.kill()
        first.wait()

    with worker(child_environment):
        eventually(lambda: state(run) == "finished", "the end of the run")

    assert (run.total, run.passed, run.not_run) == (50, 50, 0)
    assert run.executions.filter(status="finished").count() == 50
    assert Transcript.objects.count() == GradeResult.objects.count() == 50
    assert not Lease.objects.exists()


def test_no_process_outlives_a_killed_worker(child_environment: dict[str, str]) -> None:
    with worker(child_environment) as killed:
        eventually(Worker.objects.exists, "a worker row")
        eventually(lambda: len(children(killed.pid)) >= 1, "its processes")
        tree = descendants(killed.pid)
        killed.kill()
        killed.wait()

        eventually(lambda: not any(map(is_running, tree)), "the end of all processes")


def test_a_worker_that_is_told_to_stop_hands_its_work_back(
    child_environment: dict[str, str],
) -> None:
    run = start(50)
    with worker(child_environment, "--grace", "0") as stopped:
        eventually(lambda: Execution.objects.filter(status="finished").exists(), "a result")
        stopped.send_signal(signal.SIGTERM)
        output, _ = stopped.communicate(timeout=PATIENCE_S)

    assert stopped.returncode == 0, output
    assert "Worker stopped" in output
    assert not Lease.objects.exists()
    assert not Worker.objects.exists()
    assert set(run.executions.exclude(status="finished").values_list("status", "attempts")) == {
        ("queued", 0)
    }


def test_check_tells_whether_a_worker_is_alive(child_environment: dict[str, str]) -> None:
    def check() -> int:
        command = [sys.executable, "manage.py", "worker", "--check"]
        done = subprocess.run(
            command, cwd=ROOT, env=child_environment, capture_output=True, check=False
        )
        return done.returncode

    before = check()
    with worker(child_environment):
        eventually(Worker.objects.exists, "a worker row")
        during = check()

    assert (before, during, check()) == (1, 0, 1)


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [int(each) for each in found]


def descendants(pid: int) -> list[int]:
    found = children(pid)
    return found + [each for child in found for each in descendants(child)]


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
