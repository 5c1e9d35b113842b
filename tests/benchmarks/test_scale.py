"""The scripts that fill a large database and measure it, at their smallest sizes."""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.pages import run as measure_pages
from benchmarks.processes import ROOT
from benchmarks.queue_rate import work
from benchmarks.reads import remove_run, waiting_run
from benchmarks.seed_executions import seed
from evals_app.models import Execution, GradeResult, Run, Transcript
from evals_app.runs.ending.finish import sum_up
from tests.makers import make_run


def seed_some() -> int:
    return seed(executions=600, suites=6, largest=60, graded=100, transcripts=20, together=2)


@pytest.mark.django_db
def test_what_is_seeded_is_what_workers_would_have_written() -> None:
    written = seed_some()

    assert Execution.objects.count() == written >= 600
    assert Transcript.objects.exists()
    assert GradeResult.objects.exists()
    for run in Run.objects.select_related("snapshot"):
        kinds = Counter(row.verdict or row.status for row in run.executions.all())
        assert [run.passed, run.failed, run.errored, run.cancelled] == [
            kinds[kind] for kind in ("passed", "failed", "errored", "cancelled")
        ]
        if not run.is_open:
            summary = sum_up(run)
            assert (run.summary["score"], run.verdict) == (summary.score, summary.verdict)
    last = Execution.objects.order_by("-pk").values_list("pk", flat=True)[0]
    assert make_run(["passed"]).executions.get().pk == last + 1  # further runs can be written


@pytest.mark.django_db
def test_no_page_takes_more_queries_than_are_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    seed_some()

    pages = measure_pages(requests=1)

    titles = [measured.page.title for measured in pages]
    assert {"runs", "review", "dashboard", "executions by verdict and suite"} <= set(titles)
    assert {"REST runs", "REST execution"} <= set(titles)
    assert [m.page.title for m in pages if m.most_queries > m.page.max_queries] == []
    assert all(title in capsys.readouterr().out for title in titles[:1])


@pytest.mark.django_db
def test_a_run_is_written_for_the_queue_worked_on_and_removed() -> None:
    seed_some()
    before = Execution.objects.count()
    run = waiting_run(10)

    claims, recorded = work(run.pk, until=time.monotonic() + 60)

    assert (claims, recorded) == (1, run.total)
    assert Transcript.objects.filter(execution__run=run).count() == recorded
    remove_run(run.pk)
    assert not Run.objects.filter(pk=run.pk).exists()
    assert Execution.objects.count() == before


def test_imports_are_measured(tmp_path: Path) -> None:
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/site.sqlite3"}

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.imports", "--cases", "4", "--suites", "1"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "1 x 4 cases" in done.stdout
    assert list(tmp_path.iterdir()) == []
