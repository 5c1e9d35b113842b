"""Forecast what a run will take: model calls, tokens, cost and time."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import sqrt
from typing import NamedTuple

from evals_app.engine.forecast.estimate import EstimatedEffort, Guess, Guesser, total_effort
from evals_app.engine.llm.pricing import Prices
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.agent_spec import OUTSIDE, ModelAgent
from evals_app.engine.specs.base_spec import ProviderSpec
from evals_app.engine.suites.suite_spec import CaseSpec

GUESS = (0.5, 2.0)  # range of a total that is estimated from text alone
USUAL_SPREAD = 0.3  # of conversations around the mean of their case, if none ran twice
NEW_CASE_SPREAD = 0.5  # of the mean of a case that never ran
MIN_MARGIN = 0.1  # prompts and models change between runs

_NANO = Decimal("0.000000001")

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastExecution:
    """What an earlier execution of a case took; tokens None: not reported."""

    turns: int
    tool_calls: int
    prompt_tokens: int | None
    response_tokens: int | None
    judge_prompt_tokens: int | None
    judge_response_tokens: int | None
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a run will take: likely counts, and likely ranges of its cost and time.

    `cost_usd` None: the models in `unpriced` have no price. `earlier_runs` 0: an estimate from the
    text of the cases; else `new_cases` is the number of cases that those runs do not have.
    `is_outside`: the agent's own calls and costs are not included, and before the first run
    `duration_s` is None. `embedder` is the model that compares texts; its small cost is not included.
    `may_skip_trials`: all trials are counted, but some may turn out not to be needed.
    `only_grades`: stored conversations are graded, so no agent is asked.
    """

    conversations: int
    agent_calls: int
    agent_prompt_tokens: int
    agent_response_tokens: int
    judge_calls: int
    judge_prompt_tokens: int
    judge_response_tokens: int
    cost_usd: tuple[Decimal, Decimal] | None
    unpriced: tuple[str, ...]
    duration_s: Range | None
    earlier_runs: int
    new_cases: int
    is_scripted: bool
    is_outside: bool = False
    embedder: str = ""
    may_skip_trials: bool = False
    only_grades: bool = False


def forecast_run(
    plan: Iterable[tuple[CaseSpec, int]],
    *,
    share: float = 1.0,
    guesser: Guesser,
    providers: Sequence[ProviderSpec],
    concurrency: int,
    past: Mapping[str, Sequence[PastExecution]],
    earlier_runs: int,
) -> Forecast:
    """Forecast a run of cases, each with its number of trials; only prices in force count.

    The cases are a `share` of all executions; the others are assumed to be like these.

    The likely total is the sum of trials times mean over all cases. The mean of a case is that of its
    executions in `past`; without any it is the case's guess, scaled by how the other cases compare
    with theirs. Without any history the guesses are used, and ranges are GUESS times the total.

    With history a range is total * (1 ± d). Conversations spread around the mean of their case by
    the relative standard deviation r, pooled over the cases that ran more than once. A case
    with mean m, run k times and planned n times, has the variance of n conversations and that of
    its mean: m² (n r² + n² r² / k); of a new case r² / k is NEW_CASE_SPREAD². d is two standard
    deviations of the sum, and at least MIN_MARGIN.

    The duration is the time of all conversations divided by how many run in parallel, but at least
    that of the longest, and at least what providers with a limit of calls per minute need.
    """
    basis = _basis(plan, share, guesser, past)
    total = basis.total
    asked = _call_counts(guesser, basis)
    rates, unpriced = _rates(asked, total, providers)

    is_outside = guesser.asks_agent and guesser.agent.driver in OUTSIDE
    at_once = _at_once(guesser, providers, concurrency)
    return Forecast(
        conversations=round(sum(basis.trials.values())),
        **{name: round(n) for name, n in total._asdict().items() if name != "time_s"},
        cost_usd=None if unpriced else _cost_usd(basis, rates),
        unpriced=unpriced,
        # The speed of an external agent is unknown before it has answered once.
        duration_s=None
        if is_outside and not basis.known
        else _duration_s(basis, at_once, least_s=_least_s(asked, providers)),
        earlier_runs=earlier_runs if basis.known else 0,
        new_cases=round(basis.unknown / share) if basis.known else 0,
        is_scripted=guesser.agent.driver == "scripted",
        is_outside=is_outside,
        embedder=guesser.embedder,
        only_grades=not guesser.asks_agent,
    )


# What conversations take


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a forecast is based on, by the name of the case; `known` are its earlier executions."""

    trials: Mapping[str, float]
    guesses: Mapping[str, Guess]
    known: Mapping[str, Sequence[EstimatedEffort]]
    means: Mapping[str, EstimatedEffort]
    total: EstimatedEffort

    @property
    def unknown(self) -> int:
        """How many cases were never run."""
        return len(self.guesses) - len(self.known)

    def around(self, value: float, measure: Callable[[EstimatedEffort], float]) -> Range:
        """Return the likely range of a value that is based on this measure."""
        low, high = self._margins(measure) if self.known else GUESS
        return value * low, value * high

    def _margins(self, measure: Callable[[EstimatedEffort], float]) -> Range:
        """Return the factors of low and high; `forecast_run` has the formula."""
        average = {case: measure(mean) for case, mean in self.means.items()}
        squares = [
            (measure(effort) / average[case] - 1) ** 2
            for case, efforts in self.known.items()
            if average[case]
            for effort in efforts
        ]
        degrees = len(squares) - sum(1 for case in self.known if average[case])
        spread = sum(squares) / degrees if degrees else USUAL_SPREAD**2  # r²
        variance = 0.0
        for case, count in self.trials.items():
            known = self.known.get(case)
            of_mean = spread / len(known) if known else NEW_CASE_SPREAD**2
            variance += average[case] ** 2 * (count * spread + count**2 * of_mean)
        total = sum(count * average[case] for case, count in self.trials.items())
        margin = max(MIN_MARGIN, 2 * sqrt(variance) / total) if total else 0.0
        return max(0.0, 1 - margin), 1 + margin


def _basis(
    plan: Iterable[tuple[CaseSpec, int]],
    share: float,
    guesser: Guesser,
    past: Mapping[str, Sequence[PastExecution]],
) -> _Basis:
    trials: dict[str, float] = {}
    guesses: dict[str, Guess] = {}
    equal: dict[Guess, Guess] = {}  # equal ones are common, so each is kept once
    for case, count in plan:
        trials[case.name] = count / share
        guess = guesser.guess(case)
        guesses[case.name] = equal.setdefault(guess, guess)
    known = _past_efforts(
        guesses, past, has_model=guesser.asks_agent and guesser.agent.driver == "model"
    )
    means = _means(guesses, known)
    total = total_effort([means[case].scale(count) for case, count in trials.items()])
    return _Basis(trials, guesses, known, means, total)


def _duration_s(basis: _Basis, at_once: int, *, least_s: float) -> Range:
    longest_s = max((mean.time_s for mean in basis.means.values()), default=0.0)
    likely_s = max(basis.total.time_s / at_once, longest_s)
    low, high = basis.around(likely_s, lambda effort: effort.time_s)
    return max(low, least_s), max(high, least_s)


def _past_efforts(
    guesses: Mapping[str, Guess], past: Mapping[str, Sequence[PastExecution]], *, has_model: bool
) -> dict[str, list[EstimatedEffort]]:
    """Return what earlier executions took, by case; those that reported no tokens are left out."""
    known = {}
    for case, guess in guesses.items():
        usable = [
            record
            for record in past.get(case, ())
            if not has_model or None not in {record.prompt_tokens, record.response_tokens}
        ]
        if usable:
            known[case] = [_took(record, guess.effort, has_model=has_model) for record in usable]
    return known


def _took(past: PastExecution, guess: EstimatedEffort, *, has_model: bool) -> EstimatedEffort:
    effort = guess._replace(time_s=past.time_s)
    if has_model:
        effort = effort._replace(
            # Each turn ends with a call, and each round of tools needs one; most rounds have one tool.
            agent_calls=past.turns + past.tool_calls,
            agent_prompt_tokens=past.prompt_tokens or 0,
            agent_response_tokens=past.response_tokens or 0,
        )
    if not guess.judge_calls or None in {past.judge_prompt_tokens, past.judge_response_tokens}:
        return effort
    return effort._replace(
        judge_prompt_tokens=past.judge_prompt_tokens or 0,
        judge_response_tokens=past.judge_response_tokens or 0,
    )


def _means(
    guesses: Mapping[str, Guess], known: Mapping[str, Sequence[EstimatedEffort]]
) -> dict[str, EstimatedEffort]:
    means = {case: total_effort(took).scale(1 / len(took)) for case, took in known.items()}
    took = total_effort([*means.values()])
    guessed = total_effort([guesses[case].effort for case in means])
    scale = [then / now if now else 1.0 for then, now in zip(took, guessed, strict=True)]
    new = {
        case: EstimatedEffort(
            *(value * factor for value, factor in zip(guess.effort, scale, strict=True))
        )
        for case, guess in guesses.items()
        if case not in means
    }
    return means | new


# What models cost, and how fast they may be called


class _CallCounts(NamedTuple):
    """How often each model is asked, by `provider/name`."""

    agent: Mapping[str, float]
    judge: Mapping[str, float]


def _call_counts(guesser: Guesser, basis: _Basis) -> _CallCounts:
    judges: defaultdict[str, float] = defaultdict(float)
    for case, guess in basis.guesses.items():
        for model in guess.judges:
            judges[model] += basis.trials[case]
    calls = basis.total.agent_calls
    return _CallCounts({str(guesser.agent.asked_model): calls} if calls else {}, judges)


def _rates(
    asked: _CallCounts, total: EstimatedEffort, providers: Sequence[ProviderSpec]
) -> tuple[list[float], tuple[str, ...]]:
    """Return what tokens cost, and the models that have no price.

    In USD: of the agent's prompts and responses, then of the judges', in calls of mean size.
    """
    prices = {provider.slug: Prices.of(provider) for provider in providers}
    rates: list[float] = []
    unpriced: dict[str, None] = {}
    for models, took in zip(asked, (total.agent, total.judge), strict=True):
        mean, unknown = _mean_rates(models, prices, took)
        rates += mean
        unpriced |= dict.fromkeys(unknown)
    return rates, tuple(unpriced)


def _cost_usd(basis: _Basis, rates: Sequence[float]) -> tuple[Decimal, Decimal]:
    """Return the range of the cost, from what tokens cost."""

    def usd(effort: EstimatedEffort) -> float:
        tokens = (*effort.agent[1:], *effort.judge[1:])
        return sum(rate * count for rate, count in zip(rates, tokens, strict=True))

    low, high = basis.around(usd(basis.total), usd)
    return _usd(low), _usd(high)


def _mean_rates(
    asked: Mapping[str, float], prices: Mapping[str, Prices], took: tuple[float, float, float]
) -> tuple[tuple[float, float], list[str]]:
    """Return USD per prompt and per response token, models weighted by how often each is asked."""
    calls, prompt, response = took
    sent, written = (round(prompt / calls), round(response / calls)) if calls else (0, 0)
    per_prompt = per_response = 0.0
    unpriced = []
    for model, count in asked.items():
        provider, _, name = model.partition("/")
        known = prices.get(provider, Prices([]))
        # The tier is the whole call's; the difference is what its response costs.
        prompt_usd = known.cost_usd(name, Usage(sent, 0))
        call_usd = known.cost_usd(name, Usage(sent, written))
        if prompt_usd is None or call_usd is None:
            unpriced.append(model)
            continue
        share = count / sum(asked.values())
        per_prompt += share * float(prompt_usd) / max(1, sent)
        per_response += share * float(call_usd - prompt_usd) / max(1, written)
    return (per_prompt, per_response), unpriced


def _at_once(guesser: Guesser, providers: Sequence[ProviderSpec], concurrency: int) -> int:
    """Return how many conversations run in parallel: the agent's provider may allow fewer calls."""
    is_limited = guesser.asks_agent and isinstance(guesser.agent, ModelAgent)
    model = guesser.agent.asked_model if is_limited else None
    limits = [
        provider.max_concurrency
        for provider in providers
        if model is not None and provider.slug == model.provider and provider.max_concurrency
    ]
    return min([concurrency, *limits])


def _least_s(asked: _CallCounts, providers: Sequence[ProviderSpec]) -> float:
    """Return the least seconds that calls take at the providers' limits per minute."""
    calls: Counter[str] = Counter()
    for models in asked:
        for model, count in models.items():
            calls[model.partition("/")[0]] += round(count)
    return max(
        (
            60 * calls[provider.slug] / provider.requests_per_minute
            for provider in providers
            if provider.requests_per_minute
        ),
        default=0.0,
    )


def _usd(value: float) -> Decimal:
    return Decimal(repr(value)).quantize(_NANO)
