"""Drafts that a browser has kept: the server shows them in the form, and saves nothing."""

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.models import Agent, Case, Suite
from tests.admin.case_pages import CHECKS, RICH, page_of
from tests.authored import write_case, write_suite
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

ADD = [
    "evals_app_agent_add",
    "evals_app_case_add",
    "evals_app_provider_add",
    "evals_app_suite_add",
    "fixtures_app_entitytype_add",
    "fixtures_app_fixture_add",
]


@pytest.mark.parametrize("name", ADD)
def test_a_blank_draft_is_shown_without_errors_and_is_not_saved(
    admin_client: Client, name: str
) -> None:
    page = open_page(admin_client, reverse(f"admin:{name}")).post(_restore="1")

    assert page.response.status_code == 200
    assert page.problems == []
    assert 'aria-invalid="true"' not in page.html
    assert "data-restored" in page.html


def test_a_draft_of_a_case_is_shown_with_all_its_rows(admin_client: Client) -> None:
    case = write_case(**RICH)
    page = page_of(admin_client, case)
    page.check(CHECKS, "contains", opt__value="")  # half done
    page.turn(user="One more")
    typed = {name: values for name, values in page.fields.items() if values != [""]}

    restored = page.post(name="Draft", version="of yesterday", _restore="1")

    assert restored.problems == []
    for name in ("name", "version", "csrfmiddlewaretoken"):
        typed.pop(name, None)
    assert restored.fields["name"] == ["Draft"]
    assert restored.fields["version"] == ["of yesterday"]  # so that a save asks whose to keep
    assert typed.items() <= restored.fields.items()
    assert Case.objects.get().name == RICH["name"]
    assert not restored.post().is_saved


def test_a_save_names_the_draft_that_it_makes_needless(admin_client: Client) -> None:
    page = page_of(admin_client, write_case())

    refused = page.post(trials="0", _draft="m1.x")
    saved = page.post(trials="", name="New", _draft="m1.x")

    assert "saved_draft" not in refused.response.cookies
    assert saved.is_saved
    assert saved.response.cookies["saved_draft"].value == "m1.x"


def test_a_draft_with_a_strange_name_is_not_named(admin_client: Client) -> None:
    saved = page_of(admin_client, write_case()).post(name="New", _draft="a; path=/\r\nx: y")

    assert saved.is_saved
    assert "saved_draft" not in saved.response.cookies


def test_who_may_not_save_cannot_restore() -> None:
    write_suite()
    client = Client()

    address = reverse("admin:evals_app_suite_change", args=[Suite.objects.get().pk])
    response = client.post(address, {"_restore": "1"})

    assert response.status_code == 302
    assert "login" in response.headers["Location"]
    assert Agent.objects.exists()
