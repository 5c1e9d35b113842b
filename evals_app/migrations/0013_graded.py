from typing import Any

from django.db import migrations
from django.db.models import Count, Q

AT_ONCE = 500


def correct_results(apps: Any, _schema_editor: Any) -> None:
    """Take scores from what errored and times from what never began; note what rates are of."""
    for name in ("Execution", "ReviewedVerdict"):
        apps.get_model("evals_app", name).objects.filter(verdict="errored").update(score=None)
    executions = apps.get_model("evals_app", "Execution").objects
    executions.filter(time_ms=0, turn_ms=[]).update(time_ms=None)
    runs = apps.get_model("evals_app", "Run").objects
    counts = _counts(apps)
    for run in runs.exclude(summary={}).only("summary", "reviewed").iterator(AT_ONCE):
        cases, passed, failed = counts.get(run.pk, (0, 0, 0))
        run.summary |= {
            "cases_passed": passed,
            "cases_failed": failed,
            "cases_not_graded": cases - passed - failed,
        }
        if run.reviewed:
            decided = run.reviewed["cases_passed"] + run.reviewed["cases_failed"]
            run.reviewed |= {"cases_not_graded": cases - decided}
        run.save(update_fields=["summary", "reviewed"])


def _counts(apps: Any) -> dict[int, tuple[int, int, int]]:
    """Return how many cases each run has, and how many of them passed and failed."""
    results = apps.get_model("evals_app", "CaseResult").objects.order_by()
    counted = results.values("run").annotate(
        cases=Count("pk"),
        passed=Count("pk", filter=Q(verdict="passed")),
        failed=Count("pk", filter=Q(verdict="failed")),
    )
    return {
        run: tuple(numbers)
        for run, *numbers in counted.values_list("run", "cases", "passed", "failed")
    }


class Migration(migrations.Migration):
    dependencies = [
        ("evals_app", "0012_traces"),
    ]

    operations = [
        migrations.RunPython(correct_results, migrations.RunPython.noop),
    ]
