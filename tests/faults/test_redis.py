"""Redis as the queue: away, emptied, frozen or started again, no run is lost by it.

Each test has a Redis server of its own, because these servers come to grief.
"""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django_q.conf import Conf
from django_q.models import OrmQ

from evals_app.models import Execution, Lease, Run
from evals_app.runs.process.watchdog import SILENT_S
from evals_app.runs.starting.start_run import start_run
from tests.api.clients import make_client
from tests.faults.crew import (
    RECOVERED_S,
    check_run,
    crew,
    eventually,
    finished,
    is_over,
    make_slow_suite,
    start,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis: no redis-server found"),
]

TICKETS = "django_q:evalwell:q"


class RedisServer:
    """A Redis server that can be stopped and started again at the same address, empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = ["redis-server", "--port", str(self._port), "--dir", str(self._folder)]
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--bind", "127.0.0.1", "--save", ""], stdout=log, stderr=log
            )
        eventually(self._answers, "Redis answers")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def send(self, signum: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(signum)

    def flush(self) -> None:
        with redis.from_url(self.url) as client:
            client.flushall()

    def tickets(self) -> int:
        with redis.from_url(self.url) as client:
            return int(client.llen(TICKETS))

    def _answers(self) -> bool:
        try:
            with redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    made = RedisServer(tmp_path)
    made.start()
    try:
        yield made
    finally:
        made.kill()


@pytest.fixture
def environment(
    child_environment: dict[str, str], server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The environment of processes whose queue is in Redis; so is the test's own."""
    # django-q2 read its settings when it was imported, before there was a server.
    monkeypatch.setattr(Conf, "ORM", None)
    monkeypatch.setattr(Conf, "REDIS", server.url)
    return child_environment | {"EVALWELL_REDIS_URL": server.url}


def is_at_work() -> bool:
    return Lease.objects.exists() and finished() > 5


def start_again(run: Run) -> Run:
    assert run.suite is not None
    return start_run(run.suite)


def test_a_run_goes_through_redis_and_not_through_the_database(
    environment: dict[str, str], server: RedisServer, tmp_path: Path
) -> None:
    run = start(8)
    tickets = server.tickets()
    with crew(environment, tmp_path):
        eventually(lambda: is_over(run), "the end of the run")

    check_run(run)
    assert tickets == 2
    assert server.tickets() == 0
    assert not OrmQ.objects.exists()


def test_redis_flushed_in_the_middle_of_runs(
    environment: dict[str, str], server: RedisServer, tmp_path: Path
) -> None:
    first = start(60)
    with crew(environment, tmp_path):
        eventually(is_at_work, "some results")
        second = start_again(first)
        server.flush()

        eventually(lambda: is_over(first) and is_over(second), "the end", within_s=60 + RECOVERED_S)
    check_run(first)
    check_run(second)


def test_redis_killed_and_started_again_in_the_middle_of_a_run(
    environment: dict[str, str], server: RedisServer, tmp_path: Path
) -> None:
    first = start(60)
    with crew(environment, tmp_path):
        eventually(is_at_work, "some results")
        server.kill()
        before = finished()
        eventually(lambda: finished() > before + 10, "work goes on without a queue")
        server.start()
        eventually(lambda: is_over(first), "the end of the run", within_s=RECOVERED_S)

        second = start_again(first)
        eventually(lambda: is_over(second), "the end of the next", within_s=RECOVERED_S)
    check_run(first)
    check_run(second)


def test_a_redis_that_answers_nothing_stops_no_work(
    environment: dict[str, str], server: RedisServer, tmp_path: Path
) -> None:
    run = start(60)
    with crew(environment, tmp_path) as hurt:
        eventually(is_at_work, "some results")
        hands = set(hurt.hands)
        workers = {lease.pid for lease in Lease.objects.all()}
        server.send(signal.SIGSTOP)
        time.sleep(SILENT_S + 3)  # longer than a silent process is tolerated
        survivors = workers & set(hurt.hands)
        server.send(signal.SIGCONT)

        eventually(lambda: is_over(run), "the end of the run", within_s=RECOVERED_S)
        assert survivors == workers & hands == workers, hurt.log
    check_run(run)
    assert not run.executions.filter(attempts__gt=1).exists()


def test_a_run_started_while_redis_is_away_is_there_and_runs_once_it_is_back(
    environment: dict[str, str], server: RedisServer, tmp_path: Path
) -> None:
    suite = make_slow_suite(8)
    program, person = make_client("run"), Client()
    person.force_login(User.objects.create_superuser("olga"))
    with crew(environment, tmp_path):
        server.kill()
        answer = program.post("/api/runs/", {"suite": suite.slug}, format="json")
        click = person.post(f"/admin/evals_app/suite/{suite.pk}/run/", {"_form_submitted": "on"})
        runs = list(Run.objects.order_by("pk"))
        waiting = Execution.objects.filter(status="queued").count()
        server.start()

        eventually(lambda: all(map(is_over, runs)), "the end of both", within_s=RECOVERED_S)
    assert (answer.status_code, click.status_code) == (201, 200)
    assert click.headers["HX-Redirect"] == f"/admin/evals_app/run/{runs[-1].pk}/change/"
    assert (len(runs), waiting) == (2, 16)
    for run in runs:
        check_run(run)


def test_a_worker_started_while_redis_is_away_waits_for_it(
    environment: dict[str, str], server: RedisServer, tmp_path: Path
) -> None:
    server.kill()
    run = start(8)
    with crew(environment, tmp_path) as hurt:
        eventually(lambda: "The queue does not answer" in hurt.log, "somebody notices")
        server.start()

        eventually(lambda: is_over(run), "the end of the run", within_s=RECOVERED_S)
    check_run(run)
