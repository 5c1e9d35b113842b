"""Reading on pages: a conversation, one line about it, then groups, renamed, merged and undone."""

import csv

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from evals_app.models import NoteGroup, Reading, ReadingNote
from tests.runs.judged_runs import reviewer
from tests.runs.recorded.conversations import imported, row_of, rows_of

pytestmark = pytest.mark.django_db


def url(what: str, *keys: int) -> str:
    return reverse(f"admin:evals_app_{what}", args=keys)


@pytest.fixture
def reading(admin_client: Client) -> Reading:
    row = imported(rows_of(3, date="2026-11-16", tags=["price"]))
    page = admin_client.get(url("conversationset_read", row.conversation_set_id))
    assert page.context["form"].initial["count"] == 50
    admin_client.post(url("conversationset_read", row.conversation_set_id), {"count": 3})
    return Reading.objects.get()


def note(client: Client, reading: Reading, place: int, **said: str) -> str:
    answer = client.post(url("reading_item", reading.pk, place), said)
    return str(answer.headers.get("Location", ""))


def test_people_read_note_and_see_the_notes_of_others_after_their_own(
    admin_client: Client, reading: Reading
) -> None:
    set_url = url("conversationset_read", reading.conversation_set_id or 0)
    assert admin_client.get(set_url).headers["Location"] == url("reading", reading.pk)
    first = admin_client.get(url("reading", reading.pk)).headers["Location"]
    assert first == url("reading_item", reading.pk, 1)
    assert b"Question" in admin_client.get(first).content

    led = note(admin_client, reading, 1, kind="wrong", text="It is 6.90", group="Wrong price")
    assert led == url("reading_item", reading.pk, 2)
    assert note(admin_client, reading, 2, kind="wrong", text="") == ""  # asks for the line
    assert note(admin_client, reading, 3, kind="fine") == url("reading_item", reading.pk, 2)
    assert note(admin_client, reading, 2, kind="unsure") == url("reading_groups", reading.pk)
    own = admin_client.get(first).context
    assert (own["own"].text, own["group"], own["own_progress"].read) == (
        "It is 6.90",
        "Wrong price",
        3,
    )

    ben = Client()
    ben.force_login(reviewer("ben", "view_conversationset"))
    page = ben.get(first)
    assert (page.context["others"], page.context["others_wait"]) == ([], 1)
    assert b"It is 6.90" not in page.content
    note(ben, reading, 1, kind="fine")
    assert b"It is 6.90" in ben.get(first).content


def test_notes_are_chosen_and_moved_and_groups_change_with_an_undo(
    admin_client: Client, reading: Reading
) -> None:
    for place in (1, 2, 3):
        note(admin_client, reading, place, kind="wrong", text=f"Note {place}")
    keys = list(ReadingNote.objects.order_by("pk").values_list("pk", flat=True))
    groups = url("reading_groups", reading.pk)
    admin_client.post(groups, {"notes": keys[:2], "group": "Prices"})
    admin_client.post(groups, {"notes": keys[2:], "group": "Tone"})
    prices, tone = NoteGroup.objects.order_by("pk")
    page = admin_client.get(groups)
    assert [(shown.low, shown.width) for shown in page.context["groups"]] == [(21, 73), (6, 73)]
    assert all(shown.words for shown in page.context["groups"])

    change = url("notegroup", tone.pk)
    admin_client.post(change, {"action": "rename", "name": "Rude"})
    merged = admin_client.post(change, {"action": "unite", "into": prices.pk}, follow=True)
    assert [len(shown.counted.notes) for shown in merged.context["groups"]] == [3]
    assert f'name="notes" value="{keys[2]}"'.encode() in merged.content  # of the undo
    back = admin_client.post(change, {"action": "restore", "notes": keys[2:]}, follow=True)
    assert [str(shown.counted.group) for shown in back.context["groups"]] == ["Prices", "Rude"]
    gone = admin_client.post(change, {"action": "remove"}, follow=True)
    assert [line.text for line in gone.context["counts"].loose] == ["Note 3"]
    for wrong in ({"action": "unite", "into": "x"}, {"action": "rename", "name": ""}, {}):
        assert admin_client.post(change, wrong).status_code == 302
    admin_client.post(groups, {"notes": [keys[0], "x", "9" * 30], "group": ""})
    assert ReadingNote.objects.get(pk=keys[0]).group is None


def test_notes_are_downloaded_with_their_groups(admin_client: Client, reading: Reading) -> None:
    note(admin_client, reading, 1, kind="wrong", text="=1+1, 6.90", group="Prices")
    note(admin_client, reading, 2, kind="fine")
    answer = admin_client.get(url("reading_notes", reading.pk))
    head, *rows = csv.reader(answer.getvalue().decode("utf-8-sig").splitlines())
    assert head[:2] == ["conversation", "happened"]
    assert [row[2:7] for row in rows] == [
        ["price", "admin", "wrong", "'=1+1, 6.90", "Prices"],
        ["price", "admin", "fine", "", ""],
    ]


def test_reading_takes_few_queries_however_many_have_read(
    admin_client: Client, reading: Reading, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for name in ("a", "b", "c"):
        client = Client()
        client.force_login(User.objects.create_superuser(name))
        for place in (1, 2, 3):
            note(client, reading, place, kind="wrong", text="Hm", group=f"Group {place}")
    with django_assert_max_num_queries(12):
        admin_client.get(url("reading_item", reading.pk, 1))
    with django_assert_max_num_queries(9):
        admin_client.get(url("reading_groups", reading.pk))


def test_people_who_may_not_review_do_not_read(reading: Reading) -> None:
    client = Client()
    person = User.objects.create_user("viewer", is_staff=True)
    client.force_login(person)
    for what in ("reading", "reading_groups", "reading_notes"):
        assert client.get(url(what, reading.pk)).status_code == 403


def test_what_the_customer_wrote_last_is_read_too(admin_client: Client) -> None:
    talk = row_of(
        "T-1", ("user", "Why 9?"), ("assistant", "It is 6.90."), ("user", "You are wrong!")
    )
    row = imported([talk])
    admin_client.post(url("conversationset_read", row.conversation_set_id), {"count": 1})

    page = admin_client.get(url("reading_item", Reading.objects.get().pk, 1)).content.decode()

    assert "You are wrong!" in page
    assert "Conversation 1: T-1" in page
