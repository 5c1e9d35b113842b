"""run_evals with a baseline, and with several agents and models at once."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.library.baselines import set_baseline
from evals_app.models import Agent, Run, Suite
from tests.makers import make_run
from tests.management.test_run_evals import output_of, run_evals
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def suite() -> Suite:
    """A suite of which a case fails, but whose runs pass."""
    return make_suite(["hello one", "hello two", "bye"], run_rule="gates", gate_pass_rate=0.1)


def break_agent(suite: Suite) -> None:
    agent = suite.agent
    agent.connection["rules"] = [{"when": "two", "reply": "Nonsense."}, *agent.connection["rules"]]
    agent.save()


@pytest.mark.slow
def test_a_regression_gives_exit_code_1_and_its_name(
    child_environment: dict[str, str], suite: Suite, tmp_path: Path
) -> None:
    base = finished(suite)
    output = tmp_path / "out.json"

    same = run_evals(child_environment, "greetings", "--baseline", "latest")
    break_agent(suite)
    unasked = run_evals(child_environment, "greetings")
    worse = run_evals(child_environment, "greetings", "--baseline", base.pk, "--output", output)

    assert [done.returncode for done in (same, unasked, worse)] == [0, 0, 1], worse.stderr
    run = json.loads(output.read_text(encoding="utf-8"))["run"]
    assert run["baseline"] == base.pk
    (gate,) = (gate for gate in run["gates"] if gate["name"] == "max_regressions")
    assert (gate["limit"], gate["actual"], gate["passed"]) == (0, 1, False)
    assert "“case 2”" in worse.stdout
    assert gate["reason"] in worse.stdout
    assert f"run {base.pk}" in same.stdout


def test_the_first_run_has_nothing_to_compare_with_and_goes_on(
    child_environment: dict[str, str], suite: Suite
) -> None:
    done = run_evals(child_environment, "greetings", "--baseline", "latest")

    assert done.returncode == 0, done.stderr
    assert "greetings: nothing to compare with yet" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(["greetings", "--baseline", "pinned"], "set_baseline", id="none"),
        pytest.param(["greetings", "--baseline", "4711"], "no run 4711", id="unknown"),
        pytest.param(["greetings", "--baseline", "other"], "is of suite refunds", id="other suite"),
        pytest.param(["greetings", "--baseline", "newest"], "latest or pinned", id="no such word"),
        pytest.param(["greetings", "--baseline", "0"], "latest or pinned", id="no number"),
        pytest.param(["--agent", "echo", "--agent", "two"], "Name the suites", id="no suite"),
        pytest.param(["greetings", "--agent", "ecko"], "'echo'", id="unknown agent"),
        (["greetings", *(f"--model=a/{number}" for number in range(11))], "at most 10"),
    ],
)
def test_what_cannot_be_compared_is_wrong_usage_and_starts_nothing(
    suite: Suite, arguments: list[str], complaint: str
) -> None:
    make_agent("two")
    other = make_run()
    arguments = [str(other.pk) if word == "other" else word for word in arguments]

    with pytest.raises(CommandError, match=complaint) as caught:
        call_command("run_evals", *arguments)

    assert caught.value.returncode in {1, 2}
    assert Run.objects.get() == other


def test_the_baseline_of_each_suite_is_taken(
    child_environment: dict[str, str], suite: Suite
) -> None:
    second = make_suite(["hello"], agent=suite.agent, slug="second", name="Second")
    bases = [finished(each) for each in (suite, second)]
    for base in bases:
        set_baseline(base)

    done = run_evals(child_environment, "greetings", "second", "--baseline", "pinned")

    assert done.returncode == 0, done.stderr
    newest = Run.objects.order_by("pk")[2:]
    assert [run.baseline for run in newest] == bases


def second_agent() -> Agent:
    rules = [{"reply": "Nothing but nonsense."}]
    return make_agent("mute", name="Mute", rules=rules)


def test_several_agents_are_run_and_their_numbers_are_side_by_side(
    child_environment: dict[str, str], suite: Suite, tmp_path: Path
) -> None:
    second_agent()
    output = tmp_path / "out.json"

    done = run_evals(
        child_environment,
        "greetings",
        *("--agent", "echo", "--agent", "mute", "--agent", "echo"),
        *("--output", output),
    )

    assert done.returncode == 1, done.stderr
    document: Any = json.loads(output.read_text(encoding="utf-8"))
    assert [run["run"]["agent"] for run in document["runs"]] == ["echo", "mute"]
    first, second = (run["run"]["id"] for run in document["runs"])
    lines = done.stdout.splitlines()
    (row,) = (line for line in lines if line.startswith("│ Greetings "))
    assert "2 of 3 trials" in row
    assert "0 of 3 trials" in row
    table = document["comparison"]
    assert [[cell["run"] for cell in row["runs"]] for row in table["suites"]] == [[first, second]]
    totals = [(column["agent"], column["trials"]["passed"]) for column in table["columns"]]
    assert totals == [("echo", 2), ("mute", 0)]
    assert {run.group for run in Run.objects.all()} == {UUID(table["group"])}
    assert any(line.startswith(f"Greetings, run {second} (Mute): Runs 3") for line in lines)
    assert any(line.startswith(f"Failed Greetings, run {second} (Mute)") for line in lines)


def test_several_agents_and_suites_are_forecast_each(suite: Suite) -> None:
    second_agent()
    make_suite(["hello"], agent=suite.agent, slug="second", name="Second")

    text = output_of(
        *("run_evals", "--forecast", "--ci", "greetings", "second"),
        *("--agent", "echo", "--agent", "mute"),
    )

    rows = json.loads(text)["forecasts"]
    assert [(row["suite"], row["agent"], row["model"]) for row in rows] == [
        ("greetings", "echo", None),
        ("greetings", "mute", None),
        ("second", "echo", None),
        ("second", "mute", None),
    ]


def test_all_models_start_or_none(suite: Suite) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("run_evals", "greetings", "--model", "a/b", "--model", "c/d")

    assert "greetings with a/b" in str(caught.value)
    assert "greetings with c/d" in str(caught.value)
    assert not Run.all_runs.exists()
