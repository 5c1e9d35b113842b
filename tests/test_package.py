"""The package that pip installs: everything in it that the site needs, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.iterdir()
    with zipfile.ZipFile(built) as wheel:
        return set(wheel.namelist())


def test_every_file_that_is_read_beside_the_code_is_in_it(files: set[str]) -> None:
    sources = [
        path.relative_to(ROOT)
        for folder in ("docs", "examples", "static", "templates")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    ]
    packages = [
        path.relative_to(ROOT).as_posix()
        for package in ("evals_app", "evalsite", "fixtures_app")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]

    assert {f"evalsite/files/{path.as_posix()}" for path in sources} - files == set()
    assert set(packages) - files == set()


def test_it_has_no_tests_and_no_data(files: set[str]) -> None:
    tops = {name.partition("/")[0] for name in files}

    assert {name for name in tops if not name.endswith(".dist-info")} == {
        *("evals_app", "evalsite", "evalwell", "fixtures_app")
    }


def test_it_brings_the_command(files: set[str]) -> None:
    assert any(name.endswith(".dist-info/entry_points.txt") for name in files)
    assert "evalsite/command_line.py" in files


def test_it_brings_evals_as_code_with_its_types(files: set[str]) -> None:
    typed = {f"{package}/py.typed" for package in ("evals_app", "evalwell", "fixtures_app")}

    assert {"evalwell/__init__.py", *typed} - files == set()
