"""Runs of the versions before shares had their numbers, and errors had no score."""

from importlib import import_module

import pytest
from django.apps import apps

from evals_app.models import Execution, ReviewedVerdict, Run
from evals_app.runs.reading.run_readers import run_details
from tests.makers import make_run

pytestmark = pytest.mark.django_db


def test_results_of_earlier_versions_are_corrected() -> None:
    run = make_run(["passed", "failed", "errored", "errored"])
    cut, errored = run.executions.filter(verdict="errored").order_by("pk")
    Execution.objects.filter(pk__in=[cut.pk, errored.pk]).update(score=1.0)
    Execution.objects.filter(pk=cut.pk).update(time_ms=0, turn_ms=[])
    ReviewedVerdict.objects.create(execution=errored, verdict="errored", score=1.0)
    for name in ("cases_passed", "cases_failed", "cases_not_graded"):
        del run.summary[name]
    counts = {"passed": 2, "failed": 1, "errored": 1}
    run.reviewed = {"verdict": "failed", "score": None, "pass_rate": 2 / 3, "reviews": 1}
    run.reviewed |= counts | {f"cases_{name}": number for name, number in counts.items()}
    run.reviewed["overruled"] = 1
    run.save()

    import_module("evals_app.migrations.0013_graded").correct_results(apps, None)

    rows = run.executions.order_by("pk").values_list("score", "time_ms")
    assert [score is None for score, _ in rows] == [False, False, True, True]
    assert [ms is None for _, ms in rows] == [False, False, True, False]
    assert ReviewedVerdict.objects.get().score is None
    answer = run_details(run.pk)
    assert answer is not None
    kinds = ("passed", "failed", "not_graded")
    assert [answer[f"cases_{kind}"] for kind in kinds] == [1, 1, 2]
    assert Run.objects.get().reviewed["cases_not_graded"] == 1
