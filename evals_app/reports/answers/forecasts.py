"""A forecast as a few sentences for people, and as JSON for other tools."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

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

NO_CASE = "No conversation: no case matches."
_EXACT = 100  # above it two digits are enough
_MAX_IN_SMALLER_UNIT = 90  # seconds, then minutes


class RunFigure(NamedTuple):
    """What a person wants to know first before a run starts; `detail` is a few words about it."""

    label: str
    value: str
    detail: str = ""


def in_words(
    forecast: Forecast,
    *,
    max_cost_usd: Decimal | None = None,
    month_left_usd: Decimal | None = None,
) -> str:
    """Return what a run would probably take, and whether it may reach its cost limit, or the month's."""
    if not forecast.conversations:
        return NO_CASE
    what = count_text(forecast.conversations, "conversation")
    does = f"Grades {what}; the agent is not asked." if forecast.only_grades else f"Runs {what}."
    more = notes([forecast], max_cost_usd=max_cost_usd, month_left_usd=month_left_usd)
    return " ".join([does, _likely(forecast), *more])


def all_in_words(
    forecasts: Sequence[Forecast],
    *,
    max_cost_usd: Decimal | None = None,
    month_left_usd: Decimal | None = None,
) -> str:
    """Return what several runs would probably take together; of one, what it would."""
    if len(forecasts) == 1:
        return in_words(forecasts[0], max_cost_usd=max_cost_usd, month_left_usd=month_left_usd)
    sentences = [f"Starts {len(forecasts)} runs with {_conversations(forecasts):,} conversations."]
    if calls := _calls(forecasts):
        cost = _cost_together(forecasts)
        sentences.append(f"About {calls:,} model calls{f', {cost}' if cost else ''}.")
    elif not _is_outside(forecasts):
        sentences.append("No chat model is called.")
    more = notes(forecasts, max_cost_usd=max_cost_usd, month_left_usd=month_left_usd)
    return " ".join([*sentences, *more])


def run_label(forecasts: Sequence[Forecast]) -> str:
    """Return the words of the button that starts the runs: "Run 37 conversations"."""
    return f"Run {count_text(_conversations(forecasts), 'conversation')}"


def figures(
    forecasts: Sequence[Forecast], *, month_left_usd: Decimal | None = None
) -> list[RunFigure]:
    """Return how much would run, for how much money, and, of one run, for how long."""
    cost = _cost_figure(forecasts)
    left = (
        [RunFigure("Left this month", usd_text(month_left_usd))]
        if month_left_usd is not None
        else []
    )
    count = f"{_conversations(forecasts):,}"
    if len(forecasts) > 1:
        runs = RunFigure("Runs", str(len(forecasts)), f"{count} conversations")
        return [runs, cost, *left]
    (forecast,) = forecasts
    time = _times(*forecast.duration_s) if forecast.duration_s else "Unknown"
    return [
        RunFigure("Conversations", count),
        cost,
        RunFigure("Time", time, basis(forecast)),
        *left,
    ]


def notes(
    forecasts: Sequence[Forecast],
    *,
    max_cost_usd: Decimal | None = None,
    month_left_usd: Decimal | None = None,
) -> list[str]:
    """Return the sentences that figures need beside them: what is unknown, and what may end runs early."""
    sentences = []
    if len(forecasts) > 1 and _is_outside(forecasts):
        sentences.append("What agents outside cost is unknown.")
    if any(forecast.may_skip_trials for forecast in forecasts):
        sentences.append("It is less if trials can be skipped.")
    if unpriced := _models_without_price(forecasts):
        sentences.append(f"The cost is unknown: there is no price for {' and '.join(unpriced)}.")
    embedders = sorted({forecast.embedder for forecast in forecasts} - {""})
    sentences += [f"Comparing texts with {embedder} costs a little more." for embedder in embedders]
    limits = [(limit, "limit of {}") for limit in [max_cost_usd] if limit is not None]
    if len(forecasts) > 1 and max_cost_usd is not None:
        most = usd_text(len(forecasts) * max_cost_usd)
        sentences.append(f"The ceiling applies to each run, so together at most {most}.")
        limits = []
    if month_left_usd is not None:
        limits.append((month_left_usd, "monthly ceiling, of which {} is left"))
    low, high = _cost_range(forecasts)
    if limits and high > (lowest := min(limits))[0]:
        will = "will probably" if low > lowest[0] else "may"
        what = "It" if len(forecasts) == 1 else "They"
        sentences.append(
            f"{what} {will} stop early at the {lowest[1].format(usd_text(lowest[0]))}."
        )
    return sentences


def _conversations(forecasts: Sequence[Forecast]) -> int:
    return sum(forecast.conversations for forecast in forecasts)


def _calls(forecasts: Sequence[Forecast]) -> int:
    return sum(forecast.agent_calls + forecast.judge_calls for forecast in forecasts)


def _is_outside(forecasts: Sequence[Forecast]) -> bool:
    return any(forecast.is_outside for forecast in forecasts)


def _models_without_price(forecasts: Sequence[Forecast]) -> list[str]:
    return list(dict.fromkeys(model for forecast in forecasts for model in forecast.unpriced))


def _cost_range(forecasts: Sequence[Forecast]) -> tuple[Decimal, Decimal]:
    """Return the lowest and the highest likely cost of what has a price."""
    costs = [forecast.cost_usd for forecast in forecasts if forecast.cost_usd is not None]
    low, high = (sum((cost[side] for cost in costs), Decimal(0)) for side in (0, 1))
    return low, high


def _cost_together(forecasts: Sequence[Forecast]) -> str:
    """Return the likely cost of several runs; empty if that of one is unknown."""
    if any(forecast.cost_usd is None for forecast in forecasts):
        return ""
    return _costs(*_cost_range(forecasts))


def _cost_figure(forecasts: Sequence[Forecast]) -> RunFigure:
    calls, outside = _calls(forecasts), _is_outside(forecasts)
    cost = _cost_together(forecasts)
    if not calls:
        if outside:
            return RunFigure("Cost", "Unknown", "the agent runs elsewhere")
        compares = any(forecast.embedder for forecast in forecasts)
        return RunFigure("Cost", "Nearly free" if compares else "Free", "no chat model is called")
    if not cost:
        return RunFigure("Cost", "Unknown", "a model has no price")
    detail = f"about {_round(calls)} model call{'' if calls == 1 else 's'}"
    return RunFigure("Cost", cost, f"{detail}; the agent costs more" if outside else detail)


def basis(forecast: Forecast) -> str:
    """Return what a forecast is based on."""
    if not forecast.earlier_runs:
        graded = "conversations" if forecast.only_grades else "cases"
        return f"a guess from the text of the {graded}"
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
