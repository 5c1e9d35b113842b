"""run_evals as a person or a CI job calls it: a process, its output and its exit code."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.models import Execution, Run, Worker
from tests.runs.suites import make_agent, make_suite

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.django_db(transaction=True)


def run_evals(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "run_evals", "--no-progress", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_failing_case_gives_exit_code_1_and_a_document_with_everything(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    make_suite(["hello", "bye"])
    output = tmp_path / "out.json"

    done = run_evals(child_environment, "greetings", "--ci", "--output", output)

    assert done.returncode == 1, done.stderr
    document = json.loads(output.read_text(encoding="utf-8"))
    assert document == json.loads(done.stdout)
    assert document["schema_version"] == 1
    assert document["run"]["verdict"] == "failed"
    assert document["run"]["counts"]["total"] == 2
    assert document["run"]["gates"] == []
    assert document["run"]["tokens"].keys() == {"agent", "judge"}
    failed = document["executions"][1]
    assert (failed["case"], failed["verdict"], failed["cause"]) == ("case 2", "failed", "assertion")
    assert failed["grades"][0]["reason"] in done.stderr
    assert failed["messages"][0]["content"] == "bye"


def test_a_passing_suite_gives_exit_code_0(child_environment: dict[str, str]) -> None:
    make_suite(["hello"])

    done = run_evals(child_environment)

    assert done.returncode == 0, done.stderr
    assert "1 passed" in done.stdout
    assert "(scripted)" in done.stdout
    assert not Worker.objects.exists()


def test_something_errored_gives_exit_code_3(child_environment: dict[str, str]) -> None:
    suite = make_suite(["hello"])
    suite.cases.get().turns.get().assertions.all().delete()

    done = run_evals(child_environment, "greetings")

    assert done.returncode == 3, done.stdout
    assert "Nothing was asserted." in done.stdout


def test_several_suites_share_one_document(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    agent = make_agent()
    make_suite(["hello"], agent=agent)
    make_suite(["bye"], agent=agent, slug="farewells", name="Farewells")
    output = tmp_path / "out.json"

    done = run_evals(child_environment, "greetings", "farewells", "--output", output)

    assert done.returncode == 1
    runs = json.loads(output.read_text(encoding="utf-8"))["runs"]
    assert [each["run"]["suite"] for each in runs] == ["greetings", "farewells"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(["greeting"], "Did you mean 'greetings'?", id="unknown suite"),
        pytest.param(["greetings", "--case", "nope"], "No case of greetings", id="no such case"),
        pytest.param(["greetings", "--agent", "ecko"], "Did you mean 'echo'?", id="unknown agent"),
        pytest.param(["greetings", "--model", "gpt"], "is scripted", id="model of a script"),
        pytest.param(["--output", "nowhere/x.json"], "no folder nowhere", id="no such folder"),
    ],
)
def test_wrong_usage_is_refused_in_words_and_starts_nothing(
    arguments: list[str], complaint: str
) -> None:
    make_suite(["hello"])

    with pytest.raises(CommandError, match=complaint.replace("?", r"\?")) as caught:
        call_command("run_evals", *arguments)

    assert caught.value.returncode == 2
    assert not Run.objects.exists()


def test_a_number_that_cannot_be_gives_exit_code_2(child_environment: dict[str, str]) -> None:
    done = run_evals(child_environment, "--trials", 0)

    assert done.returncode == 2
    assert "--trials" in done.stderr
    assert "Traceback" not in done.stderr


def test_interrupting_leaves_the_rest_queued_and_says_how_to_go_on(
    child_environment: dict[str, str],
) -> None:
    make_suite(["very late"] * 3)
    command = [sys.executable, "manage.py", "run_evals", "greetings", "--no-progress"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=child_environment, text=True, stderr=subprocess.PIPE
    )
    give_up = time.monotonic() + 60
    while not Execution.objects.filter(attempts=1).exists() and time.monotonic() < give_up:
        time.sleep(0.1)

    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "manage.py worker" in said
    assert set(Execution.objects.values_list("status", "attempts")) == {("queued", 0)}


def test_a_deadline_gives_exit_code_3(child_environment: dict[str, str]) -> None:
    make_suite(["hello", "very late"])

    done = run_evals(child_environment, "greetings", "--timeout", 2)

    assert done.returncode == 3, done.stdout
    run = Run.objects.get()
    assert (run.stop_reason, run.passed, run.not_run) == ("deadline", 1, 1)
