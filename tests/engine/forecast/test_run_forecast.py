"""The arithmetic of forecasts, against numbers that can be worked out by hand."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import sqrt
from typing import Any

import pytest

from evals_app.engine.forecast.estimate import REPLY_TOKENS, Guesser
from evals_app.engine.forecast.run_forecast import (
    GUESS,
    MIN_MARGIN,
    NEW_CASE_SPREAD,
    USUAL_SPREAD,
    Forecast,
    PastExecution,
    forecast_run,
)
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec
from evals_app.engine.suites.suite_spec import CaseSpec
from tests.engine.makers import make_agent, make_case, make_model_agent, make_suite

TEN = "x" * 40  # tokens
JUDGED = {"type": "llm_judge", "criteria": "Is polite"}


def make_provider(slug: str = "anthropic", **changes: Any) -> ProviderSpec:
    """Write a provider whose models cost 0.1 USD for a token sent, 0.2 USD for one written."""
    written = {"provider": slug, "slug": slug, "kind": "anthropic", "prices": [make_price()]}
    return ProviderSpec.model_validate(written | changes)


def make_price(model: str = "*", **changes: Any) -> dict[str, Any]:
    written = {"model": model, "valid_from": "2026-05-01"}
    return written | {"input_usd": 100_000, "output_usd": 200_000} | changes


def make_past(**changes: Any) -> PastExecution:
    """Return what an execution took: a call of 100 and 10 tokens in 4 seconds."""
    fields: dict[str, Any] = {
        "turns": 1,
        "tool_calls": 0,
        "prompt_tokens": 100,
        "response_tokens": 10,
        "judge_prompt_tokens": 0,
        "judge_response_tokens": 0,
        "time_s": 4.0,
    }
    return PastExecution(**(fields | changes))


def forecast(
    *plan: tuple[CaseSpec, int],
    past: Mapping[str, Sequence[PastExecution]] | None = None,
    providers: Sequence[ProviderSpec] | None = None,
    concurrency: int = 1,
    judge: ModelSpec | None = None,
    **changes: Any,
) -> Forecast:
    agent = changes.pop("agent", None) or make_model_agent(tools=[], **changes)
    suite = make_suite(*(case for case, _ in plan))
    return forecast_run(
        plan,
        guesser=Guesser(suite=suite, agent=agent, judge=judge),
        providers=[make_provider()] if providers is None else providers,
        concurrency=concurrency,
        past=past or {},
        earlier_runs=1 if past else 0,
    )


def around(likely: float, margin: float) -> Any:
    return pytest.approx((likely * (1 - margin), likely * (1 + margin)))


def usd(estimate: Forecast) -> tuple[float, float]:
    assert estimate.cost_usd is not None
    return float(estimate.cost_usd[0]), float(estimate.cost_usd[1])


# From the text alone


def test_a_guess_multiplies_the_text_by_the_trials() -> None:
    estimate = forecast((make_case(TEN), 3))

    assert (estimate.conversations, estimate.agent_calls) == (3, 3)
    assert (estimate.agent_prompt_tokens, estimate.agent_response_tokens) == (30, 3 * REPLY_TOKENS)
    likely = 30 * 0.1 + 3 * REPLY_TOKENS * 0.2
    assert usd(estimate) == pytest.approx((GUESS[0] * likely, GUESS[1] * likely))
    assert (estimate.earlier_runs, estimate.new_cases) == (0, 0)


@pytest.mark.parametrize(
    ("concurrency", "limit", "conversations"),
    [
        pytest.param(1, None, 6, id="one by one"),
        pytest.param(3, None, 2, id="three at once"),
        pytest.param(100, None, 1, id="at least the longest"),
        pytest.param(100, 2, 3, id="its provider allows two calls at once"),
    ],
)
def test_the_duration_is_all_time_divided_by_what_runs_at_once(
    concurrency: int, limit: int | None, conversations: int
) -> None:
    providers = [make_provider(max_concurrency=limit), make_provider("other", max_concurrency=1)]
    longest = forecast((make_case(TEN), 1)).duration_s

    estimate = forecast((make_case(TEN), 6), concurrency=concurrency, providers=providers)

    assert longest is not None
    assert estimate.duration_s == pytest.approx([conversations * seconds for seconds in longest])


def test_the_longest_case_bounds_the_duration() -> None:
    slow = make_agent({"when": "slow", "reply": "y", "delay_ms": 50_000}, {"reply": "y"})

    estimate = forecast(
        (make_case("slow", name="slow"), 1),
        (make_case("fast", name="fast"), 9),
        agent=slow,
        concurrency=10,
    )

    assert estimate.duration_s == pytest.approx((50 * GUESS[0], 50 * GUESS[1]))


@pytest.mark.parametrize(
    ("a_minute", "low"),
    [
        pytest.param(4, 90, id="six calls at four a minute"),
        pytest.param(6000, None, id="a limit that is not reached"),
    ],
)
def test_calls_a_minute_bound_the_duration(a_minute: int, low: float | None) -> None:
    free = forecast((make_case(TEN), 6), concurrency=6)

    estimate = forecast(
        (make_case(TEN), 6), concurrency=6, providers=[make_provider(requests_per_minute=a_minute)]
    )

    assert free.duration_s is not None
    assert estimate.duration_s is not None
    assert estimate.duration_s[0] == (free.duration_s[0] if low is None else low)


def test_how_long_an_agent_outside_takes_is_unknown_before_its_first_run() -> None:
    outside = make_agent(driver="http", url="https://agent.example/chat", rules=[], tools=[])
    case = make_case(TEN)

    first = forecast((case, 1), agent=outside)
    later = forecast((case, 1), agent=outside, past={case.name: [make_past(time_s=2)]})

    assert first.duration_s is None
    assert later.duration_s == around(2, 2 * sqrt(2) * USUAL_SPREAD)


# From history


@pytest.mark.parametrize(
    ("prompts", "trials", "margin"),
    [
        pytest.param([100], 2, 2 * USUAL_SPREAD * sqrt(2 + 4) / 2, id="past once"),
        pytest.param([100, 100, 100], 2, MIN_MARGIN, id="always the same"),
        pytest.param([80, 120], 1, 2 * sqrt(0.08 + 0.08 / 2), id="spread, one more"),
        pytest.param([80, 120], 100, 2 * sqrt(0.08 / 100 + 0.08 / 2), id="spread, many more"),
        pytest.param([98, 102] * 50, 100, MIN_MARGIN, id="well known"),
    ],
)
def test_the_range_is_two_standard_deviations_of_the_sum(
    prompts: list[int], trials: int, margin: float
) -> None:
    past = [make_past(prompt_tokens=amount, response_tokens=0) for amount in prompts]

    estimate = forecast((make_case(TEN), trials), past={"Greeting": past})

    assert estimate.agent_prompt_tokens == 100 * trials
    assert usd(estimate) == around(10 * trials, margin)


def test_nothing_costs_less_than_nothing() -> None:
    past = [make_past(prompt_tokens=amount) for amount in (1, 1000)]

    estimate = forecast((make_case(TEN), 1), past={"Greeting": past})

    assert usd(estimate)[0] == 0
    assert usd(estimate)[1] > 50


def test_spread_is_pooled_over_cases_relative_to_their_means() -> None:
    past = {
        "a": [make_past(prompt_tokens=amount, response_tokens=0) for amount in (80, 120)],
        "b": [make_past(prompt_tokens=amount, response_tokens=0) for amount in (1000, 1000)],
    }

    estimate = forecast((make_case(TEN, name="a"), 1), (make_case(TEN, name="b"), 1), past=past)

    spread = 0.08 / 2
    variance = (10**2 + 100**2) * (spread + spread / 2)
    assert usd(estimate) == around(110, 2 * sqrt(variance) / 110)


def test_a_case_that_never_ran_is_scaled_by_its_text() -> None:
    old, new = make_case(TEN, name="old"), make_case(TEN * 2, name="new")

    estimate = forecast((old, 1), (new, 1), past={"old": [make_past()] * 3})

    # The old case took ten times the prompt that its text promised, and 10 of 250 tokens of reply.
    assert estimate.agent_prompt_tokens == 100 + 200
    assert estimate.agent_response_tokens == 10 + 10
    assert estimate.new_cases == 1
    old_usd, new_usd = 12, 22
    assert usd(estimate) == around(34, 2 * NEW_CASE_SPREAD * new_usd / (old_usd + new_usd))


def test_time_is_that_of_earlier_executions() -> None:
    past = {"Greeting": [make_past(time_s=amount) for amount in (6, 6, 6)]}

    estimate = forecast((make_case(TEN), 4), past=past, concurrency=2)

    assert estimate.duration_s == around(12, MIN_MARGIN)


def test_a_tool_call_is_one_more_call_of_the_model() -> None:
    past = {"Greeting": [make_past(turns=2, tool_calls=3)]}

    assert forecast((make_case(TEN), 2), past=past).agent_calls == 10


def test_an_execution_that_reports_no_tokens_says_nothing() -> None:
    past = {"Greeting": [make_past(prompt_tokens=None)]}

    estimate = forecast((make_case(TEN), 1), past=past)

    assert estimate == forecast((make_case(TEN), 1))
    assert estimate.earlier_runs == 0


def test_a_script_costs_nothing_whatever_it_reports() -> None:
    past = {"Greeting": [make_past(), make_past(prompt_tokens=None)]}

    estimate = forecast((make_case(TEN), 1), past=past, agent=make_agent(), providers=[])

    assert estimate.is_scripted
    assert (estimate.agent_calls, estimate.agent_prompt_tokens, estimate.agent_response_tokens) == (
        0,
        0,
        0,
    )
    assert estimate.cost_usd == (Decimal(0), Decimal(0))
    assert estimate.duration_s == around(4, MIN_MARGIN)


# Judges and prices


def judged_case(**changes: Any) -> CaseSpec:
    return make_case(turns=[{"user": TEN, "assertions": [JUDGED]}], **changes)


JUDGE = ModelSpec(provider="other", name="judge-1")
BOTH = [make_provider(), make_provider("other")]


def test_judging_costs_what_it_did() -> None:
    past = {"Greeting": [make_past(judge_prompt_tokens=50, judge_response_tokens=20)] * 2}

    estimate = forecast((judged_case(), 2), past=past, providers=BOTH, judge=JUDGE)

    assert (estimate.judge_calls, estimate.judge_prompt_tokens, estimate.judge_response_tokens) == (
        *(2, 100, 40),
    )
    assert usd(estimate) == around(2 * (12 + 5 + 4), MIN_MARGIN)


def test_judging_that_reported_no_tokens_is_guessed() -> None:
    past = {"Greeting": [make_past(judge_prompt_tokens=None)]}
    guessed = forecast((judged_case(), 1), providers=BOTH, judge=JUDGE)

    estimate = forecast((judged_case(), 1), past=past, providers=BOTH, judge=JUDGE)

    assert estimate.agent_prompt_tokens == 100
    assert estimate.judge_prompt_tokens == guessed.judge_prompt_tokens > 0


def test_several_judges_count_by_how_often_they_are_asked() -> None:
    dear = [make_price(input_usd=900_000, output_usd=0)]
    providers = [make_provider(), make_provider("dear", prices=dear)]
    checks = [JUDGED | {"model": "anthropic/a"}] * 3 + [JUDGED | {"model": "dear/b"}]
    case = make_case(turns=[{"user": TEN, "assertions": checks}])
    past = {"Greeting": [make_past(judge_prompt_tokens=400, judge_response_tokens=0)] * 2}

    estimate = forecast((case, 1), past=past, providers=providers)

    assert usd(estimate) == around(12 + 300 * 0.1 + 100 * 0.9, MIN_MARGIN)


@pytest.mark.parametrize(
    ("providers", "unpriced"),
    [
        pytest.param(BOTH, (), id="all have one"),
        pytest.param([make_provider()], ("other/judge-1",), id="unknown provider"),
        pytest.param(
            [make_provider(), make_provider("other", prices=[make_price("judge-2")])],
            ("other/judge-1",),
            id="of another model",
        ),
        pytest.param([], ("anthropic/claude-haiku-5-5", "other/judge-1"), id="none"),
    ],
)
def test_without_a_price_the_cost_is_unknown_and_says_whose(
    providers: list[ProviderSpec], unpriced: tuple[str, ...]
) -> None:
    estimate = forecast((judged_case(), 1), providers=providers, judge=JUDGE)

    assert estimate.unpriced == unpriced
    assert (estimate.cost_usd is None) == bool(unpriced)


def test_who_is_not_asked_needs_no_price() -> None:
    estimate = forecast((make_case(TEN), 1), judge=JUDGE)

    assert estimate.unpriced == ()


@pytest.mark.parametrize(
    ("prompt", "usd_per_token"),
    [pytest.param(1000, 0.1, id="at the threshold"), pytest.param(1002, 0.5, id="above it")],
)
def test_the_size_of_the_mean_call_decides_the_tier(prompt: int, usd_per_token: float) -> None:
    tiers = [make_price(), make_price(above_prompt_tokens=500, input_usd=500_000)]
    provider = make_provider(prices=tiers)
    # Two calls each: a turn, and a round of tools.
    took = make_past(prompt_tokens=prompt, response_tokens=0, tool_calls=1)

    estimate = forecast((make_case(TEN), 1), past={"Greeting": [took] * 2}, providers=[provider])

    assert usd(estimate) == around(prompt * usd_per_token, MIN_MARGIN)


def test_nothing_to_hold_takes_nothing() -> None:
    estimate = forecast()

    assert (estimate.conversations, estimate.agent_calls, estimate.duration_s) == (0, 0, (0, 0))
    assert usd(estimate) == (0, 0)
