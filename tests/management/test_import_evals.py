from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.management.commands.import_evals import read_paths
from evals_app.models import Agent, Suite
from tests.library.written import AGENT, EVERYTHING

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of eval files, with others that are none; the working directory is above it."""
    evals = tmp_path / "evals"
    (evals / "deep").mkdir(parents=True)
    for file in EVERYTHING:
        (evals / file.path).write_bytes(file.content)
    (evals / AGENT.path).rename(evals / "deep" / AGENT.path)
    (evals / "README.md").write_text("Read me.")
    (evals / "config.yaml").write_text("anything: else\n")
    for hidden in (evals / ".git", evals / "deep" / ".cache"):
        hidden.mkdir()
        (hidden / "broken.suite.yaml").write_text("{")
    monkeypatch.chdir(tmp_path)
    return evals


def run(*arguments: object) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("import_evals", *map(str, arguments), stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


def refused(*arguments: object) -> tuple[str, str]:
    err = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command(
            "import_evals", *map(str, arguments), stdout=StringIO(), stderr=err, no_color=True
        )
    assert caught.value.returncode == 2
    return str(caught.value), err.getvalue()


def test_a_folder_is_imported_with_everything_below_it(folder: Path) -> None:
    out, err = run("evals")

    assert err == ""
    assert out.startswith("Created (7)\n")
    assert "  agent        shop\n" in out
    assert "  entity type  order\n" in out
    assert Suite.objects.get().slug == "refunds"


def test_a_second_import_says_that_nothing_changed(folder: Path) -> None:
    run("evals")

    out, _ = run("evals")

    assert out.startswith("Unchanged (7)\n")


def test_changes_are_told_in_groups(folder: Path) -> None:
    run(folder / "deep" / AGENT.path)
    path = folder / "deep" / AGENT.path
    path.write_bytes(path.read_bytes().replace(b"Hello!", b"Hi!"))

    out, _ = run("evals")

    assert out.index("Created (6)") < out.index("Updated (1)\n  agent        shop\n")


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    out, _ = run("evals", "--dry-run")

    assert out.startswith("Would create (7)\n")
    assert not Agent.objects.exists()


def test_every_error_of_every_file_is_told_with_its_place(folder: Path) -> None:
    (folder / "a.agent.yaml").write_text("agent: A\nslug: a\ndriver: scriptd\n")
    (folder / "b.suite.yaml").write_text("suite: B\nslug: b\nagent: shop\ncases: []\ntrails: 2\n")

    message, err = refused("evals")

    assert message == "2 errors; nothing was imported."
    assert "evals/a.agent.yaml:3:9: driver: " in err
    assert "evals/b.suite.yaml:5:1: trails: " in err
    assert "Did you mean 'trials'?" in err
    assert not Agent.objects.exists()


def test_a_file_that_is_no_eval_file_is_refused_when_it_is_named(folder: Path) -> None:
    message, err = refused("evals/README.md")

    assert message == "1 error; nothing was imported."
    assert "evals/README.md: This is no eval file." in err


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        pytest.param(["nowhere"], "There is no file or folder nowhere.", id="missing"),
        pytest.param(["evals/.git"], None, id="a hidden folder that is named is read"),
        pytest.param(["empty"], "There is no eval file in empty", id="nothing in it"),
        pytest.param(["evals", "gone"], "There is no file or folder gone.", id="one of two"),
    ],
)
def test_paths_that_lead_nowhere_are_refused(
    folder: Path, paths: list[str], expected: str | None
) -> None:
    (folder.parent / "empty").mkdir()

    message, _ = refused(*paths)

    assert (expected or "nothing was imported") in message
    assert not Agent.objects.exists()


def test_a_file_that_is_named_twice_is_read_once(folder: Path) -> None:
    paths = [file.path for file in read_paths(["evals", "evals/deep", "evals/refunds.suite.yaml"])]

    assert len(paths) == len(set(paths)) == 5
    assert "evals/deep/shop.agent.yaml" in paths


def test_warnings_are_told_beside_the_result(folder: Path) -> None:
    path = folder / "quiet.suite.yaml"
    path.write_text("suite: Q\nslug: q\nagent: shop\ncases:\n  - {name: a, turns: [{user: Hi}]}\n")

    out, err = run("evals")

    assert "suite        q" in out
    assert "warning: evals/quiet.suite.yaml:5:" in err


def test_a_dialect_can_be_forced(folder: Path) -> None:
    message, err = refused("evals/refunds.suite.yaml", "evals/deep", "--format", "struere")

    assert "nothing was imported" in message
    assert "pass_rule" in err
