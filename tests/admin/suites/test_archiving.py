from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from evals_app.models import Suite
from tests.authored import a_case, write_suite
from tests.makers import make_run
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/suite/"


def url_of(suite: Suite, what: str = "change") -> str:
    return f"{LIST}{suite.pk}/{what}/"


def press(client: Client, suite: Suite, what: str) -> Any:
    return client.post(url_of(suite, what), {"_form_submitted": "on"})


def choose(client: Client, what: str, *suites: Suite) -> Any:
    chosen = {"action": what, "_selected_action": [str(suite.pk) for suite in suites]}
    return client.post(f"{LIST}?archived=all", chosen, follow=True)


def archived() -> set[str]:
    return set(Suite.objects.exclude(archived_at=None).values_list("slug", flat=True))


@pytest.mark.parametrize(
    ("query", "shown"),
    [("", {"used"}), ("?archived=yes", {"old"}), ("?archived=all", {"used", "old"})],
)
def test_archived_suites_and_their_cases_are_listed_only_when_asked_for(
    admin_client: Client, query: str, shown: set[str]
) -> None:
    write_suite([a_case("Old")], slug="old")
    Suite.objects.archive()
    write_suite([a_case("New")], slug="used")

    suites = admin_client.get(LIST + query)
    cases = admin_client.get(f"/admin/evals_app/case/{query}")

    assert {suite.slug for suite in suites.context["cl"].result_list} == shown
    assert {case.suite.slug for case in cases.context["cl"].result_list} == shown
    assert "Active" in suites.content.decode()


def test_several_suites_are_archived_and_restored_from_the_list(admin_client: Client) -> None:
    suites = [write_suite(slug=slug) for slug in ("a", "b", "c")]
    Suite.objects.filter(slug="b").archive()

    page = choose(admin_client, "archive", *suites[:2]).content.decode()
    after_archiving = archived()
    choose(admin_client, "restore", *suites[1:])

    assert "1 suite archived." in page
    assert after_archiving == {"a", "b"}
    assert archived() == {"a"}
    notes = LogEntry.objects.order_by("pk").values_list("object_repr", "change_message")
    assert list(notes) == [("A", "Archived."), ("B", "Restored.")]


def test_a_suite_is_archived_and_restored_on_its_page(admin_client: Client) -> None:
    suite = write_suite([a_case()])

    first = press(admin_client, suite, "archive")
    between = archived()
    second = press(admin_client, suite, "restore")

    assert first.headers["HX-Redirect"] == second.headers["HX-Redirect"] == url_of(suite)
    assert (between, archived()) == ({"refunds"}, set())


def test_a_page_offers_what_can_be_done(admin_client: Client) -> None:
    suite = write_suite()
    in_use = admin_client.get(url_of(suite)).content.decode()
    Suite.objects.archive()
    put_away = admin_client.get(url_of(suite)).content.decode()

    offered = [
        [what for what in ("archive", "restore") if url_of(suite, what) in page]
        for page in (in_use, put_away)
    ]
    assert offered == [["archive"], ["restore"]]


def test_the_page_and_the_runs_of_an_archived_suite_stay(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    run = make_run(["passed"], suite=suite)
    Suite.objects.archive()

    page = admin_client.get(url_of(suite, "cases")).content.decode()
    runs = admin_client.get(f"/admin/evals_app/run/?suite_slug={suite.slug}")

    assert "Where is it" in page
    assert [row.pk for row in runs.context["cl"].result_list] == [run.pk]


def test_an_archived_suite_is_not_run_and_the_page_says_why(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    Suite.objects.archive()

    press(admin_client, suite, "run")

    text = open_page(admin_client, url_of(suite)).text
    assert "Suite refunds is archived. Restore it first, or import it." in text
