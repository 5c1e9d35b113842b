from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evals_app.models import ModelPrice, Provider
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/provider/"


def make_provider(**changes: Any) -> Provider:
    columns = {"slug": "mine", "name": "Mine", "kind": "anthropic", "api_key_env": "MY_KEY"}
    return Provider.objects.create(**columns | changes)


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        pytest.param("MY_KEY", "sk-secret", "MY_KEY is set here.", id="set"),
        pytest.param("MY_KEY", "", "MY_KEY is not set here.", id="blank"),
        pytest.param("MY_KEY", None, "MY_KEY is not set here.", id="not set"),
        pytest.param("", None, "It needs no variable.", id="none needed"),
    ],
)
def test_the_page_says_whether_the_key_is_set_and_never_what_it_is(
    admin_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str | None,
    sentence: str,
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    provider = make_provider(api_key_env=variable)

    page = open_page(admin_client, f"{LIST}{provider.pk}/change/")

    assert sentence in page.text
    assert "sk-secret" not in page.html
    assert sentence in admin_client.get(LIST).content.decode()


def test_saving_a_provider_as_it_is_changes_nothing(admin_client: Client) -> None:
    provider = make_provider(
        base_url="http://localhost:8080/v1", max_concurrency=3, requests_per_minute=50
    )
    before = provider.to_spec()

    assert open_page(admin_client, f"{LIST}{provider.pk}/change/").post().is_saved

    assert Provider.objects.get(pk=provider.pk).to_spec() == before


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"base_url": "localhost:80"}, "Base URL: An address begins with", id="url"),
        pytest.param(
            {"api_key_env": "sk-ant-1"},
            "Variable with the key: ",
            id="a key",
        ),
        pytest.param({"max_concurrency": "0"}, "Calls at once: ", id="none at once"),
        pytest.param({"requests_per_minute": "0"}, "Calls a minute: ", id="none a minute"),
        pytest.param({"slug": "My"}, "Slug: A slug has lower-case letters", id="slug"),
        pytest.param({"kind": "magic"}, "Kind: Select a valid choice.", id="kind"),
    ],
)
def test_a_wrong_provider_is_refused_with_the_name_of_the_field(
    admin_client: Client, changes: dict[str, str], problem: str
) -> None:
    provider = make_provider()

    refused = open_page(admin_client, f"{LIST}{provider.pk}/change/").post(**changes)

    (found,) = refused.problems
    assert found.startswith(problem)


# Prices

BASE = {
    "model": "claude-haiku-5-5",
    "valid_from": "2026-05-01",
    "input_usd": "0.1",
    "output_usd": "0.5",
}


def priced(*prices: dict[str, Any]) -> Provider:
    provider = make_provider()
    for changes in prices:
        ModelPrice.objects.create(provider=provider, **BASE | changes)
    return provider


def page_of(client: Client, provider: Provider) -> PageForm:
    return open_page(client, f"{LIST}{provider.pk}/change/")


def prices_of(provider: Provider) -> list[tuple[str, int, Decimal]]:
    spec = Provider.objects.get(pk=provider.pk).to_spec()
    return [(each.model, each.above_prompt_tokens, each.input_usd) for each in spec.prices]


def test_saving_prices_as_they_are_changes_nothing(admin_client: Client) -> None:
    provider = priced(
        {"cache_read_usd": "0.01", "cache_write_5m_usd": "0.125", "cache_write_1h_usd": "0.2"},
        {"above_prompt_tokens": 100_000, "is_batch": False},
        {"is_batch": True},
    )
    before = Provider.objects.get(pk=provider.pk).to_spec()
    keys = set(provider.prices.values_list("pk", flat=True))

    page = page_of(admin_client, provider)
    # What the script of the page writes on submit.
    saved = page.post(prices__1__position=1, prices__2__position=2)

    assert saved.is_saved, saved.problems
    assert Provider.objects.get(pk=provider.pk).to_spec() == before
    assert set(provider.prices.values_list("pk", flat=True)) == keys
    assert LogEntry.objects.get().get_change_message() == "No fields changed."


def test_a_closed_price_reads_as_a_line(admin_client: Client) -> None:
    provider = priced({}, {"above_prompt_tokens": 100_000, "input_usd": 0, "is_batch": True})

    text = page_of(admin_client, provider).text

    assert "claude-haiku-5-5 from 2026-05-01: $0.10 in, $0.50 out" in text
    assert "from 2026-05-01, above 100,000 tokens, in batches: $0 in, $0.50 out" in text


def test_prices_are_added_changed_and_removed_together(admin_client: Client) -> None:
    provider = priced({}, {"model": "old"})
    page = page_of(admin_client, provider)
    page.row("prices", **BASE | {"model": "claude-opus-*", "input_usd": "4"})

    # The first row is claude-haiku-5-5, the second the old one.
    saved = page.post(prices__0__input_usd="0.2", prices__1__DELETE="on")

    assert saved.is_saved, saved.problems
    assert prices_of(provider) == [
        ("claude-haiku-5-5", 0, Decimal("0.2")),
        ("claude-opus-*", 0, Decimal(4)),
    ]
    message = LogEntry.objects.get().get_change_message()
    assert "Changed Input for price “claude-haiku-5-5 from 2026-05-01”." in message
    assert "Added price “claude-opus-* from 2026-05-01”." in message
    assert "Deleted price “old from 2026-05-01”." in message


def test_a_new_provider_comes_with_its_prices(admin_client: Client) -> None:
    page = open_page(admin_client, f"{LIST}add/")
    page.row("prices", **BASE, above_prompt_tokens="")

    saved = page.post(name="New", slug="new", kind="anthropic", requests_per_minute="50")

    assert saved.is_saved, saved.problems
    spec = Provider.objects.get(slug="new").to_spec()
    assert spec.requests_per_minute == 50
    assert [price.model for price in spec.prices] == ["claude-haiku-5-5"]


def test_two_prices_may_change_places(admin_client: Client) -> None:
    provider = priced({"model": "a", "input_usd": 1}, {"model": "b", "input_usd": 2})

    saved = page_of(admin_client, provider).post(prices__0__model="b", prices__1__model="a")

    assert saved.is_saved, saved.problems
    assert prices_of(provider) == [("a", 0, Decimal(2)), ("b", 0, Decimal(1))]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        pytest.param({"model": ""}, "Price 2, model: This field is required.", id="no model"),
        pytest.param({"model": "a*b"}, "Price 2, model: A * stands at the end", id="star"),
        pytest.param({"valid_from": "soon"}, "Price 2, from: Enter a valid date.", id="day"),
        pytest.param({"input_usd": ""}, "Price 2, input: This field is required.", id="no input"),
        pytest.param({"output_usd": "-1"}, "Price 2, output: ", id="a gain"),
        pytest.param(
            {"cache_read_usd": "0.0000000001"}, "Price 2, cache read: ", id="a fraction of a nano"
        ),
        pytest.param({"cache_write_1h_usd": "2000000"}, "Price 2, cache write", id="too dear"),
        pytest.param(
            {"model": "claude-haiku-5-5"},
            "Price 2, model: Price 1 is for the same model, day, prompt length and mode",
            id="twice",
        ),
        pytest.param(
            {"above_prompt_tokens": "5"},
            "Price 2, only above (prompt tokens): This leaves shorter prompts without a price",
            id="only long prompts",
        ),
    ],
)
def test_a_wrong_price_is_refused_with_its_row_and_field(
    admin_client: Client, row: dict[str, str], problem: str
) -> None:
    provider = priced({})
    page = page_of(admin_client, provider)
    page.row("prices", **BASE | {"model": "other"} | row)

    (found,) = page.post().problems

    assert found.startswith(problem)
    assert provider.prices.count() == 1


def test_a_page_takes_the_same_queries_for_any_number_of_prices(
    admin_client: Client, django_assert_num_queries: Any
) -> None:
    few, many = priced({}), make_provider(slug="other")
    for number in range(20):
        ModelPrice.objects.create(provider=many, **BASE | {"model": f"model-{number}"})
    with CaptureQueriesContext(connection) as queries:
        page_of(admin_client, few)

    with django_assert_num_queries(len(queries)):
        page_of(admin_client, many)


def test_who_may_only_look_sees_prices_and_cannot_change_them(client: Client) -> None:
    provider = priced({})
    user = User.objects.create_user("looker", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_provider"))
    client.force_login(user)

    page = page_of(client, provider)

    assert "$0.10 in, $0.50 out" in page.text
    assert not any(name.startswith("prices-0") for name in page.fields)
