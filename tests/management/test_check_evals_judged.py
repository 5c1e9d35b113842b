"""`check_evals --judged`: judges are asked about answers that ought to fail, after the price."""

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.judged_probes import plan_judging, with_judged
from evals_app.formats.reading.yaml_text import write_yaml
from evals_app.library.probing import probe_stored
from evals_app.library.saving import save_suite
from evals_app.management.judged_probes import price_judging
from evals_app.models import Agent, Run, Suite
from tests.engine.judging.makers import requirement
from tests.model_server import KEY, ModelServer, Reply
from tests.runs.suites import make_agent

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = [
    {"when": "(?s)names Bonn.*<SUBMISSION.*sorry", "reply": "fail"},
    {"when": "(?s)names Bonn", "reply": "fail"},
    {"when": "(?s)is kind.*<SUBMISSION.*sorry", "reply": "fail"},
    {"reply": "pass"},
]
pytestmark = pytest.mark.django_db(transaction=True)


def write_judged_suite(*, rules: object = RULES, **changes: Any) -> None:
    """Write a suite with a check that a judge always finds met, one never, and one sometimes."""
    make_agent()
    make_agent("judge", name="Judge", rules=rules)
    checks = [
        {"type": "llm_judge", "criteria": criteria, "name": criteria}
        for criteria in ("It answers.", "It names Bonn.", "It is kind.")
    ]
    turns = [
        {"user": "Hello.", "assertions": []},
        {"user": "Where is it?", "expected": "It is in Bonn.", "assertions": checks},
    ]
    written = {
        "suite": "Orders",
        "slug": "orders",
        "agent": "echo",
        "judge_model": "scripted/judge",
    }
    cases = [{"name": "Order", "turns": turns}]
    save_suite(SuiteSpec.model_validate(written | {"cases": cases} | changes))


def test_judged_checks_are_tried_with_one_question_for_each_answer(
    child_environment: dict[str, str],
) -> None:
    write_judged_suite()
    command = [sys.executable, "manage.py", "check_evals", "orders", "--judged", "--yes"]

    done = subprocess.run(
        [*command, "--no-progress", "--format", "json", "--max-cost", "1"],
        cwd=ROOT,
        env=child_environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 1, done.stderr
    (suite,) = json.loads(done.stdout)["suites"]
    results = {one["label"]: (one["result"], one["passed"]) for one in suite["checks"]}
    tried = ["refusal", "question", "negation"]
    assert results == {
        "It answers.": ("blind", tried),
        "It names Bonn.": ("sound", []),
        "It is kind.": ("weak", ["question", "negation"]),
    }
    assert "9 conversations" in done.stderr
    (run,) = Run.objects.all()
    assert (run.is_tryout, run.total, run.suite) == (True, 9, None)
    assert Suite.objects.get().slug == "orders"
    assert set(Agent.objects.values_list("slug", flat=True)) == {"echo", "judge"}


@pytest.mark.slow
def test_checks_of_files_are_tried_by_the_judge_that_is_asked_for(
    tmp_path: Path, child_environment: dict[str, str], model_server: ModelServer
) -> None:
    unmet = {
        "requirements": [requirement(met="no", quote="")],
        "critique": "It does not.",
        "injection_suspected": False,
        "verdict": "fail",
    }
    model_server.answers(lambda _: Reply(json.dumps(unmet)))
    check = {"type": "llm_judge", "criteria": "It answers.", "model": "nowhere/none"}
    turn = {"user": "Where is it?", "expected": "It is in Bonn.", "assertions": [check]}
    head = {"suite": "Orders", "slug": "orders", "agent": "elsewhere"}
    file = tmp_path / "orders.suite.yaml"
    file.write_bytes(write_yaml(head | {"cases": [{"name": "Order", "turns": [turn]}]}))
    command = [sys.executable, "manage.py", "check_evals", str(file), "--judged", "--yes"]
    judge = ["--judge", "anthropic/claude-haiku-5-5", "--format", "json", "--no-progress"]

    done = subprocess.run(
        [*command, *judge],
        cwd=ROOT,
        env=child_environment | {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": model_server.url},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    (suite,) = json.loads(done.stdout)["suites"]
    (result,) = suite["checks"]
    assert (result["result"], result["tried"]) == ("sound", ["refusal", "question", "negation"])
    # The model refuses a temperature, so those questions are put again without it.
    asked = [body for body in model_server.bodies if "temperature" not in body]
    assert len(asked) == 3
    assert "3 conversations" in done.stderr
    assert not Suite.objects.exists()
    assert not Agent.objects.exists()


@pytest.mark.parametrize(
    ("without", "result", "why"),
    [
        ({"refusal", "question", "negation"}, "undecided", "3 of the 3 answers"),
        ({"refusal"}, "undecided", "1 of the 3 answers"),
        (set(), "sound", ""),
    ],
    ids=["no verdict at all", "one is missing", "all fail"],
)
def test_a_judge_that_gives_no_verdict_leaves_a_check_undecided(
    without: set[str], result: str, why: str
) -> None:
    write_judged_suite()
    suite = Suite.objects.with_everything().get()
    plan = plan_judging(suite.to_spec(), suite.agent.to_spec())
    assert plan is not None
    verdicts = {
        name: None if probe in without else False for name, (_, probe) in plan.about.items()
    }

    judged = with_judged(probe_stored(suite), plan, verdicts)

    assert {one.sight for one in judged.checks} == {result}
    assert all(why in one.why and bool(one.why) is bool(why) for one in judged.checks)
    assert judged.counts["not_tried"] == 0


def test_an_answer_that_passes_counts_though_another_has_no_verdict() -> None:
    write_judged_suite()
    suite = Suite.objects.with_everything().get()
    plan = plan_judging(suite.to_spec(), suite.agent.to_spec())
    assert plan is not None
    verdicts = {name: probe == "question" or None for name, (_, probe) in plan.about.items()}

    judged = with_judged(probe_stored(suite), plan, verdicts)

    assert {(one.sight, one.passed) for one in judged.checks} == {("weak", ("question",))}


def test_the_command_names_what_is_undecided(child_environment: dict[str, str]) -> None:
    write_judged_suite(rules=[{"reply": "perhaps"}])
    command = [sys.executable, "manage.py", "check_evals", "orders", "--judged", "--yes"]

    done = subprocess.run(
        [*command, "--no-progress"],
        cwd=ROOT,
        env=child_environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 3, done.stderr
    assert "0 sound, 3 undecided, 0 not tried" in done.stdout
    assert "undecided (3): The judge gave no verdict on 3 of the 3 answers" in done.stdout


def test_a_price_asks_nothing() -> None:
    write_judged_suite()
    out = StringIO()

    call_command("check_evals", "orders", "--judged", "--forecast", stdout=out)

    assert out.getvalue() == ""
    assert not Run.objects.exists()
    assert Suite.objects.get().slug == "orders"


@pytest.mark.parametrize(
    "arguments",
    [["orders", "--judged"], ["orders", "--yes"], ["orders", "--judge", "scripted/judge"]],
)
def test_without_an_answer_nothing_is_asked(arguments: list[str]) -> None:
    write_judged_suite()

    with pytest.raises(CommandError) as refused:
        call_command("check_evals", *arguments)

    assert refused.value.returncode == 2
    assert not Run.objects.exists()


def test_nobodys_suite_is_replaced() -> None:
    write_judged_suite()
    suite = Suite.objects.with_everything().get()
    plan = plan_judging(suite.to_spec(), suite.agent.to_spec())
    assert plan is not None
    save_suite(suite.to_spec().model_copy(update={"slug": plan.suite.slug}))

    with pytest.raises(Exception, match=plan.suite.slug):
        price_judging(plan)

    assert Suite.objects.count() == 2


def test_no_model_plays_the_user_of_a_case_that_is_tried() -> None:
    user = {"goal": "Where is it?", "model": "scripted/judge"}
    checks = [
        {"type": "contains", "value": "Bonn"},
        {"type": "llm_judge", "criteria": "It names Bonn."},
    ]
    case = {
        "name": "Simulated",
        "turns": [{"user": "Hello."}],
        "simulated_user": user,
        "final_assertions": checks,
    }
    write_judged_suite(cases=[case])

    plan = plan_judging(Suite.objects.with_everything().get().to_spec(), None)

    assert plan is not None
    assert {tried.simulated_user for tried in plan.suite.cases} == {None}
