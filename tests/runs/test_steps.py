"""Evaluation steps over runs: written once, frozen from then on, and a model server that plays."""

import json
from typing import Any

import pytest

from evals_app.models import Assertion, EvaluationSteps, Run, Suite
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.engine.judging.makers import requirement
from tests.messages_api import Json, last_text
from tests.model_server import ModelServer, Reply
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db

WRITTEN = ["Find the day.", "Compare it.", "Grade."]
GRADED = {
    "requirements": [requirement(quote="You said")],
    "critique": "It names the day.",
    "injection_suspected": False,
    "verdict": "graded",
    "score": 4,
}


@pytest.fixture(autouse=True)
def _judge(server: ModelServer) -> None:
    server.answers(play)


def play(request: Json) -> Reply:
    """Play the judge, which writes steps and grades."""
    asked = last_text(request)
    if asked.startswith("TASK: evaluation_steps"):
        return Reply(json.dumps({"steps": WRITTEN, "injection_suspected": False}))
    return Reply(json.dumps(GRADED))


def steps_suite(*, cases: int = 2, **options: Any) -> Suite:
    """Write cases that a G-Eval check grades, and nothing else."""
    suite = make_suite(cases=cases, judge_model="local/judge-1")
    Assertion.objects.all().delete()
    for case in suite.cases.all():
        Assertion.objects.create(
            turn=case.turns.get(),
            type="geval",
            threshold=0.5,
            options={"criteria": "Names the day"} | options,
        )
    return suite


def steps_of(run: Run) -> list[list[str]]:
    executions = run.executions.order_by("position")
    return [execution.grades.get(type="geval").details["steps"] for execution in executions]


def tasks(server: ModelServer) -> list[str]:
    """Name what was asked, without the attempt after which a model is spared a temperature."""
    asked = [last_text(body) for body in server.bodies if "temperature" not in body]
    return [text.partition("\n")[0].removeprefix("TASK: ") for text in asked]


def test_steps_are_written_in_the_first_run_and_once(server: ModelServer) -> None:
    first = finished(steps_suite())

    assert first.verdict == "passed"
    assert steps_of(first) == [WRITTEN, WRITTEN]
    assert sorted(tasks(server)) == ["evaluation_steps", "geval", "geval"]
    assert EvaluationSteps.objects.get().written == WRITTEN
    # What writing them cost stands with the grade for which they were written.
    calls = [len(row.grades.get(type="geval").calls) for row in first.executions.all()]
    assert sorted(calls) == [1, 2]


def test_the_next_run_grades_by_what_people_made_of_them(server: ModelServer) -> None:
    suite = steps_suite(cases=1)
    finished(suite)
    EvaluationSteps.objects.update(steps=["Edited."])

    second = finished(suite)

    assert steps_of(second) == [["Edited."]]
    assert tasks(server) == ["evaluation_steps", "geval", "geval"]


def test_an_edit_does_not_reach_a_run_that_has_begun() -> None:
    suite = steps_suite(cases=1)
    before = start_run(suite)
    finished(suite)
    between = start_run(suite)
    EvaluationSteps.objects.update(steps=["Edited."])

    work()
    work()

    # One began before there were any, the other froze them.
    assert steps_of(before) == steps_of(between) == [WRITTEN]
