import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.formats.reading import parsed_file
from evals_app.library.exporting import file_export
from evals_app.library.importing.file_import import import_files
from evals_app.management.whole_files import write_whole
from evals_app.models import Agent, Assertion, Suite
from tests.authored import a_case, write_suite
from tests.library.written import AGENT, EVERYTHING, FIXTURE

pytestmark = pytest.mark.django_db


def run(*arguments: object) -> tuple[list[str], list[str]]:
    """Call the command, and return the lines of stdout and stderr."""
    out, err = StringIO(), StringIO()
    call_command("export_evals", *map(str, arguments), stdout=out, stderr=err, no_color=True)
    return out.getvalue().splitlines(), err.getvalue().splitlines()


def refused(*arguments: object) -> str:
    with pytest.raises(CommandError) as caught:
        call_command("export_evals", *map(str, arguments), stdout=StringIO())
    assert caught.value.returncode == 2
    return str(caught.value)


def test_what_is_exported_is_imported_unchanged(tmp_path: Path) -> None:
    import_files(EVERYTHING)

    _, losses = run("--dir", tmp_path / "out")

    assert losses == []
    out = StringIO()
    call_command("import_evals", str(tmp_path / "out"), stdout=out, no_color=True)
    assert out.getvalue().startswith("Unchanged (14)\n")


def test_a_check_of_a_tool_that_the_agent_lacks_by_now_comes_back(tmp_path: Path) -> None:
    called = {"type": "tool_called", "value": "get_order"}
    turn = {"user": "Where is it?", "assertions": [called]}
    suite = write_suite([a_case(turns=[turn])])
    takes_nothing = {"type": "object", "properties": {}}
    tool = {"name": "find_order", "parameters": takes_nothing, "rules": [{"result": "Found"}]}
    Agent.objects.update(tools=[tool])
    run("--dir", tmp_path)

    out, err = StringIO(), StringIO()
    call_command("import_evals", str(tmp_path), stdout=out, stderr=err, no_color=True)

    assert out.getvalue().startswith("Unchanged")
    assert "warning: " in err.getvalue()
    assert "get_order" in err.getvalue()
    Suite.objects.filter(pk=suite.pk).delete()
    assert "get_order" in refused_import(tmp_path)


def refused_import(folder: Path) -> str:
    with pytest.raises(CommandError) as caught:
        call_command("import_evals", str(folder), stdout=StringIO(), stderr=(err := StringIO()))
    return f"{err.getvalue()}{caught.value}"


def test_a_second_export_writes_nothing(tmp_path: Path) -> None:
    import_files(EVERYTHING)
    run("refunds", "--dir", tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    out, _ = run("refunds", "--dir", tmp_path)

    assert all(line.endswith("(unchanged)") for line in out)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert len(before) == 5


def test_an_unknown_suite_writes_nothing(tmp_path: Path) -> None:
    import_files(EVERYTHING)

    assert "Did you mean 'refunds'?" in refused("refundz", "--dir", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_place_that_is_taken_is_named(tmp_path: Path) -> None:
    import_files([AGENT])
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "shop.agent.yaml").mkdir()

    assert "cannot be written" in refused("--dir", tmp_path / "file" / "out")
    assert refused("--dir", tmp_path).startswith(f"{tmp_path / 'shop.agent.yaml'} cannot be")


def test_rows_that_no_longer_validate_are_named(tmp_path: Path) -> None:
    import_files(EVERYTHING)
    Assertion.objects.update(type="of an older version")

    assert "A row no longer validates" in refused("--dir", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"

    first, second, third = (write_whole(path, content) for content in (b"old", b"new", b"new"))

    assert (first, second, third) == (True, True, False)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_another_format_loses_is_shown_under_a_heading(tmp_path: Path) -> None:
    import_files(EVERYTHING)

    out, err = run("refunds", "--format", "struere", "--dir", tmp_path)

    assert [line.removeprefix(os.path.relpath(tmp_path)) for line in out] == [
        "/evals/refunds.eval.yaml",
        "/fixtures/orders.fixture.yaml",
    ]
    assert err[0] == f"Lost ({len(err) - 1})"
    assert all(line.startswith("lost: ") for line in err[1:])
    assert "lost: shop.agent.yaml: Struere projects do not support this." in err
    assert "lost: evals/refunds.eval.yaml: trials: Struere has no `trials` here." in err


@pytest.mark.parametrize("form", ["xlsx", "csv"])
def test_tables_are_imported_again_unchanged(tmp_path: Path, form: str) -> None:
    import_files([AGENT, FIXTURE])
    write_suite([a_case("a"), a_case("b")], slug="plain")

    run("plain", "--format", form, "--dir", tmp_path)

    out = StringIO()
    call_command("import_evals", str(tmp_path), stdout=out, no_color=True)
    assert out.getvalue() == "Unchanged (1)\n  suite  plain\n"


def test_a_file_that_an_import_would_refuse_is_written_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_files(EVERYTHING)
    for module in (parsed_file, file_export):
        monkeypatch.setattr(module, "MAX_BYTES", 1000)

    _, err = run("refunds", "--dir", tmp_path)

    (line,) = [line for line in err if "refunds.suite.yaml" in line]
    assert line.startswith("warning: refunds.suite.yaml: ")
    assert (tmp_path / "refunds.suite.yaml").exists()
