"""The frame around a cluster. What it survives is tested with real processes in tests/faults."""

import multiprocessing
import signal
import sys

import pytest
from django.core.management import CommandError, call_command

from evals_app.models import Delivery, Webhook
from evals_app.runs.ground.workers import announce, retire
from evals_app.runs.process.cluster import (
    CannotWorkError,
    Interrupted,
    LocalCluster,
    look_after,
    parent_death_signal,
)
from evals_app.runs.process.worker_loop import GRACE
from tests.agent_server import Sent, WebServer
from tests.runs.suites import finished, make_suite


def test_signals_are_counted_while_it_listens() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interrupted().listening() as stop:
        before_any = bool(stop)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)

    assert not before_any
    assert stop.count == 2
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_cluster_that_died_too_often_is_no_longer_looked_after() -> None:
    never_started = LocalCluster()

    with pytest.raises(CannotWorkError, match="died too often"):
        look_after(never_started, stop=Interrupted())


@pytest.mark.django_db(transaction=True)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # as below
def test_messages_about_the_last_runs_are_sent_before_a_command_ends() -> None:
    with WebServer(lambda _: Sent.json({})) as server:
        Webhook.objects.create(name="Team", url=f"http://localhost:{server.port}/in", on_end=True)
        finished(make_suite(cases=1))

        LocalCluster(grace_s=1.0).stop()
        GRACE.value = -1.0  # this process goes on

    assert [request.method for request in server.asked] == ["POST"]
    assert Delivery.objects.get().state == Delivery.State.DELIVERED


# A process of the tests may have threads left over, of which Python 3.12 warns.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_whose_parent_died_before_it_could_ask_ends_itself() -> None:
    follow = parent_death_signal()
    if follow is None:
        pytest.skip("only Linux tells children of their parent's death")
    fork = multiprocessing.get_context("fork")

    def have_a_child() -> None:
        # Its parent is not the process that `follow` knows.
        child = fork.Process(target=follow)
        child.start()
        child.join()
        sys.exit(child.exitcode == -signal.SIGKILL)

    parent = fork.Process(target=have_a_child)
    parent.start()
    parent.join()

    assert parent.exitcode == 1


@pytest.mark.django_db
def test_check_fails_unless_a_worker_is_alive() -> None:
    before = check()
    announce(processes=1)
    during = check()
    retire()

    assert (before, during, check()) == (1, 0, 1)


def check() -> int:
    """Return the exit code of the command."""
    try:
        call_command("worker", check=True)
    except CommandError as error:
        return error.returncode
    return 0
