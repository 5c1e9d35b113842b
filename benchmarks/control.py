"""How soon people are heard: cancel inside a long model call, try one case beside a long run.

    python -m benchmarks.control --rounds 5

On a fresh site with one worker command. Prints for each round the seconds

* from a ticket to the result of a run of one scripted case, with idle workers;
* until a single case that is tried by hand begins, beside a run of 10,000 cases that goes on;
* from the cancellation of a run whose calls take 60 s to its end.
"""

import argparse
import os
import time
from collections.abc import Callable
from statistics import median

import django

from benchmarks.runs import SERVER, model_server, standing_worker
from benchmarks.sites import KINDS, Kind, Site, filled_site

LONG_CASES = 10_000
CALL_MS = 60_000
PATIENCE_S = 120.0
WORDS = "idle {:.2f} s, beside {:.2f} s, cancel {:.2f} s"

AGENTS = {
    "talker.agent.yaml": "agent: Talker\nslug: talker\nmodel: anthropic/benchmark\n",
    "echo.agent.yaml": (
        "agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: 'You said: {{input}}', "
        "delay_ms: 50}]\n"
    ),
}


def suite(slug: str, agent: str, cases: int, concurrency: int) -> str:
    """Write a suite of so many equal cases."""
    lines = [f"- {{name: c{number}, turns: [{{user: hello}}]}}" for number in range(cases)]
    head = [f"suite: {slug}", f"slug: {slug}", f"agent: {agent}", f"concurrency: {concurrency}"]
    checks = "assertions: [{type: contains, value: hello}]"
    return "\n".join([*head, checks, "cases:", *lines, ""])


FILES = AGENTS | {
    "one.suite.yaml": suite("one", "echo", 1, 1),
    "long.suite.yaml": suite("long", "echo", LONG_CASES, 100),
    "calls.suite.yaml": suite("calls", "talker", 20, 20),
}


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something has happened."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > give_up:
            raise SystemExit(f"Something did not happen within {PATIENCE_S:g} s.")
        time.sleep(0.005)


def one_round() -> tuple[float, float, float]:
    """Measure each once, in this process, which is the web server's part."""
    from evals_app.models import Execution, Lease, Run, Suite  # noqa: PLC0415 - Django is set up late
    from evals_app.runs.ending.cancel import cancel_run  # noqa: PLC0415
    from evals_app.runs.starting.start_run import start_run  # noqa: PLC0415

    def run(slug: str) -> Run:
        return start_run(Suite.objects.get(slug=slug), is_tryout=slug == "one")

    def is_over(run: Run) -> bool:
        return not Run.objects.get(pk=run.pk).is_open

    began = time.perf_counter()
    idle = run("one")
    wait_for(lambda: is_over(idle))
    idle_s = time.perf_counter() - began

    long = run("long")
    wait_for(
        lambda: Execution.objects.filter(run=long, status="finished").count() > LONG_CASES // 100
    )
    tried = run("one")
    wait_for(lambda: is_over(tried))
    begun_at = tried.executions.get().started_at
    if begun_at is None or is_over(long):
        raise SystemExit("The long run was over too soon to be beside anything.")
    begin_s = (begun_at - tried.created_at).total_seconds()
    cancel_run(long)
    wait_for(lambda: is_over(long))

    calls = run("calls")
    wait_for(lambda: Execution.objects.filter(run=calls, started_at__isnull=False).count() == 20)  # noqa: PLR2004
    time.sleep(1.0)  # in the middle of the calls
    began = time.perf_counter()
    cancel_run(calls)
    wait_for(lambda: is_over(calls) and not Lease.objects.filter(run=calls).exists())
    return idle_s, begin_s, time.perf_counter() - began


def main() -> None:
    """Measure all rounds and print them with their medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--postgresql", default=SERVER, help="Address of a server.")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    kind: Kind = given.database
    with model_server(CALL_MS) as url:
        variables = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "benchmark"}
        with filled_site(kind, files=FILES, variables=variables, server=given.postgresql) as site:
            measure(site, rounds=given.rounds)


def measure(site: Site, *, rounds: int) -> None:
    """Measure on a site, and print."""
    os.environ.clear()
    os.environ |= site.environment | {"DJANGO_SETTINGS_MODULE": "evalsite.settings"}
    django.setup()
    with standing_worker(site):
        measured = []
        for number in range(1, rounds + 1):
            measured.append(one_round())
            print(f"round {number}: {WORDS.format(*measured[-1])}", flush=True)
    medians = [median(figures) for figures in zip(*measured, strict=True)]
    print(f"median:  {WORDS.format(*medians)}")


if __name__ == "__main__":
    main()
