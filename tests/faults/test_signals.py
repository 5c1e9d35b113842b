"""Workers that are asked to stop, politely or not: they end in time and hand everything back."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from evals_app.models import Execution, Lease, Run, Worker
from tests.faults.crew import Crew, crew, eventually, finished, send, start, worker_pid

pytestmark = pytest.mark.django_db(transaction=True)

FAR_AWAY = "600"  # a grace that no test can wait for


def stop_the_command(hurt: Crew) -> None:
    send(signal.SIGTERM, hurt.pid)


def stop_everybody(hurt: Crew) -> None:
    os.killpg(hurt.pid, signal.SIGTERM)
    send(signal.SIGTERM, *reversed(hurt.tree))


def press_control_c(hurt: Crew) -> None:
    os.killpg(hurt.pid, signal.SIGINT)


def assert_handed_back(run: Run) -> None:
    """Assert that nothing runs, and that no attempt of what is unfinished counts."""
    left = run.executions.exclude(status=Execution.Status.FINISHED)
    assert set(left.values_list("status", "attempts")) <= {("queued", 0)}
    assert not Lease.objects.exists()
    assert not Worker.objects.exists()


@pytest.mark.parametrize(
    "stop",
    [
        pytest.param(stop_the_command, id="SIGTERM to the command"),
        pytest.param(stop_everybody, id="SIGTERM to its group and every process"),
    ],
)
def test_it_stops_when_asked(
    child_environment: dict[str, str], tmp_path: Path, stop: Callable[[Crew], None]
) -> None:
    run = start(200)
    with crew(child_environment, tmp_path, "--grace", "1") as hurt:
        eventually(lambda: finished() > 5, "some results")
        stop(hurt)

        assert hurt.wait() == 0
        assert "Worker stopped" in hurt.log
        assert "killing" not in hurt.log
    assert finished() < run.total
    assert_handed_back(run)


def test_a_second_signal_ends_the_grace(child_environment: dict[str, str], tmp_path: Path) -> None:
    run = start(8, message="very late")
    with crew(child_environment, tmp_path, "--grace", FAR_AWAY) as hurt:
        worker_pid()
        press_control_c(hurt)
        eventually(lambda: Worker.objects.filter(is_draining=True).exists(), "the first is heard")
        press_control_c(hurt)

        assert hurt.wait() == 0
        assert "Asked again to stop" in hurt.log
    assert_handed_back(run)


def test_a_third_signal_kills_even_what_does_not_answer(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    run = start(8, message="very late")
    with crew(child_environment, tmp_path, "--grace", FAR_AWAY) as hurt:
        send(signal.SIGSTOP, worker_pid())
        press_control_c(hurt)
        eventually(lambda: Worker.objects.filter(is_draining=True).exists(), "the first is heard")
        press_control_c(hurt)
        eventually(lambda: "Asked again to stop" in hurt.log, "the second is heard")
        press_control_c(hurt)

        assert hurt.wait() == 0
        assert "killing them" in hurt.log
    assert not Lease.objects.exists()
    assert set(run.executions.values_list("status", flat=True)) == {"queued"}
