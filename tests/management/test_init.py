"""A new project: its files, the next command, and that it runs at once."""

import io
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from evalwell import run

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = ["README.md", "agent.py", "helper.agent.yaml", "helper.suite.yaml"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def init(*arguments: str) -> str:
    out = io.StringIO()
    call_command("init", *arguments, stdout=out)
    return out.getvalue()


def test_it_writes_a_project_and_says_what_is_next() -> None:
    out = init("checks")

    assert sorted(path.name for path in Path("checks").iterdir()) == FILES
    assert out.splitlines()[-1].endswith("run_evals checks")
    assert "run_evals checks" in Path("checks/README.md").read_text(encoding="utf-8")
    assert not Path(".github").exists()


def test_its_suite_passes_as_it_is_with_both_agents() -> None:
    init()

    assert run("evals").passed
    runpy.run_path("evals/agent.py", run_name="__main__")


@pytest.mark.slow
def test_the_next_command_works() -> None:
    init()

    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("EVALWELL_", "DATA"))
    }
    command = [sys.executable, str(ROOT / "manage.py"), "run_evals", "evals", "--no-progress"]
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=120, check=False
    )

    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stderr


def test_github_gets_a_workflow() -> None:
    init("checks", "--github")

    workflow = Path(".github/workflows/evals.yml").read_text(encoding="utf-8")
    assert "evalwell run_evals checks --ci" in workflow


def test_the_folders_that_commands_write_to_stay_out_of_version_control() -> None:
    init()
    written = Path(".gitignore").read_text(encoding="utf-8").split()
    assert written == ["evalwell-data/", "evalwell-results/"]
    readme = Path("evals/README.md").read_text(encoding="utf-8")
    assert all(f"`{name.rstrip('/')}`" in readme for name in written)

    Path(".gitignore").write_text("mine\n", encoding="utf-8")
    init("more")
    assert Path(".gitignore").read_text(encoding="utf-8") == "mine\n"


def test_nothing_is_overwritten() -> None:
    Path("evals").mkdir()
    Path("evals/agent.py").write_text("mine", encoding="utf-8")

    with pytest.raises(CommandError, match=r"evals/agent\.py.*nothing was written") as refusal:
        init()

    assert refusal.value.returncode == 2
    assert [path.name for path in Path("evals").iterdir()] == ["agent.py"]


def test_a_file_in_place_of_the_folder_is_refused() -> None:
    Path("evals").write_text("mine", encoding="utf-8")

    with pytest.raises(CommandError, match="cannot be written"):
        init()
