"""What someone did to ticked cases is undone from the message that says so."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from evals_app.models import BulkEdit, Case, DeletedObject, Suite
from evals_app.runs.process.retention import prune_as_scheduled
from tests.authored import a_case, client_who_may, write_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def suite() -> Suite:
    return write_suite([a_case(name, tags=["old", name]) for name in "abc"])


def values() -> list[Any]:
    names = ("suite__slug", "name", "position", "tags", "enabled")
    return list(Case.objects.order_by("pk").values_list(*names))


def act(client: Client, suite: Suite, action: str, *names: str, **asked: object) -> Any:
    keys = list(suite.cases.filter(name__in=names).values_list("pk", flat=True))
    url = f"/admin/evals_app/suite/{suite.pk}/cases/"
    return client.post(url, {"do": action, "case": keys, "answered": "1", **asked}, follow=True)


def undo(client: Client, done: Any) -> str:
    """Press “Undo” in the message of an answer; return the text of the next page."""
    match = re.search(r'action="([^"]*/undo/)"', done.text)
    assert match
    page = client.post(match[1], follow=True).text
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.mark.parametrize(
    ("action", "asked", "said"),
    [
        ("disable", {}, "Disabled: 2 cases."),
        ("tag", {"tags": "new"}, "Added tag “new”: 2 cases."),
        ("untag", {"tags": "old, a"}, "Removed tags “old”, “a”: 2 cases."),
        ("place", {"place": "2"}, "Moved to position 2: 2 cases."),
        ("move", {"into": "other"}, "Moved to suite “Other”: 2 cases."),
        ("copy", {"into": "other"}, "Copied to “Other”: 2 cases."),
    ],
)
def test_the_values_before_come_back(
    admin_client: Client, suite: Suite, action: str, asked: dict[str, str], said: str
) -> None:
    other = write_suite([a_case("x")], slug="other")
    before = values()
    into = {"into": other.pk} if "into" in asked else {}

    done = act(admin_client, suite, action, "a", "b", **asked | into)
    assert said in done.text
    assert values() != before
    after = undo(admin_client, done)

    assert "Undone: " in after
    assert values() == before
    assert not BulkEdit.objects.exists()


def test_undoing_is_in_the_history_of_the_suite(admin_client: Client, suite: Suite) -> None:
    undo(admin_client, act(admin_client, suite, "disable", "a", "b"))

    messages = LogEntry.objects.filter(object_id=suite.pk, content_type__model="suite")
    assert [entry.change_message for entry in messages.order_by("pk")] == [
        "Disabled: 2 cases (a, b).",
        "Undone: Disabled: 2 cases (a, b).",
    ]


def test_a_case_that_someone_has_changed_since_stays_as_it_is(
    admin_client: Client, suite: Suite
) -> None:
    done = act(admin_client, suite, "tag", "a", "b", tags="new")
    suite.cases.filter(name="a").update(tags=["theirs"])
    suite.cases.filter(name="c").delete()

    after = undo(admin_client, done)

    assert "Undone: 1 case. 1 case changed since" in after
    assert dict(suite.cases.values_list("name", "tags")) == {"a": ["theirs"], "b": ["old", "b"]}


def test_another_order_is_not_mixed_with_the_one_before(admin_client: Client, suite: Suite) -> None:
    done = act(admin_client, suite, "place", "c", place="1")
    suite.cases.filter(name="a").update(position=7)
    before = values()

    assert "The order of the cases has changed since." in undo(admin_client, done)
    assert values() == before


def test_an_edit_is_undone_once_and_offered_only_if_something_changed(
    admin_client: Client, suite: Suite
) -> None:
    done = act(admin_client, suite, "disable", "a")
    undo(admin_client, done)
    url = re.search(r'action="([^"]*/undo/)"', done.text)
    assert url
    assert admin_client.post(url[1]).status_code == 404
    assert "/undo/" not in act(admin_client, suite, "enable", "a").text


def test_copies_are_only_taken_back_by_those_who_may_delete(suite: Suite) -> None:
    rights = ["view_suite", "view_case", "change_case", "add_case"]
    author = client_who_may(*rights)

    done = act(author, suite, "copy", "a", into=suite.pk)
    edit = BulkEdit.objects.get()

    assert "/undo/" not in done.text
    assert author.post(f"/admin/evals_app/bulkedit/{edit.pk}/undo/").status_code == 403
    undo_url = f"/admin/evals_app/bulkedit/{edit.pk}/undo/"
    client_who_may(*rights, "delete_case", name="owner").post(undo_url)
    assert DeletedObject.objects.get().name == "a copy"


def test_nobody_undoes_what_was_done_days_ago(suite: Suite) -> None:
    edit = BulkEdit.objects.create(suite=suite, what="Disabled", changed=[])
    BulkEdit.objects.filter(pk=edit.pk).update(edited_at=timezone.now() - timedelta(days=2))

    prune_as_scheduled()

    assert not BulkEdit.objects.exists()
