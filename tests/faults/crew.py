"""Worker commands as real processes, ways to hurt them, and what must be true afterwards.

Leases are short here, so that what is lost is found soon. Waiting is bounded generously: a test
fails because something does not happen at all, not because the machine is slow.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evals_app.models import Execution, GradeResult, Lease, Run, Suite, Transcript
from evals_app.runs.ground.workers import is_process
from evals_app.runs.starting.start_run import start_run
from tests.runs.suites import make_suite

ROOT = Path(__file__).resolve().parent.parent.parent
WORKERS = 3
LEASE_S = 4.0
REAP_S = 1.0
SHORT = {
    "EVALS_LEASE_S": str(LEASE_S),
    "EVALS_HEARTBEAT_S": "1",
    "EVALS_REAP_S": str(REAP_S),
    "EVALS_PULSE_S": "0.2",
    "EVALWELL_SQLITE_TIMEOUT_S": "2",
    "EVALWELL_WORKERS": str(WORKERS),
}
RECOVERED_S = LEASE_S + REAP_S + 1.0 + 25.0  # what may be lost, and a slow machine
PATIENCE_S = 60.0


def eventually(condition: Callable[[], bool], what: str, *, within_s: float = PATIENCE_S) -> None:
    """Wait for something that other processes do."""
    give_up = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < give_up, f"It did not happen within {within_s:g} s: {what}"
        time.sleep(0.1)


# Processes


def children(pid: int) -> list[int]:
    """Return the living children of a process, oldest first."""
    try:
        pids = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [child for child in map(int, pids) if is_process(child)]


def descendants(pid: int) -> list[int]:
    own = children(pid)
    return own + [below for child in own for below in descendants(child)]


def send(signum: signal.Signals, *pids: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signum)


class Crew:
    """A worker command with all its processes."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.pid = process.pid
        self._log = log

    @property
    def sentinel(self) -> int:
        return children(self.pid)[0]

    @property
    def hands(self) -> list[int]:
        """The sentinel's children. As they are started: workers, then monitor, then pusher."""
        return [hand for child in children(self.pid) for hand in children(child)]

    @property
    def tree(self) -> list[int]:
        return [self.pid, *descendants(self.pid)]

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def is_complete(self) -> bool:
        return len(self.hands) == WORKERS + 2

    def wait(self) -> int:
        """Wait for the command's own end; give its exit code."""
        return self.process.wait(PATIENCE_S)


@contextmanager
def crew(environment: dict[str, str], tmp_path: Path, *options: str) -> Iterator[Crew]:
    """Run a worker command; nothing of it may be left in the end."""
    log = tmp_path / f"worker-{time.monotonic_ns()}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "worker", *options],
            cwd=ROOT,
            env=environment | SHORT,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    hurt = Crew(process, log)
    try:
        eventually(hurt.is_complete, "all processes of a worker")
        yield hurt
    except BaseException:
        print(hurt.log)  # noqa: T201 - pytest shows it beside the failure
        raise
    finally:
        left = hurt.tree
        send(signal.SIGCONT, *left)
        send(signal.SIGTERM, hurt.pid)
        try:
            hurt.wait()
        finally:
            process.kill()
            process.wait()
            send(signal.SIGKILL, *left[1:])
    assert not [pid for pid in left if is_process(pid)], "processes outlived their command"


# Runs


def make_slow_suite(cases: int, *, concurrency: int = 8, message: str = "slow") -> Suite:
    """Write a suite in which every conversation takes 0.3 s, or ten minutes if "very late"."""
    return make_suite([message] * cases, contains="done", concurrency=concurrency)


def start(cases: int, *, concurrency: int = 8, message: str = "slow") -> Run:
    return start_run(make_slow_suite(cases, concurrency=concurrency, message=message))


def finished() -> int:
    return Execution.objects.filter(status=Execution.Status.FINISHED).count()


def worker_pid() -> int:
    """Return a worker process that is in the middle of conversations."""
    pids: list[int] = []

    def look() -> bool:
        running = Execution.objects.filter(status="running", started_at__isnull=False)
        tokens = running.values("lease_token")
        pids[:] = Lease.objects.filter(pk__in=tokens).values_list("pid", flat=True)
        return bool(pids)

    eventually(look, "conversations")
    return pids[0]


def is_over(run: Run) -> bool:
    run.refresh_from_db()
    return not run.is_open


def check_run(run: Run, *, passed: int | None = None) -> None:
    """Assert that a run ended with exactly one result for each execution, all of them passed."""
    run.refresh_from_db()
    executions = Execution.objects.filter(run=run)
    ended = executions.filter(status=Execution.Status.FINISHED)
    verdicts = list(ended.values_list("verdict", flat=True))
    assert run.status == Run.Status.FINISHED
    assert executions.count() == ended.count() == run.total
    counters = {"passed": run.passed, "failed": run.failed, "errored": run.errored}
    assert counters == {verdict: verdicts.count(verdict) for verdict in counters}
    assert sum(counters.values()) + run.cancelled + run.not_run == run.total
    assert run.passed == (run.total if passed is None else passed)
    transcripts = Transcript.objects.filter(execution__run=run).values_list("execution", flat=True)
    grades = GradeResult.objects.filter(execution__run=run).values_list("execution", flat=True)
    assert sorted(transcripts) == sorted(grades) == sorted(ended.values_list("pk", flat=True))
    assert not Lease.objects.filter(run=run).exists()
    assert set(ended.values_list("lease_token", flat=True)) == {None}
