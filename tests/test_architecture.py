"""What holds for the source as a whole: direction of imports, tables, commands, files."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import BaseCommand, call_command, get_commands, load_command_class

from evals_app import __version__

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("evalsite", "evals_app", "fixtures_app")
TOP_LEVEL = {
    # folders
    ".ci",
    ".github",
    "benchmarks",
    "docs",
    "evals_app",
    "evalsite",
    "examples",
    "fixtures_app",
    "static",
    "templates",
    "tests",
    # files
    ".djlint_rules.yaml",
    ".editorconfig",
    ".gitattributes",
    ".git-blame-ignore-revs",
    ".gitignore",
    ".pre-commit-config.yaml",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "bootstrap.lock",
    "deno.json",
    "README.md",
    "SECURITY.md",
    "action.yml",
    "manage.py",
    "pyproject.toml",
    "redis.lock",
    "requirements.lock",
}
MAX_FILES = 20  # of one folder, beside its rooms
# Tests of many modules at once, and what they are written with.
WITHOUT_SOURCE = ("benchmarks/", "faults/", "journeys/")


def files_of_the_repository() -> list[Path]:
    """List what git keeps or would keep, relative to the root."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    # The checkout may belong to somebody else, as it does in a container that mounts it.
    git = ["git", "-c", "safe.directory=*"]
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # A file deleted but not yet committed is still listed.
    return [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def our_commands() -> Iterator[tuple[str, BaseCommand]]:
    for name, app in sorted(get_commands().items()):
        if isinstance(app, str) and app.split(".", maxsplit=1)[0] in SOURCES:
            yield name, load_command_class(app, name)


def test_imports_follow_the_contracts() -> None:
    # In a process of its own: it takes over what is written to the terminal.
    script = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    linted = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    output = StringIO()

    try:
        call_command("makemigrations", "--check", "--dry-run", stdout=output)
    except SystemExit:
        pytest.fail(f"manage.py makemigrations would write:\n{output.getvalue()}")


@pytest.mark.django_db
def test_the_system_check_finds_nothing() -> None:
    call_command("check", "--fail-level", "WARNING")


def test_every_command_explains_itself() -> None:
    silent = [name for name, command in our_commands() if not command.help.strip()]

    assert silent == []


def test_every_test_mirrors_a_module() -> None:
    modules = {
        path.with_suffix("").relative_to(folder).as_posix()
        for path in files_of_the_repository()
        if path.suffix == ".py"
        # tests/models/test_runs.py is for evals_app/models/run_records/runs.py
        for folder in (Path(), Path("evals_app"))
        if path.parts[0] in SOURCES and path.is_relative_to(folder)
    }
    folders = {Path(module).parent.as_posix() for module in modules}

    strays = [
        path.as_posix()
        for path in files_of_the_repository()
        if path.parts[0] == "tests"
        and len(path.parts) > 2  # tests/test_architecture.py is for all of them
        and path.name.startswith("test_")
        and path.suffix == ".py"
        and not path.relative_to("tests").as_posix().startswith(WITHOUT_SOURCE)
        and path.parent.relative_to("tests").as_posix() not in folders | modules
    ]

    assert strays == []


def test_the_top_level_has_only_what_belongs_there() -> None:
    strays = {path.parts[0] for path in files_of_the_repository()} - TOP_LEVEL

    assert strays == set()


def test_no_folder_of_the_application_is_too_full_to_find_a_file_in() -> None:
    counts = Counter(
        path.parent.as_posix()
        for path in files_of_the_repository()
        if path.parts[0] in {*SOURCES, "templates"} and path.name != "__init__.py"
        if "migrations" not in path.parts
    )

    # Django looks for commands in this folder only; people know each file by its command.
    del counts["evals_app/management/commands"]
    assert {folder: count for folder, count in counts.items() if count > MAX_FILES} == {}


def test_no_file_is_larger_than_a_megabyte() -> None:
    large = [
        path.as_posix()
        for path in files_of_the_repository()
        if (ROOT / path).stat().st_size > 1_000_000
    ]

    assert large == []


def test_the_version_has_its_notes_and_its_databases() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    notes = (ROOT / "docs" / "upgrades.md").read_text()
    databases = ROOT / "tests" / "migrations" / "databases" / __version__

    assert re.search(rf"^## {re.escape(__version__)}, \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE)
    assert f"\n### {__version__}\n" in notes
    assert {"sqlite.sql", "postgresql.sql"} <= {file.name for file in databases.iterdir()}


def test_unfold_is_pinned_to_the_release_that_our_templates_were_written_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = f"django-unfold=={importlib.metadata.version('django-unfold')}"

    assert pinned in project["dependencies"]


@pytest.mark.parametrize(
    "lock", ["redis.lock", "requirements.lock", "tests/requirements.lock", ".ci/sbom.lock"]
)
def test_a_lock_file_names_no_place_to_download_from(lock: str) -> None:
    lines = (ROOT / lock).read_text().splitlines()

    options = [line for line in lines if line.startswith("-") or "://" in line]

    assert options == []


def test_what_answers_requests_is_installed_from_the_lock() -> None:
    assert "\nmcp==" in (ROOT / "requirements.lock").read_text()


def versions(lock: str) -> set[str]:
    lines = (ROOT / lock).read_text().splitlines()
    return {line.split()[0] for line in lines if "==" in line and not line.startswith("#")}


def test_the_tests_run_with_the_versions_of_the_product() -> None:
    product = versions("requirements.lock") | versions("redis.lock")

    assert product <= versions("tests/requirements.lock")


def test_redis_is_pinned_by_the_range_of_its_extra_and_only_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (wanted,) = project["optional-dependencies"]["redis"]

    assert f"echo '{wanted}' |" in (ROOT / "redis.lock").read_text()
    assert not versions("redis.lock") & versions("requirements.lock")
