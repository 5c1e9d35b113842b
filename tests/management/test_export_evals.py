from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.library import import_files
from evals_app.management.commands.export_evals import write_whole
from evals_app.models import Assertion
from tests.library.written import EVERYTHING

pytestmark = pytest.mark.django_db


def run(*arguments: object) -> str:
    out = StringIO()
    call_command("export_evals", *map(str, arguments), stdout=out, no_color=True)
    return out.getvalue()


def refused(*arguments: object) -> str:
    with pytest.raises(CommandError) as caught:
        call_command("export_evals", *map(str, arguments), stdout=StringIO())
    assert caught.value.returncode == 2
    return str(caught.value)


def test_what_is_exported_is_imported_unchanged(tmp_path: Path) -> None:
    import_files(EVERYTHING)

    run("--dir", tmp_path / "out")

    out = StringIO()
    call_command("import_evals", str(tmp_path / "out"), stdout=out, no_color=True)
    assert out.getvalue().startswith("Unchanged (9)\n")


def test_a_second_export_writes_nothing(tmp_path: Path) -> None:
    import_files(EVERYTHING)
    run("refunds", "--dir", tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    told = run("refunds", "--dir", tmp_path)

    assert all(line.endswith("(unchanged)") for line in told.splitlines())
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert len(before) == 5


def test_an_unknown_suite_writes_nothing(tmp_path: Path) -> None:
    import_files(EVERYTHING)

    assert "Did you mean 'refunds'?" in refused("refundz", "--dir", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    assert "cannot be written" in refused("--dir", tmp_path / "file" / "out")


def test_rows_that_no_longer_validate_are_named(tmp_path: Path) -> None:
    import_files(EVERYTHING)
    Assertion.objects.update(type="of an older version")

    assert "A row no longer validates" in refused("--dir", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"

    first, second, third = (write_whole(path, each) for each in (b"old", b"new", b"new"))

    assert (first, second, third) == (True, True, False)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
