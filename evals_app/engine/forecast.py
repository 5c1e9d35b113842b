"""What a run will take: model calls, tokens, cost and time, said before it starts."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import sqrt

from evals_app.engine.guess import Effort, Guess, Guesser, total_effort
from evals_app.engine.llm.pricing import Prices
from evals_app.engine.spec import ProviderSpec
from evals_app.engine.suite import CaseSpec
from evals_app.engine.trial import Usage

GUESS = (0.5, 2.0)  # of a total that is guessed from text alone
USUAL_SPREAD = 0.3  # of conversations around the mean of their case, where none was held twice
NEW_CASE_SPREAD = 0.5  # of the mean of a case that was never held
LEAST_MARGIN = 0.1  # prompts and models change between runs

_NANO = Decimal("0.000000001")

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
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
    """What a run will take: likely counts, and the ranges in which its cost and time should lie.

    `cost_usd` None: the models in `unpriced` have no price. `earlier_runs` 0: a guess from the text
    of the cases; else `new_cases` says how many cases those runs do not have. `is_outside`: what
    the agent itself calls and pays is not in it, and before the first run `duration_s` is None.
    `embedder` is the model that compares texts, whose small cost is not in it either.
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


def forecast_run(
    plan: Iterable[tuple[CaseSpec, int]],
    *,
    guesser: Guesser,
    providers: Sequence[ProviderSpec],
    concurrency: int,
    held: Mapping[str, Sequence[Held]],
    earlier_runs: int,
) -> Forecast:
    """Forecast a run of cases, each with its number of trials; providers have prices in force alone.

    The likely total is, over all cases, trials times mean. The mean of a case is that of its
    executions in `held`; without any it is the case's guess, scaled by what the held cases took
    compared with theirs. With no history at all the guesses stand, and ranges are GUESS times the
    total.

    With history a range is total * (1 ± d). Conversations spread around the mean of their case by
    the relative standard deviation r, pooled over the cases that were held more than once. A case
    with mean m, held k times and planned n times, has the variance of n conversations and that of
    its mean: m² (n r² + n² r² / k); of a new case r² / k is NEW_CASE_SPREAD². d is two standard
    deviations of the sum, and at least LEAST_MARGIN.

    The duration is the time of all conversations divided by how many are held at once, but at
    least that of the longest, and at least what providers with a limit of calls a minute need.
    """
    basis = _basis(plan, guesser, held)
    total = basis.total
    asked = _asked(guesser, basis)
    rates, unpriced = _rates(asked, total, providers)
    cost = basis.around(rates.usd(total), rates.usd)
    is_outside = guesser.agent.driver not in {"model", "scripted"}
    at_once = _at_once(guesser, providers, concurrency)
    return Forecast(
        conversations=sum(basis.trials.values()),
        agent_calls=round(total.agent_calls),
        agent_prompt_tokens=round(total.agent_prompt_tokens),
        agent_response_tokens=round(total.agent_response_tokens),
        judge_calls=round(total.judge_calls),
        judge_prompt_tokens=round(total.judge_prompt_tokens),
        judge_response_tokens=round(total.judge_response_tokens),
        cost_usd=None if unpriced else (_usd(cost[0]), _usd(cost[1])),
        unpriced=unpriced,
        # Nobody knows how fast an agent outside is before it has answered once.
        duration_s=None
        if is_outside and not basis.known
        else _duration_s(basis, at_once, least_s=_least_s(asked, providers)),
        earlier_runs=earlier_runs if basis.known else 0,
        new_cases=len(basis.guesses) - len(basis.known) if basis.known else 0,
        is_scripted=guesser.agent.driver == "scripted",
        is_outside=is_outside,
        embedder=guesser.embedder,
    )


# What conversations take


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a forecast rests on, by the name of the case; `known` is what was held of it earlier."""

    trials: Mapping[str, int]
    guesses: Mapping[str, Guess]
    known: Mapping[str, Sequence[Effort]]
    means: Mapping[str, Effort]
    total: Effort

    def around(self, value: float, measure: Callable[[Effort], float]) -> Range:
        """Give the range in which a likely value should lie, which rests on this measure."""
        low, high = self._margins(measure) if self.known else GUESS
        return value * low, value * high

    def _margins(self, measure: Callable[[Effort], float]) -> Range:
        """Give the factors of low and high; `forecast_run` has the formula."""
        average = {case: measure(mean) for case, mean in self.means.items()}
        squares = [
            (measure(each) / average[case] - 1) ** 2
            for case, took in self.known.items()
            if average[case]
            for each in took
        ]
        degrees = len(squares) - sum(1 for case in self.known if average[case])
        spread = sum(squares) / degrees if degrees else USUAL_SPREAD**2  # r²
        variance = 0.0
        for case, count in self.trials.items():
            known = self.known.get(case)
            of_mean = spread / len(known) if known else NEW_CASE_SPREAD**2
            variance += average[case] ** 2 * (count * spread + count**2 * of_mean)
        total = sum(count * average[case] for case, count in self.trials.items())
        margin = max(LEAST_MARGIN, 2 * sqrt(variance) / total) if total else 0.0
        return max(0.0, 1 - margin), 1 + margin


def _basis(
    plan: Iterable[tuple[CaseSpec, int]], guesser: Guesser, held: Mapping[str, Sequence[Held]]
) -> _Basis:
    trials: dict[str, int] = {}
    guesses: dict[str, Guess] = {}
    equal: dict[Guess, Guess] = {}  # of equal ones, which are usual, one is kept
    for case, count in plan:
        trials[case.name] = count
        guess = guesser.guess(case)
        guesses[case.name] = equal.setdefault(guess, guess)
    known = _known(guesses, held, has_model=guesser.agent.driver == "model")
    means = _means(guesses, known)
    total = total_effort([means[case].scaled(count) for case, count in trials.items()])
    return _Basis(trials, guesses, known, means, total)


def _duration_s(basis: _Basis, at_once: int, *, least_s: float) -> Range:
    longest_s = max((each.time_s for each in basis.means.values()), default=0.0)
    likely_s = max(basis.total.time_s / at_once, longest_s)
    low, high = basis.around(likely_s, lambda effort: effort.time_s)
    return max(low, least_s), max(high, least_s)


def _known(
    guesses: Mapping[str, Guess], held: Mapping[str, Sequence[Held]], *, has_model: bool
) -> dict[str, list[Effort]]:
    """Give what earlier executions took, by case; those that reported no tokens say nothing."""
    known = {}
    for case, guess in guesses.items():
        usable = [
            each
            for each in held.get(case, ())
            if not has_model or None not in {each.prompt_tokens, each.response_tokens}
        ]
        if usable:
            known[case] = [_took(each, guess.effort, has_model=has_model) for each in usable]
    return known


def _took(held: Held, guess: Effort, *, has_model: bool) -> Effort:
    effort = guess._replace(time_s=held.time_s)
    if has_model:
        effort = effort._replace(
            # Each turn ends with a call, and each round of tools takes one; most rounds have one tool.
            agent_calls=held.turns + held.tool_calls,
            agent_prompt_tokens=held.prompt_tokens or 0,
            agent_response_tokens=held.response_tokens or 0,
        )
    if not guess.judge_calls or None in {held.judge_prompt_tokens, held.judge_response_tokens}:
        return effort
    return effort._replace(
        judge_prompt_tokens=held.judge_prompt_tokens or 0,
        judge_response_tokens=held.judge_response_tokens or 0,
    )


def _means(
    guesses: Mapping[str, Guess], known: Mapping[str, Sequence[Effort]]
) -> dict[str, Effort]:
    means = {case: total_effort(took).scaled(1 / len(took)) for case, took in known.items()}
    took = total_effort([*means.values()])
    guessed = total_effort([guesses[case].effort for case in means])
    scale = [then / now if now else 1.0 for then, now in zip(took, guessed, strict=True)]
    new = {
        case: Effort(*(value * factor for value, factor in zip(guess.effort, scale, strict=True)))
        for case, guess in guesses.items()
        if case not in means
    }
    return means | new


# What models cost, and how fast they may be asked


@dataclass(frozen=True, slots=True)
class _Asked:
    """How often each model is asked, by `provider/name`."""

    agent: Mapping[str, float]
    judge: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Rates:
    """USD per token, in calls of mean size."""

    agent_prompt: float
    agent_response: float
    judge_prompt: float
    judge_response: float

    def usd(self, effort: Effort) -> float:
        return (
            self.agent_prompt * effort.agent_prompt_tokens
            + self.agent_response * effort.agent_response_tokens
            + self.judge_prompt * effort.judge_prompt_tokens
            + self.judge_response * effort.judge_response_tokens
        )


def _asked(guesser: Guesser, basis: _Basis) -> _Asked:
    judges: Counter[str] = Counter()
    for case, guess in basis.guesses.items():
        for model in guess.judges:
            judges[model] += basis.trials[case]
    calls = basis.total.agent_calls
    return _Asked({str(guesser.agent.model): calls} if calls else {}, judges)


def _rates(
    asked: _Asked, total: Effort, providers: Sequence[ProviderSpec]
) -> tuple[_Rates, tuple[str, ...]]:
    """Give what tokens cost, and the models that have no price."""
    prices = {each.slug: Prices.of(each) for each in providers}
    agent, unpriced = _mean_rates(
        asked.agent,
        prices,
        calls=total.agent_calls,
        prompt=total.agent_prompt_tokens,
        response=total.agent_response_tokens,
    )
    judge, unpriced_judges = _mean_rates(
        asked.judge,
        prices,
        calls=total.judge_calls,
        prompt=total.judge_prompt_tokens,
        response=total.judge_response_tokens,
    )
    return _Rates(*agent, *judge), tuple(dict.fromkeys([*unpriced, *unpriced_judges]))


def _mean_rates(
    asked: Mapping[str, float],
    prices: Mapping[str, Prices],
    *,
    calls: float,
    prompt: float,
    response: float,
) -> tuple[tuple[float, float], list[str]]:
    """Give USD per prompt and per response token, models weighted by how often each is asked."""
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
    """Say how many conversations go on at once: the agent's provider may allow fewer calls."""
    model = guesser.agent.model if guesser.agent.driver == "model" else None
    limits = [
        each.max_concurrency
        for each in providers
        if model is not None and each.slug == model.provider and each.max_concurrency
    ]
    return min([concurrency, *limits])


def _least_s(asked: _Asked, providers: Sequence[ProviderSpec]) -> float:
    """Give the seconds that calls take where only so many are allowed in a minute."""
    calls: Counter[str] = Counter()
    for models in (asked.agent, asked.judge):
        for model, count in models.items():
            calls[model.partition("/")[0]] += round(count)
    return max(
        (
            60 * calls[each.slug] / each.requests_per_minute
            for each in providers
            if each.requests_per_minute
        ),
        default=0.0,
    )


def _usd(value: float) -> Decimal:
    return Decimal(repr(value)).quantize(_NANO)
