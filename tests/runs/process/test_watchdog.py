"""When a cluster is taken for dead, and how often it may be restarted."""

import os
import socket
from datetime import timedelta

import pytest
from django.utils import timezone

from evals_app.models import Lease, Run
from evals_app.runs.process.watchdog import (
    MAX_RESTARTS,
    WITHIN_S,
    Restarts,
    Watchdog,
    is_work_waiting,
)
from tests.makers import make_run


def make_watchdog() -> Watchdog:
    return Watchdog(silent_s=10.0, idle_s=100.0)


def lease(run: Run, *, host: str = "elsewhere", seconds: float = 30.0) -> None:
    until = timezone.now() + timedelta(seconds=seconds)
    Lease.objects.create(run=run, host=host, pid=os.getpid(), slots=1, until=until)


def test_signs_of_life_keep_a_cluster_alive() -> None:
    watchdog = make_watchdog()

    assert not any(watchdog.hear(float(now // 9), now=float(now)) for now in range(100))


def test_ten_seconds_of_silence_are_too_long() -> None:
    watchdog = make_watchdog()
    watchdog.hear(1.0, now=0.0)

    silent = [watchdog.hear(1.0, now=float(now)) for now in range(1, 12)]

    assert silent == [False] * 10 + [True]


def test_a_pause_of_the_listener_does_not_count() -> None:
    watchdog = make_watchdog()
    watchdog.hear(1.0, now=0.0)

    assert not watchdog.hear(1.0, now=3600.0)


def test_work_that_waits_too_long_is_noticed_unless_it_is_taken_up_in_between() -> None:
    watchdog = make_watchdog()
    looks = [watchdog.see(is_work_waiting=True, now=now) for now in (0.0, 100.0, 101.0)]

    assert looks == [False, False, True]
    assert not watchdog.see(is_work_waiting=False, now=160.0)
    assert not watchdog.see(is_work_waiting=True, now=201.0)


def test_restarts_are_at_once_at_first_and_then_later_and_later() -> None:
    restarts = Restarts()

    assert [restarts.next_pause(now=0.0) for _ in range(5)] == [0.0, 0.0, 1.0, 2.0, 4.0]


def test_the_sixth_restart_in_ten_minutes_is_one_too_many() -> None:
    restarts = Restarts()
    for number in range(MAX_RESTARTS):
        restarts.next_pause(now=float(number))

    assert restarts.next_pause(now=WITHIN_S - 1) is None
    assert restarts.next_pause(now=WITHIN_S + MAX_RESTARTS) == 0.0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("states", "stop_reason", "waits"),
    [
        pytest.param(["passed", "queued"], "", True, id="queued"),
        pytest.param(["passed"], "", False, id="ended"),
        pytest.param(["passed", "running"], "", False, id="nothing queued"),
        pytest.param(["queued"], "cancelled", False, id="stopped"),
    ],
)
def test_a_run_with_something_to_do_waits(
    states: list[str], stop_reason: str, *, waits: bool
) -> None:
    make_run(states, stop_reason=stop_reason)

    assert is_work_waiting() is waits


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("seconds", "waits"),
    [pytest.param(30, False, id="in force"), pytest.param(-1, True, id="has ended")],
)
def test_a_run_with_a_lease_in_force_does_not_wait(seconds: float, *, waits: bool) -> None:
    lease(make_run(["queued"]), seconds=seconds)

    assert is_work_waiting() is waits


@pytest.mark.django_db
def test_a_run_that_waits_for_this_busy_machine_may_wait() -> None:
    make_run(["queued"])
    lease(make_run(["running"]), host=socket.gethostname())

    assert not is_work_waiting()
