"""The providers that every site begins with, and the usual prices of their models.

A new site has the same in its database, by a migration; people add to them there.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import cache

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.network.provider_kinds import KINDS
from evals_app.engine.specs.base_spec import ProviderSpec

_RATES = ("input_usd", "output_usd", "cache_read_usd", "cache_write_5m_usd", "cache_write_1h_usd")
# Of each provider: model, first day, for prompts above this many tokens, then the rates in USD per
# million tokens. Prices that are left out are not listed by the provider. The migrations that write
# them name the sources.
_PRICES: Mapping[str, tuple[tuple[object, ...], ...]] = {
    "anthropic": (
        ("claude-haiku-5-5", "2026-10-07", 0, "0.10", "0.50", None, "0.125", "0.20"),
        ("claude-haiku-5-5", "2026-10-07", 100_000, "0.50", "2.50", None, "0.625", "1.00"),
        ("claude-sonnet-5-5", "2026-10-07", 0, "2", "10"),
        ("claude-opus-5-5", "2026-10-07", 0, "4", "20"),
        ("claude-haiku-4-5*", "2026-10-07", 0, "1", "5"),
    ),
    "openai": (
        ("gpt-6.2-sol", "2026-11-01", 0, "2", "10", "0.10", "2.50"),
        ("gpt-6.2-sol", "2026-11-01", 272_000, "4", "15", "0.20", "5"),
        ("gpt-6.1-terra", "2026-11-01", 0, "1", "5", "0.05", "1.25"),
        ("gpt-6.1-terra", "2026-11-01", 272_000, "2", "7.50", "0.10", "2.50"),
        ("gpt-5-mini", "2026-11-01", 0, "0.25", "2", "0.025"),
        ("text-embedding-3-small", "2026-11-01", 0, "0.02", "0"),
    ),
    "gemini": (
        ("gemini-3.8-flash", "2026-11-01", 0, "0.75", "3.75"),
        ("gemini-3.8-flash", "2027-01-01", 0, "1.50", "7.50"),
        ("gemini-embedding-001", "2026-11-01", 0, "0.15", "0"),
    ),
    "ollama": (("*", "2026-11-01", 0, "0", "0", "0", "0"),),
    "groq": (),
    "openrouter": (),
}


@cache
def usual_providers() -> Mapping[str, ProviderSpec]:
    """Return the providers by their slugs."""
    return {slug: _provider(slug) for slug in _PRICES}


def _provider(slug: str) -> ProviderSpec:
    prices = [
        {
            "model": model,
            "valid_from": day,
            "above_prompt_tokens": above,
            **{
                name: Decimal(str(rate))
                for name, rate in zip(_RATES, rates, strict=False)
                if rate is not None
            },
        }
        for model, day, above, *rates in _PRICES[slug]
    ]
    written = {
        "provider": KINDS[slug].label,
        "slug": slug,
        "kind": slug,
        "api_key_env": KINDS[slug].key_env,
        "prices": prices,
    }
    return ProviderSpec.model_validate(written, context=FROZEN)
