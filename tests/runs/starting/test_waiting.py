"""Which run a worker process takes next."""

import os
import socket
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from evals_app.models import Execution, Lease, ProviderState, Run
from evals_app.runs.starting.waiting import next_run, waiting_runs
from tests.makers import make_run

pytestmark = pytest.mark.django_db

HERE = {"host": socket.gethostname(), "pid": os.getpid()}


def ago(seconds: float) -> datetime:
    return timezone.now() - timedelta(seconds=seconds)


def waiting(states: list[str] | None = None, **columns: Any) -> Run:
    columns = {"waiting_since": ago(60), "concurrency": 10, **columns}
    return make_run(states or ["queued"] * 4, **columns)


def lease(run: Run, *, slots: int = 5, **columns: Any) -> Lease:
    columns = {"host": "elsewhere", "pid": 1, "until": ago(-30)} | columns
    return Lease.objects.create(run=run, slots=slots, **columns)


def block(run: Run, *, for_s: float) -> None:
    state, _ = ProviderState.objects.update_or_create(
        slug="sick", defaults={"blocked_until": ago(-for_s)}
    )
    run.providers.add(state)


# The oldest first


def test_the_oldest_run_is_taken_first() -> None:
    oldest, _ = waiting(), waiting()

    assert next_run(is_busy=False) == oldest.pk
    assert next_run(is_busy=True) == oldest.pk


@pytest.mark.parametrize(
    ("states", "columns"),
    [
        pytest.param(["passed"], {}, id="ended"),
        pytest.param(["running"], {}, id="nothing queued"),
        pytest.param(["queued"], {"stop_reason": "cancelled"}, id="stopped"),
    ],
)
def test_a_run_with_nothing_to_do_is_not_taken(states: list[str], columns: dict[str, Any]) -> None:
    waiting(states, **columns)

    assert next_run(is_busy=False) is None


def test_a_run_whose_slots_are_all_taken_does_not_hide_a_younger_one() -> None:
    older, younger = waiting(), waiting()
    full = lease(older, slots=10)

    assert next_run(is_busy=False) == younger.pk
    Lease.objects.filter(pk=full.pk).update(until=ago(1))
    assert next_run(is_busy=False) == older.pk


def test_what_this_process_works_on_already_is_left_out() -> None:
    mine, other = waiting(), waiting()

    assert next_run(is_busy=True, except_for=[mine.pk]) == other.pk


# Providers that asked to be left alone


def test_a_run_whose_provider_is_blocked_waits_while_younger_ones_begin() -> None:
    block(waiting(), for_s=60)
    healthy = waiting()

    assert next_run(is_busy=False) == healthy.pk
    assert next_run(is_busy=True) == healthy.pk


def test_a_block_that_has_ended_delays_no_run() -> None:
    run = waiting()
    block(run, for_s=-1)

    assert next_run(is_busy=False) == run.pk
    assert not waiting_runs(blocked_since=timedelta(seconds=60)).exists()


# How processes share


def test_an_idle_process_joins_a_run_while_another_one_stays_free() -> None:
    run = waiting()
    lease(run)

    assert next_run(is_busy=False) == run.pk  # of three processes, one is busy


def test_the_last_idle_process_takes_only_a_run_that_has_none() -> None:
    lease(waiting())
    lease(waiting(), pid=2)

    assert next_run(is_busy=False) is None
    fresh = waiting()
    assert next_run(is_busy=False) == fresh.pk


def test_a_busy_process_joins_another_run_only_once_idle_ones_are_short() -> None:
    run = waiting()
    lease(run)

    assert next_run(is_busy=True) is None  # two of three are idle

    lease(waiting(), slots=10, pid=2)
    assert next_run(is_busy=True) == run.pk


def test_a_busy_process_leaves_a_run_to_idle_ones_for_a_moment() -> None:
    waiting(waiting_since=ago(0))

    assert next_run(is_busy=True) is None
    assert next_run(is_busy=False) is not None


# What has seen its worker die


def suspects(**columns: Any) -> Run:
    run = waiting(**columns)
    Execution.objects.filter(run=run).update(attempts=1)
    return run


def test_suspects_go_to_an_idle_process_only() -> None:
    run = suspects()

    assert next_run(is_busy=False) == run.pk
    assert next_run(is_busy=True) is None


def test_the_process_that_is_busy_longest_makes_room_for_suspects() -> None:
    suspects()
    healthy = waiting()
    busy = waiting()
    lease(busy, **HERE, slots=10, created_at=ago(100))
    other = lease(busy, created_at=ago(50))

    assert next_run(is_busy=True) is None

    Lease.objects.filter(pk=other.pk).update(created_at=ago(200))
    assert next_run(is_busy=True) == healthy.pk
