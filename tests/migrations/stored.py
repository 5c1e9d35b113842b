"""Write the databases of a release, for test_upgrades.py.

`python -m tests.migrations.stored 0.1.0` imports the files in `databases/0.1.0`, runs them, adds a row
to every other table, and writes `sqlite.sql` and `postgresql.sql` there. Use the code of that release.
It needs `pg_dump` and a PostgreSQL that lets `postgres` in without a password.
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path

DATABASES = Path(__file__).parent / "databases"
SERVER = "postgresql://postgres@127.0.0.1:5432"
WHEN = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)
# Tables that `migrate` fills again, or that belong to one process.
UNNEEDED = ("django_session", "auth_permission", "auth_group_permissions")


def main(version: str) -> None:
    folder = DATABASES / version
    with tempfile.TemporaryDirectory() as data:
        _fill(folder, EVALWELL_DATA_DIR=data)
        with sqlite3.connect(Path(data) / "evalwell.sqlite3") as database:
            lines = [*database.iterdump()]
    unneeded = tuple(f'INSERT INTO "{table}"' for table in UNNEEDED)
    _write(folder / "sqlite.sql", (line for line in lines if not line.startswith(unneeded)))

    name = "evalwell_stored"
    _psql("postgres", f"DROP DATABASE IF EXISTS {name}")
    _psql("postgres", f"CREATE DATABASE {name}")
    with tempfile.TemporaryDirectory() as data:
        _fill(folder, EVALWELL_DATA_DIR=data, DATABASE_URL=f"{SERVER}/{name}")
    left_out = [f"--exclude-table-data=public.{table}" for table in UNNEEDED]
    dump = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", *left_out, f"{SERVER}/{name}"]
    sql = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    # Commands of psql, and a setting that older servers lack.
    unneeded = ("\\", "SET transaction_timeout")
    _write(
        folder / "postgresql.sql",
        (line for line in sql.split("\n") if not line.startswith(unneeded)),
    )
    _psql("postgres", f"DROP DATABASE {name}")


def _write(file: Path, lines: Iterable[str]) -> None:
    file.write_text("\n".join(lines) + "\n")


def _psql(database: str, statement: str) -> None:
    command = ["psql", "--quiet", f"{SERVER}/{database}", "-c", statement]
    subprocess.run(command, check=True)


def _fill(folder: Path, **variables: str) -> None:
    """Import and run the files of a release in a new site, then add all other rows."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalsite.settings", **variables}
    for arguments in (["migrate"], ["import_evals", str(folder)], ["run_evals", "shop"]):
        command = [sys.executable, "manage.py", *arguments]
        subprocess.run(command, check=False, env=environment)  # its run fails on purpose
    more = "from tests.migrations.stored import fill_other_tables; fill_other_tables()"
    subprocess.run([sys.executable, "-c", more], check=True, env=environment)


def fill_other_tables() -> None:
    """Add rows that a run leaves out, and replace what belongs to this machine."""
    import django  # noqa: PLC0415 - after the environment that its settings read

    django.setup()
    from django.apps import apps  # noqa: PLC0415 - after django.setup
    from django.contrib.auth.models import User  # noqa: PLC0415 - after django.setup

    from evals_app import models  # noqa: PLC0415 - after django.setup
    from evals_app.library.deleting.written import delete_case  # noqa: PLC0415 - after django.setup

    run = models.Run.objects.get()
    execution = run.executions.earliest("pk")
    grade = execution.grades.earliest("pk")
    suite = models.Suite.objects.get()
    ann = User.objects.create(username="ann", email="ann@example.com")

    models.Suite.objects.update(source="/srv/evals/shop.suite.yaml")
    for model in (models.Worker, models.Lease):
        model.objects.all().delete()
    models.Worker.objects.create(host="example", pid=1, version="0.1.0", processes=2, seen_at=WHEN)
    models.Lease.objects.create(run=run, host="example", pid=1, slots=2, until=WHEN)
    models.Tally.add(models.Tally.LEASES_REAPED, 3)
    models.PaidCalls.objects.create(execution=execution, calls=[])
    state, _ = models.ProviderState.objects.get_or_create(slug="anthropic")
    run.providers.add(state)
    models.Spending.objects.create(
        day=WHEN.date(), run=run, person=ann, agent_slug="shop", agent_name="Shop", spent_usd="0.25"
    )
    models.MonthlyCeiling.objects.create(person=ann, max_usd="20")
    models.Computer.objects.create(
        pk="c" * 32, agent="laptop", host="example", user=ann, seen_at=WHEN
    )
    models.AgentCall.objects.create(
        execution=execution, turn=1, agent="laptop", session_id="s", request={}, offers=3
    )
    trace = models.Trace.objects.create(
        trace_id="a" * 32, execution=execution, span_count=1, size_bytes=20
    )
    models.TraceSpan.objects.create(trace=trace, span_id="b" * 16, content={"name": "search"})

    models.ApiToken.issue(name="CI", user=ann, scope="read")
    models.Profile.objects.create(user=ann, time_zone="Europe/Berlin")
    models.PasswordLink.objects.create(person=ann, made_by=ann, digest="d" * 64, made_at=WHEN)

    models.EvaluationSteps.objects.create(
        key="k",
        criteria="Polite",
        shown=["output"],
        model="anthropic/claude-haiku-5-5",
        prompt_version=1,
        written=["Read it."],
        steps=["Read it twice."],
    )
    criterion = models.Yardstick.objects.create(
        digest="e" * 32,
        type="llm_judge",
        criterion="Polite",
        judge="anthropic/claude-haiku-5-5",
        prompt_version=1,
    )
    models.JudgeTally.objects.create(
        day=date(2026, 11, 23), run=run, model="anthropic/claude-haiku-5-5", graded=2, passed=1
    )
    task = models.ReviewTask.objects.create(run=run, created_by=ann)
    task.people.add(ann)
    models.ReviewItem.objects.create(task=task, position=1, grade=grade)
    models.Review.objects.create(
        execution=execution,
        grade=grade,
        passed=False,
        reason="It found another customer's orders.",
        yardstick=criterion,
        judged_passed=True,
        task=task,
        by=ann,
        by_name="ann",
    )
    models.ReviewedVerdict.objects.create(execution=execution, verdict="failed", cause="agent")

    webhook = models.Webhook.objects.create(name="Chat", url="https://example.com/hook")
    webhook.suites.add(suite)
    models.Delivery.objects.create(webhook=webhook, run=run, event="ended", body="{}")
    models.MailWish.objects.create(person=ann, suite=suite, on_failure=True)
    schedule = models.Schedule.objects.create(name="Nightly", at="03:00", owner=ann)
    schedule.suites.add(suite)
    models.DueRun.objects.create(schedule=schedule, suite=suite, due_at=WHEN, run=run)
    counts = {"compared": 2, "few": 0, "hopeless": 0, "suspects": 1}
    models.Settlement.objects.create(base=run, head=run, created_by=ann, **counts)

    case = suite.cases.create(name="Late parcel", position=9)
    case.turns.create(position=0, user="Where is it?")
    delete_case(case, by=ann)
    models.BulkEdit.objects.create(suite=suite, what="Disabled 1 case.", changed=[])
    author = {"by": ann, "by_name": "ann"}
    models.SavedView.objects.create(person=ann, list="evals_app.run", name="Mine", query="q=ann")
    models.DeveloperLink.make(suite.agent, by=ann)
    models.ShipDecision.objects.create(
        suite=suite, run=run, run_number=run.pk, shipped=False, answered="No.", **author
    )
    models.AcceptedFailure.objects.create(
        suite=suite, run_number=run.pk, case="Refund", reason="Known", **author
    )
    models.TopicReadiness.objects.create(
        agent=suite.agent, topic="refunds", state="ready", **author
    )

    ours = (apps.get_app_config(name) for name in ("evals_app", "fixtures_app"))
    empty = [
        model.__name__
        for app in ours
        for model in app.get_models(include_auto_created=True)
        if not model._base_manager.exists()  # noqa: SLF001 - as Django names it
    ]
    if empty:
        raise SystemExit(f"Add rows of {', '.join(empty)} to fill_other_tables.")


if __name__ == "__main__":
    main(sys.argv[1])
