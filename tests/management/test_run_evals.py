"""run_evals as a person or a CI job calls it: a process, its output and its exit code."""

import json
import signal
import subprocess
import sys
import time
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.management.console import console_on, print_result
from evals_app.models import Assertion, Case, Execution, Run, Suite, Worker
from tests.makers import make_run
from tests.runs.suites import make_agent, make_suite

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.django_db(transaction=True)


def run_evals(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "run_evals", "--no-progress", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def output_of(*arguments: str) -> str:
    """Call a command in this process and return what it prints."""
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


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
    assert done.stderr.startswith("Runs 2 conversations. ")


def test_a_suite_that_only_measures_gives_exit_code_0_and_says_so(
    child_environment: dict[str, str],
) -> None:
    make_suite(["hello"])
    Assertion.objects.update(weight=0)

    done = run_evals(child_environment, "greetings")

    assert done.returncode == 0, done.stderr
    assert Run.objects.get().verdict == "measured"
    assert "only measured" in done.stdout


def test_a_passing_suite_gives_exit_code_0(child_environment: dict[str, str]) -> None:
    make_suite(["hello"])

    done = run_evals(child_environment, "--max-cost", "2.5")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Runs 1 conversation. ")
    assert "1 passed, $0 of $2.50" in done.stdout.replace(", score 1.00", "")
    assert "(scripted)" in done.stdout
    assert Run.objects.get().max_cost_usd == Decimal("2.5")
    assert not Worker.objects.exists()


def test_something_errored_gives_exit_code_3(child_environment: dict[str, str]) -> None:
    suite = make_suite(["hello"])
    suite.cases.get().turns.get().assertions.all().delete()

    done = run_evals(child_environment, "greetings")

    assert done.returncode == 3, done.stdout
    assert "There is nothing to check." in done.stdout


def test_several_suites_share_one_document(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    agent = make_agent()
    make_suite(["hello"], agent=agent)
    make_suite(["bye", "hello"], agent=agent, slug="farewells", name="Farewells")
    output = tmp_path / "out.json"

    chosen = ("greetings", "farewells", "--case", "case 1")
    done = run_evals(child_environment, *chosen, "--output", output)

    assert done.returncode == 1
    document = json.loads(output.read_text(encoding="utf-8"))
    assert [run["run"]["suite"] for run in document["runs"]] == ["greetings", "farewells"]
    assert document["total"]["verdict"] == "failed"
    assert document["total"]["counts"]["total"] == 2
    assert "\nFailed in total: 2 runs (1 passed, 1 failed)" in done.stdout
    assert "/run/models/?group=" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "chosen", "skipped"),
    [
        (["--tag", "smoke"], {"one": 1, "two": 1}, "no case matches: empty, three"),
        (["--case", "case 2"], {"two": 1}, "no case matches: empty, one, three"),
        (["--case", "case 1"], {"one": 1, "three": 2, "two": 1}, "no case matches: empty"),
        (["--case-exact", "case 1"], {"one": 1, "three": 1, "two": 1}, "no case matches: empty"),
        (["one", "empty"], {"one": 1}, "without cases: empty"),
    ],
)
def test_options_choose_what_runs_and_the_others_are_named(
    arguments: list[str], chosen: dict[str, int], skipped: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = make_agent()
    make_suite(["hello"], agent=agent, slug="one", name="One", tags=["smoke"])
    make_suite(["hello", "bye"], agent=agent, slug="two", name="Two")
    make_suite(["hello", "bye"], agent=agent, slug="three", name="Three")
    Case.objects.filter(suite__slug="two", position=0).update(tags=["smoke"])
    Case.objects.filter(suite__slug="three", position=1).update(name="case 10")
    Suite.objects.create(slug="empty", name="Empty", agent=agent)

    document = json.loads(output_of("run_evals", "--forecast", "--ci", *arguments))

    forecasts = document.get("forecasts") or [document["forecast"]]
    assert {row["suite"]: row["conversations"] for row in forecasts} == chosen
    assert skipped in capsys.readouterr().err


def test_an_agent_that_no_suite_tests_is_shown_from_an_unknown_one() -> None:
    make_suite()
    make_agent("spare")

    with pytest.raises(CommandError, match="--agent spare") as caught:
        call_command("run_evals", "--agent", "spare")

    assert caught.value.returncode == 2


@pytest.mark.parametrize(
    ("options", "complaint"), [([], "{{language}}"), (["--trials", 0], "--trials")]
)
def test_what_cannot_start_gives_exit_code_2(
    child_environment: dict[str, str], options: list[object], complaint: str
) -> None:
    make_suite(["Translate into {{language}}"])

    done = run_evals(child_environment, *options)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(["greeting"], "Did you mean 'greetings'?", id="unknown suite"),
        pytest.param(["greetings", "--case", "nope"], "No case of greetings", id="no such case"),
        pytest.param(["greetings", "--agent", "ecko"], "Did you mean 'echo'?", id="unknown agent"),
        pytest.param(["greetings", "--model", "gpt"], "is scripted", id="model of a script"),
        pytest.param(["--output", "nowhere/x.json"], "no folder nowhere", id="no such folder"),
        pytest.param(["--output", "."], "is a folder; name a file", id="a folder"),
        (["--forecast", "--case", "nope"], "No case of greetings"),
        pytest.param(["--tag", "smok"], "has the tag 'smok'", id="no such tag"),
        pytest.param(["--case-exact", "case"], "Did you mean 'case", id="part of a whole name"),
        pytest.param(["greet"], "Did you mean 'greetings'?", id="part of a slug"),
        pytest.param(["--agent", "ecko"], "Did you mean 'echo'?", id="unknown agent of all suites"),
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


def test_every_suite_that_cannot_start_is_named_at_once() -> None:
    for slug in ("b", "c"):
        make_suite(slug=slug, agent=make_agent(f"echo-{slug}"), rubric="- Polite")

    with pytest.raises(CommandError, match=r"(?s)b: .+ANTHROPIC_API_KEY.+\nc: ") as caught:
        call_command("run_evals", "b", "c")

    assert caught.value.returncode == 2
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("option", "texts", "complaint"),
    [
        ("--trials", ["0", "101"], "from 1 to 100"),
        ("--concurrency", ["9" * 20], "from 1 to 1,000"),
        ("--timeout", ["nan", "inf", "1e300", "-5"], "not a number of seconds"),
        ("--timeout", ["0"], "above 0"),
        ("--max-cost", ["0", "-1", "much", "NaN", "Infinity", ""], "is not an amount above 0"),
        ("--max-cost", ["1000001", "0.0000000001"], "is not an amount above 0 in USD"),
    ],
)
def test_a_number_out_of_bounds_is_refused_in_words(
    option: str, texts: list[str], complaint: str
) -> None:
    make_suite(["hello"])

    for text in texts:
        with pytest.raises(CommandError, match=complaint):
            call_command("run_evals", f"{option}={text}")

    assert not Run.objects.exists()


@pytest.mark.parametrize("command", ["worker", "serve"])
@pytest.mark.parametrize("grace", ["-1", "nan", "soon"])
def test_a_grace_that_is_no_time_is_refused(command: str, grace: str) -> None:
    with pytest.raises(CommandError, match="not a number of seconds"):
        call_command(command, f"--grace={grace}")


# Forecasts


def test_a_forecast_is_printed_and_nothing_starts() -> None:
    make_suite(["hello", "slow"])

    out = output_of("run_evals", "greetings", "--forecast", "--trials", "2")

    assert out.startswith("Runs 4 conversations. No model is called")
    assert not Run.objects.exists()


def test_several_forecasts_say_whose_they_are() -> None:
    agent = make_agent()
    make_suite(agent=agent)
    make_suite(agent=agent, slug="farewells", name="Farewells")

    lines = output_of("run_evals", "--forecast").splitlines()

    assert [line.partition(":")[0] for line in lines] == ["Farewells", "Greetings"]


def test_for_other_programs_a_forecast_is_json(tmp_path: Path) -> None:
    make_suite(["hello"])
    output = tmp_path / "out.json"

    out = output_of("run_evals", "--forecast", "--ci", "--output", str(output))

    document = json.loads(out)
    assert document == json.loads(output.read_text(encoding="utf-8"))
    assert document["schema_version"] == 1
    assert document["forecast"]["suite"] == "greetings"
    assert document["forecast"]["conversations"] == 1


# Interrupting


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
    _, stderr = process.communicate(timeout=60)

    assert process.returncode == 130
    run = Run.objects.get()
    assert f"runs attach {run.pk}" in stderr
    assert f"runs cancel {run.pk}" in stderr
    assert "manage.py worker" in stderr
    assert set(Execution.objects.values_list("status", "attempts")) == {("queued", 0)}


def test_a_deadline_is_kept_to_the_second(child_environment: dict[str, str]) -> None:
    rules = [{"when": ".", "reply": "hello", "delay_ms": 1000}]
    make_suite(cases=6, agent=make_agent("late", rules=rules), concurrency=1)

    done = run_evals(child_environment, "greetings", "--timeout", 2)

    assert done.returncode == 3, done.stdout
    run = Run.objects.get()
    assert run.stop_reason == "deadline"
    assert run.not_run >= 2, (run.passed, run.not_run)
    assert "out of time" in done.stdout
    assert f"runs resume {run.pk}" in done.stdout


def test_a_run_that_ran_all_in_time_did_not_run_out_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = make_run(["passed", "passed"], stop_reason="deadline")

    print_result(run, console=console_on(sys.stdout, plain=True), site="")

    assert "resume" not in capsys.readouterr().out


def test_without_names_archived_suites_are_not_run() -> None:
    make_suite()
    make_suite(slug="old", name="Old", agent=make_agent("other"))
    Suite.objects.filter(slug="old").archive()

    lines = output_of("run_evals", "--forecast").splitlines()

    assert len(lines) == 1


@pytest.mark.parametrize(
    ("names", "complaint"),
    [(["greetings"], "Suite greetings is archived"), ([], "There is no suite to run")],
)
def test_archived_suites_are_not_run_even_if_they_are_named(
    names: list[str], complaint: str
) -> None:
    make_suite()
    Suite.objects.archive()

    with pytest.raises(CommandError, match=complaint) as caught:
        output_of("run_evals", *names)

    assert caught.value.returncode == 2
    assert not Run.objects.exists()


# Reports


def test_a_report_that_cannot_be_is_refused_before_anything_starts() -> None:
    make_suite(["hello"])

    with pytest.raises(CommandError, match="--report") as refused:
        call_command("run_evals", "--report=html=missing/x.html")
    with pytest.raises(CommandError, match="--report"):
        call_command("run_evals", "--forecast", "--report=html=x.html")

    assert refused.value.returncode == 2
    assert not Run.objects.exists()


def test_a_job_on_github_shows_what_went_wrong_and_stdout_is_still_json(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    make_suite(["hello", "bye"])
    summary = tmp_path / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}

    done = run_evals(child_environment | github, "greetings", "--ci")

    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["run"]["verdict"] == "failed"
    lines = done.stderr.splitlines()
    (stop,) = [line for line in lines if line.startswith("::stop-commands::")]
    go_on = lines.index(f"::{stop.removeprefix('::stop-commands::')}::")
    assert [line.partition(" ")[0] for line in lines[go_on + 1 :]] == ["::error"]
    assert "case 2" in summary.read_text()
