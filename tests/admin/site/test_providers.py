import re
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from evals_app.models import Agent, ModelPrice, Provider
from tests.agent_server import Sent, WebServer
from tests.authored import client_who_may
from tests.engine.permitting import permitting
from tests.model_server import KEY, Failure, ModelServer, Reply, Vectors
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/provider/"


def make_provider(**changes: Any) -> Provider:
    columns = {
        "slug": "mine",
        "name": "Mine",
        "kind": "anthropic",
        "api_key_env": "PROVIDER_MY_KEY",
    }
    return Provider.objects.create(**columns | changes)


@pytest.mark.parametrize(
    ("columns", "value", "sentence"),
    [
        pytest.param({}, "sk-secret", "PROVIDER_MY_KEY is set", id="set"),
        pytest.param({}, None, "PROVIDER_MY_KEY is not set", id="not set"),
        ({"api_key_env": "", "kind": "groq"}, None, "GROQ_API_KEY is not set"),
        ({"api_key_env": "", "kind": "ollama"}, None, "No key needed"),
    ],
)
def test_the_page_says_whether_the_key_is_set_and_never_what_it_is(
    admin_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    columns: dict[str, str],
    value: str | None,
    sentence: str,
) -> None:
    for variable in ("PROVIDER_MY_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    if value is not None:
        monkeypatch.setenv("PROVIDER_MY_KEY", value)
    provider = make_provider(**columns)

    page = open_page(admin_client, f"{LIST}{provider.pk}/change/")

    assert sentence in page.text
    assert "sk-secret" not in page.html
    assert sentence in admin_client.get(LIST).content.decode()


def test_saving_a_provider_as_it_is_changes_nothing(admin_client: Client) -> None:
    provider = make_provider(
        kind="openai",
        base_url="http://localhost:8080/v1",
        max_concurrency=3,
        requests_per_minute=50,
        max_tokens_parameter="max_tokens",
    )
    before = provider.to_spec()

    assert open_page(admin_client, f"{LIST}{provider.pk}/change/").post().is_saved

    assert Provider.objects.get(pk=provider.pk).to_spec() == before


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"base_url": "localhost:80"}, "Base URL: ", id="url"),
        pytest.param({"api_key_env": "sk-ant-1"}, "Variable with the key: ", id="a key"),
        pytest.param({"max_concurrency": "0"}, "Parallel calls: ", id="none at once"),
        pytest.param({"kind": "magic"}, "Kind: Select a valid choice.", id="kind"),
        ({"kind": "azure_openai", "base_url": ""}, "Base URL: Azure OpenAI needs a base URL"),
        ({"api_key_env": "EVALWELL_SECRET_KEY"}, "Variable with the key: "),
        pytest.param({"base_url": "http://127.0.0.1:8162/v1"}, "Base URL: 127.0.0.1", id="here"),
        pytest.param({"base_url": "http://a.example/"}, "Base URL: A key is sent", id="in clear"),
        pytest.param(
            {"base_url": "https://a.example/", "api_key_env": ""},
            "Base URL: ANTHROPIC_API_KEY is sent only to https://api.anthropic.com.",
            id="the usual key elsewhere",
        ),
    ],
)
def test_a_wrong_provider_is_refused_with_the_name_of_the_field(
    admin_client: Client, changes: dict[str, str], problem: str
) -> None:
    provider = make_provider()

    refused = open_page(admin_client, f"{LIST}{provider.pk}/change/").post(**changes)

    assert [one.startswith(problem) for one in refused.problems] == [True]


def test_the_form_names_the_variables_that_are_permitted(admin_client: Client) -> None:
    with permitting(keys=("ACME_KEY", "ACME_KEY@api.acme.example", "PROVIDER_*")):
        page = open_page(admin_client, f"{LIST}add/")

    assert "Permitted here: ACME_KEY, PROVIDER_*." in page.text


@pytest.mark.parametrize(
    ("kind", "sentences"),
    [
        pytest.param(
            "openai",
            [
                "https://api.openai.com/v1, or the value of OPENAI_BASE_URL",
                "Leave blank for OPENAI_API_KEY.",
                "Leave blank for max_completion_tokens.",
            ],
            id="openai",
        ),
        ("ollama", ["http://localhost:11434/v1", "needs none", "Leave blank for max_tokens."]),
        ("azure_openai", ["https://NAME.openai.azure.com/openai/v1/ of your own"]),
        pytest.param("scripted", ["By default the address of its kind"], id="no API"),
    ],
)
def test_the_page_says_what_blank_means_for_its_kind(
    admin_client: Client, kind: str, sentences: list[str]
) -> None:
    provider = make_provider(kind=kind)

    text = open_page(admin_client, f"{LIST}{provider.pk}/change/").text

    for sentence in sentences:
        assert sentence in text


# The test of the connection


def post_test(client: Client, provider: Provider, **fields: str) -> Any:
    return client.post(f"{LIST}{provider.pk}/test/", {"_form_submitted": "on", **fields})


def provider_at(server: ModelServer, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Provider:
    monkeypatch.setenv("PROVIDER_MY_KEY", KEY)
    return make_provider(**{"kind": "openai", "base_url": f"{server.url}/v1", **changes})


def said_after(client: Client, response: Any) -> str:
    assert response.status_code == 200, response.content
    text: str = client.get(response.headers["HX-Redirect"]).content.decode()
    return text


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param({"what": "answer", "model": "gpt-test"}, "It replied “Yes.”", id="answer"),
        ({"what": "embedding", "model": "embed-1"}, "embed-1 gave a vector of 2"),
        ({"what": "embedding"}, "text-embedding-3-small gave a vector of 2"),
    ],
)
def test_a_provider_is_tried_with_one_call(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], sentence: str
) -> None:
    with ModelServer() as server:
        provider = provider_at(server, monkeypatch)
        is_text = fields["what"] == "answer"
        server.answers(lambda _: Reply("Yes.") if is_text else Vectors(((1.0, 2.0),)))

        response = post_test(admin_client, provider, **fields)

    assert sentence in said_after(admin_client, response)
    assert len(server.requests) == 1


def test_what_is_wrong_with_a_connection_is_shown_without_the_key(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as server:
        provider = provider_at(server, monkeypatch)
        server.replies([Failure(400, message=f"<b>{KEY}</b> is odd")])

        response = post_test(admin_client, provider, what="answer", model="gpt-test")

    text = said_after(admin_client, response)
    assert "Mine answered 400 (bad request): &lt;b&gt;[key]&lt;/b&gt; is odd." in text
    assert KEY not in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"api_key_env": "EVALWELL_SECRET_KEY"}, "EVALS_KEY_VARIABLES", id="secret"),
        pytest.param({"api_key_env": "OPENAI_API_KEY"}, "is sent only to", id="the usual key"),
    ],
)
def test_a_row_from_before_sends_nothing_where_it_may_not(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], words: str
) -> None:
    for variable in ("EVALWELL_SECRET_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, "CANARY-0009")
    columns = {"kind": "openai", "host": "localhost"} | changes
    with WebServer(lambda _: Sent.text("INTERNAL-PAGE", status=404)) as server:
        base_url = f"http://{columns.pop('host')}:{server.port}/v1"
        provider = make_provider(base_url=base_url, **columns)
        response = post_test(admin_client, provider, what="answer", model="gpt-test")

    text = said_after(admin_client, response)
    assert words in text
    assert "CANARY" not in text
    assert server.asked == []


def test_no_one_learns_whether_any_variable_is_set(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "CANARY")
    provider = make_provider(api_key_env="AWS_SECRET_ACCESS_KEY")

    page = open_page(admin_client, f"{LIST}{provider.pk}/change/")

    assert "AWS_SECRET_ACCESS_KEY is not permitted as a key" in page.text


@pytest.mark.parametrize(
    ("kind", "fields", "is_complete"),
    [
        pytest.param("openai", {"what": "answer"}, False, id="no model"),
        pytest.param("azure_openai", {"what": "embedding"}, False, id="no usual embedding"),
        pytest.param("groq", {}, False, id="no model of a kind without embeddings"),
        pytest.param("groq", {"model": "m", "what": "embedding"}, True, id="then an answer"),
    ],
)
def test_a_test_needs_a_model(
    admin_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    fields: dict[str, str],
    *,
    is_complete: bool,
) -> None:
    with ModelServer() as server:
        server.answers(lambda _: Reply("Yes."))
        provider = provider_at(server, monkeypatch, kind=kind)

        response = post_test(admin_client, provider, **fields)

    assert ("HX-Redirect" in response.headers) is is_complete
    assert ("Enter a model of this provider." in response.content.decode()) is not is_complete
    assert len(server.requests) == int(is_complete)


@pytest.mark.parametrize(
    ("agent", "price", "model"),
    [
        pytest.param("mine/gpt-agent", "gpt-priced", "gpt-agent", id="of an agent"),
        pytest.param("", "gpt-priced", "gpt-priced", id="with a price"),
        pytest.param("", "gpt-*", "", id="with a price for many"),
        pytest.param("other/gpt-agent", "", "", id="of another provider"),
    ],
)
def test_the_dialog_proposes_a_model(
    admin_client: Client, agent: str, price: str, model: str
) -> None:
    provider = priced({"model": price}) if price else make_provider()
    if agent:
        Agent.objects.create(slug="a", name="A", driver="model", model=agent)

    html = admin_client.get(f"{LIST}{provider.pk}/test/").content.decode()

    (field,) = re.findall(r'<input[^>]*name="model"[^>]*>', html)
    assert (f'value="{model}"' in field) is bool(model)


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
    return [(price.model, price.above_prompt_tokens, price.input_usd) for price in spec.prices]


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

    assert "claude-haiku-5-5 from 1 May 2026: $0.10 in, $0.50 out" in text
    assert "from 1 May 2026, above 100,000 tokens, in batches: $0 in, $0.50 out" in text


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
    "rows",
    [
        pytest.param(
            [
                ({"model": ""}, "Price 2, model: This field is required."),
                ({"valid_from": "soon"}, "Price 3, from: Enter a valid date."),
                ({"input_usd": ""}, "Price 4, input: This field is required."),
                ({"output_usd": "-1"}, "Price 5, output: "),
                ({"cache_read_usd": "0.0000000001"}, "Price 6, cache read: "),
            ],
            id="fields",
        ),
        pytest.param([({"model": "a*b"}, "Price 2, model: A * ")], id="star"),
        pytest.param([({"cache_write_1h_usd": "2000000"}, "Price 2, cache write")], id="too dear"),
        pytest.param([({"model": "claude-haiku-5-5"}, "Price 2, model: ")], id="twice"),
        [({"above_prompt_tokens": "5"}, "Price 2, applies above (prompt tokens): ")],
    ],
)
def test_a_wrong_price_is_refused_with_its_row_and_field(
    admin_client: Client, rows: list[tuple[dict[str, str], str]]
) -> None:
    provider = priced({})
    page = page_of(admin_client, provider)
    for row, _ in rows:
        page.row("prices", **BASE | {"model": "other"} | row)

    problems = page.post().problems

    for problem, (_, beginning) in zip(problems, rows, strict=True):
        assert problem.startswith(beginning)
    assert provider.prices.count() == 1


def test_who_may_only_look_sees_prices_and_cannot_change_them() -> None:
    page = page_of(client_who_may("view_provider"), priced({}))

    assert "$0.10 in, $0.50 out" in page.text
    assert not any(name.startswith("prices-0") for name in page.fields)
