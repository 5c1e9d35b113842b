"""Which worker commands count as alive."""

import os
import subprocess
import sys
import time

import pytest

from evals_app.models import Worker
from evals_app.runs.workers import (
    announce,
    is_process,
    live_workers,
    retire,
    somebody_works_here,
)


def test_this_process_is_one() -> None:
    assert is_process(os.getpid())


def test_a_dead_child_that_nobody_has_buried_is_none() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        give_up = time.monotonic() + 30
        while is_process(child.pid):
            assert time.monotonic() < give_up
            time.sleep(0.05)

        # Nobody has waited for it yet: its number is still taken.
        os.kill(child.pid, 0)


def test_a_number_that_nobody_has_is_none() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()

    assert not is_process(child.pid)


@pytest.mark.django_db
def test_a_worker_is_alive_from_its_announcement_until_it_retires() -> None:
    announce(processes=3)
    during = somebody_works_here()
    retire()

    assert during
    assert not somebody_works_here()


@pytest.mark.django_db
def test_a_worker_on_its_way_out_does_not_count() -> None:
    announce(processes=3)
    announce(processes=3, is_draining=True)

    assert Worker.objects.count() == 1
    assert not live_workers().exists()
