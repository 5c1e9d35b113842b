"""Reports of plug-ins, wherever reports of a run are offered."""

import doctest
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from evals_app.management.run_options import parse_report
from evals_app.reports.words import report_plugins
from evals_app.reports.words.report_plugins import FileReport
from evals_app.runs import reporting
from tests.api.clients import make_client
from tests.authored import client_who_may
from tests.makers import make_run
from tests.offered import Offer

pytestmark = pytest.mark.django_db


def write_line(results: Mapping[str, Any]) -> str:
    cases = [execution["case"] for execution in results["executions"]]
    return f"{results['run']['suite']} {','.join(cases)}"


def write_nothing(results: Mapping[str, Any]) -> Any:
    return None


def leave(results: Mapping[str, Any]) -> str:
    raise SystemExit("no licence")


line = FileReport(title="A line", write=write_line, suffix=".line.csv", media_type="text/csv")
page_like = FileReport(title="A page", write=write_line, suffix="/../x")


def the(report: str) -> str:
    return f"{__name__}:{report}"


def test_pages_rest_and_commands_write_it(
    offer: Offer, admin_client: Client, tmp_path: Path
) -> None:
    offer("reports", line=the("line"), plain=the("write_line"))
    run = make_run({"A": ["passed"], "B": ["passed"]})
    text = f"{run.suite_slug} A,B\n"

    page = admin_client.get(f"/admin/evals_app/run/{run.pk}/change/")
    downloaded = admin_client.get(f"/admin/evals_app/run/{run.pk}/report/line/")
    answer = make_client().get(f"/api/runs/{run.pk}/report/?kind=plain")
    call_command("runs", "attach", run.pk, "--report", f"line={tmp_path / 'out'}")

    assert "A line" in page.text
    assert b"".join(downloaded.streaming_content).decode() == text  # type: ignore[attr-defined]
    assert (downloaded["Content-Type"], "line.csv" in downloaded["Content-Disposition"]) == (
        "text/csv",
        True,
    )
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert (tmp_path / "out").read_text() == text


def test_it_needs_the_right_to_read_conversations(offer: Offer) -> None:
    offer("reports", line=the("line"))
    run = make_run({"A": ["passed"]})

    answer = client_who_may("view_run").get(f"/admin/evals_app/run/{run.pk}/report/line/")

    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("report", "words"), [("leave", "SystemExit: no licence"), ("write_nothing", "expected a text")]
)
def test_one_that_fails_sends_nothing_and_is_named(
    offer: Offer, admin_client: Client, tmp_path: Path, report: str, words: str
) -> None:
    offer("reports", line=the(report))
    run = make_run({"A": ["passed"]})

    page = admin_client.get(f"/admin/evals_app/run/{run.pk}/report/line/", follow=True)
    answer = make_client().get(f"/api/runs/{run.pk}/report/?kind=line")
    with pytest.raises(CommandError, match=words):
        call_command("runs", "attach", run.pk, "--report", f"line={tmp_path / 'out'}")

    assert words in page.text
    assert (answer.status_code, words in answer.text) == (422, True)


def test_a_large_run_is_left_to_the_commands(
    offer: Offer, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer("reports", line=the("line"))
    monkeypatch.setattr(reporting, "MAX_FOR_PLUGINS", 1)
    run = make_run({"A": ["passed"], "B": ["passed"]})

    page = admin_client.get(f"/admin/evals_app/run/{run.pk}/report/line/", follow=True)

    assert f"runs attach {run.pk} --report line=FILE" in page.text


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param("html", the("line"), "Its name is ours", id="our name"),
        pytest.param("A line", the("line"), "Names are like", id="a name that is not one"),
        pytest.param("line", "math:pi", "expected a function", id="no function"),
        pytest.param("line", the("page_like"), "suffix", id="a suffix that is a path"),
        pytest.param("line", "no_such_module:x", "No module named", id="its module is missing"),
    ],
)
def test_one_that_cannot_be_used_says_why(offer: Offer, name: str, value: str, words: str) -> None:
    offer("reports", **{name: value})

    assert words in report_plugins.report_plugins().problems[name]
    if name == "line":
        with pytest.raises(Exception, match=words):
            parse_report("line=out")


def test_the_examples_in_docstrings_are_true() -> None:
    results = doctest.testmod(report_plugins)

    assert (results.failed, results.attempted) == (0, 1)
