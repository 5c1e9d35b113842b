"""The database of every release can be upgraded, and what it has is still read the same.

For a release, copy the newest folder in `databases` to one named by the version, adapt its files, and
run `python -m tests.migrations.stored VERSION` with the code of the release; commit the folder and
never change it again.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connections

from evals_app.engine.record.trial import Trial
from evals_app.formats.importing import SourceFile, read_files
from evals_app.formats.reading.sibling_files import SiblingFiles
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec, read_case
from evals_app.models import Agent, ApiToken, EvaluationSteps, Provider, Run, Suite, Transcript
from fixtures_app.library import fixture_specs
from tests.migrations.stored import DATABASES


def _sqlite(folder: Path, scratch: Path) -> dict[str, Any]:
    name = scratch / "stored.sqlite3"
    with sqlite3.connect(name) as database:
        database.executescript((folder / "sqlite.sql").read_text())
    database.close()
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(name), "OPTIONS": {}}


def _postgresql(folder: Path) -> dict[str, Any]:
    usual = connections["default"]
    name = f"{usual.settings_dict['NAME']}_stored"
    with usual.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
    stored = usual.copy("default")
    stored.settings_dict |= {"NAME": name}
    with stored.cursor() as cursor:
        cursor.execute((folder / "postgresql.sql").read_text().replace("%", "%%"), ())
    stored.close()
    return {"NAME": name}


@pytest.fixture(params=sorted(DATABASES.iterdir()), ids=lambda folder: folder.name)
def release(
    request: pytest.FixtureRequest, tmp_path: Path, transactional_db: None
) -> Iterator[Path]:
    """Let everything use the upgraded database of a release."""
    folder: Path = request.param
    usual = connections["default"]
    is_sqlite = usual.vendor == "sqlite"
    settings = _sqlite(folder, tmp_path) if is_sqlite else _postgresql(folder)
    connections["default"] = usual.copy("default")
    connections["default"].settings_dict |= settings
    ContentType.objects.clear_cache()
    try:
        call_command("migrate", verbosity=0)
        yield folder
    finally:
        connections["default"].close()
        connections["default"] = usual
        ContentType.objects.clear_cache()
        if not is_sqlite:
            with usual.cursor() as cursor:
                cursor.execute(f"DROP DATABASE {settings['NAME']}")


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_an_upgraded_database_is_read_as_it_was_written(release: Path) -> None:
    files = [SourceFile(path.name, path.read_bytes()) for path in sorted(release.glob("*.yaml"))]
    written = read_files(files, find=SiblingFiles.of([release], root=release).find)

    assert [row.to_spec() for row in Suite.objects.with_everything()] == [
        suite.spec for suite in written.suites
    ]
    assert [row.to_spec() for row in Agent.objects.all()] == [
        agent.spec for agent in written.agents
    ]
    assert [fixture.slug for fixture in fixture_specs()] == ["shop"]
    assert fixture_specs()[0].chunks == written.fixtures[0].spec.chunks
    assert all(row.to_spec().slug == row.slug for row in Provider.objects.all())
    assert EvaluationSteps.objects.get().steps == ["Read it twice."]
    assert ApiToken.objects.get().user.username == "ann"

    run = Run.objects.get()
    assert (run.verdict, run.total, run.passed, run.failed) == ("failed", 3, 2, 1)
    assert run.case_results.count() == 2
    assert set(run.executions.values_list("case", "trial", "verdict", "agent_prompt_tokens")) == {
        ("Orders", 1, "passed", 20),
        ("Orders", 2, "passed", 20),
        ("Refund", 1, "failed", None),
    }
    assert run.executions.filter(grades__type="max_prompt_tokens", grades__passed=True).count() == 2
    head = SnapshotSpec.read(run.snapshot.content)
    cases = [read_case(case.content) for case in run.snapshot.cases.order_by("position")]
    assert head.suite.model_copy(update={"cases": cases}) == written.suites[0].spec
    replies = {Trial.from_json(row.trial).turns[0].reply for row in Transcript.objects.all()}
    assert replies == {"I found 2 orders.", "How can I help?"}
