"""Runs in which a model plays the user, from their start to their results."""

from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.library.saving import save_suite
from evals_app.models import Case, Suite, Transcript
from evals_app.runs.process.worker_loop import work
from evals_app.runs.regrading.start_regrade import regrade
from evals_app.runs.starting.freeze import CannotStartError
from tests.runs.suites import finished, make_agent, start

pytestmark = pytest.mark.django_db(transaction=True)
DONE = {"type": "contains", "value": "refunded", "scope": "conversation"}
USER = {"goal": "Get the money back for order A-1042.", "model": "scripted/user"}


def make_simulated(*rules: dict[str, Any], **user: Any) -> Suite:
    make_agent(
        "shop",
        rules=[
            {"when": "A-1042", "reply": "It is refunded."},
            {"reply": "Which order is it?"},
        ],
    )
    make_agent("user", rules=list(rules) or [{"reply": "Order A-1042."}])
    case = {
        "name": "Refund",
        "turns": [{"user": "I want my money back."}],
        "simulated_user": USER | user,
        "final_assertions": [DONE],
    }
    written = {"suite": "Refunds", "slug": "refunds", "agent": "shop", "cases": [case]}
    save_suite(SuiteSpec.model_validate(written))
    return Suite.objects.get(slug="refunds")


def test_a_simulated_case_runs_three_times_and_its_run_says_so() -> None:
    run = finished(make_simulated())

    assert (run.total, run.passed, run.is_simulated, run.is_scripted) == (3, 3, True, True)
    transcript = Transcript.objects.filter(execution__run=run).first()
    trial = transcript.to_trial() if transcript else None
    assert trial is not None
    assert [turn.user for turn in trial.turns] == ["I want my money back.", "Order A-1042."]


def test_a_user_that_breaks_the_rules_is_not_the_agents_failure() -> None:
    run = finished(make_simulated({"reply": "Order B-77."}))

    assert (run.failed, run.errored) == (0, 3)
    assert set(run.executions.values_list("cause", flat=True)) == {"user"}


def test_a_simulated_conversation_is_graded_again_as_it_was() -> None:
    run = finished(make_simulated())

    again = regrade(run)
    work()

    again.refresh_from_db()
    assert (again.is_simulated, again.passed) == (True, 3)
    assert again.judge_cost_usd == 0


def test_written_cases_do_not_run_in_the_same_suite() -> None:
    suite = make_simulated()
    other = Case.objects.create(suite=suite, name="Written", position=1)
    other.turns.create(user="Hello")

    with pytest.raises(CannotStartError, match="suite of their own"):
        start(suite)


def test_without_a_model_nobody_plays_the_user() -> None:
    suite = make_simulated(model=None)

    with pytest.raises(CannotStartError, match="needs a model for its user"):
        start(suite)
