"""Which worker commands count as alive, and how their processes share a run."""

import os
import subprocess
import sys
import time

import pytest

from evals_app.models import Worker
from evals_app.runs.ground.workers import (
    MAX_SLOTS,
    announce,
    has_worker_here,
    is_process,
    live_workers,
    retire,
    slots_for,
    workers_for,
)


def test_this_process_is_one() -> None:
    assert is_process(os.getpid())


def test_a_dead_child_is_none_even_before_it_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        give_up = time.monotonic() + 30
        while is_process(child.pid):
            assert time.monotonic() < give_up
            time.sleep(0.05)

        # Nobody has waited for it yet: its number is still taken.
        os.kill(child.pid, 0)
    assert not is_process(child.pid)


@pytest.mark.django_db
def test_a_worker_is_alive_from_its_announcement_until_it_retires() -> None:
    announce(processes=3)
    during = has_worker_here()
    retire()

    assert during
    assert not has_worker_here()


@pytest.mark.django_db
def test_a_worker_on_its_way_out_does_not_count() -> None:
    announce(processes=3)
    announce(processes=3, is_draining=True)

    assert Worker.objects.count() == 1
    assert not live_workers().exists()


@pytest.mark.parametrize(
    ("processes", "concurrency", "executions", "wanted"),
    [
        pytest.param(9, 1, 100, 1, id="one at a time: one"),
        pytest.param(9, 2, 100, 2, id="at least two"),
        pytest.param(9, 64, 100, 2, id="also where one could take all"),
        pytest.param(9, 128, 1000, 2, id="two are full"),
        pytest.param(9, 129, 1000, 3, id="one more"),
        pytest.param(9, 1000, 10_000, 8, id="one process stays free"),
        pytest.param(3, 1000, 10_000, 2, id="of three, two"),
        pytest.param(2, 1000, 10_000, 1, id="of two, one"),
        pytest.param(1, 1000, 10_000, 1, id="there must be one"),
        pytest.param(9, 10, 1, 1, id="no more than there is to do"),
        pytest.param(9, 1000, 3, 3, id="three for three"),
        pytest.param(9, 10, 0, 1, id="nothing to do"),
    ],
)
def test_how_many_workers_a_run_wants(
    processes: int, concurrency: int, executions: int, wanted: int
) -> None:
    assert workers_for(concurrency, executions=executions, processes=processes) == wanted


@pytest.mark.parametrize(
    ("concurrency", "workers", "slots"),
    [
        pytest.param(1, 1, 1, id="one at a time"),
        pytest.param(10, 2, 5, id="two share ten"),
        pytest.param(5, 2, 3, id="rounded up"),
        pytest.param(129, 3, 43, id="three share"),
        pytest.param(1000, 1, MAX_SLOTS, id="never more than a worker takes"),
        pytest.param(10, 1, 10, id="one worker has all"),
    ],
)
def test_the_drainers_share_what_may_run_at_once(
    concurrency: int, workers: int, slots: int
) -> None:
    assert slots_for(concurrency, workers=workers) == slots
