from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evals_app.models import Activity
from evals_app.runs.process.retention import forget_activity, forget_sign_ins
from tests.api.clients import make_client

pytestmark = pytest.mark.django_db

NOW = timezone.now()


@pytest.fixture(autouse=True)
def _acts() -> None:
    for days, name, kind, pk in (
        (9, "ann", "run", "7"),
        (5, "ben", "run", "8"),
        (1, "ann", "signed_in", ""),
    ):
        Activity.objects.create(
            at=NOW - timedelta(days=days),
            by_name=name,
            kind=kind,
            origin="rest",
            object_type="run" if pk else "",
            object_id=pk,
            object_name=f"Run {pk} of Refunds" if pk else "",
            text="Cancelled.",
        )


def days_ago(days: int) -> str:
    return (NOW - timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["", "8", "7"]),
        ({"person": "ann"}, ["", "7"]),
        ({"kind": "run", "person": "ann"}, ["7"]),
        ({"origin": "page"}, []),
        ({"type": "run"}, ["8", "7"]),
        ({"object": "8"}, ["8"]),
        ({"object": "Run 7 of Refunds"}, ["7"]),
        ({"after": days_ago(6)}, ["", "8"]),
        ({"before": days_ago(4)}, ["8", "7"]),
        ({"before": days_ago(20)}, []),
    ],
)
def test_acts_are_found_by_what_people_ask_for(query: dict[str, str], found: list[str]) -> None:
    client = make_client("read", ["evals_app.view_activity"])

    rows = client.get("/api/activity/", query).json()["results"]

    assert [row["object"] or "" for row in rows] == found


def test_the_csv_has_what_the_list_shows(admin_client: Client) -> None:
    response: Any = admin_client.get("/admin/evals_app/activity/csv/", {"person": "ben"})

    head, row = b"".join(response.streaming_content).decode().splitlines()
    assert "at,person,kind," in head
    assert "ben" in row
    assert "Run 8 of Refunds" in row


def test_old_acts_go_when_the_operator_says_so(settings: Any) -> None:
    settings.EVALS_KEEP_SIGN_INS_DAYS = 1
    Activity.objects.filter(kind="signed_in").update(at=NOW - timedelta(days=2))
    forget_activity()
    forget_sign_ins()
    assert [*Activity.objects.values_list("object_id", flat=True)] == ["7", "8"]

    settings.EVALS_KEEP_ACTIVITY_DAYS = 6
    forget_activity()
    assert [*Activity.objects.values_list("object_id", flat=True)] == ["8"]


def test_an_unknown_word_is_answered_with_those_that_there_are() -> None:
    client = make_client("read", ["evals_app.view_activity"])

    answer = client.get("/api/activity/", {"origin": "pages"})

    assert answer.status_code == 400
    assert "'pages' is none of " in answer.content.decode()
    assert "Did you mean 'page'?" in answer.content.decode()
