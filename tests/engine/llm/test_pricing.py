"""What calls cost, and what they can cost at most."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.llm.pricing import Prices, prices_of, prices_on, usd_text
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.base_spec import PriceSpec, ProviderSpec

MODEL = "claude-haiku-5-5"
ALL = {
    "input_usd": 1,
    "output_usd": 5,
    "cache_read_usd": 0.1,
    "cache_write_5m_usd": 1.25,
    "cache_write_1h_usd": 2,
}


def make_price(**changes: Any) -> PriceSpec:
    written = {"model": MODEL, "valid_from": "2026-05-01", "input_usd": 1, "output_usd": 5}
    return PriceSpec.model_validate(written | changes)


def cost(usage: Usage, *prices: PriceSpec, model: str = MODEL, is_batch: bool = False) -> object:
    return Prices(prices).cost_usd(model, usage, is_batch=is_batch)


# What a call cost


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param(Usage(1_000_000, 0), "1", id="a million in"),
        pytest.param(Usage(0, 1_000_000), "5", id="a million out"),
        pytest.param(Usage(0, 0), "0", id="nothing"),
        pytest.param(Usage(0, 0, cache_read=1_000_000), "0.1", id="read from a cache"),
        pytest.param(Usage(0, 0, cache_write_5m=1_000_000), "1.25", id="kept for five minutes"),
        pytest.param(Usage(0, 0, cache_write_1h=1_000_000), "2", id="kept for an hour"),
        pytest.param(Usage(0, 10, reasoning=8), "0.00005", id="reasoning is part of the output"),
        pytest.param(Usage(100, 20, cache_read=3000), "0.0005", id="everything together"),
    ],
)
def test_each_kind_of_token_has_its_price(usage: Usage, usd: str) -> None:
    assert cost(usage, make_price(**ALL)) == Decimal(usd)


def test_only_the_models_of_an_ollama_server_cost_nothing_unless_a_price_is_named() -> None:
    own = ProviderSpec(
        provider="GPU", slug="gpu", kind="ollama", prices=[make_price(model="big*", input_usd=3)]
    )
    usage = Usage(1_000_000, 0)

    assert Prices.of(own).cost_usd("llama3.2", usage) == 0
    assert Prices.of(own).cost_usd("big-one", usage) == 3
    assert Prices.of(own).bound_usd("llama3.2", most_prompt_tokens=9, max_output_tokens=9) == 0
    assert Prices.of(own.model_copy(update={"kind": "openai"})).cost_usd("llama3.2", usage) is None


@pytest.mark.parametrize(
    ("prices", "allowed"),
    [
        pytest.param([make_price(**ALL)], True, id="all rates"),
        pytest.param([], True, id="nothing is known anyway"),
        pytest.param([make_price(cache_read_usd=0.1)], False, id="not what keeping costs"),
        pytest.param([make_price(cache_write_5m_usd=1.25)], False, id="not what reading costs"),
        pytest.param([make_price(**ALL), make_price(above_prompt_tokens=9)], False, id="one tier"),
    ],
)
def test_no_cache_is_used_whose_cost_nobody_knows(
    *, prices: list[PriceSpec], allowed: bool
) -> None:
    assert Prices(prices).allow_caches(MODEL) is allowed


@pytest.mark.parametrize(
    ("usage", "prices"),
    [
        pytest.param(Usage(1, 1), [], id="no price"),
        pytest.param(Usage(1, 1), [make_price(model="claude-opus-5-5")], id="another model"),
        pytest.param(Usage(1, 1), [make_price(is_batch=True)], id="only in batches"),
        pytest.param(Usage(None, 1), [make_price(**ALL)], id="input not reported"),
        pytest.param(Usage(1, None), [make_price(**ALL)], id="output not reported"),
        pytest.param(Usage(1, 1, cache_read=1), [make_price()], id="no price for cache reads"),
        pytest.param(Usage(1, 1, cache_write_1h=1), [make_price()], id="nor for cache writes"),
    ],
)
def test_what_is_not_known_has_no_cost(usage: Usage, prices: list[PriceSpec]) -> None:
    assert cost(usage, *prices) is None


def test_a_price_that_is_not_needed_may_be_missing() -> None:
    assert cost(Usage(1_000_000, 0), make_price()) == 1


TIERS = (make_price(**ALL), make_price(**ALL | {"input_usd": 5}, above_prompt_tokens=100_000))


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param(Usage(100_000, 0), "0.1", id="exactly at the threshold: below"),
        pytest.param(Usage(100_001, 0), "0.500005", id="above: the whole call is dearer"),
        pytest.param(Usage(1, 0, cache_read=100_000), "0.010005", id="cached tokens count"),
    ],
)
def test_the_length_of_the_prompt_chooses_the_price(usage: Usage, usd: str) -> None:
    assert cost(usage, *TIERS) == Decimal(usd)


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        pytest.param("claude-haiku-5-5", 1, id="its own name first"),
        pytest.param("claude-haiku-6", 2, id="the longest beginning next"),
        pytest.param("claude-opus-5-5", 3, id="a shorter beginning"),
        pytest.param("gpt-6", None, id="none"),
    ],
)
def test_a_star_prices_all_models_that_begin_so(model: str, usd: int | None) -> None:
    prices = [
        make_price(model="claude-*", input_usd=3),
        make_price(model="claude-haiku-*", input_usd=2),
        make_price(),
    ]

    assert cost(Usage(1_000_000, 0), *prices, model=model) == usd


def test_batches_have_prices_of_their_own() -> None:
    prices = [make_price(), make_price(input_usd=0.5, is_batch=True)]

    assert cost(Usage(1_000_000, 0), *prices) == 1
    assert cost(Usage(1_000_000, 0), *prices, is_batch=True) == Decimal("0.5")


def test_a_model_is_known_by_the_price_of_single_calls() -> None:
    prices = Prices([make_price(), make_price(model="claude-opus-5-5", is_batch=True)])

    assert prices.knows(MODEL)
    assert not prices.knows("claude-opus-5-5")


# What a call can cost


def test_a_call_can_cost_what_its_longest_prompt_and_answer_would() -> None:
    prices = Prices([make_price()])

    bound = prices.bound_usd(MODEL, most_prompt_tokens=10_000, max_output_tokens=2000)

    assert bound == Decimal("0.02")


def test_nobody_knows_what_a_call_without_a_price_can_cost() -> None:
    assert Prices([]).bound_usd(MODEL, most_prompt_tokens=1, max_output_tokens=1) is None


RATES = st.decimals(min_value=0, max_value=100, places=3)
PRICES = st.builds(
    make_price,
    above_prompt_tokens=st.sampled_from([0, 1, 500, 1500, 100_000]),
    **dict.fromkeys(("input_usd", "output_usd"), RATES),
    **{name: st.none() | RATES for name in list(ALL)[2:]},
)
TOKENS = st.integers(0, 40_000)
USAGES = st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS)


@given(st.lists(PRICES, max_size=4), USAGES, st.integers(0, 2000))
def test_no_call_costs_more_than_its_bound(
    prices: list[PriceSpec], usage: Usage, spare: int
) -> None:
    known = Prices(prices)
    assert usage.prompt_tokens is not None
    assert usage.output is not None

    spent = known.cost_usd(MODEL, usage)
    bound = known.bound_usd(
        MODEL,
        most_prompt_tokens=max(1, usage.prompt_tokens) + spare,
        max_output_tokens=usage.output + spare,
    )

    assert spent is None or (bound is not None and spent <= bound)


# Which prices are in force


def days(*prices: PriceSpec, on: str) -> list[tuple[str, int]]:
    in_force = prices_on(date.fromisoformat(on), prices)
    return [(str(price.valid_from), price.above_prompt_tokens) for price in in_force]


MAY = make_price()
MAY_LONG = make_price(above_prompt_tokens=100_000)
JUNE = make_price(valid_from="2026-06-01")


@pytest.mark.parametrize(
    ("day", "prices_found"),
    [
        pytest.param("2026-04-30", [], id="the day before"),
        pytest.param("2026-05-01", [("2026-05-01", 0), ("2026-05-01", 100_000)], id="that day"),
        pytest.param("2026-05-31", [("2026-05-01", 0), ("2026-05-01", 100_000)], id="until next"),
        pytest.param("2026-06-01", [("2026-06-01", 0)], id="a new day replaces every tier"),
    ],
)
def test_the_youngest_price_that_has_come_counts(
    day: str, prices_found: list[tuple[str, int]]
) -> None:
    assert days(JUNE, MAY_LONG, MAY, on=day) == prices_found


def test_models_and_batches_have_days_of_their_own() -> None:
    batch = make_price(is_batch=True)
    other = make_price(model="claude-opus-5-5", valid_from="2026-04-01")

    prices_found = prices_on(date(2026, 6, 1), [batch, JUNE, MAY, other])

    assert prices_found == [JUNE, batch, other]


def test_a_run_keeps_the_prices_that_its_models_are_compared_with() -> None:
    star, longer = make_price(model="claude-*"), make_price(model="claude-haiku-*")
    batch = make_price(is_batch=True)

    assert prices_of([MODEL], [star, longer, MAY, batch]) == [MAY, batch]
    assert prices_of(["claude-haiku-6"], [star, longer, MAY]) == [longer]
    assert prices_of(["claude-opus-5-5"], [star, longer, MAY]) == [star]
    assert prices_of([], [star]) == prices_of(["gpt-6"], [star]) == []


# Amounts for people


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        pytest.param(None, "unknown", id="unknown is not 0"),
        pytest.param(Decimal(0), "$0", id="nothing"),
        pytest.param(Decimal("0E-9"), "$0", id="nothing, from a database"),
        pytest.param(Decimal("0.000000001"), "$0.000000001", id="very little is not nothing"),
        pytest.param(Decimal("0.000273412"), "$0.000273", id="three digits"),
        pytest.param(Decimal("0.0123"), "$0.0123", id="cents and less"),
        pytest.param(Decimal("0.1"), "$0.10", id="at least two places"),
        pytest.param(Decimal("0.9999"), "$1.00", id="almost a dollar"),
        pytest.param(Decimal("1234.5678"), "$1,234.57", id="cents from a dollar on"),
        pytest.param(0.1, "$0.10", id="from JSON"),
    ],
)
def test_an_amount_reads_well(amount: Decimal | float | None, written: str) -> None:
    assert usd_text(amount) == written


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        pytest.param(Decimal("1234.000273412"), "$1,234.000273412", id="every digit"),
        pytest.param(Decimal("0.300000000"), "$0.30", id="but no zeros at the end"),
        pytest.param(Decimal("1E+2"), "$100.00", id="nor a power of ten"),
    ],
)
def test_an_amount_can_be_written_exactly(amount: Decimal, written: str) -> None:
    assert usd_text(amount, is_exact=True) == written
