"""Results of another database, read from a file, as what later runs are compared with."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from evals_app.formats.snapshots.results_file import ResultsFile, read_results
from evals_app.library.baselines import why_no_baseline
from evals_app.models import Agent, CaseResult, Run, Suite, Turn
from evals_app.runs.reading.file_baselines import run_from_file
from evals_app.runs.reading.outcomes import case_outcomes
from evals_app.runs.release import release_of
from evals_app.runs.reporting import report
from tests.admin.run_pages import page_of
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def suite() -> Suite:
    return make_suite(["hello one", "hello two", "bye"], run_rule="gates", max_regressions=0)


def file_of(run: Run) -> ResultsFile:
    """Write the JSON of a run, and read it."""
    return read_results("results.json", json_of(run))


def json_of(run: Run) -> bytes:
    return b"".join(report("json", run, link=lambda kind, pk: f"{kind}/{pk}").content)


def break_case(suite: Suite, name: str) -> None:
    word = Turn.objects.get(case__suite=suite, case__name=name).user
    agent = suite.agent
    agent.connection["rules"] = [{"when": word, "reply": "Nonsense."}, *agent.connection["rules"]]
    agent.save()


def test_what_is_read_back_has_the_outcomes_of_the_run(suite: Suite) -> None:
    run = finished(suite)

    row = run_from_file(suite, file_of(run))

    assert case_outcomes(row, reads_effort=True) == case_outcomes(run, reads_effort=True)
    assert row.short_name == f"run {run.pk} of results.json"
    assert (row.passed, row.failed, row.verdict) == (run.passed, run.failed, run.verdict)


def test_a_run_is_compared_with_a_file_as_with_the_run_itself(suite: Suite) -> None:
    file = file_of(finished(suite))
    same = finished(suite, baseline=file)
    break_case(suite, "case 2")
    worse = finished(suite, baseline=file)

    assert [run.verdict for run in (same, worse)] == ["passed", "failed"]
    assert same.baseline == worse.baseline  # equal results are stored once
    (gate,) = worse.summary["gates"]
    assert (gate["actual"], gate["passed"]) == (1, False)
    assert "“case 2”" in gate["reason"]
    assert "of results.json only the results are known." in gate["reason"]


def test_a_file_of_an_older_version_matches_cases_by_name(suite: Suite) -> None:
    document = json.loads(json_of(finished(suite)))
    for case in document["run"]["cases"]:
        for key in ("digest", "checks", "turn_ms", "cost_usd"):
            del case[key]
    older = read_results("old.json", json.dumps(document).encode())
    break_case(suite, "case 2")

    worse = finished(suite, baseline=older)

    assert worse.summary["gates"][0]["actual"] == 1


def test_decide_compares_with_a_file(suite: Suite, tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    path.write_bytes(json_of(finished(suite)))
    break_case(suite, "case 2")
    finished(suite)
    out = StringIO()

    with pytest.raises(SystemExit) as ended:
        call_command("decide", "greetings", "--baseline", str(path), stdout=out)

    assert ended.value.code == 1
    assert "1 case got worse" in out.getvalue()
    path.write_bytes(json_of(finished(make_suite(["hello"], slug="other", agent=suite.agent))))
    with pytest.raises(CommandError, match=r"no run of suite greetings\. It has: other"):
        call_command("decide", "greetings", "--baseline", str(path))


def test_the_row_counts_nowhere(suite: Suite, admin_client: Client) -> None:
    run = finished(suite)
    row = run_from_file(suite, file_of(run))

    assert release_of(suite).run == run
    assert why_no_baseline(row) == f"Run {row.pk} was read from a file."
    assert "Read from a file" in admin_client.get(page_of(row)).content.decode()
    compared = admin_client.get(f"/admin/evals_app/run/compare/?run={row.pk}&run={run.pk}")
    assert compared.status_code == 200


def test_a_suite_that_the_file_does_not_have_has_nothing_to_compare_with(suite: Suite) -> None:
    file = file_of(finished(suite))
    other = make_suite(["hello"], agent=Agent.objects.get(), slug="other", name="Other")

    assert finished(other, baseline=file).baseline is None
    assert CaseResult.objects.filter(run__from_file="").count() == CaseResult.objects.count()
