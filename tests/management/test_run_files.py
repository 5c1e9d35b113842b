"""run_evals on files: without an import, a database or anything that is left behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.management import scratch
from evals_app.models import Run, Suite

ROOT = Path(__file__).resolve().parent.parent.parent
AGENT = "agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: Hello}]\n"
SUITE = """\
suite: Greetings
slug: greetings
agent: echo
cases: [{name: one, turns: [{user: Hi, assertions: [{type: contains, value: Hello}]}]}]
"""
TABLE = "question,contains\nHi,Goodbye\n"


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all tests share an empty database, but not that of the person who runs them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def evals(tmp_path: Path) -> Path:
    folder = tmp_path / "evals"
    folder.mkdir()
    (folder / "echo.agent.yaml").write_text(AGENT, encoding="utf-8")
    (folder / "greetings.suite.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


def started(folder: Path, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
    """Start run_evals in a folder, with no database chosen and a place of its own for temporary files."""
    ours = ("EVALWELL_", "EVALS_", "DATABASE_URL", "GITHUB_", "CI_PROJECT_DIR")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    (folder / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "run_evals", *arguments],
        cwd=folder,
        env=environment | {"TMPDIR": str(folder / "tmp"), "EVALWELL_WORKERS": "1"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in (*folder.iterdir(), *(folder / "tmp").iterdir()))


@pytest.mark.slow
def test_a_folder_is_run_and_only_results_are_left(evals: Path) -> None:
    process = started(evals, "evals", "--no-progress")
    out, err = process.communicate(timeout=120)

    assert process.returncode == 0, err
    assert "1 passed" in out
    assert "/admin/" not in out
    assert left_behind(evals) == ["evals", "evalwell-results", "tmp"]
    results = evals / "evalwell-results"
    assert sorted(path.name for path in results.iterdir()) == [
        *("junit.xml", "report.html", "results.json")
    ]
    assert str(results.name) in err
    document = json.loads((results / "results.json").read_text(encoding="utf-8"))
    assert document["run"]["suite"] == "greetings"
    assert document["run"]["is_scripted"] is True


@pytest.mark.slow
def test_reports_and_annotations_are_at_the_line_of_the_case(evals: Path) -> None:
    suite = evals / "evals" / "greetings.suite.yaml"
    two = "  - {name: two, turns: [{user: Hi, assertions: [{type: contains, value: Bye}]}]}\n"
    head, case = SUITE.split("cases: [")
    suite.write_text(f"{head}cases:\n  - {case.strip().removesuffix(']')}\n{two}", encoding="utf-8")
    reports = ("--report", "junit=out.xml", "--report", "gitlab=out.json")

    process = started(evals, "evals", "--ci", *reports, GITHUB_ACTIONS="true")
    _, err = process.communicate(timeout=120)

    assert process.returncode == 1, err
    assert "::error file=evals/greetings.suite.yaml,line=6,title=Greetings%3A two" in err
    (finding,) = json.loads((evals / "out.json").read_text(encoding="utf-8"))
    assert finding["location"] == {"path": "evals/greetings.suite.yaml", "lines": {"begin": 6}}
    assert ">evals/greetings.suite.yaml:6\n" in (evals / "out.xml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_project_that_blocks_on_regressions_passes_where_there_is_nothing_to_compare_with(
    tmp_path: Path,
) -> None:
    shutil.copytree(ROOT / "examples" / "agentura" / "help-desk", tmp_path / "help-desk")
    project = tmp_path / "help-desk" / "agentura.yaml"
    text = project.read_text(encoding="utf-8").split("\nci:")[0]
    project.write_text(f"{text}\nci: {{block_on_regression: true}}\n", encoding="utf-8")

    process = started(tmp_path, "help-desk", "--ci", "--report", "junit=out.xml", "--accept-losses")
    out, err = process.communicate(timeout=240)

    assert process.returncode == 0, err
    runs = [run["run"] for run in json.loads(out)["runs"]]
    gates = [gate for run in runs for gate in run["gates"] if gate["name"] == "max_score_drop"]
    assert len(gates) == len(runs) > 1
    assert {(gate["passed"], gate["is_applied"]) for gate in gates} == {(None, False)}
    assert {run["verdict"] for run in runs} == {"passed"}
    assert err.count("max_score_drop not applied") == len(runs)
    assert (tmp_path / "out.xml").read_text(encoding="utf-8").count("<skipped") == len(runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "arguments", "words"),
    [
        pytest.param(
            {"evals/greetings.suite.yaml": SUITE.replace("cases:", "casess:")},
            ["evals"],
            "greetings.suite.yaml:4",
            id="a misspelt key",
        ),
        pytest.param({}, ["evals", "greetings"], "greetings", id="files and suites"),
        pytest.param({".env": "A"}, ["evals", "--env-file", ".env"], ".env:1", id="variables"),
    ],
)
def test_a_fault_is_exit_code_2_and_leaves_nothing(
    evals: Path, files: dict[str, str], arguments: list[str], words: str
) -> None:
    for name, content in files.items():
        (evals / name).write_text(content, encoding="utf-8")
    before = sorted({*(path.name for path in evals.iterdir()), "tmp"})

    process = started(evals, *arguments, "--no-progress")
    _, err = process.communicate(timeout=120)

    assert process.returncode == 2, err
    assert words in err
    assert "Traceback" not in err
    assert left_behind(evals) == before


@pytest.mark.slow
def test_an_interrupted_run_leaves_nothing(evals: Path) -> None:
    slow = AGENT.replace("reply: Hello", "reply: Hello, delay_ms: 60000")
    (evals / "evals" / "echo.agent.yaml").write_text(slow, encoding="utf-8")
    process = started(evals, "evals", "--no-progress", "--report", "csv=out.csv")
    assert process.stdout is not None
    process.stdout.readline()  # the forecast: it has started

    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)

    assert process.returncode == 130, err
    assert "runs attach" not in err
    assert left_behind(evals) == ["evals", "tmp"]


@pytest.mark.django_db
def test_in_a_chosen_database_files_are_imported_and_forecast(
    evals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(evals)
    (evals / "evals" / "farewells.csv").write_text(TABLE, encoding="utf-8")
    out = StringIO()

    files = ("evals/echo.agent.yaml", "evals/farewells.csv")
    call_command("run_evals", *files, "--agent", "echo", "--forecast", "--ci", stdout=out)

    assert json.loads(out.getvalue())["forecast"]["suite"] == "farewells"
    assert [suite.slug for suite in Suite.objects.all()] == ["farewells"]
    assert not Run.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        pytest.param(["evals/echo.agent.yaml"], "no suite", id="no suite"),
        pytest.param(["missing.yaml"], "missing.yaml", id="no file"),
        pytest.param(["evals", "--format", "natve"], "Did you mean 'native'", id="no format"),
        pytest.param(["evals", "--cache", "answers"], "temporary", id="a cache for a site"),
        pytest.param(["greetings", "--var", "A=b"], "--var", id="a variable without files"),
        pytest.param(["greetings", "--format", "native"], "--format", id="a format without files"),
    ],
)
def test_wrong_usage_is_exit_code_2(
    evals: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], word: str
) -> None:
    monkeypatch.chdir(evals)

    with pytest.raises(CommandError, match=word) as caught:
        call_command("run_evals", *arguments)

    assert caught.value.returncode == 2


@pytest.mark.django_db
def test_a_temporary_database_has_nothing_to_compare_with(
    monkeypatch: pytest.MonkeyPatch, evals: Path
) -> None:
    monkeypatch.setattr(scratch, "is_temporary", lambda: True)

    with pytest.raises(CommandError, match="--baseline"):
        call_command("run_evals", str(evals), "--baseline", "latest")


@pytest.mark.slow
def test_a_file_of_results_is_a_baseline_without_a_server(evals: Path) -> None:
    kept = ("--ci", "--no-progress", "--output", "main.json")
    compared = ("--ci", "--no-progress", "--baseline", "main.json")
    _, err = started(evals, "evals", *kept).communicate(timeout=120)
    same = started(evals, "evals", *compared)
    _, same_err = same.communicate(timeout=120)
    (evals / "evals" / "echo.agent.yaml").write_text(
        AGENT.replace("Hello", "Bye"), encoding="utf-8"
    )
    worse = started(evals, "evals", *compared)
    out, worse_err = worse.communicate(timeout=120)

    assert (same.returncode, worse.returncode) == (0, 1), (err, same_err, worse_err)
    assert "greetings is compared with run 1 of main.json" in same_err
    (gate,) = json.loads(out)["run"]["gates"]
    assert (gate["name"], gate["actual"], gate["passed"]) == ("max_regressions", 1, False)
    assert "than in run 1 of main.json: “one”" in gate["reason"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(None, "cannot be read: No such file", id="missing"),
        pytest.param("{}", "has no runs", id="no results"),
    ],
)
def test_a_file_without_results_is_wrong_usage(
    evals: Path, content: str | None, words: str
) -> None:
    file = evals / "main.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")

    with pytest.raises(CommandError, match=words) as caught:
        call_command("run_evals", str(evals / "evals"), "--baseline", str(file))

    assert caught.value.returncode == 2
    assert not Run.objects.exists()


LOSSY = """\
prompts: ['{{q}}']
providers: [echo]
tests:
  - vars: {q: hi}
    options: {transform: output.toUpperCase()}
    assert:
      - {type: icontains, value: HI}
      - {type: contains-any, value: [HI, HO]}
      - {type: is-json}
      - {type: javascript, value: output.length < 9}
      - {type: regex, value: HI}
      - {type: python, value: 'True'}
      - {type: latency, threshold: 9000}
"""


@pytest.mark.slow
def test_files_that_lost_checks_run_only_if_someone_accepts_that(evals: Path) -> None:
    (evals / "promptfooconfig.yaml").write_text(LOSSY, encoding="utf-8")
    process = started(evals, "promptfooconfig.yaml", "--no-progress")
    _, err = process.communicate(timeout=120)

    assert process.returncode == 2, err
    assert "6 of 7 checks were not read" in err
    assert err.count("lost check: ") == 6
    assert "--accept-losses" in err
    assert left_behind(evals) == ["evals", "promptfooconfig.yaml", "tmp"]

    process = started(evals, "promptfooconfig.yaml", "--no-progress", "--accept-losses")
    _, err = process.communicate(timeout=120)

    assert process.returncode == 0, err
    results = evals / "evalwell-results"
    losses = json.loads((results / "results.json").read_text(encoding="utf-8"))["run"]["losses"]
    assert (losses["checks_lost"], losses["checks_read"]) == (6, 1)
    assert [part["checks"] for part in losses["parts"]] == [1] * 6
    for name in ("junit.xml", "report.html"):
        assert "6 of 7 checks were not read" in (results / name).read_text(encoding="utf-8")
