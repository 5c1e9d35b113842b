"""Many writers on one SQLite file: workers that record results, people who edit suites.

    python -m benchmarks.sqlite_load --processes 4 --writers 4 --transactions 600

One worker command drains runs while `writers` processes do what the admin does: read in a
transaction, then write in it. Prints one JSON object: how often a transaction was refused ("database
is locked"), the longest that one took, and what the runs lack. Exits 1 if anything is wrong.

`--deferred` gives the writers SQLite's own kind of transaction instead of ours, which takes its lock
before it reads: the baseline that shows why.
"""

# ruff: noqa: S603 - commands of ours

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from typing import IO, Any
from uuid import uuid4

import django
from django.db import OperationalError, connection, transaction

from benchmarks.processes import ROOT, differences
from benchmarks.sites import Site, command, filled_site

SUITES = 3
DELAY_MS = 20
PATIENCE_S = 300.0


def files(*, cases: int, writers: int) -> dict[str, str]:
    """Write an agent that answers soon, suites of cases that all pass, and one for each writer."""
    rules = [{"reply": "You said: {{input}}", "delay_ms": DELAY_MS}]
    agent = {"agent": "Echo", "slug": "echo", "driver": "scripted", "rules": rules}
    assertion = {"type": "contains", "value": "hello"}
    written = [
        {"name": f"case {number}", "turns": [{"user": "hello", "assertions": [assertion]}]}
        for number in range(1, cases + 1)
    ]
    texts = {"echo.agent.yaml": json.dumps(agent)}  # JSON is YAML
    sizes = dict.fromkeys(suites(), cases) | dict.fromkeys(map(writer, range(writers)), 1)
    for slug, size in sizes.items():
        suite: dict[str, Any] = {"suite": slug, "slug": slug, "agent": "echo", "concurrency": 16}
        suite["cases"] = written[:size]
        texts[f"{slug}.suite.yaml"] = json.dumps(suite)
    return texts


def suites() -> list[str]:
    """Name the suites that are run."""
    return [f"load-{number}" for number in range(1, SUITES + 1)]


def writer(number: int) -> str:
    """Name a writer, and the suite that it edits."""
    return f"writer-{number}"


# A writer: a process of its own


def write(*, name: str, transactions: int, deferred: bool) -> dict[str, Any]:
    """Edit a suite as people do in the admin; give what became of each transaction."""
    django.setup()
    if deferred:
        connection.settings_dict["OPTIONS"].pop("transaction_mode", None)
    steps = cycle(_steps(name))
    waits: list[float] = []
    locked = 0
    for _ in range(transactions):
        step = next(steps)
        began = time.perf_counter()
        try:
            with transaction.atomic():
                step()
        except OperationalError as error:
            if "locked" not in str(error):
                raise
            locked += 1
        waits.append(time.perf_counter() - began)
    return {"transactions": transactions, "locked": locked, "longest_s": max(waits, default=0.0)}


def _steps(name: str) -> Sequence[Callable[[], None]]:
    """Return transactions that read first and write then, in the order in which a person does them."""
    from evals_app.models import Assertion, Case, Execution, Run, Suite, Turn  # noqa: PLC0415

    def add_case() -> None:
        suite = Suite.objects.get(slug=name)
        position = suite.cases.count()
        case = Case.objects.create(suite=suite, name=str(uuid4()), position=position)
        turn = Turn.objects.create(case=case, user="hello")
        Assertion.objects.create(turn=turn, type="contains", options={"value": "hello"})

    def edit_case() -> None:
        case = Case.objects.filter(suite__slug=name).order_by("-pk").first()
        if case is not None:
            case.description = f"Edited at {time.time()}"
            case.save()

    def look_at_runs_and_rename_the_suite() -> None:
        ended = Execution.objects.filter(run__in=Run.objects.all(), status="finished").count()
        suite = Suite.objects.get(slug=name)
        suite.description = f"{ended} results so far"
        suite.save()

    def remove_a_case() -> None:
        oldest = Case.objects.filter(suite__slug=name).order_by("pk").first()
        if oldest is not None:
            oldest.delete()

    return [add_case, edit_case, look_at_runs_and_rename_the_suite, add_case, remove_a_case]


# The load


def load(options: argparse.Namespace) -> dict[str, Any]:
    """Drain runs and edit suites at the same time, and tell what came of it."""
    variables = {"EVALWELL_WORKERS": str(options.processes)}
    with ExitStack() as stack:
        site = stack.enter_context(
            filled_site(
                "sqlite",
                files=files(cases=options.cases, writers=options.writers),
                variables=variables,
                server="",
            )
        )
        output = stack.enter_context(tempfile.TemporaryFile("w+"))
        workers = [
            stack.enter_context(_killed(_start_worker(site, output)))
            for _ in range(options.commands)
        ]
        _await_workers(site, len(workers))
        began = time.perf_counter()
        runs = stack.enter_context(_killed(_start_runs(site, output)))
        writers = [
            stack.enter_context(_killed(_start_writer(site, number, options)))
            for number in range(options.writers)
        ]
        written = [json.loads(writer.communicate(timeout=PATIENCE_S)[0]) for writer in writers]
        exit_code = runs.wait(PATIENCE_S)
        wall_s = time.perf_counter() - began
        for worker in workers:
            worker.terminate()
            worker.wait(PATIENCE_S)
        output.seek(0)
        log = output.read()
        problems = _problems(site, executions=options.cases * SUITES)
    if exit_code:
        problems.append(f"run_evals ended with {exit_code}")
    locked = sum(figures["locked"] for figures in written) + log.count("database is locked")
    if locked:
        problems.append(f"{locked} times: database is locked")
    return {
        "executions": options.cases * SUITES,
        "transactions": sum(figures["transactions"] for figures in written),
        "locked": locked,
        "longest_s": round(max(figures["longest_s"] for figures in written), 2),
        "wall_s": round(wall_s, 1),
        "problems": problems,
        **({"log": log[-4000:]} if problems else {}),
    }


@contextmanager
def _killed(process: "subprocess.Popen[bytes]") -> Iterator["subprocess.Popen[bytes]"]:
    """Have a process that is gone in the end, however that comes."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _start_worker(site: Site, output: IO[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command("worker"), cwd=ROOT, env=site.environment, stdout=output, stderr=output
    )


def _start_runs(site: Site, output: IO[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command("run_evals", *suites(), "--ci"),
        cwd=ROOT,
        env=site.environment,
        stdout=subprocess.DEVNULL,
        stderr=output,
    )


def _start_writer(
    site: Site, number: int, options: argparse.Namespace
) -> "subprocess.Popen[bytes]":
    words = ["--writer", writer(number), "--transactions", str(options.transactions)]
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.sqlite_load", *words]
        + (["--deferred"] if options.deferred else []),
        cwd=ROOT,
        env={**site.environment, "DJANGO_SETTINGS_MODULE": "evalsite.settings"},
        stdout=subprocess.PIPE,
    )


def _await_workers(site: Site, count: int) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while site.query("SELECT count(*) FROM evals_app_worker") != [(count,)]:
        if time.monotonic() > give_up:
            raise TimeoutError("The workers did not start.")
        time.sleep(0.1)


def _problems(site: Site, *, executions: int) -> list[str]:
    """Say what is not as if every process had been alone."""
    wanted = {
        "runs that passed": ("evals_app_run WHERE verdict = 'passed'", SUITES),
        "right counters": ("evals_app_run WHERE total = passed AND not_run = 0", SUITES),
        "results": ("evals_app_execution WHERE verdict = 'passed'", executions),
        "transcripts": ("evals_app_transcript", executions),
        "grades": ("evals_app_graderesult", executions),
        "executions that ran twice": ("evals_app_execution WHERE attempts > 1", 0),
        "leases left": ("evals_app_lease", 0),
    }
    return differences(lambda query: int(site.query(query)[0][0]), wanted)


def main() -> int:
    """Read the command line, load, and print what came of it."""
    parser = argparse.ArgumentParser(description="Many writers on one SQLite file.")
    parser.add_argument("--commands", type=int, default=1, help="Worker commands.")
    parser.add_argument("--processes", type=int, default=4, help="Of each worker command.")
    parser.add_argument("--cases", type=int, default=400, help=f"Of each of the {SUITES} suites.")
    parser.add_argument("--writers", type=int, default=4, help="Processes that edit suites.")
    parser.add_argument("--transactions", type=int, default=600, help="Of each writer.")
    parser.add_argument("--deferred", action="store_true", help="Writers without our settings.")
    parser.add_argument("--writer", metavar="NAME", help=argparse.SUPPRESS)  # be a writer
    options = parser.parse_args()
    if options.writer:
        figures = write(
            name=options.writer, transactions=options.transactions, deferred=options.deferred
        )
    else:
        figures = load(options)
    print(json.dumps(figures, indent=2))
    return 1 if figures.get("problems") else 0


if __name__ == "__main__":
    sys.exit(main())
