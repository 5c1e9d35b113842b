"""Measure comparisons of runs: the page and REST, of two runs and of ten, page by page.

    DATABASE_URL=postgresql://... python -m benchmarks.compare --cases 10000 [--only REST]

Take an empty database that has been migrated. Runs are written with the results of their cases, but
without executions, which no comparison reads. Each request of "first" compares runs that were not
compared before; those of "next pages" turn the pages of one comparison. Exits with 1 if one takes
longer, or more queries, than `benchmarks.pages` allows.
"""
# ruff: noqa: E402 - models can be imported once Django is set up

import argparse
import hashlib
import os
import random
import sys
from collections.abc import Iterator, Sequence

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django.utils.http import urlencode

from benchmarks.pages import HEAD, Measured, Page, measure
from evals_app.engine.record.trial import Verdict
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.statistics.check_counts import (
    CheckCount,
    CheckIdentity,
    check_key,
    counts_text,
)
from evals_app.engine.statistics.comparison import MAX_RUNS
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.case_summary import CaseSummary, Fact
from evals_app.engine.verdicts.run_summary import summarise_run
from evals_app.formats.snapshots.run_snapshot import SCHEMA_VERSION, SnapshotSpec
from evals_app.models import ApiToken, CaseResult, Run, Snapshot
from evals_app.runs.reading.outcomes import MAX_RESULTS
from fixtures_app.spec import FixtureSpec

Query = list[tuple[str, int | str]]

ADDRESSES = {"page": "/admin/evals_app/run/compare/", "REST": "/api/runs/compare/"}
PAIRS = 6  # more than are kept in memory
CHUNK = 5000
ENTITIES = 500  # of the fixture
PASS_RATE, WORSE = 0.85, 0.03


def make_runs(*, cases: int, trials: int) -> list[int]:
    """Write a base and other runs of the same cases, in some of which each is a little worse."""
    numbers = []
    for number in range(max(PAIRS + 1, MAX_RUNS)):
        rng = random.Random(number)
        snapshot = _snapshot(number)
        columns = dict.fromkeys(("passed", "failed", "errored", "cancelled", "not_run"), 0)
        run = Run.objects.create(
            snapshot=snapshot,
            suite_slug="compared",
            suite_name="Compared",
            agent_slug="shop",
            agent_name="Shop",
            status=Run.Status.FINISHED,
            verdict=Run.Verdict.FAILED,
            is_whole=True,
            case_count=cases,
            suite_case_count=cases,
            concurrency=10,
            total=0,
            started_at=timezone.now(),
            finished_at=timezone.now(),
            **columns,
        )
        _write_cases(run, rng, cases=cases, trials=trials)
        numbers.append(run.pk)
    return numbers


def _snapshot(number: int) -> Snapshot:
    entities = [
        {"ref": f"order-{n}", "type": "order", "data": {"total": n}} for n in range(ENTITIES)
    ]
    agent = {"agent": "Shop", "slug": "shop", "model": "local/small", "system_prompt": f"v{number}"}
    head = SnapshotSpec(
        suite=SuiteSpec.model_validate(
            {"suite": "Compared", "slug": "compared", "agent": "shop", "cases": []}
        ),
        agent=AgentSpec.model_validate(agent),
        fixtures=[FixtureSpec.model_validate({"name": "Shop", "slug": "s", "entities": entities})],
    ).canonical()
    return Snapshot.objects.get_or_create(
        sha256=hashlib.sha256(head.encode()).hexdigest(),
        defaults={"schema_version": SCHEMA_VERSION, "content": head},
    )[0]


def _write_cases(run: Run, rng: random.Random, *, cases: int, trials: int) -> None:
    suite = SuiteSpec.model_validate({"suite": "C", "slug": "c", "agent": "s", "cases": []})
    rows: list[CaseResult] = []

    def keep(case: CaseSummary) -> None:
        rows.append(
            CaseResult(
                run=run,
                position=len(rows),
                name=case.name,
                digest=hashlib.sha256(case.name.encode()).hexdigest(),
                checks=_checks(case),
                verdict=case.verdict or "",
                trials=case.trials,
                passed=case.passed,
                failed=case.failed,
                errored=case.errored,
                pass_rate=case.pass_rate,
                score=case.score,
            )
        )

    summary = summarise_run(_facts(rng, cases=cases, trials=trials), suite=suite, keep=keep)
    CaseResult.objects.bulk_create(rows, batch_size=CHUNK)
    Run.objects.filter(pk=run.pk).update(summary=summary.to_json(), score=summary.score)


def _checks(case: CaseSummary) -> str:
    """Write how two checks did: one decides, the other always passes."""
    decides, passes = CheckCount(case.passed, case.failed), CheckCount(case.trials, 0)
    places = (
        CheckIdentity(1, "text", "contains", case.name),
        CheckIdentity(1, "limit", "max_time_ms", ""),
    )
    return counts_text(
        {check_key(place, 1): count for place, count in zip(places, (decides, passes), strict=True)}
    )


def _facts(rng: random.Random, *, cases: int, trials: int) -> Iterator[Fact]:
    for number in range(cases):
        for _ in range(trials):
            has_passed = rng.random() < PASS_RATE
            verdict = Verdict.PASSED if has_passed else Verdict.FAILED
            yield Fact(f"Case {number:06}, late parcel", verdict, float(has_passed), (800.0,))


def pages(runs: Sequence[int], *, cases: int) -> Iterator[Page]:
    """Return what is asked for, by page and by REST."""
    base, *heads = runs
    most = min(MAX_RUNS, MAX_RESULTS // cases)
    pairs: list[Query] = [[("run", base), ("run", head)] for head in heads[:PAIRS]]
    turned: list[Query] = [
        [*pairs[0], more] for more in (("page", 2), ("change", "worse"), ("page", cases // 50))
    ]
    searched: list[Query] = [[*pairs[0], ("case", text)] for text in ("0042", "LATE", "nothing")]
    for name, address in ADDRESSES.items():
        kinds: dict[str, list[Query]] = {
            "first": pairs,
            "next pages": turned,
            "searched": searched if name == "REST" else [],
            f"{most} runs": [[("run", run) for run in runs[:most]]],
        }
        for title, queries in kinds.items():
            yield Page(f"{name}, {title}", [f"{address}?{urlencode(query)}" for query in queries])


def run(*, cases: int, trials: int, requests: int, only: str) -> list[Measured]:
    """Write runs, measure comparisons of them, and print a line for each kind."""
    user, _ = User.objects.get_or_create(
        username="benchmark", defaults={"is_superuser": True, "is_staff": True}
    )
    person = Client(SERVER_NAME="localhost")
    person.force_login(user)
    token, text = ApiToken.issue(name="benchmark", user=user, scope="read")
    program = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {text}"})
    runs = make_runs(cases=cases, trials=trials)
    print(HEAD)
    measurements = []
    try:
        for page in pages(runs, cases=cases):
            if only in page.title and page.addresses:
                client = program if page.title.startswith("REST") else person
                measurements.append(measure(client, page, requests=requests))
                print(measurements[-1], flush=True)
    finally:
        token.delete()
    return measurements


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--requests", type=int, default=40, help="Of each kind.")
    parser.add_argument("--only", default="", help="Part of the titles to measure.")
    import evalsite.wsgi  # noqa: F401, PLC0415 - from here on the process is like a web server's

    measurements = run(**vars(parser.parse_args()))
    sys.exit(0 if all(measured.is_allowed for measured in measurements) else 1)


if __name__ == "__main__":
    main()
