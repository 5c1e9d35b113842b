"""What a worker is given when it claims."""

import json
from typing import Any

import pytest

from evals_app.runs.starting.start_run import start_run
from evals_app.runs.work.lease import cases_of
from tests.runs.suites import claim, lease_of, make_suite

pytestmark = pytest.mark.django_db


def test_a_claim_brings_the_cases_that_it_claims() -> None:
    run = start_run(make_suite(["hello one", "hello two", "hello three"], trials=2))

    jobs = claim(lease_of(run), 3)

    assert [(job.case.name, job.trial) for job in jobs] == [
        *(("case 1", 1), ("case 1", 2), ("case 2", 1))
    ]
    assert [job.case.turns[0].user for job in jobs] == ["hello one", "hello one", "hello two"]


def test_a_claim_reads_no_other_case() -> None:
    run = start_run(make_suite(cases=4))
    # No other one could be read.
    run.snapshot.cases.filter(position__gte=2).update(content="{}")

    jobs = claim(lease_of(run), 2)

    assert [job.case.name for job in jobs] == ["case 1", "case 2"]


def test_trials_of_a_case_share_what_was_read(django_assert_num_queries: Any) -> None:
    run = start_run(make_suite(cases=1, trials=5))

    with django_assert_num_queries(1):
        cases = cases_of(run.pk, [0])
    jobs = claim(lease_of(run), 5)

    assert list(cases) == [0]
    assert len({id(job.case) for job in jobs}) == 1


def test_cases_of_other_snapshots_stay_out() -> None:
    run = start_run(make_suite(["hello"]))
    other = run.snapshot.cases.get()
    other.pk, other.content = None, json.dumps({"name": "other", "turns": [{"user": "Hi"}]})
    other.snapshot = type(run.snapshot).objects.create(
        sha256="0" * 64, schema_version=2, content="{}"
    )
    other.save()

    assert cases_of(run.pk, [0])[0].name == "case 1"
