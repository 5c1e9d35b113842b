"""A forecast as a few sentences for people, and as JSON for other tools."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from pydantic import Field

from evals_app.engine.forecast.run_forecast import Forecast
from evals_app.engine.llm.pricing import usd_text
from evals_app.reports.answers.run_answers import (
    Answer,
    Json,
    LeftOutJson,
    Row,
    TokenCount,
    Tokens,
    WhyLeftOut,
    in_json,
)
from evals_app.reports.words.figures import count_text

_EXACT = 100  # above it two digits are enough
_MAX_IN_SMALLER_UNIT = 90  # seconds, then minutes


def in_words(
    forecast: Forecast,
    *,
    max_cost_usd: Decimal | None = None,
    month_left_usd: Decimal | None = None,
) -> str:
    """Return what a run would probably take, and whether it may reach its cost limit, or the month's."""
    if not forecast.conversations:
        return "No conversation: no case matches."
    what = count_text(forecast.conversations, "conversation")
    does = (
        f"Grades {what} again; the agent is not asked." if forecast.only_grades else f"Runs {what}."
    )
    sentences = [does, _likely(forecast)]
    if forecast.may_skip_trials:
        sentences.append("It is less if trials can be skipped.")
    if forecast.unpriced:
        named = " and ".join(forecast.unpriced)
        sentences.append(f"The cost is unknown: there is no price for {named}.")
    if forecast.embedder:
        sentences.append(f"Comparing texts with {forecast.embedder} costs a little more.")
    limits = [(limit, "limit of {}") for limit in [max_cost_usd] if limit is not None]
    if month_left_usd is not None:
        limits.append((month_left_usd, "monthly ceiling, of which {} is left"))
    if limits and forecast.cost_usd and forecast.cost_usd[1] > (lowest := min(limits))[0]:
        will = "will probably" if forecast.cost_usd[0] > lowest[0] else "may"
        sentences.append(f"It {will} stop early at the {lowest[1].format(usd_text(lowest[0]))}.")
    return " ".join(sentences)


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
        sentences.append(f"About {calls:,} model calls{_costs_together(forecasts)}.")
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


def _costs_together(forecasts: Sequence[Forecast]) -> str:
    costs = [forecast.cost_usd for forecast in forecasts if forecast.cost_usd is not None]
    if len(costs) < len(forecasts):
        return ""
    low, high = (usd_text(sum(side, Decimal(0))) for side in zip(*costs, strict=True))
    return f", about {high}" if low == high else f", {low} to {high}"


def basis(forecast: Forecast) -> str:
    """Return what a forecast is based on."""
    if not forecast.earlier_runs:
        return "a guess from the text of the cases"
    if forecast.only_grades:
        return "from the run that is graded again"
    who = "script" if forecast.is_scripted else "agent" if forecast.is_outside else "model"
    text = f"from {count_text(forecast.earlier_runs, 'earlier run')} of this suite with this {who}"
    return (
        f"{text}, {count_text(forecast.new_cases, 'case')} without a result yet"
        if forecast.new_cases
        else text
    )


class CallsJson(Answer):
    """Model calls of agent and judge."""

    agent: int
    judge: int


class Range(Answer):
    """The lowest and the highest likely value; null: unknown."""

    low: float | None
    high: float | None


class ForecastAnswer(Answer):
    """What a run would probably take; nothing is guaranteed."""

    conversations: int
    calls: CallsJson
    tokens: Tokens
    cost_usd: Range = Field(description="Agent and judge; null if a price is missing.")
    month_left_usd: float | None = Field(
        description="Left of the monthly ceiling that applies; null if there is none."
    )
    unpriced: list[str] = Field(description="Models without a price.")
    duration_ms: Range = Field(description="Null for an external agent that has never run.")
    may_skip_trials: bool = Field(
        description="Whether trials that are not needed are skipped. All are counted here."
    )
    earlier_runs: int = Field(description="Runs it is based on; 0: an estimate.")
    basis: str = Field(description="What it is based on, in words.")


def forecast_json(forecast: Forecast, *, month_left_usd: Decimal | None) -> Json:
    """Return a forecast as REST answers it."""
    low_usd, high_usd = forecast.cost_usd or (None, None)
    milliseconds = [round(seconds * 1000) for seconds in forecast.duration_s or ()]
    low_ms, high_ms = milliseconds or (None, None)
    return ForecastAnswer.of_object(
        forecast,
        calls={"agent": forecast.agent_calls, "judge": forecast.judge_calls},
        tokens=_tokens(forecast),
        cost_usd={"low": in_json(low_usd), "high": in_json(high_usd)},
        month_left_usd=in_json(month_left_usd),
        unpriced=list(forecast.unpriced),
        duration_ms={"low": low_ms, "high": high_ms},
        basis=basis(forecast),
    )


class RegradeForecastAnswer(ForecastAnswer):
    """What grading conversations again would probably take, and what is not graded."""

    left_out: dict[WhyLeftOut, LeftOutJson]


def regrade_forecast_json(
    forecast: Forecast, left_out: Mapping[str, Row], *, month_left_usd: Decimal | None
) -> Json:
    """Return a forecast of grading again as REST answers it."""
    named = {why: LeftOutJson.of(cases) for why, cases in left_out.items()}
    return forecast_json(forecast, month_left_usd=month_left_usd) | {"left_out": named}


def _tokens(forecast: Forecast) -> dict[str, dict[str, int]]:
    return {
        side: {kind: getattr(forecast, f"{side}_{kind}_tokens") for kind in TokenCount.KEYS}
        for side in Tokens.KEYS
    }


def _likely(forecast: Forecast) -> str:
    calls = forecast.agent_calls + forecast.judge_calls
    time = _times(*forecast.duration_s) if forecast.duration_s else ""
    if not time and not calls:
        return "Time and cost depend on the agent; the first run will show them."
    if forecast.is_outside and not calls:
        return f"Takes {time}; the agent's own cost is unknown ({basis(forecast)})."
    if not calls:
        free = (
            "No chat model is called" if forecast.embedder else "No model is called, so it is free"
        )
        return f"{free}; takes {time} ({basis(forecast)})."
    tokens = sum(count for side in _tokens(forecast).values() for count in side.values())
    text = f"About {_round(calls)} model call{'' if calls == 1 else 's'}"
    if forecast.agent_calls and forecast.judge_calls:
        text += f", {_round(forecast.judge_calls)} of them by the judge"
    cost = f", {_costs(*forecast.cost_usd)}" if forecast.cost_usd else ""
    lasts = time or "for as long as the agent takes"
    return f"{text}, {_round(tokens)} tokens{cost}, {lasts} ({basis(forecast)})."


def _round(count: int) -> str:
    """Return an estimate with two significant digits."""
    return f"{round(count, 2 - len(str(count))) if count > _EXACT else count:,}"


def _costs(low: Decimal, high: Decimal) -> str:
    first, last = usd_text(low), usd_text(high)
    return f"about {last}" if first == last else f"{first} to {last}"


def _times(low_s: float, high_s: float) -> str:
    (low, unit), (high, high_unit) = _time(low_s), _time(high_s)
    if high == "0":
        return "less than a second"
    if low == "0":
        return f"up to {high} {_plural(high, high_unit)}"
    if unit != high_unit:
        return f"{low} {_plural(low, unit)} to {high} {_plural(high, high_unit)}"
    many = _plural(high, unit)
    return f"about {high} {many}" if low == high else f"{low} to {high} {many}"


def _time(seconds: float) -> tuple[str, str]:
    """Return a whole number, for hours with one decimal, and its unit."""
    if round(seconds) < _MAX_IN_SMALLER_UNIT:
        return f"{seconds:.0f}", "second"
    if round(seconds / 60) < _MAX_IN_SMALLER_UNIT:
        return f"{seconds / 60:.0f}", "minute"
    return f"{seconds / 3600:.1f}".removesuffix(".0"), "hour"


def _plural(number: str, unit: str) -> str:
    return unit if number == "1" else f"{unit}s"
