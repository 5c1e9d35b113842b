"""`run`: the same verdicts as on a site, agents that are functions, and refusals that teach."""

import asyncio
import json
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evalwell import Case, EvalsFailedError, GraderContext, Suite, SuiteError, Turn, check, run

from evals_app.engine.llm.usual_providers import usual_providers
from evals_app.engine.specs.base_spec import PriceSpec
from evals_app.formats.folders import files_in
from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.sibling_files import SiblingFiles
from evals_app.library.importing.file_import import import_files
from evals_app.models import GradeResult, Provider
from evals_app.models import Suite as SuiteRow
from tests.runs.suites import finished

ROOT = Path(__file__).resolve().parent.parent.parent
PATHS = [str(ROOT), str(ROOT / "evals_app" / "python")]
EXAMPLES = ROOT / "examples"


def greet(message: str) -> str:
    return f"Hello! You said: {message}"


async def greet_later(message: str, history: list[dict[str, str]]) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {
        "output": f"Hello {len(history)}",
        "tool_calls": [{"name": "look", "args": {"q": message}}],
    }


def crash(message: str) -> str:
    raise LookupError(f"nothing about {message}")


def is_polite(context: GraderContext) -> bool:
    return "Hello" in context.agent_response


GREETINGS = Suite(
    "Greetings",
    cases=[
        Case("one", "Hi", checks=[check("contains", value="Hello"), is_polite], tags=["smoke"]),
        Case("two", turns=[Turn("Hi"), Turn("Bye", checks=[check("contains", value="again")])]),
    ],
    checks=[check("contains", value="Hello")],
)


def import_example(folder: Path) -> SuiteRow:
    paths = [*files_in([folder]), EXAMPLES / "example-judge.agent.yaml"]
    files = [SourceFile(path.as_posix(), path.read_bytes()) for path in paths]
    import_files(files, find=SiblingFiles.of([folder]).find)
    (suite,) = SuiteRow.objects.all()
    return suite


def plain(reason: str) -> str:
    return re.sub(r"[\d.,]+ m?s\b", "some time", reason)


def grades_on_the_site(suite: SuiteRow) -> dict[str, list[tuple[object, ...]]]:
    stored = finished(suite)
    return {
        f"{case} {trial}": [
            (
                grade.turn,
                grade.label,
                grade.passed,
                grade.score,
                grade.status == "ok",
                plain(grade.reason),
            )
            for grade in GradeResult.objects.filter(execution__run=stored, execution__case=case)
            .filter(execution__trial=trial)
            .order_by("pk")
        ]
        for case, trial in stored.executions.values_list("case", "trial")
    }


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["order-desk", "handbook", "letters", "receipts"])
def test_a_suite_gets_the_same_verdicts_and_grades_as_on_a_site(name: str) -> None:
    results = run(EXAMPLES / name)

    row = import_example(EXAMPLES / name)
    stored = finished(row)
    assert (results.verdict, results.score) == (stored.verdict, stored.score)
    assert {case.name: (case.verdict, case.score) for case in results.cases.values()} == {
        case: (verdict, score)
        for case, verdict, score in stored.case_results.values_list("name", "verdict", "score")
    }
    assert grades_on_the_site(row) == {
        f"{trial.case} {trial.number}": [
            (
                one.turn,
                one.label,
                one.passed,
                one.score,
                one.is_graded,
                plain(one.reason),
            )
            for one in trial.checks
        ]
        for trial in results.trials
    }


@pytest.mark.parametrize("agent", [greet, greet_later, lambda message: f"Hello {message}"])
def test_a_function_is_an_agent(agent: Callable[..., Any]) -> None:
    results = run(GREETINGS, agent=agent, cases=["one"])

    assert results.passed
    assert [one.passed for one in results.cases["one"].trials[0].checks] == [True, True]
    results.assert_passed()


def test_calls_of_tools_that_a_function_reports_are_known() -> None:
    (trial,) = run(GREETINGS, agent=greet_later, tags=["SMOKE"]).trials

    assert [(call.name, call.args) for call in trial.tool_calls or ()] == [("look", {"q": "Hi"})]


def test_what_failed_says_where_and_why() -> None:
    results = run(GREETINGS, agent=greet)

    assert (results.verdict, results.cases["one"].passed) == ("failed", True)
    assert results.cases["two"].trials[0].messages[-1] == ("assistant", "Hello! You said: Bye")
    with pytest.raises(EvalsFailedError, match=r"two: failed.*again"):
        results.assert_passed()


def test_an_agent_that_raises_has_failed() -> None:
    trial = run(GREETINGS, agent=crash).cases["one"].trials[0]

    assert (trial.verdict, trial.cause) == ("failed", "agent")
    assert "LookupError: nothing about Hi" in trial.reason


def test_a_check_that_raises_is_an_error_and_never_passes() -> None:
    def broken(context: GraderContext) -> bool:
        raise KeyError(context.turn_input)

    suite = Suite("Broken", cases=[Case("one", "Hi", checks=[broken])])

    results = run(suite, agent=greet)

    assert (results.verdict, results.cases["one"].verdict) == ("inconclusive", "errored")
    assert results.cases["one"].trials[0].checks[0].is_graded is False
    with pytest.raises(EvalsFailedError, match="KeyError"):
        results.assert_passed()


def test_it_works_where_a_loop_runs() -> None:
    async def in_a_notebook() -> bool:
        return run(GREETINGS, agent=greet, cases="one").passed

    with asyncio.Runner() as runner:
        assert runner.run(in_a_notebook())


def test_trials_that_cannot_change_the_verdict_are_skipped() -> None:
    suite = Suite(
        "Steady",
        cases=[Case("one", "Hi", checks=[check("contains", value="Bye")])],
        trials=5,
        stop_when_decided=True,
    )

    results = run(suite, agent=greet, concurrency=1)

    assert results.verdict == "failed"
    assert [trial.is_skipped for trial in results.trials] == [False, True, True, True, True]


def test_reports_are_those_of_a_site() -> None:
    results = run(GREETINGS, agent=greet, trials=2)

    document = json.loads(json.dumps(results.to_json()))
    assert document["run"]["counts"] == {"passed": 2, "failed": 2, "errored": 0, "measured": 0} | {
        key: document["run"]["counts"][key]
        for key in ("skipped", "cancelled", "not_run", "total")
        if key in document["run"]["counts"]
    }
    assert document["run"]["cost_usd"] is None  # the function did not say
    assert len(document["executions"]) == 4
    assert 'failures="1"' in results.to_junit()
    assert "two" in results.to_markdown()
    assert "</html>" in results.to_html()


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"cases": ["oen"]}, "Did you mean 'one'"),
        ({"tags": ["smok"]}, "Did you mean 'smoke'"),
        ({"trials": 0}, "expected 1 to 100"),
        ({"max_cost_usd": -1}, "expected US dollars, more than 0"),
        ({"model": "openai/gpt-6.1-terra"}, "no model that could be replaced"),
        ({"agent": "grete"}, "Found: none"),
        ({"agent": 7}, "expected a function"),
        ({"agent": lambda a, b: a + b}, "unknown parameter"),
        ({"agent": Path("nowhere.agent.yaml")}, "missing"),
        ({"judge": "no judge"}, "judge"),
    ],
)
def test_what_cannot_run_says_why(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(SuiteError, match=words) as caught:
        run(GREETINGS, **({"agent": greet} | choices))

    assert "direct cause" not in traceback_of(caught.value)


def traceback_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def test_a_mistyped_check_is_one_error_that_says_what_was_meant() -> None:
    with pytest.raises(SuiteError, match="Did you mean 'contains'") as caught:
        Suite("Shop", cases=[Case("Refund", "Hi", checks=[check("contians", value="x")])])

    shown = traceback_of(caught.value)
    assert shown.count("Traceback") == shown.count("'contians'") == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Case("x").to_mapping(), "either user"),
        (lambda: Suite("X", cases=[Case("x", "Hi", checks=[{"type": "contians"}])]), "contains"),
        (lambda: Suite("X", cases=[], trails=2), "Did you mean 'trials'"),
        (lambda: Suite.load("nowhere.suite.yaml"), "missing"),
        (lambda: Suite.load(EXAMPLES / "filings"), "Choose one"),
    ],
)
def test_a_suite_with_a_fault_says_where(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_nothing_of_django_is_loaded() -> None:
    code = (
        "import evalwell, sys; print([name for name in sys.modules if name.startswith('django')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.stdout.strip() == "[]"


def _rates(price: PriceSpec) -> str:
    rates = {
        name: f"{rate:.4f}" for name, rate in price if name.endswith("_usd") and rate is not None
    }
    return f"{price.model} {price.valid_from} {price.above_prompt_tokens} {rates}"


@pytest.mark.django_db
def test_a_new_site_has_the_same_providers_and_prices() -> None:
    stored = {row.slug: row.to_spec() for row in Provider.objects.exclude(slug="scripted")}

    for slug, spec in usual_providers().items():
        prices = (sorted(map(_rates, of.prices)) for of in (spec, stored[slug]))
        assert next(prices) == next(prices)
        assert spec.model_copy(update={"prices": []}) == stored[slug].model_copy(
            update={"prices": []}
        )
    assert usual_providers().keys() == stored.keys()


PRIVATE = "agent: Shop\nslug: shop\ndriver: http\nurl: http://10.0.0.1/\n"
ONE_CASE = """
suite: Greetings
slug: greetings
agent: {agent}
cases: [{{name: one, turns: [{{user: Hi, assertions: [{{type: contains, value: Hello}}]}}]}}]
"""


def test_a_faulty_file_beside_a_suite_counts_only_if_the_suite_needs_it(tmp_path: Path) -> None:
    (tmp_path / "shop.agent.yaml").write_text(PRIVATE)
    suite = tmp_path / "greetings.suite.yaml"

    suite.write_text(ONE_CASE.format(agent="greeter"))
    assert run(suite, agent=greet).passed
    suite.write_text(ONE_CASE.format(agent="shop"))
    with pytest.raises(SuiteError, match="EVALS_PRIVATE_HOSTS"):
        run(suite)


def test_results_of_simulated_users_say_so(tmp_path: Path) -> None:
    case = {
        "name": "Refund",
        "turns": [{"user": "Money back, please."}],
        "simulated_user": {"goal": "A refund.", "model": "scripted/user"},
        "final_assertions": [{"type": "contains", "value": "Bye", "scope": "conversation"}],
    }
    user = {"agent": "User", "slug": "user", "driver": "scripted", "rules": [{"reply": "Please."}]}
    shop = user | {"agent": "Shop", "slug": "shop"}
    suite = {"suite": "Refunds", "slug": "refunds", "agent": "shop", "cases": [case]}
    for name, content in (("user.agent", user), ("shop.agent", shop), ("refunds.suite", suite)):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(content))

    results = run(tmp_path / "refunds.suite.yaml", agent=greet)

    assert results.is_simulated
    assert results.in_words().startswith("Refunds (simulated): inconclusive")
    assert results.to_json()["run"]["is_simulated"] is True
    assert not run(GREETINGS, agent=greet).is_simulated
