"""A laptop that answers for an agent, the web server and the workers, killed while they work together."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.contrib.auth.models import User

from evals_app.models import AgentCall, ApiToken, Case, Run, Turn
from evals_app.runs.starting.start_run import start_run
from tests.faults.crew import ROOT, check_run, crew, eventually, finished, is_over, send
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db(transaction=True)

CASES = 24
# Notes that it was asked, thinks, and answers: as a file, because its output is the reply.
PROGRAM = """
import json, os, sys, time
turn = len(json.loads(os.environ["AGENTURA_HISTORY"])) // 2 + 1
with open(sys.argv[1], "a") as log:
    log.write(f"{os.environ['EVALWELL_CASE']} turn {turn}\\n")
time.sleep(0.4)
print("hello", sys.stdin.read())
"""


class Processes:
    """The web server and laptops, which can be killed and started again."""

    def __init__(self, environment: dict[str, str], folder: Path, stack: ExitStack) -> None:
        self.environment = environment
        self.folder = folder
        self.asked = folder / "asked.log"
        self._stack = stack
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.bind = f"127.0.0.1:{free.getsockname()[1]}"
        self.program = folder / "my_agent.py"
        self.program.write_text(PROGRAM, encoding="utf-8")
        self.asked.touch()
        user = User.objects.create_superuser("ana")
        _, self.token = ApiToken.issue(name="laptop", user=user, scope="connect")

    def _start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        log = self._stack.enter_context((self.folder / f"{name}.log").open("ab"))
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env=self.environment | {"EVALWELL_TOKEN": self.token},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._stack.callback(process.wait)
        # The whole group: gunicorn's workers outlive it for a moment, connected to the database.
        self._stack.callback(_kill_group, process.pid)
        return process

    def serve(self) -> subprocess.Popen[bytes]:
        """Start the web server, and wait until it answers."""
        web = ("-m", "gunicorn", "evalsite.wsgi:application", "--config", "evalsite/web_server.py")
        process = self._start("web", *web, "--bind", self.bind, "--workers", "1")
        eventually(self._answers, "the web server")
        return process

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://{self.bind}/healthz/", timeout=5) as answer:
                return bool(answer.status)
        except OSError as error:
            return hasattr(error, "code")  # an error, but an answer

    def connect(self, *, parallel: int = 3) -> subprocess.Popen[bytes]:
        """Start a laptop."""
        options = ("--site", f"http://{self.bind}", "--parallel", str(parallel))
        program = (sys.executable, str(self.program), str(self.asked))
        return self._start("laptop", "manage.py", "connect", "laptop", *options, "--", *program)

    def asked_often(self) -> Counter[str]:
        return Counter(self.asked.read_text(encoding="utf-8").splitlines())


@contextmanager
def processes(environment: dict[str, str], folder: Path) -> Iterator[Processes]:
    with ExitStack() as stack:
        yield Processes(environment, folder, stack)


def start(cases: int = CASES) -> Run:
    agent = make_agent("laptop", driver="connected", rules=None)
    suite = make_suite(cases=cases, agent=agent, concurrency=6)
    for case in Case.objects.filter(suite=suite):
        Turn.objects.create(case=case, user="and again", position=1)
    return start_run(suite)


def kill(process: subprocess.Popen[bytes]) -> None:
    send(signal.SIGKILL, *_group(process.pid))
    process.wait()


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _group(pid: int) -> list[int]:
    """Return a process and its children: gunicorn's workers die with it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *map(int, children)]


def test_workers_killed_while_a_laptop_answers_ask_no_message_twice(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    with processes(child_environment, tmp_path) as there:
        there.serve()
        there.connect(parallel=4)
        run = start()
        for at in (6, 14):
            with crew(child_environment, tmp_path) as hurt:
                eventually(lambda at=at: finished() >= at, "some results")  # type: ignore[misc]
                send(signal.SIGKILL, *hurt.tree)
                hurt.wait()
        with crew(child_environment, tmp_path):
            eventually(lambda: is_over(run), "the end of the run", within_s=90)

    check_run(run)
    assert len(there.asked_often()) == 2 * CASES
    assert set(there.asked_often().values()) == {1}
    assert not AgentCall.objects.exists()


def test_laptops_and_the_web_server_killed_at_random_lose_nothing(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    chance = random.Random(int(os.environ.get("EVALWELL_TEST_SEED", "7")))
    with processes(child_environment, tmp_path) as there, crew(child_environment, tmp_path):
        web, first, second = there.serve(), there.connect(), there.connect()
        run = start()
        eventually(lambda: finished() >= 2, "some results")
        for _ in range(2):
            time.sleep(chance.random())
            kill(first)
            first = there.connect()
            time.sleep(chance.random())
            kill(web)
            time.sleep(chance.random())
            web = there.serve()
        kill(second)
        eventually(lambda: is_over(run), "the end of the run", within_s=150)

    check_run(run)
    # Only what was under way on a killed laptop was asked again: three laptops with three each.
    again = sum(count - 1 for count in there.asked_often().values())
    assert len(there.asked_often()) == 2 * CASES
    assert again <= 9
