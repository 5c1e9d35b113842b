"""Cases of snapshots, and what came of cases in runs, get rows of their own.

Snapshots keep their names: runs know them by these. Going back puts the cases where they were.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

AT_ONCE = 2000


def split_snapshots(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    snapshot, case = (apps.get_model("evals_app", name) for name in ("Snapshot", "SnapshotCase"))
    for pk in list(snapshot.objects.filter(schema_version=1).values_list("pk", flat=True)):
        row = snapshot.objects.get(pk=pk)
        whole = json.loads(row.content)
        cases = whole.get("suite", {}).pop("cases", [])
        if "suite" in whole:
            whole["suite"]["cases"] = []
        whole["schema_version"] = row.schema_version = 2
        row.content = _canonical(whole)
        row.save()
        _write(
            case,
            (
                case(snapshot=row, position=position, content=_canonical(each))
                for position, each in enumerate(cases)
            ),
        )


def join_snapshots(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    snapshot, case = (apps.get_model("evals_app", name) for name in ("Snapshot", "SnapshotCase"))
    for pk in list(snapshot.objects.filter(schema_version=2).values_list("pk", flat=True)):
        row = snapshot.objects.get(pk=pk)
        whole = json.loads(row.content)
        cases = case.objects.filter(snapshot=row).order_by("position")
        if "suite" in whole:
            contents = cases.values_list("content", flat=True)
            whole["suite"]["cases"] = [json.loads(each) for each in contents]
        whole["schema_version"] = row.schema_version = 1
        row.content = _canonical(whole)
        row.save()
        cases.delete()


def move_case_results(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    run, result = (apps.get_model("evals_app", name) for name in ("Run", "CaseResult"))
    for pk in list(run.objects.filter(summary__has_key="cases").values_list("pk", flat=True)):
        row = run.objects.only("summary").get(pk=pk)
        cases = row.summary.pop("cases")
        row.save(update_fields=["summary"])
        _write(
            result,
            (
                result(run=row, position=position, **_columns(each))
                for position, each in enumerate(cases)
            ),
        )


def move_case_results_back(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    run, result = (apps.get_model("evals_app", name) for name in ("Run", "CaseResult"))
    for pk in list(run.objects.exclude(summary={}).values_list("pk", flat=True)):
        row = run.objects.only("summary").get(pk=pk)
        results = result.objects.filter(run=row).order_by("position")
        row.summary["cases"] = [_summary(each) for each in results.values()]
        row.save(update_fields=["summary"])
        results.delete()


def _columns(case: dict[str, Any]) -> dict[str, Any]:
    columns = dict(case)
    low, high = columns.pop("interval") or (None, None)
    verdict = columns.pop("verdict") or ""
    return columns | {"verdict": verdict, "interval_low": low, "interval_high": high}


def _summary(columns: dict[str, Any]) -> dict[str, Any]:
    apart = {"id", "run_id", "position", "interval_low", "interval_high"}
    case = {name: value for name, value in columns.items() if name not in apart}
    low, high = columns["interval_low"], columns["interval_high"]
    interval = None if low is None else [low, high]
    return case | {"verdict": case["verdict"] or None, "interval": interval}


def _canonical(value: Any) -> str:  # noqa: ANN401 - JSON
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _write(model: Any, rows: Iterable[Any]) -> None:  # noqa: ANN401 - a model of that time
    waiting: Iterator[Any] = iter(rows)
    while part := list(islice(waiting, AT_ONCE)):
        model.objects.bulk_create(part)


class Migration(migrations.Migration):
    dependencies = [
        ("evals_app", "0003_providers_and_money"),
    ]

    operations = [
        migrations.CreateModel(
            name="CaseResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=200)),
                (
                    "verdict",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("passed", "Passed"),
                            ("failed", "Failed"),
                            ("errored", "Errored"),
                        ],
                        max_length=8,
                    ),
                ),
                ("trials", models.PositiveIntegerField()),
                ("passed", models.PositiveIntegerField()),
                ("failed", models.PositiveIntegerField()),
                ("errored", models.PositiveIntegerField()),
                ("pass_rate", models.FloatField(null=True)),
                ("score", models.FloatField(null=True)),
                ("deviation", models.FloatField(null=True)),
                ("interval_low", models.FloatField(null=True)),
                ("interval_high", models.FloatField(null=True)),
                ("pass_at_k", models.JSONField(default=list)),
                ("pass_hat_k", models.JSONField(default=list)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="case_results",
                        to="evals_app.run",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("run", "position"), name="case_result_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="SnapshotCase",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("content", models.TextField()),
                (
                    "snapshot",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cases",
                        to="evals_app.snapshot",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("snapshot", "position"), name="snapshot_case_unique"
                    )
                ],
            },
        ),
        migrations.RunPython(split_snapshots, join_snapshots),
        migrations.RunPython(move_case_results, move_case_results_back),
    ]
