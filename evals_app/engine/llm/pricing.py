"""What model calls cost: from tokens and the prices of a provider; or their upper bound in advance."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import groupby
from typing import Self

from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.base_spec import PriceSpec, ProviderSpec

_MILLION = 1_000_000
_NANO = Decimal("0.000000001")
_INPUT_RATES = ("input_usd", "cache_read_usd", "cache_write_5m_usd", "cache_write_1h_usd")


@cache
def _free() -> PriceSpec:
    # Ollama servers cost the machine, not the calls.
    rates = dict.fromkeys((*_INPUT_RATES, "output_usd"), Decimal(0))
    return PriceSpec.model_validate({"model": "*", "valid_from": date.min, **rates})


def prices_on(day: date, prices: Sequence[PriceSpec]) -> list[PriceSpec]:
    """Return the prices in force on a day: of each model and mode those with the latest date."""

    def kind(price: PriceSpec) -> tuple[str, bool]:
        return price.model, price.is_batch

    in_force = []
    for _, group in groupby(sorted(prices, key=kind), key=kind):
        begun = [price for price in group if price.valid_from <= day]
        if begun:
            # A new date replaces all tiers: a removed one must not remain.
            latest = max(price.valid_from for price in begun)
            in_force += [price for price in begun if price.valid_from == latest]
    return sorted(in_force, key=lambda price: (*kind(price), price.above_prompt_tokens))


def prices_of(models: Collection[str], prices: Sequence[PriceSpec]) -> list[PriceSpec]:
    """Return the prices that apply to calls of these models."""
    known = Prices(prices)
    used = [tier for model in models for tier in known.tiers_of(model)]
    return [price for price in prices if price in used]


def usd_text(usd: Decimal | float | None, *, is_exact: bool = False) -> str:
    """Write an amount for people: $12.34, and below a dollar three significant digits.

    None is unknown, not 0; a small amount is never written as 0. With `is_exact` to the last digit.
    """
    if usd is None:
        return "unknown"
    amount = Decimal(repr(usd)) if isinstance(usd, float) else usd
    if not amount:
        return "$0"
    places = 2 if amount >= 1 else max(2, 2 - amount.adjusted())
    written = f"{amount:,f}" if is_exact else f"{amount:,.{places}f}"
    whole, _, cents = written.partition(".")
    return f"${whole}.{cents.rstrip('0'):0<2}"


class Prices:
    """The prices of one provider that are in force; each call is priced by its own tier."""

    def __init__(self, prices: Iterable[PriceSpec], *, otherwise: PriceSpec | None = None) -> None:
        self._prices = list(prices)
        self._otherwise = [otherwise] if otherwise else []

    @classmethod
    def of(cls, provider: ProviderSpec) -> Self:
        """Return the prices of a provider; Ollama's models cost nothing unless they have a price."""
        return cls(provider.prices, otherwise=_free() if provider.kind == "ollama" else None)

    def knows(self, model: str) -> bool:
        return bool(self._tiers(model, is_batch=False))

    def tiers_of(self, model: str) -> list[PriceSpec]:
        """Return the prices that apply to a model's calls, single and in batches."""
        return [*self._tiers(model, is_batch=False), *self._tiers(model, is_batch=True)]

    def allow_caches(self, model: str) -> bool:
        """Return whether the cost of a call remains known if it uses the cache."""
        return all(
            tier.cache_read_usd is not None and tier.cache_write_5m_usd is not None
            for tier in self._tiers(model, is_batch=False)
        )

    def cost_usd(self, model: str, usage: Usage, *, is_batch: bool = False) -> Decimal | None:
        """Return the cost of a call; None if a price or a count is unknown."""
        if usage.prompt_tokens is None or usage.output is None:
            return None
        price = self._tier(model, usage.prompt_tokens, is_batch=is_batch)
        if price is None:
            return None
        total = Decimal(0)
        for tokens, rate in (
            (usage.input_uncached, price.input_usd),
            (usage.output, price.output_usd),
            (usage.cache_read, price.cache_read_usd),
            (usage.cache_write_5m, price.cache_write_5m_usd),
            (usage.cache_write_1h, price.cache_write_1h_usd),
        ):
            if not tokens:
                continue
            if rate is None:
                return None
            total += tokens * rate
        return (total / _MILLION).quantize(_NANO)

    def bound_usd(
        self, model: str, *, most_prompt_tokens: int, max_output_tokens: int
    ) -> Decimal | None:
        """Return the most that a call can cost, before it is made; None without a price.

        Each token is priced at the highest rate of all tiers that may apply.
        """
        tiers = [
            tier
            for tier in self._tiers(model, is_batch=False)
            if tier.above_prompt_tokens < most_prompt_tokens
        ]
        if not tiers:
            return None
        rates = (getattr(tier, name) for tier in tiers for name in _INPUT_RATES)
        highest_in: Decimal = max(rate for rate in rates if rate is not None)
        highest_out = max(tier.output_usd for tier in tiers)
        total = most_prompt_tokens * highest_in + max_output_tokens * highest_out
        return (total / _MILLION).quantize(_NANO)

    def _tier(self, model: str, prompt_tokens: int, *, is_batch: bool) -> PriceSpec | None:
        fitting = [
            tier
            for tier in self._tiers(model, is_batch=is_batch)
            if tier.above_prompt_tokens == 0 or prompt_tokens > tier.above_prompt_tokens
        ]
        return max(fitting, key=lambda tier: tier.above_prompt_tokens, default=None)

    def _tiers(self, model: str, *, is_batch: bool) -> list[PriceSpec]:
        of_mode = [price for price in self._prices if price.is_batch == is_batch]
        if exact := [price for price in of_mode if price.model == model]:
            return exact
        patterns = [
            price
            for price in of_mode
            if price.model.endswith("*") and model.startswith(price.model[:-1])
        ]
        longest = max((len(price.model) for price in patterns), default=0)
        matching = [price for price in patterns if len(price.model) == longest]
        return matching or [price for price in self._otherwise if price.is_batch == is_batch]
