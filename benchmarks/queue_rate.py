"""How many conversations one PostgreSQL can hand out and record, and what each costs it.

    DATABASE_URL=postgresql://... python -m benchmarks.queue_rate --connections 2 8 32

Take a database that `seed_executions` filled. Each connection is a process that does what workers do
between conversations: it claims up to 20, begins them, and records them with a transcript and one
grade; no agent is asked. Their runs are removed afterwards. The seconds of PostgreSQL are what says how far one server
goes: on the same cores the processes themselves take most of the time.
"""
# ruff: noqa: E402 - models can be imported once Django is set up

import argparse
import multiprocessing
import os
import time
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from django.db import connection

from benchmarks.processes import cpu_s
from benchmarks.reads import AT_ONCE, outcome_of, remove_run, waiting_run
from evals_app.runs.work.lease import open_lease


def work(run_id: int, until: float) -> tuple[int, int]:
    """Claim, begin and record until a moment of `time.monotonic`; return claims and conversations."""
    claims = recorded = 0
    lease = open_lease(run_id)
    while lease and time.monotonic() < until:
        jobs = lease.claim(AT_ONCE, free=AT_ONCE, in_hand=0)
        if not jobs:
            break
        lease.begin([job.id for job in jobs])
        lease.record([outcome_of(job) for job in jobs])
        claims, recorded = claims + 1, recorded + len(jobs)
    return claims, recorded


def measure(connections: int, *, runs: int, size: int, seconds: float) -> str:
    """Let processes work on so many runs for a while; return a line of the table."""
    ids = [waiting_run(size).pk for _ in range(runs)]
    server = _server_pid()
    wal, busy = _wal(), cpu_s(server)
    connection.close()  # a connection must not cross a fork
    began = time.monotonic()
    with multiprocessing.get_context("fork").Pool(connections) as pool:
        asked = [(ids[n % runs], began + seconds) for n in range(connections)]
        done = pool.starmap(work, asked, chunksize=1)
        took = time.monotonic() - began
        busy = cpu_s(server) - busy
    claims, recorded = map(sum, zip(*done, strict=True))
    wal = _wal() - wal
    for run_id in ids:
        remove_run(run_id)
    return (
        f"{connections:11} {runs:5} {claims / took:9.1f} {recorded / took:15.0f}"
        f" {1000 * busy / max(1, recorded):16.2f} {wal / max(1, recorded) / 1024:12.1f}"
    )


def _server_pid() -> int:
    """Return the process that all of PostgreSQL's are children of; it must be on this machine."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = int(cursor.fetchone()[0])
    stat = Path(f"/proc/{backend}/stat").read_text(encoding="utf-8")
    return int(stat.rpartition(")")[2].split()[1])


def _wal() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
        return int(cursor.fetchone()[0])


def sizes() -> None:
    """Print what the largest tables hold, and what a row takes with its share of the indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, reltuples::bigint, pg_table_size(oid), pg_indexes_size(oid)"
            " FROM pg_class WHERE relkind = 'r' AND reltuples > 1000 AND relname ~ '^evals_app'"
            " ORDER BY pg_total_relation_size(oid) DESC LIMIT 8"
        )
        print(f"{'table':<26} {'rows':>11} {'table MB':>9} {'indexes MB':>11} {'bytes/row':>10}")
        for name, rows, table, indexes in cursor.fetchall():
            each = (table + indexes) / rows
            megabytes = f"{table / 2**20:9.0f} {indexes / 2**20:11.0f}"
            print(f"{name:<26} {rows:11,} {megabytes} {each:10.0f}")


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--connections", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--seconds", type=float, default=15.0, help="Of each measurement.")
    parser.add_argument("--size", type=int, default=5_000, help="Conversations of each run.")
    given = parser.parse_args()
    sizes()
    print(
        f"\n{'connections':>11} {'runs':>5} {'claims/s':>9} {'conversations/s':>15}"
        f" {'PostgreSQL ms/c.':>16} {'WAL KB/c.':>12}"
    )
    for connections in given.connections:
        for runs in sorted({1, min(4, connections)}):
            line = measure(connections, runs=runs, size=given.size, seconds=given.seconds)
            print(line, flush=True)


if __name__ == "__main__":
    main()
