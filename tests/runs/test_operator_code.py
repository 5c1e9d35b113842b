"""Runs whose checks and agents are code of the operator's."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evals_app.engine.basics.permits import OUR_COMMAND
from evals_app.engine.running.run_gateway import Orders, WorkerReport
from evals_app.models import Agent, Assertion, Case, Run, Suite, Turn
from evals_app.runs.ground.workers import is_process
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from evals_app.runs.work.heartbeat import Heartbeat
from tests.engine.operator_code import OperatorCode, operator_code_in
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OperatorCode]:
    with operator_code_in(tmp_path, monkeypatch) as code:
        yield code


def graded_suite(*references: str, **changes: Any) -> Suite:
    """Write a suite of one case, graded after its turn and at its end by functions."""
    suite = Suite.objects.create(
        **({"slug": "graded", "name": "Graded", "agent": make_agent()} | changes)
    )
    case = Case.objects.create(suite=suite, name="case", position=0)
    turn = Turn.objects.create(case=case, user="hello", config={"word": "hello"})
    for place in ({"turn": turn}, {"case": case}):
        for position, reference in enumerate(references):
            options = {"grader": reference}
            Assertion.objects.create(type="code", options=options, position=position, **place)
    return suite


def grades(run: Run) -> list[tuple[Any, ...]]:
    rows = run.executions.get().grades.order_by("pk")
    return list(rows.values_list("status", "score", "passed", "reason"))


def test_functions_grade_turns_and_whole_conversations(operator_code: OperatorCode) -> None:
    reference = operator_code.function(
        """
        from evals_app.engine.callables import GraderResult
        async def it(context):
            word = context.turn_config.get("word", "said")
            return GraderResult(0.5, reason=f"{word}, {context.turn_index}")
        """
    )
    run = finished(graded_suite(reference))

    assert grades(run) == [
        ("ok", 0.5, True, "hello, 0. Score 0.50, needs 0.50."),
        ("ok", 0.5, True, "said, None. Score 0.50, needs 0.50."),
    ]
    assert run.verdict == "passed"


def test_a_function_that_takes_more_memory_than_it_may_is_an_error_of_the_check(
    operator_code: OperatorCode, settings: Any
) -> None:
    settings.EVALS_MEMORY_MB = 4_000  # this process has the same limit, and has run other tests
    reference = operator_code.function(
        """
        def it(context):
            hoard = [bytes(16_000_000) for _ in range(1_000)]
            return len(hoard) == 1_000
        """
    )
    run = finished(graded_suite(reference))

    execution = run.executions.get()
    assert (execution.verdict, execution.cause) == ("errored", "case")
    assert "failed: MemoryError" in execution.reason


def test_a_cancelled_run_leaves_no_process_behind(
    operator_code: OperatorCode, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EVALS_PULSE_S = 0.2
    reference = operator_code.function(
        f"""
        import os
        def it(context):
            path = os.path.join({str(tmp_path)!r}, f"{{os.getpid()}}.pid")
            open(path, "w").close()
            while True: pass
        """
    )
    run = start_run(graded_suite(reference, reference))

    def pids() -> list[int]:
        return [int(path.stem) for path in tmp_path.glob("*.pid")]

    class SomebodyClicks(Heartbeat):
        def beat(self, report: WorkerReport) -> Orders:
            if len(pids()) == 4:
                run.cancel()
            return super().beat(report)

    # The click has to come while functions run, in this very thread.
    monkeypatch.setattr("evals_app.runs.work.run_worker.Heartbeat", SomebodyClicks)
    work()

    run.refresh_from_db()
    assert run.status == "cancelled"
    assert len(pids()) == 4
    assert not [pid for pid in pids() if is_process(pid)]


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(
            {
                "driver": "python",
                "connection": {"callable": "evals_app.engine.examples.agents:analyst"},
            },
            id="a function",
        ),
        {"driver": "command", "connection": {"command": OUR_COMMAND.split()}},
    ],
)
def test_functions_and_programs_are_agents(written: dict[str, Any]) -> None:
    agent = Agent.objects.create(slug="analyst", name="Analyst", **written)

    run = finished(make_suite(["What was it in 2007?"] * 4, agent=agent, contains="60.94"))

    assert (run.passed, run.verdict) == (4, "passed")


@pytest.mark.parametrize(
    ("ceiling", "stop_reason"),
    [pytest.param("1.00", "budget", id="less than all of it"), pytest.param(None, "", id="none")],
)
def test_what_an_agent_says_that_it_costs_counts_for_the_ceiling(
    operator_code: OperatorCode, settings: Any, ceiling: str | None, stop_reason: str
) -> None:
    settings.EVALS_PULSE_S = 0.01
    reference = operator_code.function(
        """
        import time
        def it(message):
            time.sleep(0.05)
            return {"output": "hello", "estimated_cost_usd": 0.3}
        """
    )
    agent = Agent.objects.create(
        slug="paid", name="Paid", driver="python", connection={"callable": reference}
    )
    suite = make_suite(cases=12, agent=agent, concurrency=1)

    run = finished(suite, max_cost_usd=Decimal(ceiling) if ceiling else None)

    assert run.stop_reason == stop_reason
    if stop_reason:
        assert Decimal("1.00") < run.spent_usd < Decimal("2.40")
        assert run.not_run + run.cancelled > 0
    else:
        assert run.spent_usd == Decimal("3.60")
        (entry,) = run.spending.all()
        assert (entry.role, entry.model, entry.spent_usd) == ("agent", "", Decimal("3.60"))
        assert run.passed == 12
