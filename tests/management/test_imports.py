"""What commands must not import: each of these takes a tenth of a second or more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evals_app.models import Run

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.django_db(transaction=True)

# Runs manage.py with the arguments, then prints the names of all modules that are loaded.
SCRIPT = """
import json, sys
import manage
try:
    manage.main()
except SystemExit as ended:
    code = ended.code or 0
else:
    code = 0
print(json.dumps({"code": code, "modules": sorted(sys.modules)}))
"""
PAGES = (
    *("evals_app.admin", "evals_app.api", "evalsite.urls", "unfold.admin"),
    *("drf_spectacular.openapi", "rest_framework.views"),
)
SDKS = ("openai", "anthropic")
FOREIGN = tuple(
    f"evals_app.formats.{dialect}."
    for dialect in ("agentura", "holodeck", "lobu", "openai_evals", "promptfoo")
)
NEVER = (*PAGES, *SDKS, "openpyxl", "redis", "phonenumbers")
KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
AGENT = "agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: Hello}]\n"
SUITE = """\
suite: Greetings
slug: greetings
agent: echo
cases: [{name: one, turns: [{user: Hi, assertions: [{type: contains, value: Hello}]}]}]
"""


def loaded_by(environment: dict[str, str], *arguments: str) -> list[str]:
    """Return the modules that a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    ended = json.loads(done.stdout.splitlines()[-1])
    assert ended["code"] == 0, done.stderr
    modules: list[str] = ended["modules"]
    return modules


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "echo.agent.yaml").write_text(AGENT, encoding="utf-8")
    (tmp_path / "greetings.suite.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


def run_numbers() -> list[str]:
    return [str(pk) for pk in Run.objects.order_by("pk").values_list("pk", flat=True)]


@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        pytest.param("list_evals", (*FOREIGN, "rich.", "evals_app.formats.", "yaml"), id="list"),
        pytest.param("import_evals --dry-run FILES", (*FOREIGN, "rich."), id="import"),
        pytest.param("export_evals --dir OUT", (*FOREIGN, "rich."), id="export"),
        pytest.param("new_suite new --dir FILES", (*FOREIGN, "rich."), id="new suite"),
        pytest.param("prune_transcripts --older-than 10", (*FOREIGN, "rich."), id="prune"),
    ],
)
def test_a_command_imports_nothing_that_it_does_not_use(
    child_environment: dict[str, str], files: Path, command: str, unwanted: tuple[str, ...]
) -> None:
    words = command.replace("FILES", str(files)).replace("OUT", str(files / "out")).split()

    modules = loaded_by(child_environment | KEYS, *words)

    assert [name for name in modules if name.startswith((*NEVER, *unwanted))] == []


@pytest.mark.slow
def test_a_scripted_run_imports_no_sdk_though_keys_are_set_and_only_a_spreadsheet_openpyxl(
    child_environment: dict[str, str], files: Path
) -> None:
    loaded_by(child_environment, "import_evals", str(files))

    run = loaded_by(child_environment | KEYS, "run_evals", "greetings", "--ci")
    loaded_by(child_environment, "run_evals", "greetings", "--ci")
    compared = loaded_by(child_environment | KEYS, "compare_runs", *run_numbers())
    as_table = ("--format", "xlsx", "--dir", str(files))
    export = loaded_by(child_environment, "export_evals", "greetings", *as_table)

    assert "evals_app.runs.process.cluster" in run
    unwanted = (*NEVER, *FOREIGN, "evals_app.formats.native", "yaml")
    assert [name for name in run + compared if name.startswith(unwanted)] == []
    assert "openpyxl" in export
