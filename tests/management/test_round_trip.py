"""What is read of every maker's files leaves by command, and comes back: here, and on an empty site."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from evals_app.formats.detect import is_eval_file
from evals_app.formats.dialects import DIALECTS
from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import import_files
from evals_app.models import Agent, Provider, Suite
from fixtures_app.models import EntityType, Fixture
from tests.formats.holodeck.projects import ENVIRONMENT, FILLED
from tests.formats.reading.test_malformed import EXAMPLES, content_of

pytestmark = pytest.mark.django_db

AGENTS = [
    SourceFile(
        f"{slug}.agent.yaml",
        f"agent: {slug}\nslug: {slug}\ndriver: scripted\nrules: [{{reply: Hello}}]\n".encode(),
    )
    for slug in ("desk", "my-agent", "reader", "shop")
]
# The small sample of each dialect, and files that use most of its keys.
SAMPLES = [
    pytest.param(name, None if dialect.names_agent else "desk", dict(dialect.sample), id=name)
    for name, dialect in DIALECTS.items()
]
RICH = [
    example
    for example in EXAMPLES
    if (values := getattr(example, "values", example))[0] and "lobu.toml" not in values[2]
]


def run(command: str, *arguments: object) -> str:
    out = StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=StringIO(), no_color=True)
    return out.getvalue()


def headings(output: str) -> list[str]:
    """Return what became of what was imported: Created, Unchanged."""
    return [line.split()[0] for line in output.splitlines() if not line.startswith(" ")]


def written(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_every_maker_has_files_with_most_of_its_keys() -> None:
    dialects = {getattr(example, "values", example)[0] for example in RICH}

    assert dialects == DIALECTS.keys() - {"native", "struere"}  # written.py has theirs


@pytest.mark.parametrize(("dialect", "agent", "files"), [*SAMPLES, *RICH])
def test_what_is_read_leaves_and_comes_back(
    dialect: str,
    agent: str | None,
    files: dict[str, Any],
    tmp_path: Path,
) -> None:
    main, *_ = paths = [tmp_path / "project" / path for path in files]
    for path, value in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        is_text = isinstance(value, str)
        path.write_bytes(value.encode() if is_text else content_of(path.name, value))
    named = [main, *(path for path in paths[1:] if is_eval_file(path.as_posix()))]
    if not all(path.is_relative_to(main.parent) for path in paths):
        named = [tmp_path / "project"]  # it names files above its folder
    import_files(AGENTS)
    options = ["--agent", agent] if agent else []
    for name, value in {**ENVIRONMENT, **FILLED}.items():
        options += ["--var", f"{name}={value}"]

    run("import_evals", *named, "--format", dialect, *options)
    assert Suite.objects.exists()
    first, second = tmp_path / "first", tmp_path / "second"
    run("export_evals", "--dir", first)
    assert headings(run("import_evals", first)) == ["Unchanged"]
    for model in (Suite, Agent, Fixture, EntityType, Provider):
        model.objects.all().delete()
    assert headings(run("import_evals", first)) == ["Created"]
    run("export_evals", "--dir", second)
    assert written(second) == written(first)
