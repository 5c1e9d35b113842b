"""The environment of the operator's code, and how its end is reported."""

import os
import sys
from pathlib import Path

import pytest

from evals_app.engine.callables.processes import ROOT, ending, environment, readable
from tests.engine.permitting import permitting


def test_only_variables_that_are_no_secret_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "EVALWELL_SECRET_KEY", "DATABASE_URL", "LANG", "SHOP_TOKEN"):
        monkeypatch.setenv(name, "set")

    seen = environment()

    assert seen["LANG"] == "set"
    assert not {"OPENAI_API_KEY", "EVALWELL_SECRET_KEY", "DATABASE_URL", "SHOP_TOKEN"} & set(seen)


def test_what_the_operator_permits_is_passed_on_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "set")
    monkeypatch.setenv("SHOP_SECRET", "set")

    with permitting(variables=("SHOP_TOKEN",)):
        seen = environment()

    assert seen["SHOP_TOKEN"] == "set"
    assert "SHOP_SECRET" not in seen


def test_modules_are_found_on_the_same_path_wherever_it_is_seen_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"/srv/graders{os.pathsep}here{os.pathsep}")

    places = environment()["PYTHONPATH"].split(os.pathsep)

    assert places == ["/srv/graders", str(tmp_path / "here")]


def test_programs_start_in_the_project_folder() -> None:
    assert (ROOT / "manage.py").exists()


def test_python_is_the_one_that_runs_this_program() -> None:
    assert environment()["PATH"].startswith(str(Path(sys.executable).parent))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param(0, "exit code 0", id="well"),
        pytest.param(3, "exit code 3", id="badly"),
        pytest.param(-11, "signal SIGSEGV", id="by a crash"),
        pytest.param(-99, "signal 99", id="by a signal without a name"),
    ],
)
def test_the_end_of_a_process_is_shown(code: int, words: str) -> None:
    assert ending(code) == words


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        pytest.param(b"  no\n", "no", id="blanks around it"),
        pytest.param(b"one\n\ttwo", "one\n\ttwo", id="lines and tabs stay"),
        pytest.param(b"\x1b[1;31mred\x1b[0m\x07", "red", id="colours and bells"),
        pytest.param(b"\x1b]0;title\x07text", "text", id="the title of a terminal"),
        pytest.param(b"\xff\x00 bytes", "\ufffd bytes", id="no text"),
        pytest.param(b"x" * 501, "…" + "x" * 500, id="too long: its end"),
        pytest.param(b"", "", id="nothing"),
    ],
)
def test_what_a_program_wrote_is_made_readable(written: bytes, shown: str) -> None:
    assert readable(written) == shown
