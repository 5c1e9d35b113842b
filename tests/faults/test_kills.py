"""Processes that are killed, stopped or stuck, at work and at rest: nothing is lost or doubled."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from django_q.models import Success

from evals_app.models import Execution, Lease, Worker
from evals_app.runs.ground.workers import is_process
from evals_app.runs.process.sentinel import NICE
from evals_app.runs.process.watchdog import MAX_RESTARTS
from tests.faults.crew import (
    RECOVERED_S,
    check_run,
    children,
    crew,
    eventually,
    finished,
    is_over,
    send,
    start,
    worker_pid,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_worker_process_killed_at_work(child_environment: dict[str, str], tmp_path: Path) -> None:
    run = start(60)
    with crew(child_environment, tmp_path):
        eventually(lambda: finished() > 5, "some results")
        send(signal.SIGKILL, worker_pid())

        eventually(lambda: is_over(run), "the end of the run", within_s=RECOVERED_S)
    check_run(run)
    assert run.executions.filter(attempts=2).exists()


def test_processes_killed_at_rest(child_environment: dict[str, str], tmp_path: Path) -> None:
    with crew(child_environment, tmp_path) as hurt:
        victims = hurt.hands
        assert {os.getpriority(os.PRIO_PROCESS, victim) for victim in victims} == {NICE}
        # One after the other: each that dies would take the lock that it waits with along.
        for victim in victims:
            send(signal.SIGKILL, victim)
            eventually(lambda gone=victim: not is_process(gone), "its death")  # type: ignore[misc]
        eventually(hurt.is_complete, "their replacement")

        run = start(16)
        eventually(lambda: is_over(run), "the end of the run", within_s=RECOVERED_S)
        assert not set(victims) & set(hurt.hands)
    check_run(run)


def test_the_sentinel_killed(child_environment: dict[str, str], tmp_path: Path) -> None:
    run = start(60)
    with crew(child_environment, tmp_path) as hurt:
        eventually(lambda: finished() > 5, "some results")
        before = hurt.tree
        send(signal.SIGKILL, hurt.sentinel)

        eventually(lambda: is_over(run), "the end of the run", within_s=RECOVERED_S)
        assert set(before) & set(hurt.tree) == {hurt.pid}
        assert "Restarting all of them" in hurt.log
    check_run(run)


def test_everything_killed_at_once(child_environment: dict[str, str], tmp_path: Path) -> None:
    run = start(60)
    with crew(child_environment, tmp_path) as hurt:
        eventually(lambda: finished() > 5, "some results")
        send(signal.SIGKILL, *hurt.tree)
        hurt.wait()

    with crew(child_environment, tmp_path):
        eventually(lambda: is_over(run), "the end of the run", within_s=RECOVERED_S)
    check_run(run)


def test_no_process_outlives_a_command_killed_at_work(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    start(60)
    with crew(child_environment, tmp_path) as hurt:
        worker_pid()
        tree = hurt.tree
        send(signal.SIGKILL, hurt.pid)
        hurt.wait()

        eventually(lambda: not any(map(is_process, tree)), "the end of all processes")


def test_many_processes_killed_at_random(child_environment: dict[str, str], tmp_path: Path) -> None:
    chance = random.Random(4)
    run = start(100)
    with crew(child_environment, tmp_path) as hurt:
        for number in range(6):
            eventually(lambda: bool(hurt.hands), "somebody to kill")
            victim = hurt.sentinel if number == 3 else chance.choice(hurt.hands)
            send(signal.SIGKILL, victim)
            time.sleep(0.6)

        eventually(lambda: is_over(run), "the end of the run")
    check_run(run)


def test_a_worker_process_that_was_given_up_writes_nothing_when_it_wakes(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    run = start(40, concurrency=4)
    with crew(child_environment, tmp_path):
        sleeper = worker_pid()
        send(signal.SIGSTOP, sleeper)
        lease = Lease.objects.get(pid=sleeper)
        running = Execution.objects.filter(lease_token=lease.pk, status="running")
        stolen = set(running.values_list("pk", flat=True))
        eventually(lambda: is_over(run), "the end of the run", within_s=RECOVERED_S)
        ended_at = dict(run.executions.values_list("pk", "finished_at"))
        send(signal.SIGCONT, sleeper)
        eventually(lambda: came_too_late(sleeper), "its late results")
    check_run(run)
    assert stolen
    assert dict(run.executions.values_list("pk", "finished_at")) == ended_at


def came_too_late(pid: int) -> bool:
    """Whether a worker ended without recording all that it had claimed, or gave up altogether."""
    drained = Success.objects.filter(func="evals_app.tasks.work_on_runs").values_list(
        "result", flat=True
    )
    late = any(counts["claimed"] > counts["recorded"] for counts in drained if counts)
    return late or not is_process(pid)


@pytest.mark.parametrize(
    "who",
    [
        pytest.param("sentinel", id="the sentinel gives no sign of life"),
        pytest.param("pusher", id="tickets never arrive"),
    ],
)
def test_stuck_processes_are_restarted(
    child_environment: dict[str, str], tmp_path: Path, who: str
) -> None:
    with crew(child_environment, tmp_path) as hurt:
        before = hurt.hands
        send(signal.SIGSTOP, hurt.sentinel if who == "sentinel" else before[-1])
        run = start(16)
        eventually(lambda: hurt.is_complete() and not set(before) & set(hurt.hands), "a new start")
        eventually(lambda: is_over(run), "the end of the run", within_s=RECOVERED_S)
        assert "Restarting all of them" in hurt.log
    check_run(run)


def test_processes_that_die_again_and_again_end_the_command(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    with crew(child_environment, tmp_path) as hurt:
        for _ in range(MAX_RESTARTS + 1):
            eventually(lambda: bool(children(hurt.pid)), "a new start")
            send(signal.SIGKILL, hurt.sentinel)
            eventually(lambda: not children(hurt.pid), "its end")

        assert hurt.wait() == 1
        assert "in ten minutes; giving up" in hurt.log
    assert not Worker.objects.exists()
