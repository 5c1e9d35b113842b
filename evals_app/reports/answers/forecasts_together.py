"""The forecasts of several runs that start together, as a few sentences."""

from collections.abc import Sequence
from decimal import Decimal

from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.engine.llm.pricing import usd_text
from evals_app.reports.answers.forecasts import in_words


def all_in_words(
    forecasts: Sequence[Forecast],
    *,
    max_cost_usd: Decimal | None = None,
    month_left_usd: Decimal | None = None,
) -> str:
    """Return what several runs would probably take together; of one, what it would."""
    if len(forecasts) == 1:
        return in_words(forecasts[0], max_cost_usd=max_cost_usd, month_left_usd=month_left_usd)
    conversations = sum(forecast.conversations for forecast in forecasts)
    calls = sum(forecast.agent_calls + forecast.judge_calls for forecast in forecasts)
    sentences = [f"Starts {len(forecasts)} runs with {conversations:,} conversations."]
    if calls:
        sentences.append(f"About {calls:,} model calls{_cost(forecasts)}.")
    elif not any(forecast.is_outside for forecast in forecasts):
        sentences.append("No chat model is called.")
    if any(forecast.is_outside for forecast in forecasts):
        sentences.append("What agents outside cost is unknown.")
    unpriced = sorted({model for forecast in forecasts for model in forecast.unpriced})
    if unpriced:
        sentences.append(f"The cost is unknown: there is no price for {' and '.join(unpriced)}.")
    if any(forecast.may_skip_trials for forecast in forecasts):
        sentences.append("It is less if trials can be skipped.")
    if max_cost_usd is not None:
        most = usd_text(len(forecasts) * max_cost_usd)
        sentences.append(f"The ceiling applies to each run, so together at most {most}.")
    highest = [forecast.cost_usd[1] for forecast in forecasts if forecast.cost_usd is not None]
    if month_left_usd is not None and sum(highest, Decimal(0)) > month_left_usd:
        left = usd_text(month_left_usd)
        sentences.append(f"They may stop early: {left} is left of the monthly ceiling.")
    return " ".join(sentences)


def _cost(forecasts: Sequence[Forecast]) -> str:
    costs = [forecast.cost_usd for forecast in forecasts if forecast.cost_usd is not None]
    if len(costs) < len(forecasts):
        return ""
    low, high = (usd_text(sum(side, Decimal(0))) for side in zip(*costs, strict=True))
    return f", about {high}" if low == high else f", {low} to {high}"
