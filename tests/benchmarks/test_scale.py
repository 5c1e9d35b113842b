"""The scripts that fill a large database and measure it, at their smallest sizes."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.pages import MOST_QUERIES, run
from benchmarks.seed_executions import seed
from evals_app.models import Execution, GradeResult, Run, Transcript
from evals_app.runs.finish import sum_up
from tests.makers import make_run

ROOT = Path(__file__).resolve().parent.parent.parent


def seed_some() -> int:
    return seed(executions=600, suites=6, largest=60, graded=100, transcripts=20)


@pytest.mark.django_db
def test_what_is_seeded_is_what_workers_would_have_written() -> None:
    written = seed_some()

    assert Execution.objects.count() == written >= 600
    assert Transcript.objects.exists()
    assert GradeResult.objects.exists()
    for each in Run.objects.select_related("snapshot"):
        kinds = Counter(row.verdict or row.status for row in each.executions.all())
        assert [each.passed, each.failed, each.errored, each.cancelled] == [
            kinds[kind] for kind in ("passed", "failed", "errored", "cancelled")
        ]
        if not each.is_open:
            assert each.summary["score"] == sum_up(each).score
            assert each.verdict == sum_up(each).verdict


@pytest.mark.django_db
def test_a_seeded_database_takes_further_runs() -> None:
    seed_some()
    last = Execution.objects.order_by("-pk").values_list("pk", flat=True)[0]

    run = make_run(["passed"])

    assert run.executions.get().pk == last + 1


@pytest.mark.django_db
def test_no_page_takes_more_queries_than_are_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    seed_some()

    found = run(requests=1)

    titles = [measured.page.title for measured in found]
    assert {"runs", "review", "dashboard", "executions by verdict and suite"} <= set(titles)
    assert {"REST runs", "REST execution"} <= set(titles)
    assert [m.page.title for m in found if m.most_queries > MOST_QUERIES] == []
    assert all(title in capsys.readouterr().out for title in titles[:1])


def test_imports_are_measured(tmp_path: Path) -> None:
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/site.sqlite3"}

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.imports", "--cases", "4", "--suites", "2"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "1 x 4 cases" in done.stdout
    assert "2 x 2 cases" in done.stdout
    assert list(tmp_path.iterdir()) == []
