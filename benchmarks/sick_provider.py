"""How soon a healthy run starts while others wait for a provider that answers nothing but 429.

    python -m benchmarks.sick_provider --waiting 3 30 300 --database postgresql --broker redis

On a fresh site with one worker command. For each number of runs whose judge is rate-limited (one case
each) it starts those, gives them some seconds, and then starts healthy runs of one scripted
case, one after the other: first while the others wait, then in a burst. Prints the seconds from
each healthy run's creation to the begin of its conversation, and how many pairs of a burst began
in the wrong order. `--hanging` takes a provider that never answers instead. Exit code 1 if a healthy
run took longer than `--at-most` seconds.
"""

import argparse
import os
import sys
import time
from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Literal

import django

from benchmarks.control import suite, wait_for
from benchmarks.runs import SERVER, model_server, standing_worker
from benchmarks.sites import KINDS, Kind, Site, filled_site

if TYPE_CHECKING:
    from evals_app.models import Run

Broker = Literal["database", "redis"]

SETTLE_S = 5.0  # until the runs in front have met the provider
BURST = 10
AT_ONCE = timedelta(seconds=0.5)  # two processes begin two runs in either order
RETRY_AFTER_S = 30
HANGS_MS = 600_000
JUDGED = "assertions: [{type: llm_judge, criteria: It greets.}]"

FILES = {
    "echo.agent.yaml": (
        "agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: 'You said: {{input}}'}]\n"
    ),
    "healthy.suite.yaml": suite("healthy", "echo", 1, 1),
    "sick.suite.yaml": suite("sick", "echo", 1, 1).replace(
        "assertions: [{type: contains, value: hello}]",
        f"judge_model: anthropic/benchmark\n{JUDGED}",
    ),
}


def start(slug: str) -> "Run":
    """Start a run, in this process, which is the web server's part."""
    from evals_app.models import Suite  # noqa: PLC0415 - Django is set up late
    from evals_app.runs.starting.start_run import start_run  # noqa: PLC0415

    return start_run(Suite.objects.get(slug=slug))


def begin_s(run: "Run") -> float:
    """Wait for the run's end; return the seconds from its creation to its conversation."""
    wait_for(lambda: not type(run).objects.get(pk=run.pk).is_open)
    begun_at = run.executions.get().started_at
    if begun_at is None:
        raise SystemExit(f"Run {run.pk} did not begin.")
    return float((begun_at - run.created_at).total_seconds())


def one_round(waiting: int) -> tuple[list[float], int]:
    """Return how late healthy runs began beside so many that wait, and pairs out of order."""
    from evals_app.models import Run  # noqa: PLC0415
    from evals_app.runs.ending.cancel import cancel_run  # noqa: PLC0415

    sick = [start("sick") for _ in range(waiting)]
    time.sleep(SETTLE_S)
    late = [begin_s(start("healthy")) for _ in range(BURST)]
    burst = [start("healthy") for _ in range(BURST)]
    late += [begin_s(run) for run in burst]
    begun = [run.executions.values_list("started_at", flat=True).get() for run in burst]
    wrong = sum(1 for one, after in pairwise(begun) if one and after and one - after > AT_ONCE)
    for run in sick:
        cancel_run(run)
    ids = [run.pk for run in sick]
    wait_for(lambda: not Run.objects.filter(pk__in=ids, status__in=Run.OPEN).exists())
    return late, wrong


def measure(site: Site, *, numbers: list[int]) -> float:
    """Measure on a site, and print; return the worst delay."""
    os.environ.clear()
    os.environ |= site.environment | {"DJANGO_SETTINGS_MODULE": "evalsite.settings"}
    django.setup()
    worst = 0.0
    with standing_worker(site):
        for waiting in numbers:
            late, wrong = one_round(waiting)
            worst = max(worst, *late)
            print(
                f"{waiting} waiting: healthy runs began after {median(late):.2f} s (median), "
                f"{max(late):.2f} s (most); {wrong} of {BURST - 1} pairs out of order",
                flush=True,
            )
    return worst


def main() -> None:
    """Measure each number of waiting runs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--broker", choices=("database", "redis"), default="database")
    parser.add_argument("--redis", default="redis://127.0.0.1:6379/9", help="An empty database.")
    parser.add_argument("--postgresql", default=SERVER, help="Address of a server.")
    parser.add_argument("--waiting", type=int, nargs="+", default=[0, 3, 30, 300])
    parser.add_argument("--hanging", action="store_true")
    parser.add_argument("--at-most", type=float, default=2.0, help="Seconds.")
    given = parser.parse_args()
    kind: Kind = given.database
    refuses = ["--rate-limited", "1", "--retry-after", str(RETRY_AFTER_S)]
    with model_server(*([HANGS_MS] if given.hanging else [0, *refuses])) as url:
        variables = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "benchmark"}
        if given.broker == "redis":
            variables["EVALWELL_REDIS_URL"] = given.redis
        with filled_site(kind, files=FILES, variables=variables, server=given.postgresql) as site:
            worst = measure(site, numbers=given.waiting)
    sys.exit(worst > given.at_most)


if __name__ == "__main__":
    main()
