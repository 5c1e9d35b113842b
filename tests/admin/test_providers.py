from typing import Any

import pytest
from django.test import Client

from evals_app.models import Provider
from tests.page_form import open_page

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
    provider = make_provider(base_url="http://localhost:8080/v1", max_concurrency=3)
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
