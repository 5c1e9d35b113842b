"""Many REST clients at once, each of which starts runs and polls them until they end.

    python -m benchmarks.load --database postgresql --clients 50 --seconds 120

On a fresh site as docs/operations.md sets it up: SQLite with `serve`, PostgreSQL with gunicorn
(2 processes of 4 threads) and a worker. Prints how long starting and polling took. Exit code 1 if a
request was not answered as documented, or if a run or one of its executions is missing, doubled or
not passed.
"""

import argparse
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from statistics import quantiles
from typing import Any
from uuid import uuid4

from benchmarks.control import suite, wait_for
from benchmarks.processes import ROOT, cpu_s, differences, measured
from benchmarks.runs import SERVER, standing_worker
from benchmarks.sites import KINDS, Kind, Site, command, filled_site

CASES = 5
POLL_S = 0.5
PATIENCE_S = 60.0
OPEN = ("queued", "running")
VARIABLES = {"EVALWELL_REST_PER_MINUTE": "0"}  # all clients share one token
FILES = {
    "echo.agent.yaml": (
        "agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: 'You said: {{input}}', "
        "delay_ms: 50}]\n"
    ),
    "greetings.suite.yaml": suite("greetings", "echo", CASES, CASES),
}


@dataclass
class Client:
    """One that starts runs and polls each until it has ended; times in seconds."""

    port: int
    token: str
    starts: list[float] = field(default_factory=list)
    polls: list[float] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def work(self, until: float) -> None:
        """Start runs until a moment of `time.monotonic`, and see the last one to its end."""
        try:
            while time.monotonic() < until:
                self._start_and_poll()
        except (OSError, HTTPException, ValueError) as error:
            self.errors.append(f"{type(error).__name__}: {error}")

    def _start_and_poll(self) -> None:
        run = self._ask("POST", "/api/runs/", self.starts, {"suite": "greetings"})
        self.runs.append(run["id"])
        address = f"/api/runs/{run['id']}/?fields=status,verdict"
        give_up = time.monotonic() + PATIENCE_S
        while (run := self._ask("GET", address, self.polls))["status"] in OPEN:
            if time.monotonic() > give_up:
                raise ValueError(f"{address} has not ended within {PATIENCE_S:g} s.")
            time.sleep(POLL_S)
        if run["verdict"] != "passed":
            raise ValueError(f"{address} answers {run}.")

    def _ask(self, method: str, address: str, times: list[float], body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Idempotency-Key": uuid4().hex}
        began = time.perf_counter()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, address, body and json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        times.append(time.perf_counter() - began)
        if answer.status not in (200, 201):
            raise ValueError(f"{method} {address} answered {answer.status}: {text[:300]!r}")
        return json.loads(text)


@contextmanager
def web_server(site: Site, port: int) -> Iterator[int]:
    """Serve a site as its recipe does; gives the process id once it answers."""
    address = f"127.0.0.1:{port}"
    serve = command("serve", "--bind", address)
    if site.kind == "postgresql":
        serve = [sys.executable, "-m", "gunicorn", "evalsite.wsgi:application", "--config"]
        serve += ["evalsite/web_server.py", "--bind", address, "--workers", "2", "--threads", "4"]
    with subprocess.Popen(  # noqa: S603 - a command of ours
        serve, cwd=ROOT, env=site.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(partial(_answers, port))
            yield process.pid
        finally:
            process.terminate()
            process.wait()


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def free_port() -> int:
    """Return a port that no one listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def new_token(site: Site) -> str:
    """Make a user and a token that may start runs."""
    site.manage("createsuperuser", "--noinput", "--username", "clients", "--email", "c@example.org")
    create = command("create_token", "clients", "--user", "clients", "--scope", "run")
    return measured(create, site.environment).output.split()[-1]


def load(site: Site, *, clients: int, seconds: float) -> list[Client]:
    """Let clients work beside each other on a site, and print what the servers used."""
    token, port = new_token(site), free_port()
    with ExitStack() as stack:
        processes = [stack.enter_context(web_server(site, port))]
        if site.kind == "postgresql":
            processes.append(stack.enter_context(standing_worker(site)))
        before = sum(map(cpu_s, processes))
        until = time.monotonic() + seconds
        working = [Client(port, token) for _ in range(clients)]
        threads = [threading.Thread(target=client.work, args=[until]) for client in working]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"CPU of web server and worker: {sum(map(cpu_s, processes)) - before:.1f} s")
    return working


def spread(times: Sequence[float]) -> str:
    """Return how times are spread, in words."""
    if len(times) < 2:  # noqa: PLR2004 - what quantiles needs
        return "too few to tell"
    cuts = quantiles(times, n=20, method="inclusive")
    return f"p50 {cuts[9] * 1000:.0f} ms, p95 {cuts[18] * 1000:.0f} ms, most {max(times) * 1000:.0f} ms"


def report(site: Site, working: Sequence[Client]) -> list[str]:
    """Print the times, and return what went wrong."""
    starts = [seconds for client in working for seconds in client.starts]
    polls = [seconds for client in working for seconds in client.polls]
    runs = [number for client in working for number in client.runs]
    print(f"start, {len(starts)} requests: {spread(starts)}")
    print(f"poll, {len(polls)} requests: {spread(polls)}")
    finished = "evals_app_run WHERE status = 'finished' AND verdict = 'passed' AND passed = total"
    executions = "evals_app_execution WHERE status = 'finished' AND verdict = 'passed'"
    wanted = {
        "runs": ("evals_app_run", len(set(runs))),
        "runs that passed whole": (finished, len(runs)),
        "executions that passed": (executions, len(runs) * CASES),
        "executions": ("evals_app_execution", len(runs) * CASES),
        "transcripts": ("evals_app_transcript", len(runs) * CASES),
    }
    errors = [error for client in working for error in client.errors]
    return errors + differences(lambda statement: site.query(statement)[0][0], wanted)


def main() -> None:
    """Measure and print; exit with 1 if something went wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--postgresql", default=SERVER, help="Address of a server.")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    kind: Kind = given.database
    with filled_site(kind, files=FILES, variables=VARIABLES, server=given.postgresql) as site:
        problems = report(site, load(site, clients=given.clients, seconds=given.seconds))
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
