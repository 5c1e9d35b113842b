"""What people keep of lists: a search and filters under a name."""

import pytest
from django.test import Client

from evals_app.admin.people.saved_views import MAX_VIEWS
from evals_app.models import SavedView
from tests.authored import client_who_may, write_suite

pytestmark = pytest.mark.django_db

KEEP = "/admin/views/"
SUITES = "/admin/evals_app/suite/"
MINE = {"list": "evals_app.suite", "name": "Smoke", "query": "tag=smoke&q=ref&p=2"}


def names(client: Client, query: str = "") -> list[str]:
    return [view.name for view in client.get(SUITES + query).context["views"]]


def test_a_view_is_saved_chosen_and_removed_by_its_owner_alone(admin_client: Client) -> None:
    write_suite()
    assert "Save this view" in admin_client.get(f"{SUITES}?q=ref&tag=smoke").text
    assert "Save this view" not in admin_client.get(SUITES).text

    saved = admin_client.post(KEEP, MINE)

    assert saved["Location"] == f"{SUITES}?q=ref&tag=smoke"
    chosen = admin_client.get(f"{SUITES}?tag=smoke&q=ref").text
    assert '<a href="?q=ref&amp;tag=smoke" aria-current="true">Smoke</a>' in chosen
    assert "Save this view" not in chosen
    other = client_who_may("view_suite")
    assert names(other) == []

    other.post(KEEP, {"list": "evals_app.suite", "remove": "Smoke"})
    assert names(admin_client) == ["Smoke"]
    admin_client.post(KEEP, {"list": "evals_app.suite", "remove": "Smoke"})
    assert names(admin_client) == []


def test_a_view_with_a_taken_name_replaces_it(admin_client: Client) -> None:
    admin_client.post(KEEP, MINE)
    admin_client.post(KEEP, MINE | {"query": "archived=yes"})

    assert SavedView.objects.get().query == "archived=yes"


@pytest.mark.parametrize(
    "changed", [{"name": " "}, {"name": "x" * 61}, {"query": "q=" + "x" * 1000}]
)
def test_what_cannot_be_kept_is_refused(admin_client: Client, changed: dict[str, str]) -> None:
    done = admin_client.post(KEEP, MINE | changed, follow=True)

    assert "was not saved" in done.text
    assert not SavedView.objects.exists()


def test_a_list_has_only_so_many_views(admin_client: Client) -> None:
    for number in range(MAX_VIEWS + 1):
        admin_client.post(KEEP, MINE | {"name": f"View {number}"})

    assert SavedView.objects.count() == MAX_VIEWS


@pytest.mark.parametrize("label", ["evals_app.run", "evals_app.provider", "auth.session", ""])
def test_lists_that_a_person_may_not_see_and_others_have_no_views(label: str) -> None:
    assert client_who_may("view_suite").post(KEEP, MINE | {"list": label}).status_code == 403
