"""What PostgreSQL reads on a filled database: for the queue, and for every page.

    DATABASE_URL=postgresql://... python -m benchmarks.reads [--only executions]

Counts blocks of 8 KB that its statements read, from memory or disk, so that a busy machine changes
nothing. Needs a superuser of the database: `auto_explain` reports the blocks. Nothing that the queue
does stays; pages make the user that benchmarks/pages.py makes.
"""
# ruff: noqa: E402 - models can be imported once Django is set up

import argparse
import json
import os
import random
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain, cycle, islice
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from django.db import connection
from psycopg.errors import Diagnostic

from benchmarks.pages import admin_pages, rest_pages, signed_in
from evals_app.engine.record.grade import Grade, GradedAssertion
from evals_app.engine.record.trial import Verdict
from evals_app.engine.running.run_gateway import ExecutionJob, Outcome
from evals_app.engine.verdicts.execution_verdict import Decision
from evals_app.models import Execution, GradeResult, Lease, Run, Transcript
from evals_app.runs.ending.reap import reap
from evals_app.runs.starting.waiting import next_run, places_to_fill
from evals_app.runs.work.lease import open_lease
from tests.makers import make_trial

AT_ONCE = 20
QUEUE = "queue"
ROUNDS = 20
TRIALS = 5  # of each case of a run that is written
_EXPLAIN = (
    "LOAD 'auto_explain'",
    "SET auto_explain.log_min_duration = 0",
    "SET auto_explain.log_analyze = on",
    "SET auto_explain.log_buffers = on",
    "SET auto_explain.log_timing = off",
    "SET auto_explain.log_nested_statements = on",  # what foreign keys look up
    "SET auto_explain.log_format = json",
    "SET auto_explain.log_level = notice",
)


@dataclass(slots=True)
class Reads:
    """What the statements of one kind of request read, request by request, in blocks of 8 KB."""

    title: str
    blocks: list[int] = field(default_factory=list)
    most_of_a_statement: int = 0
    slowest: str = ""  # the statement that read most

    @property
    def median(self) -> float:
        return statistics.median(self.blocks)

    @property
    def most(self) -> int:
        return max(self.blocks)

    def __str__(self) -> str:
        return f"{self.title:<46} {self.median:8.0f} {self.most:8} {self.most_of_a_statement:10}"


class Counter:
    """Hears from PostgreSQL what each statement of this process's connection read."""

    def __init__(self) -> None:
        self._statements: list[tuple[int, str]] = []
        connection.ensure_connection()
        connection.connection.add_notice_handler(self._hear)
        with connection.cursor() as cursor:
            for statement in _EXPLAIN:
                cursor.execute(statement)

    def _hear(self, notice: Diagnostic) -> None:
        head, _, plan = (notice.message_primary or "").partition("plan:")
        if not head.startswith("duration:"):
            return
        explained = json.loads(plan)
        names = ("Shared Hit Blocks", "Shared Read Blocks", "Temp Read Blocks")
        self._statements.append(
            (sum(explained["Plan"][name] for name in names), explained["Query Text"])
        )

    @contextmanager
    def counting(self, reads: Reads) -> Iterator[None]:
        """Add what the block reads."""
        self._statements.clear()
        yield
        reads.blocks.append(sum(blocks for blocks, _ in self._statements))
        for blocks, text in self._statements:
            if blocks > reads.most_of_a_statement:
                reads.most_of_a_statement, reads.slowest = blocks, text


# The queue


def of_queue(counter: Counter) -> Iterator[Reads]:
    """Let a worker claim, begin and record conversations, and a reaper look around."""
    names = ("claim", "begin", "record", "heartbeat", "next run", "call workers", "reap")
    steps = {name: Reads(f"{QUEUE}: {name}") for name in names}
    run = waiting_run(10 * AT_ONCE * ROUNDS)
    lease = open_lease(run.pk)
    if lease is None:
        raise SystemExit(f"Run {run.pk} has nothing to claim.")
    for _ in range(ROUNDS):
        with counter.counting(steps["claim"]):
            jobs = lease.claim(AT_ONCE, free=AT_ONCE, in_hand=0) or []
        with counter.counting(steps["begin"]):
            lease.begin([job.id for job in jobs])
        with counter.counting(steps["record"]):
            lease.record([outcome_of(job) for job in jobs])
        with counter.counting(steps["heartbeat"]):
            lease.renew(activity={})
        with counter.counting(steps["next run"]):
            next_run(is_busy=False)
        with counter.counting(steps["call workers"]):
            places_to_fill()
        with counter.counting(steps["reap"]):
            reap()
    remove_run(run.pk)
    yield from steps.values()


def waiting_run(size: int) -> Run:
    """Write a run like the largest of the site; `size` conversations, or a few more, wait in it."""
    run = Run.objects.order_by("-total", "pk")[0]
    names = Execution.objects.filter(run=run, trial=1).order_by("position")
    cases = list(names.values_list("position", "case")[: -(-size // TRIALS)])
    rows = [(place, case, trial) for place, case in cases for trial in range(1, TRIALS + 1)]
    run.pk, run._state.adding = None, True  # noqa: SLF001 - how Django copies rows
    kept = {"id", "snapshot_id", "suite_id", "suite_slug", "suite_name", "agent_slug", "agent_name"}
    for column in Run._meta.concrete_fields:  # noqa: SLF001 - the documented API of models
        if column.attname not in kept and not column.has_db_default():
            setattr(run, column.attname, column.get_default())
    run.status, run.total, run.not_run = Run.Status.QUEUED, len(rows), len(rows)
    run.concurrency, run.case_count, run.suite_case_count = 1000, len(cases), len(cases)
    run.save(force_insert=True)
    Execution.objects.bulk_create(
        [Execution(run=run, position=p, case=case, trial=trial) for p, case, trial in rows],
        batch_size=2000,
    )
    return run


def remove_run(run_id: int) -> None:
    """Remove a run with all that was recorded in it."""
    Lease.objects.filter(run=run_id).delete()
    rows = Execution.objects.filter(run=run_id)
    for part in (
        GradeResult.objects.filter(execution__in=rows),
        Transcript.objects.filter(execution__in=rows),
        rows,
    ):
        part._raw_delete(connection.alias)  # noqa: SLF001 - nothing else refers to them
    Run.objects.filter(pk=run_id).delete()


def outcome_of(job: ExecutionJob) -> Outcome:
    """Return that a conversation passed, with one grade."""
    grade = Grade(1.0, True, "The reply contains 'on its way'.")  # noqa: FBT003 - score, verdict
    graded = GradedAssertion("contains", "", "text", 1, 0, 1.0, None, grade)
    trial = make_trial(case=job.case.name)
    return Outcome(job, trial, (graded,), Decision(Verdict.PASSED, 1.0))


# Pages


def of_pages(counter: Counter, *, requests: int, only: str) -> Iterator[Reads]:
    """Ask for every kind of page in some of its variants."""
    rng = random.Random(1)
    with signed_in() as (user, person, program):
        pages = [(person, page) for page in admin_pages(user, rng)]
        pages += [(program, page) for page in rest_pages(rng)]
        for client, page in pages:
            if only in page.title and page.addresses:
                reads = Reads(page.title)
                client.get(page.addresses[0])  # what a process does only once is not counted
                for address in islice(cycle(page.addresses), requests):
                    with counter.counting(reads):
                        client.get(address).getvalue()
                yield reads


def main() -> None:
    """Read the options and count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=10, help="Of each kind of page.")
    parser.add_argument("--only", default="", help="Part of the titles to count.")
    parser.add_argument("--statements", action="store_true", help="Show the one that reads most.")
    parser.add_argument("--json", default="", help="A file for the figures.")
    given = parser.parse_args()
    counter, counted = Counter(), []
    print(f"{'blocks of 8 KB':<46} {'median':>8} {'most':>8} {'statement':>10}")
    pages = of_pages(counter, requests=given.requests, only=given.only)
    for reads in chain(of_queue(counter) if given.only in QUEUE else (), pages):
        counted.append(reads)
        print(reads, flush=True)
        if given.statements:
            print(reads.slowest)
    if given.json:
        Path(given.json).write_text(json.dumps([asdict(reads) for reads in counted]))


if __name__ == "__main__":
    main()
