"""Two runs that differ, and settlements of them."""

from collections.abc import Mapping
from typing import Any

from django.test import TestCase

from evals_app.models import Agent, Assertion, CaseResult, Run, Settlement, Suite, Turn
from evals_app.runs.process.worker_loop import work
from evals_app.runs.retests.candidates import plan_settlement
from evals_app.runs.retests.rounds import start_settlement
from tests.runs.suites import finished, make_agent, make_suite

Before = Mapping[str, tuple[int, int]]  # trials that passed and failed, by case


def two_runs(*, trials: int = 3, delay_ms: int = 0, new_name: str = "") -> tuple[Run, Run]:
    """Run three cases, then again with an agent that no longer knows what to say to “second”.

    Before the second run that case receives the new name.
    """
    rules: list[dict[str, Any]] = [
        {"when": "second", "reply": "hello, second", "delay_ms": delay_ms},
        {"reply": "hello", "delay_ms": delay_ms},
    ]
    written = make_agent(rules=rules)
    suite = make_suite(["first", "second", "third"], agent=written)
    base = finished(suite, trials=trials)
    rules[0]["reply"] = "bye"
    Agent.objects.filter(pk=written.pk).update(connection={"rules": rules})
    if new_name:
        suite.cases.filter(name="case 2").update(name=new_name)
    suite.refresh_from_db()
    head = finished(suite, trials=trials)
    return base, head


def two_runs_of_a_case_that_always_fails(trials: int = 1) -> tuple[Run, Run]:
    """Run a case with two checks of which one always fails: first the second, then the first."""
    suite = make_suite(["hello"], agent=make_agent(rules=[{"reply": "hello"}]), trials=trials)
    turn = Turn.objects.get(case__suite=suite)
    Assertion.objects.create(turn=turn, type="contains", options={"value": "you"}, position=1)
    base = finished(suite)
    Agent.objects.update(connection={"rules": [{"reply": "It is you"}]})
    return base, finished(Suite.objects.get())


def rewrite(run: Run, results: Before) -> None:
    """Let cases of a run have other results than they had."""
    for name, (passed, failed) in results.items():
        CaseResult.objects.filter(run=run, name=name).update(
            passed=passed,
            failed=failed,
            pass_rate=passed / (passed + failed),
            verdict="failed" if failed else "passed",
        )


def settle(base: Run, head: Run, *, with_better: bool = False, **how: Any) -> Settlement:
    """Start a settlement, and call workers as after a transaction."""
    with TestCase.captureOnCommitCallbacks(execute=True):
        return start_settlement(plan_settlement(base, head, with_better=with_better), **how)


def settled(base: Run, head: Run, **how: Any) -> Settlement:
    """Start a settlement, and work until nothing waits."""
    settlement = settle(base, head, **how)
    work()
    return Settlement.objects.get(pk=settlement.pk)
