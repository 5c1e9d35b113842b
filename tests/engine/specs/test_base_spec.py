"""What is accepted, and what is refused, of models and providers."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evals_app.engine.specs.base_spec import (
    JudgeRef,
    ModelRef,
    ModelSpec,
    PriceSpec,
    ProviderSpec,
    Slug,
)
from tests.engine.makers import refusals

MODEL: TypeAdapter[ModelSpec] = TypeAdapter(ModelRef)
JUDGE: TypeAdapter[Any] = TypeAdapter(JudgeRef)
SLUG: TypeAdapter[str] = TypeAdapter(Slug)


@pytest.mark.parametrize("slug", ["a", "refund-flow", "row_1", "2026", "a-b-c"])
def test_slugs(slug: str) -> None:
    assert SLUG.validate_python(slug) == slug


@pytest.mark.parametrize(
    "slug", ["", "Refund", "a--b", "-a", "a-", "a b", "ä", "a/b", "a\n", "a" * 101]
)
def test_what_is_no_slug_is_refused(slug: str) -> None:
    with pytest.raises(ValidationError):
        SLUG.validate_python(slug)


# Models


@pytest.mark.parametrize(
    ("written", "provider", "name"),
    [
        pytest.param("anthropic/claude-haiku-5-5", "anthropic", "claude-haiku-5-5", id="both"),
        pytest.param("router/meta/llama", "router", "meta/llama", id="the first slash splits"),
        pytest.param("claude-haiku-5-5", "anthropic", "claude-haiku-5-5", id="by its prefix"),
        pytest.param("gpt-6", "openai", "gpt-6", id="by another prefix"),
        pytest.param("gemini-4", "gemini", "gemini-4", id="by a third"),
        pytest.param("scripted/judge", "scripted", "judge", id="scripted"),
    ],
)
def test_a_model_is_named_by_its_provider_and_name(written: str, provider: str, name: str) -> None:
    assert MODEL.validate_python(written) == ModelSpec(provider=provider, name=name)


def test_a_model_with_settings_is_written_out() -> None:
    written = {"provider": "anthropic", "name": "claude-haiku-5-5", "temperature": 0.0}

    model = MODEL.validate_python(written)

    assert model.temperature == 0.0
    assert MODEL.dump_python(model) == written


def test_a_model_without_settings_is_written_as_its_name() -> None:
    model = MODEL.validate_python({"provider": "anthropic", "name": "claude-haiku-5-5"})

    assert MODEL.dump_python(model) == str(model) == "anthropic/claude-haiku-5-5"
    assert MODEL.validate_python(MODEL.dump_python(model)) == model


@pytest.mark.parametrize(
    ("written", "words"),
    [
        pytest.param("llama", "provider/model, for example anthropic/llama", id="unknown prefix"),
        pytest.param("", "for example anthropic/claude-...", id="empty"),
        pytest.param("/claude-haiku-5-5", "provider/model", id="no provider"),
        pytest.param("anthropic/", "provider/model", id="no name"),
        pytest.param("Open AI/gpt-6", "A slug has", id="provider is no slug"),
        pytest.param({"provider": "a", "name": "b", "temperatur": 1}, "", id="misspelt setting"),
        pytest.param({"provider": "a", "name": "b", "temperature": 3}, "", id="too hot"),
        pytest.param({"provider": "a", "name": "b", "max_tokens": 0}, "", id="no tokens"),
        pytest.param({"name": "b"}, "", id="provider is missing"),
        pytest.param(3, "", id="a number"),
    ],
)
def test_what_names_no_model_is_refused(written: object, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        MODEL.validate_python(written)

    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("written", "is_agent"),
    [("agent", True), ("anthropic/claude-haiku-5-5", False), ("scripted/judge", False)],
)
def test_a_judge_is_a_model_or_the_agents_own(written: str, *, is_agent: bool) -> None:
    judge = JUDGE.validate_python(written)

    assert isinstance(judge, ModelSpec) is not is_agent
    assert JUDGE.dump_python(judge) == written


# Providers


def make_provider(**changes: Any) -> ProviderSpec:
    written = {"provider": "Ours", "slug": "ours", "kind": "anthropic"}
    return ProviderSpec.model_validate(written | changes)


def test_a_provider_needs_no_more_than_its_kind() -> None:
    provider = make_provider(base_url=None, api_key_env=None)

    assert (provider.base_url, provider.api_key_env, provider.max_concurrency) == (None, None, None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"base_url": "models.example.org"}, "whole address", id="no scheme"),
        pytest.param({"base_url": "http://a b"}, "whole address", id="a space"),
        pytest.param({"base_url": "https://ann:secret@host"}, "password", id="a password"),
        pytest.param({"base_url": ""}, "whole address", id="empty"),
        pytest.param({"api_key_env": "sk-ant-123"}, "never a key", id="a key"),
        pytest.param({"api_key_env": "1KEY"}, "environment variable", id="a digit"),
        pytest.param({"api_key_env": "KEY\n"}, "environment variable", id="line end"),
        pytest.param({"kind": "magic"}, "'ollama' or 'scripted'", id="unknown kind"),
        pytest.param({"max_tokens_parameter": "tokens"}, "'max_tokens' or", id="another limit"),
        pytest.param({"max_concurrency": 0}, "", id="no calls at once"),
        pytest.param({"requests_per_minute": 0}, "", id="no calls a minute"),
    ],
)
def test_a_provider_that_cannot_work_is_refused(changes: dict[str, Any], words: str) -> None:
    ((loc, message),) = refusals(make_provider, **changes)

    assert loc == "".join(changes)
    assert words in message


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "http://localhost:8080/v1", "api_key_env": "PROVIDER_OURS"},
        {"api_key_env": "PROVIDER_OUR_KEY_2"},
        {"max_concurrency": 1},
        {"requests_per_minute": 50},
        {"kind": "scripted"},
        {"kind": "openai", "base_url": None},
        {"kind": "azure_openai", "base_url": "https://n.openai.azure.com/openai/v1/"},
        {"max_tokens_parameter": "max_tokens"},
    ],
)
def test_a_provider_that_can_work(changes: dict[str, Any]) -> None:
    assert make_provider(**changes).model_dump(include=set(changes)) == changes


def test_azure_has_no_usual_address() -> None:
    ((loc, message),) = refusals(make_provider, kind="azure_openai", base_url=None)

    assert loc == "base_url"
    assert "https://NAME.openai.azure.com/openai/v1/" in message


# Prices


def make_price(**changes: Any) -> dict[str, Any]:
    written = {"model": "m", "valid_from": "2026-05-01", "input_usd": 1, "output_usd": 2.5}
    return written | changes


def test_a_price_is_read_to_the_last_digit() -> None:
    price = PriceSpec.model_validate(make_price(input_usd=0.1, cache_read_usd=0.000000001))

    assert (price.input_usd, price.output_usd) == (Decimal("0.1"), Decimal("2.5"))
    assert price.cache_read_usd == Decimal("0.000000001")
    assert price.valid_from == date(2026, 5, 1)
    assert price.cache_write_5m_usd is None


def test_a_price_comes_back_from_json() -> None:
    price = PriceSpec.model_validate(make_price(input_usd=999_999.123456789))

    assert PriceSpec.model_validate_json(price.model_dump_json()) == price
    assert price.model_dump(mode="json")["valid_from"] == "2026-05-01"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"input_usd": -0.1}, "greater than or equal to 0", id="below 0"),
        pytest.param({"input_usd": "1"}, "instance of Decimal", id="a text"),
        pytest.param({"input_usd": True}, "instance of Decimal", id="a truth value"),
        pytest.param({"input_usd": 1e-10}, "no more than 9 decimal places", id="too fine"),
        pytest.param({"output_usd": 2_000_000}, "less than or equal to", id="too dear"),
        pytest.param({"valid_from": "May 2026"}, "2026-05-01", id="no day"),
        pytest.param({"valid_from": 2026}, "valid date", id="a year"),
        pytest.param({"model": "claude-*-5"}, "*", id="a star in the middle"),
        ({"above_prompt_tokens": -1}, "greater than or equal to 0"),
    ],
)
def test_a_price_that_means_nothing_is_refused(changes: dict[str, Any], words: str) -> None:
    ((loc, message),) = refusals(PriceSpec.model_validate, make_price(**changes))

    assert loc == "".join(changes)
    assert words in message


@pytest.mark.parametrize(
    ("prices", "loc", "words"),
    [
        ([make_price(), make_price(input_usd=9)], "prices.1.model", "Price 1"),
        ([make_price(above_prompt_tokens=5)], "prices.0.above_prompt_tokens", "horter prompts"),
        pytest.param(
            [make_price(), make_price(valid_from="2026-06-01", above_prompt_tokens=5)],
            "prices.1.above_prompt_tokens",
            "horter prompts",
            id="only for long prompts, from a day on",
        ),
    ],
)
def test_prices_that_do_not_go_together_are_refused(
    prices: list[dict[str, Any]], loc: str, words: str
) -> None:
    ((place, message),) = refusals(make_provider, prices=prices)

    assert place == loc
    assert words in message


def test_prices_have_no_order() -> None:
    base, longer = make_price(), make_price(above_prompt_tokens=100)
    later, batch = make_price(valid_from="2026-06-01"), make_price(is_batch=True)
    other = make_price(model="a*")

    provider = make_provider(prices=[batch, later, longer, other, base])

    assert provider == make_provider(prices=[other, base, longer, later, batch])
    assert provider.prices[0].model == "a*"
