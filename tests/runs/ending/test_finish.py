"""What a run comes to in the end: its cost, and what came of its cases."""

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from evals_app.admin.runs.run_results import results
from evals_app.engine.verdicts.execution_verdict import ONLY_EFFORT
from evals_app.models import Assertion, Execution, Run, Turn
from evals_app.reports.answers.run_json import CASES_DIGEST
from evals_app.runs.ending import finish
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.finish import close_if_over
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.makers import make_grade
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


def closed(*costs: dict[str, Any], **suite: Any) -> Run:
    """Close a run whose executions have passed at these costs."""
    run = start_run(make_suite(cases=len(costs), **suite))
    for row, cost in zip(run.executions.order_by("position"), costs, strict=True):
        ended = {"status": "finished", "verdict": "passed", "finished_at": timezone.now()}
        columns = {"turn_ms": [5.0, 5.0], "judge_cost_usd": 0, **ended, **cost}
        Execution.objects.filter(pk=row.pk).update(**columns)
    Run.objects.filter(pk=run.pk).update(not_run=0, passed=len(costs))
    assert close_if_over(run.pk)
    return Run.objects.get(pk=run.pk)


def test_agent_and_judge_are_added_up_apart() -> None:
    run = closed(
        {"agent_cost_usd": "0.1", "judge_cost_usd": "0.01"},
        {"agent_cost_usd": "0.000000002"},
        {"agent_cost_usd": 0},
    )

    assert run.agent_cost_usd == Decimal("0.100000002")
    assert run.judge_cost_usd == Decimal("0.01")


def test_what_is_known_of_a_sum_is_kept_where_something_is_unknown() -> None:
    run = closed(
        {"agent_cost_usd": "0.1", "agent_prompt_tokens": 12, "agent_response_tokens": 3},
        {"agent_cost_usd": None, "agent_prompt_tokens": None, "agent_response_tokens": 4},
    )

    assert (run.agent_prompt_tokens, run.agent_response_tokens) == (None, 7)
    assert (run.agent_cost_usd, run.judge_cost_usd) == (None, 0)
    assert run.summary["at_least"] == {"agent_prompt_tokens": 12, "agent_cost_usd": 0.1}
    numbers = dict(results(run)["numbers"])
    assert numbers["Agent tokens"] == "at least 12 prompt + 7 response"
    assert numbers["Cost"] == "at least $0.10"


def test_a_turn_that_failed_keeps_a_gate_on_speed_from_holding() -> None:
    run = closed({"turn_ms": [5.0, None]}, max_p95_ms=1000)

    (gate,) = run.summary["gates"]
    assert (run.verdict, gate["actual"], gate["passed"]) == ("failed", None, False)
    assert "1 of 2" in gate["reason"]


SPEED = {"type": "latency", "options": {"max_ms": 60_000}}


@pytest.mark.parametrize(
    ("columns", "checks", "is_noted"),
    [
        pytest.param({}, [SPEED], True, id="only speed is checked"),
        pytest.param({}, [], False, id="what it says is checked"),
        ({"max_p95_ms": 60_000, "run_rule": "gates"}, [], True),
        pytest.param({"min_score": 0.1, "run_rule": "gates"}, [], False, id="a gate of quality"),
    ],
)
def test_a_suite_that_measures_only_speed_says_so(
    columns: dict[str, Any], checks: list[dict[str, Any]], *, is_noted: bool
) -> None:
    suite = make_suite(cases=1, **columns)
    if checks:
        Assertion.objects.update(**checks[0])
    run = finished(suite)

    assert run.verdict == "passed"
    assert run.summary["notes"] == ([ONLY_EFFORT] if is_noted else [])


def test_a_run_that_left_disabled_cases_out_says_so() -> None:
    suite = make_suite(cases=2)
    suite.cases.filter(pk=suite.cases.order_by("pk")[0].pk).update(enabled=False)

    run = finished(suite)

    (note,) = run.summary["notes"]
    assert (run.verdict, note.split()[:2]) == ("passed", ["1", "disabled"])


GATES = {"max_cost_per_call_usd": "0.05", "max_cost_usd": "0.13"}


@pytest.mark.parametrize(
    ("cost", "verdict", "actual"),
    [
        pytest.param({"agent_cost_usd": "0.1"}, "passed", [0.05, 0.13], id="kept to the billionth"),
        pytest.param({"agent_cost_usd": "0.100000001"}, "failed", [0.05, 0.130000001], id="above"),
        pytest.param({"agent_cost_usd": None}, "inconclusive", [None, None], id="unknown"),
    ],
)
def test_gates_are_compared_with_the_cost_of_the_run(
    cost: dict[str, Any], verdict: str, actual: list[float | None]
) -> None:
    run = closed({"judge_cost_usd": "0.03", **cost}, **GATES)

    assert run.verdict == verdict
    costs = {gate["name"]: gate["actual"] for gate in run.summary["gates"]}
    assert costs == pytest.approx(dict(zip(GATES, actual, strict=True)), abs=1e-9)


def test_each_case_has_a_row_when_the_run_has_ended() -> None:
    run = finished(make_suite(["hello", "bye", "hello"], trials=2))

    rows = run.case_results.order_by("position")

    assert [(row.name, row.verdict, row.trials, row.passed) for row in rows] == [
        ("case 1", "passed", 2, 2),
        ("case 2", "failed", 2, 0),
        ("case 3", "passed", 2, 2),
    ]
    assert [row.pass_at_k for row in rows] == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    assert (rows[1].interval_low, rows[1].pass_rate) == (0.0, 0.0)
    assert "cases" not in run.summary


def test_many_cases_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finish, "CHUNK", 2)

    run = finished(make_suite(cases=5))

    assert list(run.case_results.order_by("position").values_list("name", flat=True)) == [
        f"case {number}" for number in range(1, 6)
    ]


def test_who_comes_second_writes_nothing() -> None:
    run = closed({"agent_cost_usd": 0}, {"agent_cost_usd": 0})
    before = list(run.case_results.values_list("pk", flat=True))

    assert not close_if_over(run.pk)
    assert list(run.case_results.values_list("pk", flat=True)) == before


def test_an_open_run_has_no_results_and_a_resumed_one_is_summed_up_again() -> None:
    run = start_run(make_suite(["hello", "hello"]))
    cancel_run(run)
    run.refresh_from_db()
    cancelled = [row.verdict for row in run.case_results.order_by("position")]

    resume_run(run)
    open_rows = run.case_results.count()
    work()

    assert cancelled == ["", ""]
    assert open_rows == 0
    assert [row.verdict for row in run.case_results.order_by("position")] == ["passed", "passed"]


def test_bullets_of_rubrics_are_added_up() -> None:
    run = start_run(make_suite(cases=3))
    counted = [
        {"met": 2, "applicable": 4, "undecided": 1},
        {"met": 3, "applicable": 3, "undecided": 0},
        {"raw": "a rubric without bullets"},
    ]
    for row, details in zip(run.executions.order_by("position"), counted, strict=True):
        grade = make_grade(type="rubric", details=details)
        grade.execution = row
        grade.save()

    assert finish.rubric_items(run) == {"met": 5, "missed": 1, "undecided": 1}


def test_each_bullet_is_counted_over_all_cases() -> None:
    run = start_run(make_suite(cases=3))
    verdicts = [("pass", "fail"), ("fail", "fail"), (None, "not_applicable")]
    for row, (polite, brief) in zip(run.executions.order_by("position"), verdicts, strict=True):
        items = [{"text": "Is polite", "verdict": polite}, {"text": "Is brief", "verdict": brief}]
        grade = make_grade(type="rubric", details={"applicable": 2, "items": items})
        grade.execution = row
        grade.save()
    whole = make_grade(type="rubric", details={"raw": "0.5", "items": [{"quote": "no bullet"}]})
    whole.execution = run.executions.latest("pk")
    whole.save()

    assert finish.rubric_bullets(run) == [
        {"text": "Is brief", "met": 0, "missed": 2, "undecided": 0},
        {"text": "Is polite", "met": 1, "missed": 1, "undecided": 1},
    ]


def test_a_run_without_rubrics_has_no_bullets() -> None:
    summary = finished(make_suite(cases=1)).summary
    assert (summary["rubric_items"], summary["rubric_bullets"]) == (None, [])


def test_runs_of_the_same_cases_have_one_digest_of_them() -> None:
    suite = make_suite(["hello one", "hello two"])
    digests = [finished(suite).summary[CASES_DIGEST]]
    suite.agent.connection["rules"] = [{"reply": "Nonsense."}]  # another agent, the same cases
    suite.agent.save()
    digests.append(finished(suite).summary[CASES_DIGEST])
    Turn.objects.filter(case__name="case 1").update(user="bye")
    digests.append(finished(suite).summary[CASES_DIGEST])
    suite.cases.get(name="case 2").delete()
    digests.append(finished(suite).summary[CASES_DIGEST])

    assert [digests.index(digest) for digest in digests] == [0, 0, 2, 3]
