"""Tallies of judges: counted while results are recorded."""

from typing import Any

import pytest

from evals_app.engine.record.grade import Grade, GradedAssertion, GradeStatus
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Cause, Trial
from evals_app.engine.record.usage import Usage
from evals_app.engine.running.run_gateway import Outcome
from evals_app.models import GradeResult, JudgeTally, Run
from evals_app.runs.judges.judge_tallies import count_grades
from tests.makers import make_run
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db


def call(model: str = "large", *, purpose: str = "rubric", known: bool = True) -> JudgeCall:
    usage = Usage(input_uncached=100, output=10) if known else Usage()
    return JudgeCall(
        purpose, f"{model}-2026", "?", "!", usage=usage, provider="openai", asked_model=model
    )


def graded(*calls: JudgeCall, passed: bool | None = True, **grade: Any) -> GradedAssertion:
    return GradedAssertion(
        type="llm_rubric",
        label="Rubric",
        family="judged",
        turn=1,
        position=0,
        weight=1,
        threshold=None,
        grade=Grade(None, passed, "", calls=calls, **grade),
    )


def counted(*grades: GradedAssertion, run: Run | None = None) -> dict[str, dict[str, int]]:
    run = run or make_run(judge="openai/large")
    job: Any = None
    count_grades([Outcome(job, Trial("case", 1, 1, "shop"), grades)], run_id=run.pk)
    rows: Any = JudgeTally.objects.values()
    kept = ("id", "run_id", "day", "model")
    return {
        row["model"]: {name: count for name, count in row.items() if count and name not in kept}
        for row in rows
    }


def test_a_grade_counts_once_for_its_judge_with_all_its_calls() -> None:
    assert counted(graded(call(), call()), graded(call(), passed=False)) == {
        "openai/large": {
            "graded": 2,
            "passed": 1,
            "failed": 1,
            "calls": 3,
            "prompt_tokens": 300,
            "response_tokens": 30,
        }
    }


def test_every_member_of_a_jury_took_part() -> None:
    tallies = counted(graded(call("large"), call("small")))

    assert tallies["openai/large"] == tallies["openai/small"]
    assert tallies["openai/small"]["graded"] == 1


@pytest.mark.parametrize("status", [GradeStatus.UNGRADED, GradeStatus.ERROR])
def test_what_was_not_graded_is_neither_passed_nor_failed(status: GradeStatus) -> None:
    tallies = counted(graded(call(known=False), passed=None, status=status, cause=Cause.JUDGE))

    assert tallies == {"openai/large": {"not_graded": 1, "calls": 1, "uncounted_calls": 1}}


@pytest.mark.parametrize(
    ("judges", "model"), [("openai/large", "openai/large"), ("openai/large, openai/small", "")]
)
def test_a_judge_that_could_not_be_reached_has_not_graded(judges: str, model: str) -> None:
    unreached = graded(passed=None, status=GradeStatus.UNGRADED, cause=Cause.PROVIDER)

    assert counted(unreached, run=make_run(judge=judges)) == {model: {"not_graded": 1}}


def test_embeddings_and_checks_without_a_judge_are_no_grades_of_a_judge() -> None:
    assert counted(graded(call(purpose="embedding")), graded()) == {}


def test_batches_add_up() -> None:
    run = make_run()
    for _ in range(3):
        tallies = counted(graded(call()), run=run)

    assert tallies["openai/large"]["graded"] == 3
    assert not GradeResult.objects.exists()  # they are not read


def test_a_run_tallies_its_judge_while_it_records() -> None:
    make_agent("strict", rules=[{"reply": '{"items": [{"id": 1, "verdict": "fail", "why": "x"}]}'}])
    suite = make_suite(cases=3, judge_model="scripted/strict", rubric="- Polite")

    run = finished(suite)

    (row,) = run.judge_tallies.all()
    assert row.model == "scripted/strict"
    assert row.graded + row.not_graded == 3
    assert row.calls >= 3
