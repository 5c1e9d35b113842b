"""Write the database of a release, for test_upgrades.py.

`python -m tests.migrations.stored 0.1.0` imports the files in `databases/0.1.0`, runs them, adds a row
to every other table, and writes `databases/0.1.0/database.sql`. Use the code of that release.
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

DATABASES = Path(__file__).parent / "databases"
WHEN = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)


def main(version: str) -> None:
    folder = DATABASES / version
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"EVALWELL_DATA_DIR": data, "DJANGO_SETTINGS_MODULE": "evalsite.settings"}
        for arguments in (["migrate"], ["import_evals", str(folder)], ["run_evals", "shop"]):
            subprocess.run([sys.executable, "manage.py", *arguments], check=False)
        fill_other_tables()
        with sqlite3.connect(Path(data) / "evalwell.sqlite3") as database:
            lines = [line for line in database.iterdump() if not line.startswith(UNNEEDED)]
    (folder / "database.sql").write_text("\n".join(lines) + "\n")


UNNEEDED = tuple(f'INSERT INTO "{table}"' for table in ("django_session", "auth_permission"))


def fill_other_tables() -> None:
    """Add rows that a run leaves out, and replace what belongs to this machine."""
    import django  # noqa: PLC0415 - after the environment that its settings read

    django.setup()
    from django.apps import apps  # noqa: PLC0415 - after django.setup
    from django.contrib.auth.models import User  # noqa: PLC0415 - after django.setup

    from evals_app import models  # noqa: PLC0415 - after django.setup

    run = models.Run.objects.get()
    execution = run.executions.earliest("pk")
    models.Suite.objects.update(source="/srv/evals/shop.suite.yaml")
    for model in (models.Worker, models.Lease):
        model.objects.all().delete()
    models.Worker.objects.create(host="example", pid=1, version="0.1.0", processes=2, seen_at=WHEN)
    models.Lease.objects.create(run=run, host="example", pid=1, slots=2, until=WHEN)
    models.Tally.add(models.Tally.LEASES_REAPED, 3)
    models.PaidCalls.objects.create(execution=execution, calls=[])
    state, _ = models.ProviderState.objects.get_or_create(slug="anthropic")
    run.providers.add(state)
    models.ApiToken.issue(name="CI", user=User.objects.create(username="ann"), scope="read")
    models.EvaluationSteps.objects.create(
        key="k",
        criteria="Polite",
        shown=["output"],
        model="anthropic/claude-haiku-5-5",
        prompt_version=1,
        written=["Read it."],
        steps=["Read it twice."],
    )
    ours = (apps.get_app_config(name) for name in ("evals_app", "fixtures_app"))
    empty = [
        model.__name__
        for app in ours
        for model in app.get_models()
        if not model._base_manager.exists()  # noqa: SLF001 - as Django names it
    ]
    if empty:
        raise SystemExit(f"Add rows of {', '.join(empty)} to fill_other_tables.")


if __name__ == "__main__":
    main(sys.argv[1])
