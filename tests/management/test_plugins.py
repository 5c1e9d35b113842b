"""The package of plug-ins in examples/, installed as an operator installs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from evals_app.models import GradeResult, Run
from tests.api.clients import make_client
from tests.offered import Offer

ROOT = Path(__file__).resolve().parents[2]
PATHS = [str(ROOT), str(ROOT / "evals_app" / "python")]
PACKAGE = ROOT / "examples" / "plugin-package"

AGENT = "agent: Guide\nslug: guide\ndriver: scripted\nrules: [{reply: 'Paris, thank you.'}]\n"
POLITE = """\
suite: Polite
slug: polite
agent: guide
judge_model: plugin/{}
cases:
  - name: Asks
    turns:
      - user: What is the capital of France?
        assertions: [{{type: llm_judge, criteria: It is polite.}}]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    command = [sys.executable, "-m", "pip", "install", *options, str(PACKAGE)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    # A package whose plug-ins cannot be imported, beside it.
    broken = folder / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    groups = ("checks", "agents", "reports", "judges", "readers")
    points = "".join(f"[evalwell.{group}]\nbroken = broken_plugin:it\n" for group in groups)
    (broken / "entry_points.txt").write_text(points)
    (folder / "broken_plugin.py").write_text("import sys\nsys.exit('no licence')\n")
    return folder


@pytest.mark.slow
def test_evals_as_code_have_all_of_it(installed: Path) -> None:
    code = (
        "from evalwell import Case, Suite, check, run; import json;"
        "cases = [Case('one', 'a ' * 9, checks=[check('short_sentences', most=5)])];"
        "results = run(Suite('Sentences', cases=cases), agent='parrot');"
        "one = results.cases['one'].trials[0].checks[0];"
        "polite = [Case('one', 'Thank you', checks=[check('llm_judge', criteria='It thanks.')])];"
        "judged = run(Suite('Polite', cases=polite), agent='parrot', judge='plugin/courtesy');"
        "print(json.dumps([results.report('one_line'), one.label, one.passed, judged.verdict]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*PATHS, str(installed)])},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert json.loads(done.stdout) == [
        "sentences: failed",
        "Sentences have at most 5 words",
        False,
        "passed",
    ]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_site_reads_its_files_and_asks_its_judge(
    child_environment: dict[str, str], installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "guide.agent.yaml").write_text(AGENT)
    (tmp_path / "capitals.quiz.txt").write_text("Q: What is the capital of France?\nA: Paris\n")
    (tmp_path / "polite.suite.yaml").write_text(POLITE.format("courtesy"))
    (tmp_path / "wrong.suite.yaml").write_text(
        POLITE.format("broken").replace("polite", "wrong").replace("Polite", "Wrong")
    )
    environment = {**child_environment, "PYTHONPATH": str(installed)}

    def evals(*files: str) -> subprocess.CompletedProcess[str]:
        paths = [str(tmp_path / file) for file in ("guide.agent.yaml", *files)]
        command = [sys.executable, "manage.py", "run_evals", "--ci", "--agent", "guide", *paths]
        return subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    done = evals("capitals.quiz.txt", "polite.suite.yaml")
    refused = evals("wrong.suite.yaml")

    assert done.returncode == 0, done.stderr
    assert {run.suite_slug: run.verdict for run in Run.objects.all()} == {
        "capitals": "passed",
        "polite": "passed",
    }
    assert GradeResult.objects.get(type="llm_judge").evidence[0]["quote"] == "Paris, thank you"
    assert refused.returncode == 2
    assert "wrong.suite.yaml:4" in refused.stderr
    assert "broken 1.0" in refused.stderr
    assert "SystemExit: no licence" in refused.stderr


@pytest.mark.django_db
def test_pages_and_rest_offer_judge_and_reader(offer: Offer, admin_client: Client) -> None:
    offer("readers", quiz="tests.formats.test_reader_plugins:quiz")

    page = admin_client.get("/admin/evals_app/suite/import/")
    body = {"files": [{"path": "a.quiz.txt", "content": "Hi=Hello"}]}
    answer = make_client().post("/api/import/?dry_run=true", body, format="json")
    offer("judges", house="tests.engine.llm.test_judge_plugins:broken")
    suites = admin_client.get("/admin/evals_app/suite/add/")

    assert "A quiz." in page.text
    assert ",.txt" in page.text
    assert "No agent is named" in answer.text
    assert "plugin/house" in suites.text
