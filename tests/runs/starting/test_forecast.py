"""Forecasts of suites as they stand in the database, with the runs that they have had."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evals_app.models import Case, ModelPrice, Provider, Run, Suite, Turn
from evals_app.runs.starting import forecast as module
from evals_app.runs.starting.forecast import forecast
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.start_run import start_run
from tests.makers import make_run
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db

MODEL = "local/claude-1"
KEYS = {"PROVIDER_LOCAL_KEY": "x"}


@pytest.fixture
def suite() -> Suite:
    """A suite of three cases for a model of 1 USD for a million tokens."""
    provider = Provider.objects.create(
        slug="local", name="Local", kind="anthropic", api_key_env="PROVIDER_LOCAL_KEY"
    )
    ModelPrice.objects.create(
        provider=provider, model="*", valid_from="2026-05-01", input_usd=1, output_usd=1
    )
    agent = make_agent("clerk", driver="model", rules=[], model=MODEL)
    return make_suite(["hello", "hello again", "bye"], agent=agent)


def past_run(suite: Suite, *, tokens: int = 1000, seconds: int = 3, **changes: Any) -> Run:
    """Write a run in which each case passed with so many tokens sent and one written."""
    columns: dict[str, Any] = {"model": suite.agent.model, "is_scripted": False} | changes
    states = {case.name: ["passed"] for case in suite.cases.order_by("position")}
    run = make_run(states, suite=suite, **columns)
    now = timezone.now()
    run.executions.update(
        agent_prompt_tokens=tokens,
        agent_response_tokens=1,
        started_at=now - timedelta(seconds=seconds),
        finished_at=now,
    )
    return run


def test_without_earlier_runs_the_text_is_counted(suite: Suite) -> None:
    estimate = forecast(suite, environ=KEYS)

    assert (estimate.conversations, estimate.agent_calls, estimate.earlier_runs) == (3, 3, 0)
    assert 0 < estimate.agent_prompt_tokens < 100
    assert estimate.cost_usd is not None
    assert estimate.cost_usd[0] > 0


def test_earlier_runs_say_what_it_takes(suite: Suite) -> None:
    past_run(suite, tokens=1000, seconds=2)
    past_run(suite, tokens=2000, seconds=4)

    estimate = forecast(suite, concurrency=1, environ=KEYS)

    assert estimate.earlier_runs == 2
    assert estimate.agent_prompt_tokens == 3 * 1500
    assert estimate.duration_s is not None
    low, high = estimate.duration_s
    assert low < 9 < high
    assert (low + high) / 2 == pytest.approx(9, rel=0.01)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"is_tryout": True}, id="tried by hand"),
        pytest.param({"model": "local/claude-2"}, id="another model"),
        pytest.param({"judge": "local/judge-1"}, id="another judge"),
        pytest.param({"agent_slug": "other"}, id="another agent"),
        pytest.param({"suite_slug": "other"}, id="another suite"),
        pytest.param({"is_scripted": True}, id="a script"),
        pytest.param({"status": "cancelled"}, id="cancelled"),
    ],
)
def test_runs_that_were_something_else_are_left_aside(
    suite: Suite, changes: dict[str, Any]
) -> None:
    past_run(suite, **changes)

    assert forecast(suite, environ=KEYS).earlier_runs == 0


def test_executions_that_errored_say_nothing(suite: Suite) -> None:
    run = past_run(suite)
    run.executions.update(verdict="errored", cause="provider")

    assert forecast(suite, environ=KEYS).earlier_runs == 0


def test_only_the_newest_runs_count(suite: Suite) -> None:
    for tokens in (9000, 1000, 1000, 1000):
        past_run(suite, tokens=tokens)

    estimate = forecast(suite, environ=KEYS)

    assert estimate.earlier_runs == 3
    assert estimate.agent_prompt_tokens == 3 * 1000


def test_no_more_executions_are_read_than_help(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EARLIER_EXECUTIONS", 4)
    for tokens in (9000, 5000, 1000):
        past_run(suite, tokens=tokens)

    estimate = forecast(suite, environ=KEYS)

    # All of the newest run, the first case of the one before.
    assert estimate.earlier_runs == 2
    assert estimate.agent_prompt_tokens == 3000 + 1000 + 1000


def test_a_part_of_a_suite_is_looked_for_by_name(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EARLIER_EXECUTIONS", 1)
    run = past_run(suite)
    run.executions.filter(case="case 3").update(agent_prompt_tokens=7000)

    estimate = forecast(suite, cases=["case 3"], trials=2, environ=KEYS)

    assert (estimate.conversations, estimate.agent_prompt_tokens) == (2, 14_000)


def test_a_script_is_forecast_from_runs_of_that_script() -> None:
    suite = make_suite(["slow", "hello"])
    guessed = forecast(suite)
    past_run(suite, is_scripted=True, seconds=5)

    estimate = forecast(suite, concurrency=1)

    assert guessed.earlier_runs == 0
    assert guessed.duration_s == pytest.approx((0.15, 0.6))
    assert (estimate.earlier_runs, estimate.agent_calls) == (1, 0)
    assert estimate.duration_s is not None
    assert estimate.duration_s[0] < 10 < estimate.duration_s[1]


def test_clocks_that_disagree_make_no_time_negative(suite: Suite) -> None:
    past_run(suite, seconds=-5)

    assert forecast(suite, environ=KEYS).duration_s == (0, 0)


def test_no_case_gives_a_forecast_of_nothing(suite: Suite) -> None:
    assert forecast(suite, cases=["nothing like it"], environ=KEYS).conversations == 0


def test_what_cannot_start_cannot_be_forecast(suite: Suite) -> None:
    with pytest.raises(CannotStartError, match="PROVIDER_LOCAL_KEY is not set"):
        forecast(suite, environ={})


def test_a_limit_of_cost_needs_a_price(suite: Suite) -> None:
    ModelPrice.objects.all().delete()

    assert forecast(suite, environ=KEYS).unpriced == (MODEL,)
    with pytest.raises(CannotStartError, match=MODEL):
        forecast(suite, max_cost_usd=Decimal(1), environ=KEYS)


def test_of_a_large_suite_some_cases_represent_all(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    past_run(suite, tokens=1000)
    monkeypatch.setattr(module, "MAX_CASES", 2)

    estimate = forecast(suite, trials=2, environ=KEYS)

    assert (estimate.conversations, estimate.agent_prompt_tokens) == (6, 6000)
    assert (estimate.earlier_runs, estimate.new_cases) == (1, 0)


def test_a_started_run_is_forecast_from_some_of_its_cases(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    past_run(suite, tokens=1000)
    monkeypatch.setattr(module, "MAX_CASES", 2)

    estimate = module.forecast_started(start_run(suite, environ=KEYS))

    assert (estimate.conversations, estimate.agent_prompt_tokens) == (3, 3000)


def test_a_forecast_of_many_cases_and_runs_asks_few_queries(suite: Suite) -> None:
    for _ in range(5):
        past_run(suite)
    more = Case.objects.bulk_create(
        Case(suite=suite, name=f"more {number}", position=number) for number in range(3, 1000)
    )
    Turn.objects.bulk_create(Turn(case=case, user="hello") for case in more)

    with CaptureQueriesContext(connection) as queries:
        estimate = forecast(suite, environ=KEYS)

    assert estimate.conversations == 1000
    assert len(queries) < 25
