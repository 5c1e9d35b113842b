"""The driver of the benchmarks at its smallest size: every way of running works and is measured."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.processes import ROOT, cpu_s, pss_mb, tree
from benchmarks.runs import BARE, EMBEDDED, STANDING, Measured, Result, judged, scripted, tools
from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import import_files
from evals_app.models import Suite


def test_the_smallest_comparison_measures_every_way_of_running(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    sizes = ["--cases", "3", "--rounds", "1", "--latency-ms", "0", "--memory-cases", "2"]
    options = ["single", "memory", "--database", "sqlite", *sizes, "--json", str(out)]

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.runs", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
    assert "run_evals + worker" in done.stdout
    single, *memory = json.loads(out.read_text())
    (measured,) = single["rounds"]
    assert measured.keys() == single["peaks"].keys() == {BARE, EMBEDDED, STANDING}
    for figures in measured.values():
        assert 0 < figures["run_s"] < figures["whole_s"]
        assert figures["cpu_s"] > 0
    assert all(peak_mb > 0 for peak_mb in single["peaks"].values())
    assert [result["cases"] for result in memory] == [2]


@pytest.mark.django_db
@pytest.mark.parametrize("files", [tools, judged, scripted], ids=lambda files: files.__name__)
def test_the_suites_of_a_scenario_can_be_imported(files: object) -> None:
    assert callable(files)
    sources = [SourceFile(name, text.encode()) for name, text in files(3, 64).items()]

    import_files(sources)

    suite = Suite.objects.get()
    assert (suite.concurrency, suite.cases.count()) == (64, 3)


def test_a_ratio_is_the_median_of_the_ratios_of_the_rounds() -> None:
    def measured(run_s: float) -> Measured:
        return Measured(run_s=run_s, whole_s=1.0, cpu_s=1.0, peak_mb=0.0)

    pairs = [(1.0, 2.0), (10.0, 11.0), (1.0, 3.0)]
    rounds = [{BARE: measured(bare), EMBEDDED: measured(ours)} for bare, ours in pairs]
    result = Result("single", "sqlite", 0.0, 3, {}, rounds)

    assert result.of(EMBEDDED, "run_s") == 3.0
    assert result.ratio(EMBEDDED, "run_s") == 2.0


def test_a_process_tree_has_children_and_their_cost() -> None:
    script = "import time; print(sum(range(3_000_000)), flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()

            assert child.pid in tree(os.getpid())
            assert cpu_s(child.pid) > 0
            assert pss_mb(child.pid) > 1
        finally:
            child.kill()


def test_a_process_that_is_gone_costs_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert (tree(gone.pid), cpu_s(gone.pid), pss_mb(gone.pid)) == ([gone.pid], 0, 0)
