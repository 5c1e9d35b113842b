"""Watching, resuming, cancelling, grading again and re-running, as a person or a CI job calls it."""

import json
import subprocess
import sys
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.models import Assertion, Case, Execution, Run
from evals_app.reports.words.kinds import KIND_NAMES
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.starting.start_run import start_run
from tests.makers import make_run
from tests.runs.suites import finished, make_suite

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.django_db(transaction=True)


def manage(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def output_of(*arguments: str) -> str:
    """Call a command in this process and return what it prints."""
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.mark.slow
def test_the_failed_cases_of_a_run_are_run_again(child_environment: dict[str, str]) -> None:
    make_suite(["hello", "bye"])
    manage(child_environment, "run_evals")
    failed = Run.objects.get()
    Assertion.objects.filter(turn__case__name="case 2").update(options={"value": "bye"})

    as_it_is_now = manage(child_environment, "runs", "rerun", failed.pk)
    as_it_was = manage(child_environment, "runs", "rerun", failed.pk, "--frozen")

    assert (as_it_is_now.returncode, as_it_was.returncode) == (0, 1), as_it_is_now.stderr
    executions = Execution.objects.filter(run__rerun_of=failed)
    assert list(executions.values_list("case", flat=True)) == ["case 2"] * 2


@pytest.mark.slow
def test_a_run_is_graded_again(child_environment: dict[str, str]) -> None:
    make_suite(["hello", "bye", "hello again"])
    manage(child_environment, "run_evals")
    run = Run.objects.get()
    Assertion.objects.filter(turn__case__name="case 2").update(options={"value": "bye"})
    Case.objects.get(name="case 3").turns.update(user="Good morning")

    as_it_is_now = manage(child_environment, "runs", "regrade", run.pk, "--ci")
    chosen = ("--as-it-was", "--case", "CASE 2", "--trials", 2)
    as_it_was = manage(child_environment, "runs", "regrade", run.pk, *chosen)

    assert (as_it_is_now.returncode, as_it_was.returncode) == (0, 1), as_it_is_now.stderr
    assert "case 3" in as_it_is_now.stderr
    answer = json.loads(as_it_is_now.stdout)["run"]
    assert (answer["grades_of"], answer["counts"]["total"]) == (run.pk, 2)
    assert f"Run {run.pk} graded again" in as_it_was.stdout
    assert Run.objects.filter(grades_of=run).latest("pk").failed == 2


def test_a_forecast_of_grading_again_starts_nothing(tmp_path: Path) -> None:
    run = finished(make_suite(["hello", "bye"]))
    Case.objects.get(name="case 1").turns.update(user="Good morning")
    file = tmp_path / "forecast.json"

    text = output_of("runs", "regrade", str(run.pk), "--forecast", "--output", str(file))

    forecast = json.loads(file.read_text())["forecast"]
    assert (forecast["conversations"], forecast["calls"]["agent"]) == (1, 0)
    assert forecast["left_out"]["changed"]["names"] == ["case 1"]
    assert "case 1" in text
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param("attach 77", "There is no run 77.", id="unknown"),
        pytest.param("cancel 7 8", "There is no run 7 and no run 8.", id="two unknown"),
        pytest.param("rerun 7", "There is no run 7.", id="failed cases of no run"),
        pytest.param("regrade 9", "There is no run 9.", id="grades of no run"),
        pytest.param("attach 7 --output nowhere/x", "no folder nowhere", id="no such folder"),
        pytest.param("attach 7 --report html=.", "name a file", id="a report that is a folder"),
    ],
)
def test_what_cannot_be_done_with_a_run_is_exit_code_2(arguments: str, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint) as caught:
        call_command("runs", *arguments.split())

    assert caught.value.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(f"attach {'9' * 5000}", "not a whole number", id="no number of a run"),
        pytest.param("regrade 1 --forecast --report html=x.html", "--report", id="no results"),
        pytest.param("cancel 1 --report html=x.html", "--report", id="nor has cancelling"),
        pytest.param("attach 1 --max-cost 5", "--max-cost", id="nothing to limit"),
    ],
)
def test_a_subcommand_takes_no_options_of_others(arguments: str, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        call_command("runs", *arguments.split())


def test_options_of_every_command_may_come_last() -> None:
    run = make_run(["passed"])

    out = output_of("runs", "attach", str(run.pk), "--no-color", "--traceback")

    assert "Passed" in out


def test_a_case_that_the_run_does_not_have_is_named() -> None:
    run = finished(make_suite(["hello"]))

    with pytest.raises(CommandError, match="'refund' in its name"):
        call_command("runs", "regrade", str(run.pk), "--case", "refund")


def test_who_attaches_watches_to_the_end(child_environment: dict[str, str]) -> None:
    run = start_run(make_suite(["hello", "bye"]))

    done = manage(child_environment, "runs", "attach", run.pk, "--ci")

    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["run"]["id"] == run.pk
    assert Run.objects.count() == 1


def test_who_attaches_too_late_gets_the_result_and_its_exit_code() -> None:
    passed, failed = make_run(["passed"]), make_run(["failed"])

    out = output_of("runs", "attach", str(passed.pk))
    with pytest.raises(SystemExit) as caught:
        output_of("runs", "attach", str(passed.pk), str(failed.pk))

    assert "Passed" in out
    assert caught.value.code == 1


@pytest.mark.parametrize(
    ("state", "words", "status"),
    [
        ("queued", "is cancelled.", "cancelled"),
        ("running", "is being cancelled", "running"),
        ("failed", "had already ended: Failed.", "finished"),
    ],
)
def test_a_run_is_cancelled_from_the_terminal(state: str, words: str, status: str) -> None:
    run = make_run([state])

    output = output_of("runs", "cancel", str(run.pk))

    run.refresh_from_db()
    assert output.startswith(f"Run {run.pk} {words}")
    assert (run.status, run.stop_reason) == (status, "" if state == "failed" else "cancelled")


def test_a_stopped_run_goes_on(child_environment: dict[str, str]) -> None:
    run = start_run(make_suite(["hello"]), max_cost_usd=Decimal(1))
    cancel_run(run)

    done = manage(child_environment, "runs", "resume", run.pk, "--max-cost", 3)

    run.refresh_from_db()
    assert done.returncode == 0, done.stdout + done.stderr
    assert (run.verdict, run.passed, run.max_cost_usd) == ("passed", 1, 3)


def test_a_run_that_was_not_stopped_cannot_go_on() -> None:
    run = make_run(["passed"])

    with pytest.raises(CommandError, match=f"Run {run.pk} was not stopped") as caught:
        call_command("runs", "resume", str(run.pk))

    assert caught.value.returncode == 2


def test_a_run_that_ran_out_of_money_says_how_to_go_on() -> None:
    run = make_run(
        ["passed", "not_run"], stop_reason="budget", max_cost_usd=Decimal("0.5"), spent_usd=0.4
    )
    out = StringIO()

    with pytest.raises(SystemExit) as caught:
        call_command("runs", "attach", str(run.pk), stdout=out)

    assert caught.value.code == 3
    assert "1 passed, 1 not run" in out.getvalue()
    assert "$0.40 of $0.50" in out.getvalue()
    assert "stopped before it would cost more than $0.50" in out.getvalue()
    assert f"/admin/evals_app/run/{run.pk}/change/" in out.getvalue()
    assert f"runs resume {run.pk} --max-cost 1" in out.getvalue()


def test_a_run_at_a_monthly_ceiling_says_which_and_how_to_go_on() -> None:
    run = make_run(["passed", "not_run"], stop_reason="budget", reached_ceiling="site")
    out = StringIO()

    with pytest.raises(SystemExit):
        call_command("runs", "attach", str(run.pk), stdout=out)

    assert "monthly ceiling of the site" in out.getvalue()
    assert f"runs resume {run.pk}\n" in out.getvalue()


def test_who_attaches_gets_every_report_that_was_asked_for(tmp_path: Path) -> None:
    runs = [make_run(["passed"]), make_run(["passed"])]
    wanted = [f"--report={kind}={tmp_path / kind}" for kind in KIND_NAMES]

    call_command("runs", "attach", *(str(run.pk) for run in runs), *wanted, stdout=StringIO())

    assert {path.name for path in tmp_path.iterdir()} == set(KIND_NAMES)
    assert len(json.loads((tmp_path / "json").read_text())["runs"]) == 2
    assert len(list((tmp_path / "folder").glob("*/_summary.md"))) == 2
