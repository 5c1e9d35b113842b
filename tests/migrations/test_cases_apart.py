"""Cases of older snapshots and runs are moved to rows of their own."""

import importlib
import json
from typing import Any

import pytest
from django.apps import apps

from evals_app.documents import run_details
from evals_app.formats.snapshot import SnapshotSpec
from evals_app.models import CaseResult, Run, Snapshot, SnapshotCase
from evals_app.runs import start_run
from evals_app.runs.shift import work
from tests.makers import make_run, make_snapshot
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db

migration: Any = importlib.import_module("evals_app.migrations.0004_cases_apart")


def test_a_run_on_an_older_snapshot_can_be_held() -> None:
    run = start_run(make_suite(["hello", "größer hello"]))
    before = list(run.snapshot.cases.order_by("position").values_list("content", flat=True))
    head = run.snapshot.content
    migration.join_snapshots(apps, None)
    (older,) = Snapshot.objects.all()

    migration.split_snapshots(apps, None)
    work()

    assert [case["name"] for case in json.loads(older.content)["suite"]["cases"]] == [
        *("case 1", "case 2"),
    ]
    assert older.schema_version == json.loads(older.content)["schema_version"] == 1
    snapshot = Snapshot.objects.get()
    assert list(snapshot.cases.order_by("position").values_list("content", flat=True)) == before
    assert (snapshot.sha256, snapshot.content) == (run.snapshot_id, head)
    assert SnapshotSpec.read(snapshot.content).schema_version == snapshot.schema_version == 2
    assert Run.objects.get().passed == 2


def test_a_snapshot_that_is_split_already_stays_as_it_is() -> None:
    start_run(make_suite(cases=2))
    before = [*Snapshot.objects.values(), *SnapshotCase.objects.values()]

    migration.split_snapshots(apps, None)

    assert [*Snapshot.objects.values(), *SnapshotCase.objects.values()] == before


def test_a_snapshot_without_a_suite_is_no_obstacle() -> None:
    snapshot = make_snapshot(schema_version=1)
    Snapshot.objects.update(schema_version=1)

    migration.split_snapshots(apps, None)

    snapshot.refresh_from_db()
    assert (snapshot.schema_version, json.loads(snapshot.content)["schema_version"]) == (2, 2)


def test_what_came_of_cases_reads_as_before() -> None:
    runs = [
        make_run({"A": ["passed", "failed", "errored"], "B": ["errored"], "C": ["not_run"]}),
        make_run(["passed"], gates={"min_score": 0.5}),
    ]
    before = [run_details(run.pk) for run in runs]
    migration.move_case_results_back(apps, None)
    older = list(Run.objects.order_by("pk"))

    migration.move_case_results(apps, None)

    assert [run.summary["cases"] for run in older] == [each["cases"] for each in before if each]
    assert CaseResult.objects.count() == 4
    assert [run_details(run.pk) for run in runs] == before
    assert [sorted(run.summary) for run in Run.objects.order_by("pk")] == [
        [
            *("gates", "median_ms", "notes", "p95_ms", "pass_at_k", "pass_hat_k", "pass_rate"),
            *("score", "verdict"),
        ]
    ] * 2


def test_a_run_that_goes_on_has_no_results_to_move() -> None:
    run = make_run(["queued", "passed"])

    migration.move_case_results_back(apps, None)
    migration.move_case_results(apps, None)

    assert run.case_results.count() == 0
    assert Run.objects.get().summary == {}
