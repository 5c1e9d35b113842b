"""Deleting on pages, undoing it, and the page of what was deleted."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from evals_app.library.deleting.written import delete_case, delete_cases, delete_written
from evals_app.models import Agent, Case, DeletedObject, Suite
from fixtures_app.models import EntityType, Fixture
from tests.authored import a_case, client_who_may, write_suite

pytestmark = pytest.mark.django_db

PAGE = "/admin/evals_app/deleted/"
RESTORE = f"{PAGE}restore/"


@pytest.fixture
def suite() -> Suite:
    return write_suite([a_case("First"), a_case("Second")])


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", first_name="Ann")


def path_of(row: Case | Suite | Agent) -> str:
    return f"/admin/evals_app/{type(row).__name__.lower()}/{row.pk}/"


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_a_case_is_deleted_after_a_question_in_our_words_and_undone_from_the_message(
    admin_client: Client, suite: Suite
) -> None:
    case = suite.cases.get(name="First")

    asked = text(admin_client.get(f"{path_of(case)}delete/").text)
    done = admin_client.post(f"{path_of(case)}delete/", {"post": "yes"}, follow=True)

    assert "Delete “First”? It belongs to the suite “Refunds”." in asked
    assert "You can restore it for 30 days" in asked
    assert "Assertion" not in asked
    assert done.redirect_chain[-1][0] == f"/admin/evals_app/suite/{suite.pk}/cases/"
    assert "Deleted “First”." in done.text
    entry = DeletedObject.objects.get()
    assert f'name="entry" value="{entry.pk}"' in done.text

    undone = admin_client.post(RESTORE, {"entry": entry.pk}, follow=True)

    assert undone.redirect_chain[-1][0] == f"/admin/evals_app/suite/{suite.pk}/cases/"
    assert "Restored “First”." in text(undone.text)
    assert Case.objects.filter(pk=case.pk).exists()


def test_ticked_rows_of_a_list_are_deleted_and_undone_together(
    admin_client: Client, suite: Suite
) -> None:
    write_suite(slug="other")
    chosen = {
        "action": "delete_selected",
        "_selected_action": [row.pk for row in Suite.objects.all()],
    }

    asked = admin_client.post("/admin/evals_app/suite/", chosen)
    assert "Delete 2 suites?" in text(asked.text)
    done = admin_client.post("/admin/evals_app/suite/", chosen | {"post": "yes"}, follow=True)

    assert "Deleted 2 objects." in text(done.text)
    assert not Suite.objects.exists()
    keys = re.findall(r'name="entry" value="(\d+)"', done.text)
    admin_client.post(RESTORE, {"entry": keys})
    assert sorted(Suite.objects.values_list("slug", flat=True)) == ["other", "refunds"]


def test_cases_of_two_suites_are_deleted_from_their_list(
    admin_client: Client, suite: Suite
) -> None:
    write_suite([a_case("Third")], slug="other")
    keys = list(Case.objects.values_list("pk", flat=True))
    chosen = {"action": "delete_selected", "_selected_action": keys, "post": "yes"}

    admin_client.post("/admin/evals_app/case/", chosen)

    assert sorted(DeletedObject.objects.values_list("name", flat=True)) == ["2 cases", "Third"]


def test_ticked_cases_of_a_suite_are_deleted_and_undone(admin_client: Client, suite: Suite) -> None:
    keys = list(suite.cases.values_list("pk", flat=True))
    url = f"/admin/evals_app/suite/{suite.pk}/cases/"

    done = admin_client.post(url, {"do": "delete", "case": keys, "answered": "1"}, follow=True)

    assert "Deleted 2 cases." in text(done.text)
    admin_client.post(RESTORE, {"entry": DeletedObject.objects.get().pk})
    assert list(suite.cases.values_list("pk", flat=True)) == keys


def test_what_is_used_stays_and_its_page_says_by_what(admin_client: Client, suite: Suite) -> None:
    page = admin_client.get(f"{path_of(suite.agent)}delete/")
    admin_client.post(f"{path_of(suite.agent)}delete/", {"post": "yes"})

    assert "“Shop” cannot be deleted" in text(page.text)
    assert f"/admin/evals_app/suite/{suite.pk}/change/" in page.text
    assert Agent.objects.exists()


@pytest.mark.parametrize("model", [EntityType, Fixture])
def test_test_data_and_its_types_are_deleted_from_their_pages(
    admin_client: Client, model: type[EntityType] | type[Fixture]
) -> None:
    row = model.objects.create(slug="depot")
    url = f"/admin/fixtures_app/{model.__name__.lower()}/"

    admin_client.post(f"{url}{row.pk}/delete/", {"post": "yes"})

    assert DeletedObject.objects.get().object_id == row.pk
    admin_client.post(RESTORE, {"entry": DeletedObject.objects.get().pk})
    assert model.objects.get() == row


def test_the_page_says_what_was_deleted_by_whom_and_until_when_it_can_be_restored(
    admin_client: Client, suite: Suite, ann: User
) -> None:
    delete_case(suite.cases.get(name="First"), by=ann)
    late = delete_cases(suite, [suite.cases.get().pk], by=ann)
    long_ago = timezone.now() - timedelta(days=29, hours=1)
    DeletedObject.objects.filter(pk=late.pk).update(deleted_at=long_ago)

    page = text(admin_client.get(PAGE).text)

    assert "First Case of “Refunds”. Deleted by Ann just now . 30 days left" in page
    assert "Second Case of “Refunds”. Deleted by Ann 4 weeks ago . Gone for good within" in page
    assert "Second" not in admin_client.get(PAGE, {"q": "first"}).text
    assert "First" not in admin_client.get(PAGE, {"kind": "suite"}).text
    assert "First" not in admin_client.get(PAGE, {"kind": "mine"}).text


def test_viewers_see_who_deleted_something_but_no_buttons(suite: Suite, ann: User) -> None:
    entry = delete_case(suite.cases.get(name="First"), by=ann)
    delete_written(suite, by=ann)
    viewer = client_who_may("view_case")

    page = viewer.get(PAGE).text

    assert "First" in page
    assert "Suite with" not in page  # its kind is not theirs to see
    assert "Restore" not in page
    assert viewer.post(RESTORE, {"entry": entry.pk}).status_code == 403
    assert viewer.post(f"{PAGE}{entry.pk}/for-good/").status_code == 403


def test_a_case_comes_back_with_its_suite_for_those_who_may_restore_both(
    suite: Suite, ann: User
) -> None:
    entry = delete_case(suite.cases.get(name="First"), by=ann)
    delete_written(suite, by=ann)
    of_cases = client_who_may("view_case", "delete_case")
    of_both = client_who_may("view_case", "delete_case", "delete_suite", name="both")

    refused = of_cases.post(RESTORE, {"entry": entry.pk}, follow=True)
    assert "needs the suite “Refunds”" in refused.text
    done = of_both.post(RESTORE, {"entry": entry.pk, "stay": "1"}, follow=True)

    assert "Restored “First”, with “Refunds”." in text(done.text)
    assert sorted(suite.cases.values_list("name", flat=True)) == ["First", "Second"]


def test_a_new_name_is_told(admin_client: Client, suite: Suite, ann: User) -> None:
    entry = delete_case(suite.cases.get(name="First"), by=ann)
    Case.objects.create(suite=suite, name="First")

    done = admin_client.post(RESTORE, {"entry": entry.pk}, follow=True)

    assert "so the new one is “First (restored)”." in text(done.text)


def test_what_is_deleted_for_good_is_asked_for_first_and_then_gone(
    admin_client: Client, suite: Suite, ann: User
) -> None:
    entry = delete_case(suite.cases.get(name="First"), by=ann)
    url = f"{PAGE}{entry.pk}/for-good/"

    assert "Delete “First” for good?" in admin_client.get(url).text
    assert DeletedObject.objects.exists()
    assert admin_client.post(url).headers["HX-Redirect"] == PAGE

    assert not DeletedObject.objects.exists()
    again = admin_client.post(RESTORE, {"entry": [entry.pk, "9" * 30]}, follow=True)
    assert "in the meantime" in again.text
