"""Two worker hosts, one PostgreSQL: what is left of the runs when a host fails.

Two network namespaces with host names of their own stand for two machines. They reach a private
PostgreSQL (and Redis) over a bridge; nothing else is shared, each host has its own data directory.

    sudo python -m benchmarks.two_hosts --broker redis --fault partition

Faults: `kill` ends the worker's main process, the rest has to follow; `power` cuts the host off and
then kills everything on it, so that nobody is told; `partition` cuts it off and connects it again
once its work has been given away; `none` is the baseline. Prints one JSON object; exits 1 if
anything is lost, doubled or left over, 2 if this machine cannot play two hosts.
"""

# ruff: noqa: S603, S607 - programs of this machine, with words of ours

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import psycopg

from benchmarks.processes import ROOT, differences

MANAGE = (sys.executable, str(ROOT / "manage.py"))
HOSTS = ("alpha", "beta")
SUITES = 4  # more tickets than one host can pull, so that both are at work
PATIENCE_S = 120.0
POSTGRES_PORT, REDIS_PORT = 6543, 6390
SERVER_USER = "postgres"  # a PostgreSQL server refuses to run as root


def why_not(*, broker: str = "orm") -> str | None:
    """Say why this machine cannot play two hosts; None if it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    programs = ["ip", "unshare"] + (["redis-server"] if broker == "redis" else [])
    if missing := [name for name in programs if shutil.which(name) is None]:
        return f"{', '.join(missing)} not found"
    if postgres_programs() is None:
        return "no PostgreSQL server is installed"
    probe = f"ew-probe-{os.getpid()}"
    made = subprocess.run(
        ["ip", "netns", "add", probe], capture_output=True, text=True, check=False
    )
    if made.returncode:
        return f"no network namespace can be made: {made.stderr.strip()}"
    ip("netns", "del", probe)
    return None


def postgres_programs() -> Path | None:
    """Find the newest installed PostgreSQL server."""
    on_path = shutil.which("initdb")
    paths = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))  # where Debian has it
    if on_path is not None:
        return Path(on_path).parent
    return paths[-1].parent if paths else None


def ip(*words: str) -> None:
    """Run iproute2."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


# The network


class Network:
    """A bridge with one cable to each host. Names and addresses carry our process number."""

    def __init__(self) -> None:
        number = os.getpid()
        self._tag = f"ts{number % 100_000}"
        self._subnet = f"10.{200 + number // 250 % 50}.{number % 250}"
        self.address = f"{self._subnet}.1"

    def __enter__(self) -> Self:
        ip("link", "add", self._tag, "type", "bridge")
        ip("addr", "add", f"{self.address}/24", "dev", self._tag)
        ip("link", "set", self._tag, "up")
        for number, host in enumerate(HOSTS, 2):
            space = self.space(host)
            ip("netns", "add", space)
            ip("link", "add", self._cable(host), "type", "veth", "peer", "eth0", "netns", space)
            ip("link", "set", self._cable(host), "master", self._tag, "up")
            ip("-n", space, "addr", "add", f"{self._subnet}.{number}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for host in HOSTS:
            for pid in self.processes(host):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for words in (["netns", "del", self.space(host)], ["link", "del", self._cable(host)]):
                with contextlib.suppress(subprocess.CalledProcessError):
                    ip(*words)
        with contextlib.suppress(subprocess.CalledProcessError):
            ip("link", "del", self._tag)

    def space(self, host: str) -> str:
        return f"{self._tag}-{host}"

    def _cable(self, host: str) -> str:
        return f"{self._tag}-{host[0]}"

    def processes(self, host: str) -> list[int]:
        listing = subprocess.run(
            ["ip", "netns", "pids", self.space(host)], capture_output=True, text=True, check=False
        )
        return [int(pid) for pid in listing.stdout.split()]

    def cut(self, host: str) -> None:
        """Pull the cable out: packets vanish, nobody is told."""
        ip("link", "set", self._cable(host), "down")

    def connect(self, host: str) -> None:
        ip("link", "set", self._cable(host), "up")


# The servers


@contextmanager
def postgres(folder: Path, address: str) -> Iterator[str]:
    """Run a PostgreSQL server of our own; gives the address of its database."""
    programs = postgres_programs()
    assert programs is not None  # noqa: S101 - why_not() has looked
    data = folder / "postgres"
    data.mkdir()
    shutil.chown(data, SERVER_USER, SERVER_USER)
    as_server: dict[str, Any] = {"user": SERVER_USER, "group": SERVER_USER, "cwd": "/"}
    subprocess.run(
        [programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"],
        check=True,
        capture_output=True,
        **as_server,
    )
    with (data / "pg_hba.conf").open("a") as rules:
        rules.write("host all all 10.0.0.0/8 trust\n")
    settings = {
        "listen_addresses": address,
        "port": POSTGRES_PORT,
        "unix_socket_directories": data,
        "fsync": "off",
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    with (folder / "postgres.log").open("w") as log:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *options], stdout=log, stderr=log, **as_server
        )
    base = f"postgresql://postgres@{address}:{POSTGRES_PORT}"
    try:
        eventually(lambda: _answers(base), "PostgreSQL answers")
        with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE evalwell")
        yield f"{base}/evalwell"
    finally:
        server.send_signal(signal.SIGINT)  # "fast": connected clients are not waited for
        server.wait(PATIENCE_S)


def _answers(base: str) -> bool:
    try:
        psycopg.connect(f"{base}/postgres", connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def redis(folder: Path, address: str) -> Iterator[str]:
    """Run a Redis server of our own; gives its address."""
    command = ["redis-server", "--bind", address, "--port", str(REDIS_PORT)]
    command += ["--save", "", "--protected-mode", "no", "--dir", str(folder)]
    with (folder / "redis.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield f"redis://{address}:{REDIS_PORT}/0"
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


def eventually(condition: Callable[[], bool], what: str) -> float:
    """Wait for something; gives the seconds that it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > PATIENCE_S:
            raise TimeoutError(f"It did not happen: {what}")
        time.sleep(0.05)
    return time.monotonic() - began


# The hosts


class Site:
    """Commands of Evalwell on the hosts, and here, where nobody works."""

    def __init__(self, folder: Path, network: Network, environment: dict[str, str]) -> None:
        self._folder = folder
        self._network = network
        self._environment = environment

    def on(self, host: str) -> dict[str, str]:
        data = self._folder / f"data-{host}"
        return {**os.environ, **self._environment, "EVALWELL_DATA_DIR": str(data)}

    def start_worker(self, host: str) -> "subprocess.Popen[bytes]":
        alone = ["ip", "netns", "exec", self._network.space(host), "unshare", "--uts"]
        name_it = f'hostname {host} && exec "$@"'
        with (self._folder / f"{host}.log").open("ab") as log:
            # Each of these commands replaces itself by the next: the process is the worker's own.
            return subprocess.Popen(
                [*alone, "sh", "-c", name_it, "sh", *MANAGE, "worker"],
                env=self.on(host),
                stdout=log,
                stderr=log,
            )

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start a command here, beside the hosts."""
        with (self._folder / "web.log").open("ab") as log:
            return subprocess.Popen([*MANAGE, *words], env=self.on("web"), stdout=log, stderr=log)

    def call(self, *words: str) -> None:
        if self.start(*words).wait(PATIENCE_S):
            raise RuntimeError(f"{words[0]} failed:\n{self.log('web')}")

    def log(self, host: str, *, lines: int = 30) -> str:
        path = self._folder / f"{host}.log"
        if not path.exists():
            return ""
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def write_suites(folder: Path, *, cases: int, delay_ms: int, concurrency: int) -> list[str]:
    """Write an agent that takes its time, and suites in which every third case fails."""
    folder.mkdir()
    agent = {
        "agent": "Slow echo",
        "slug": "slow-echo",
        "driver": "scripted",
        "rules": [{"reply": "You said: {{input}}", "delay_ms": delay_ms}],
    }
    (folder / "slow-echo.agent.yaml").write_text(json.dumps(agent))  # JSON is YAML
    slugs = [f"hosts-{number}" for number in range(1, SUITES + 1)]
    for slug in slugs:
        suite = {
            "suite": slug,
            "slug": slug,
            "agent": "slow-echo",
            "concurrency": concurrency,
            "cases": [_case(number) for number in range(1, cases + 1)],
        }
        (folder / f"{slug}.suite.yaml").write_text(json.dumps(suite))
    return slugs


def _case(number: int) -> dict[str, Any]:
    wanted = "something else" if number % 3 == 0 else "hello"
    turn = {"user": f"hello {number}", "assertions": [{"type": "contains", "value": wanted}]}
    return {"name": f"case {number}", "turns": [turn]}


# What the rows say


class Rows:
    """The database as it is, by SQL: judged from outside."""

    def __init__(self, address: str) -> None:
        self._connection = psycopg.connect(address, autocommit=True)

    def close(self) -> None:
        self._connection.close()

    def one(self, query: str, *values: object) -> Any:
        row = self._connection.execute(query.encode(), values).fetchone()
        return row[0] if row else None

    def leases(self, host: str) -> int:
        return int(self.one("SELECT count(*) FROM evals_app_lease WHERE host = %s", host))

    def fresh_workers(self) -> int:
        recent = "SELECT count(*) FROM evals_app_worker WHERE seen_at > now() - interval '15 s'"
        return int(self.one(recent))

    def finished(self) -> int:
        return int(self.one("SELECT count(*) FROM evals_app_execution WHERE status = 'finished'"))

    def run_more_than_once(self) -> int:
        return int(self.one("SELECT count(*) FROM evals_app_execution WHERE attempts > 1"))

    def problems(self, *, runs: int, cases: int) -> list[str]:
        """Say what is not as if nothing had happened."""
        failed = cases // 3
        counters = f"total = {cases} AND passed = {cases - failed} AND failed = {failed}"
        verdict = "CASE WHEN mod(position + 1, 3) = 0 THEN 'failed' ELSE 'passed' END"
        wanted = {
            "runs that ended": ("evals_app_run WHERE verdict = 'failed'", runs),
            "runs with the right counters": (f"evals_app_run WHERE {counters}", runs),
            "finished executions": ("evals_app_execution WHERE status = 'finished'", runs * cases),
            "right verdicts": (f"evals_app_execution WHERE verdict = {verdict}", runs * cases),
            "transcripts": ("evals_app_transcript", runs * cases),
            "grades": ("evals_app_graderesult", runs * cases),
            "leases left": ("evals_app_lease", 0),
        }
        return differences(self.one, wanted)


# The play


def play(options: argparse.Namespace, stack: ExitStack) -> dict[str, Any]:
    """Run the suites with the fault, and tell what came of it."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="two-hosts-")))
    folder.chmod(0o755)  # the PostgreSQL server is another user
    network = stack.enter_context(Network())
    address = stack.enter_context(postgres(folder, network.address))
    broker = {}
    if options.broker == "redis":
        broker["EVALWELL_REDIS_URL"] = stack.enter_context(redis(folder, network.address))
    rows = stack.enter_context(contextlib.closing(Rows(address)))
    site = Site(folder, network, _environment(options, address) | broker)
    site.call("migrate", "--verbosity", "0")
    suites = write_suites(
        folder / "suites",
        cases=options.cases,
        delay_ms=options.delay_ms,
        concurrency=options.concurrency,
    )
    site.call("import_evals", str(folder / "suites"))
    figures: dict[str, Any] = {
        "broker": options.broker,
        "fault": options.fault,
        "executions": options.cases * SUITES,
    }
    try:
        problems = _act(options, suites, figures, network=network, site=site, rows=rows)
    except TimeoutError as error:
        problems = [str(error), *rows.problems(runs=SUITES, cases=options.cases)]
    figures["problems"] = problems
    if problems:
        figures["logs"] = {host: site.log(host) for host in ("web", *HOSTS)}
    return figures


def _act(
    options: argparse.Namespace,
    suites: Sequence[str],
    figures: dict[str, Any],
    *,
    network: Network,
    site: Site,
    rows: Rows,
) -> list[str]:
    """Run the suites, let a host fail in the middle; give what is wrong, and fill in figures."""
    workers = {host: site.start_worker(host) for host in HOSTS}
    eventually(lambda: rows.fresh_workers() == len(HOSTS), "two workers are alive")
    began = time.monotonic()
    runs = site.start("run_evals", *suites, "--ci")
    eventually(
        lambda: rows.finished() > figures["executions"] // 10 and all(map(rows.leases, HOSTS)),
        "both hosts are at work",
    )
    if options.fault != "none":
        figures |= _fail(options.fault, HOSTS[0], workers[HOSTS[0]], network=network, rows=rows)
    eventually(lambda: runs.poll() is not None, "the runs end")
    figures["total_s"] = round(time.monotonic() - began, 1)
    figures["run_more_than_once"] = rows.run_more_than_once()
    problems = rows.problems(runs=SUITES, cases=options.cases)
    if runs.returncode != 1:  # every third case fails, so every run does
        problems.append(f"run_evals ended with {runs.returncode} instead of 1")
    if options.fault == "partition":
        problems += _work_alone(HOSTS[0], suites[0], site=site, workers=workers, rows=rows)
    return problems + _stop(workers, network=network)


def silent_for(most_s: float, address: str) -> str:
    """Return the address of a database with which both ends bear so much silence of each other."""
    limits = {
        "idle_in_transaction_session_timeout": int(most_s * 1000),
        "tcp_keepalives_idle": max(1, int(most_s / 2)),
        "tcp_keepalives_interval": 1,
        "tcp_keepalives_count": max(1, int(most_s / 2)),
        "tcp_user_timeout": int(most_s * 1000),
    }
    options = quote(" ".join(f"-c {name}={value}" for name, value in limits.items()))
    silence_ms = limits["tcp_user_timeout"]
    return f"{address}?connect_timeout=3&tcp_user_timeout={silence_ms}&options={options}"


def _environment(options: argparse.Namespace, address: str) -> dict[str, str]:
    # Both ends give up on a silent partner within two thirds of a lease, as they do by default.
    return {
        "DATABASE_URL": silent_for(options.lease * 2 / 3, address),
        "EVALWELL_SECRET_KEY": "two hosts, one key",
        "EVALWELL_WORKERS": "3",
        "EVALS_LEASE_S": str(options.lease),
        "EVALS_HEARTBEAT_S": str(options.lease / 3),
        "EVALS_REAP_S": str(options.reap),
    }


def _fail(
    fault: str, host: str, worker: "subprocess.Popen[bytes]", *, network: Network, rows: Rows
) -> dict[str, Any]:
    """Let a host fail; return how long nobody had its work."""
    running = rows.one("SELECT count(*) FROM evals_app_execution WHERE status = 'running'")
    if fault == "kill":
        worker.kill()
        worker.wait()
        eventually(lambda: not network.processes(host), "the worker's processes follow it")
    else:
        network.cut(host)
    if fault == "power":
        for pid in network.processes(host):
            os.kill(pid, signal.SIGKILL)
        worker.wait()
    recovery_s = eventually(lambda: rows.leases(host) == 0, "the host's leases are taken back")
    if fault == "partition":
        network.connect(host)
    return {"running_at_the_fault": running, "recovery_s": round(recovery_s, 1)}


def _work_alone(
    host: str,
    suite: str,
    *,
    site: Site,
    workers: dict[str, "subprocess.Popen[bytes]"],
    rows: Rows,
) -> list[str]:
    """Stop the other hosts: a host that was cut off has to work as before."""
    for other in set(HOSTS) - {host}:
        workers[other].terminate()
        workers[other].wait(PATIENCE_S)
    eventually(lambda: rows.fresh_workers() == 1, "the host that was cut off is seen again")
    seen: list[str] = []
    run = site.start("run_evals", suite, "--ci")

    def is_over() -> bool:
        seen.append(str(rows.one("SELECT min(host) FROM evals_app_lease")))
        return run.poll() is not None

    eventually(is_over, "a run on the host that was cut off")
    wrong = sorted(set(seen) - {host, "None"})
    return [f"{wrong} worked instead of {host}"] if wrong or host not in seen else []


def _stop(workers: dict[str, "subprocess.Popen[bytes]"], *, network: Network) -> list[str]:
    for worker in workers.values():
        if worker.poll() is None:
            worker.terminate()
    for worker in workers.values():
        worker.wait(PATIENCE_S)
    left = {host: len(pids) for host in HOSTS if (pids := network.processes(host))}
    return [f"processes left behind: {left}"] if left else []


def main(words: Sequence[str] | None = None) -> int:
    """Read the command line, play, and print what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--broker", choices=["orm", "redis"], default="orm")
    parser.add_argument("--fault", choices=["none", "kill", "power", "partition"], default="kill")
    parser.add_argument("--cases", type=int, default=150, help=f"of each of the {SUITES} suites")
    parser.add_argument("--delay-ms", type=int, default=500, help="that a conversation takes")
    parser.add_argument("--concurrency", type=int, default=8, help="of each suite")
    parser.add_argument("--lease", type=float, default=6.0, help="seconds")
    parser.add_argument("--reap", type=float, default=2.0, help="seconds between two looks")
    options = parser.parse_args(words)
    if reason := why_not(broker=options.broker):
        print(f"Cannot play two hosts here: {reason}.", file=sys.stderr)
        return 2
    with ExitStack() as stack:
        figures = play(options, stack)
    print(json.dumps(figures, indent=2))
    return 1 if figures["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
