import io
from argparse import ArgumentTypeError
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from evals_app.management.reporting import (
    fold,
    no_commands,
    refuse_unwritable,
    tell_github,
    write_reports,
)
from evals_app.management.run_options import WantedReport, parse_report
from tests.makers import make_run, make_suite

SITE = "http://site"


class Lines(io.StringIO):
    """What a command writes to, a line at a time."""

    def write(self, text: str) -> int:
        return super().write(text if text.endswith("\n") else f"{text}\n")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)


def test_a_kind_and_a_path_are_read() -> None:
    assert parse_report("junit=out/a=b.xml") == WantedReport("junit", Path("out/a=b.xml"))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        *[("junti=x.xml", "junit"), ("junit", "PATH"), ("junit=", "PATH"), ("=x", "markdown")],
        *[("comparison=x.pdf", r"\.html, \.md"), ("comparison=x", r"\.xlsx")],
    ],
)
def test_a_kind_that_does_not_exist_or_no_path_is_refused(text: str, word: str) -> None:
    with pytest.raises(ArgumentTypeError, match=word):
        parse_report(text)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param("folder", "html", id="a folder in place of a file"),
        pytest.param("file", "folder", id="a file in place of a folder"),
        pytest.param("missing/x.xml", "junit", id="in no folder"),
        pytest.param("missing/x", "folder", id="a folder in no folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_run(
    tmp_path: Path, name: str, kind: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    with pytest.raises(CommandError) as refused:
        refuse_unwritable("--report", tmp_path / name, is_folder=kind == "folder")

    assert refused.value.returncode == 2


@pytest.mark.parametrize(("name", "kind"), [("new", "folder"), ("folder", "folder"), ("a", "csv")])
def test_what_can_be_written_is_not_refused(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "folder").mkdir()

    refuse_unwritable("--report", tmp_path / name, is_folder=kind == "folder")


@pytest.mark.django_db
def test_reports_are_written_over_all_runs_with_links_to_the_site(tmp_path: Path) -> None:
    runs = [make_run(["passed"]), make_run(["failed"])]
    reports = [
        parse_report(f"{kind}={tmp_path / kind}") for kind in ("markdown", "folder", "junit")
    ]

    write_reports(runs, reports, site=SITE)

    text = (tmp_path / "markdown").read_text()
    assert all(f"{SITE}/admin/evals_app/run/{run.pk}/change/" in text for run in runs)
    assert len(list((tmp_path / "folder").iterdir())) == 2
    assert (tmp_path / "junit").read_text().count("<testsuite ") == 2


@pytest.mark.django_db
def test_a_report_that_cannot_be_written_is_an_error_of_usage(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written"):
        write_reports([make_run()], [parse_report(f"csv={tmp_path / 'a' / 'b'}")], site=SITE)


@pytest.mark.django_db
def test_github_gets_a_summary_and_annotations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("Before.\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_WORKSPACE", "/srv")
    run = make_run(["passed", "failed"])
    assert run.suite is not None
    run.suite.source = "/srv/evals/refunds.suite.yaml"
    run.suite.save()
    out = Lines()

    tell_github([run], out, site=SITE)

    assert summary.read_text().startswith("Before.\n# Refunds: run")
    assert out.getvalue().startswith("::error file=evals/refunds.suite.yaml,line=1,title=Refunds")
    assert len(out.getvalue().splitlines()) == 1


@pytest.mark.django_db
def test_elsewhere_nothing_is_said_to_github_or_gitlab() -> None:
    out = Lines()

    with no_commands(out), fold(out, make_run(["failed"])):
        tell_github([make_run(["failed"])], out, site=SITE)

    assert out.getvalue() == ""


def test_no_reply_in_the_output_is_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    out = Lines()

    with no_commands(out):
        out.write("::add-mask::x")

    stop, reply, go_on = out.getvalue().splitlines()
    token = stop.removeprefix("::stop-commands::")
    assert len(token) >= 32
    assert (reply, go_on) == ("::add-mask::x", f"::{token}::")


@pytest.mark.django_db
def test_gitlab_folds_what_is_printed_about_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITLAB_CI", "true")
    run = make_run(["failed"])
    out = Lines(newline="")

    with fold(out, run):
        out.write("Inside.")

    begin, inside, end = out.getvalue().strip("\n").split("\n")
    assert f":run_{run.pk}[collapsed=true]" in begin
    assert "Refunds: Failed" in begin
    assert inside == "Inside."
    assert f":run_{run.pk}\r" in end


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("x.html", b"<td>Orders</td>"),
        ("x.MD", b"| Orders |"),
        ("x.json", b'"suite": "orders"'),
        ("x.xlsx", b"xl/worksheets/sheet1.xml"),
    ],
)
def test_the_table_of_models_becomes_what_its_file_ends_with(
    tmp_path: Path, name: str, word: bytes
) -> None:
    suite = make_suite("orders")
    runs = [make_run(["failed"], suite=suite, model=model) for model in ("a/b", "c/d")]

    write_reports(runs, [parse_report(f"comparison={tmp_path / name}")], site=SITE)

    content = (tmp_path / name).read_bytes()
    assert word in content
    assert name.endswith("xlsx") or b"c/d" in content
