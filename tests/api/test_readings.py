"""Reading over REST: conversations are drawn, noted and grouped, and counted."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from evals_app.models import NoteGroup
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.recorded.readings import draw, write_note
from tests.api.clients import make_client
from tests.runs.recorded.conversations import imported, rows_of

pytestmark = pytest.mark.django_db


def send(client: Any, method: str, address: str, body: dict[str, Any]) -> Any:
    return getattr(client, method)(f"/api/{address}", body, format="json")


def test_conversations_are_drawn_noted_and_grouped() -> None:
    client: Any = make_client()
    imported(rows_of(4, date="2026-11-16", tags=["price"]))

    drawn = send(client, "post", "readings/", {"conversation_set": "help-desk", "count": 3})
    reading = drawn.json()["id"]
    assert (drawn.status_code, drawn.json()["total"]) == (201, 3)
    assert client.get("/api/readings/").json()["results"][0]["conversation_set"] == "help-desk"
    notes = f"readings/{reading}/notes/"
    said = {"position": 1, "kind": "wrong", "text": "9 euros", "group": "Price"}
    first = send(client, "post", notes, said).json()
    second = send(client, "post", notes, {"position": 2, "kind": "wrong", "text": "Fee"}).json()
    send(client, "post", notes, {"position": 3, "kind": "fine"})
    assert len(client.get(f"/api/{notes}").json()["results"]) == 3

    more = {"name": "price", "notes": [second["id"]]}
    group = send(client, "post", f"readings/{reading}/groups/", more).json()
    assert group["notes"] == [first["id"], second["id"]]
    assert (group["count"], group["total"], round(group["likely_from"], 2)) == (2, 3, 0.21)
    assert group["by_week"] == [{"name": "2026-W47", "count": 2, "total": 3}]
    one = f"note-groups/{group['id']}/"
    changed = send(client, "patch", one, {"name": "Prices", "notes": [second["id"]]}).json()
    assert (changed["name"], changed["notes"]) == ("Prices", [second["id"]])
    details = client.get(f"/api/readings/{reading}/").json()
    assert [(row["name"], row["count"]) for row in details["groups"]] == [("Prices", 1)]
    assert (details["read"], details["fine"], details["wrong"]) == (3, 1, 2)
    assert client.delete(f"/api/{one}").status_code == 204
    assert NoteGroup.objects.get().removed_at is not None
    assert client.get(f"/api/{one}").status_code == 404


@pytest.mark.parametrize(
    ("address", "body", "status"),
    [
        ("readings/", {}, 422),
        ("readings/", {"run": 10**9}, 404),
        ("readings/", {"conversation_set": "help-desk", "count": 1, "topic": "none"}, 422),
        ("readings/{}/notes/", {"position": 9, "kind": "fine"}, 404),
        ("readings/{}/notes/", {"position": 1, "kind": "wrong"}, 422),
        ("readings/{}/groups/", {"name": " "}, 422),
    ],
)
def test_what_cannot_be_read_is_refused(address: str, body: dict[str, Any], status: int) -> None:
    client: Any = make_client()
    imported(rows_of(2))
    drawn = send(client, "post", "readings/", {"conversation_set": "help-desk", "count": 1}).json()
    assert send(client, "post", address.format(drawn["id"]), body).status_code == status


def test_what_others_wrote_shows_after_ones_own_answer() -> None:
    client: Any = make_client()
    me = User.objects.get()
    other = User.objects.create_user("ben")
    reading = draw(imported(rows_of(3)).conversation_set, WantedConversations(), by=me)
    for item in reading.items.all():
        write_note(item, by=other, kind="wrong", text="Says 9 euros.")
    notes = f"readings/{reading.pk}/notes/"

    def shown() -> set[tuple[int, str]]:
        rows = client.get(f"/api/{notes}").json()["results"]
        return {(row["position"], row["by"]) for row in rows}

    assert shown() == set()
    send(client, "post", notes, {"position": 2, "kind": "fine"})
    assert shown() == {(2, me.username), (2, "ben")}
