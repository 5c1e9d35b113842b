"""What grading a run again costs: seconds, calls of the agent, and results that differ.

    python -m benchmarks.regrade --cases 500

Runs a suite with an agent that is a model, half of whose cases fail, and then stops the model API: an
agent that was asked again could not answer. Grades the run again with the suite as it is now and as it
was, with one worker command, and compares each result with the one before.
"""

import argparse
import os
import time
from contextlib import ExitStack
from typing import Any

import django

from benchmarks.control import wait_for
from benchmarks.runs import SERVER, model_server, standing_worker
from benchmarks.sites import KINDS, Kind, Site, filled_site

CASES = 500
AGENT = "agent: Talker\nslug: talker\nmodel: anthropic/benchmark\n"
SAME = ("verdict", "cause", "reason", "score", "time_ms", "turn_ms", "summary")


def suite(cases: int) -> str:
    """Write a suite of code checks; every second case fails."""
    lines = [
        f"- {{name: c{number}, turns: [{{user: {'hello' if number % 2 else 'bye'} {number}}}]}}"
        for number in range(cases)
    ]
    checks = [
        "assertions:",
        "- {type: contains, value: hello}",
        "- {type: regex, value: 'You said: .+'}",
        "- {type: not_contains, value: goodbye}",
    ]
    head = ["suite: Checks", "slug: checks", "agent: talker", "concurrency: 50"]
    return "\n".join([*head, *checks, "cases:", *lines, ""])


def measure(site: Site, models: ExitStack) -> list[str]:
    """Run the suite, grade it again in both ways, and return what is not as it should be."""
    os.environ.clear()
    os.environ |= site.environment | {"DJANGO_SETTINGS_MODULE": "evalsite.settings"}
    django.setup()
    from evals_app.models import Run, Spending, Suite  # noqa: PLC0415 - Django is set up late
    from evals_app.runs.regrading.start_regrade import regrade  # noqa: PLC0415
    from evals_app.runs.starting.start_run import start_run  # noqa: PLC0415

    def ended(run: Run) -> Run:
        wait_for(lambda: not Run.objects.get(pk=run.pk).is_open)
        return Run.objects.get(pk=run.pk)

    def results(run: Run) -> dict[Any, Any]:
        rows = run.executions.values_list("case", "trial", *SAME)
        return {(case, trial): result for case, trial, *result in rows}

    with standing_worker(site):
        began = time.perf_counter()
        run = ended(start_run(Suite.objects.get()))
        print(f"run: {run.passed} passed, {run.failed} failed, {time.perf_counter() - began:.1f} s")
        models.close()
        problems, before = [], results(run)
        for version in ("current", "as_it_was"):
            began = time.perf_counter()
            again = ended(regrade(run, suite=version))
            seconds, after = time.perf_counter() - began, results(again)
            booked = Spending.objects.filter(run_id=again.pk).count()
            differing = sum(before[key] != after.get(key) for key in before)
            words = f"{len(after)} executions in {seconds:.1f} s, {booked} paid calls, {differing} differ"
            print(f"{version}: {words}", flush=True)
            problems += [words] if booked or differing else []
    return problems


def main() -> None:
    """Measure on a fresh site, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--postgresql", default=SERVER, help="Address of a server.")
    given = parser.parse_args()
    kind: Kind = given.database
    with ExitStack() as models:
        url = models.enter_context(model_server(0))
        variables = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "benchmark"}
        files = {"talker.agent.yaml": AGENT, "checks.suite.yaml": suite(given.cases)}
        with filled_site(kind, files=files, variables=variables, server=given.postgresql) as site:
            problems = measure(site, models)
    if problems:
        raise SystemExit("Grading again did not give the same results for nothing.")


if __name__ == "__main__":
    main()
