"""The pages of a daily import: written in words, stored as they are, shown with what came of it."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from evals_app.models import Assertion, ConversationSet, DailyImport, DueImport
from evals_app.runs.recorded.grade_conversations import new_of_a_day
from evals_app.runs.recorded.import_conversations import import_conversations
from tests.runs.recorded.conversations import file_of, imported, make_set, row_of, rows_of
from tests.runs.recorded.daily import fire, put
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "data")
    (tmp_path / "exports").mkdir()
    monkeypatch.setattr(settings, "IMPORT_FOLDERS", [str(tmp_path / "exports")])
    return tmp_path / "exports"


@pytest.fixture
def target() -> ConversationSet:
    return make_set()


def url(what: str, target: ConversationSet) -> str:
    return reverse(f"admin:evals_app_conversationset_{what}", args=[target.pk])


def written(**changes: Any) -> dict[str, Any]:
    usual = {"frequency": "daily", "at": "03:00", "time_zone": "Europe/Zurich", "is_masked": "on"}
    return usual | changes


def test_what_is_written_is_stored_and_shown_again(
    admin_client: Client, target: ConversationSet
) -> None:
    suite = make_suite()
    sent = written(
        url="https://example.org/desk.csv",
        headers="X-Tenant: desk\nAuthorization: {env: AGENT_KEY}",
        columns="id = Ticket\ntext = What",
        suite=suite.pk,
        count=50,
        max_cost_usd=5,
    )
    page = admin_client.post(url("daily", target), sent)
    assert page.status_code == 302, page.context["form"].errors
    row = DailyImport.objects.get()
    assert row.headers == {"X-Tenant": "desk", "Authorization": {"env": "AGENT_KEY"}}
    assert row.columns == {"Ticket": "id", "What": "text"}
    assert (row.suite, row.count, row.max_cost_usd, row.is_masked) == (suite, 50, 5, True)
    assert row.next_at is not None

    shown = admin_client.get(url("daily", target)).context["form"].initial
    assert {key: shown[key] for key in ("headers", "columns", "url")} == {
        key: sent[key] for key in ("headers", "columns", "url")
    }


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "folder"),
        ({"folder": "/etc"}, "folder"),
        ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": "https://example.org/", "headers": "Authorization"}, "headers"),
        ({"url": "https://example.org/", "headers": "Authorization: Bearer x"}, "headers"),
        ({"url": "https://example.org/", "columns": "number = Ticket"}, "columns"),
        ({"url": "https://example.org/", "columns": "Ticket"}, "columns"),
        ({"url": "https://example.org/", "frequency": "cron"}, "cron"),
        ({"url": "https://example.org/", "time_zone": "Moon"}, "time_zone"),
    ],
)
def test_errors_are_at_their_fields(
    admin_client: Client, target: ConversationSet, wrong: dict[str, Any], field: str
) -> None:
    page = admin_client.post(url("daily", target), written(**wrong))
    assert list(page.context["form"].errors) == [field]
    assert not DailyImport.objects.exists()


def test_the_form_says_where_files_may_come_from_and_begins_as_the_last_file_was_read(
    admin_client: Client, target: ConversationSet, folder: Path
) -> None:
    chosen = {"Ticket": "id", "Kanal": ""}
    import_conversations(target, file_of(rows_of(1)), masker=None, columns=chosen)
    form = admin_client.get(url("daily", target)).context["form"]
    assert form.initial["columns"] == "id = Ticket"
    assert str(folder) in form.fields["folder"].help_text
    settings.IMPORT_FOLDERS = []
    form = admin_client.get(url("daily", target)).context["form"]
    assert "EVALWELL_IMPORT_FOLDERS" in form.fields["folder"].help_text


def test_it_is_paused_continued_started_and_removed_on_the_page_of_the_set(
    admin_client: Client, target: ConversationSet, folder: Path
) -> None:
    admin_client.post(url("daily", target), written(folder=str(folder)))
    admin_client.post(url("daily_do", target), {"action": "pause"})
    assert DailyImport.objects.get().next_at is None
    admin_client.post(url("daily_do", target), {"action": "continue"})
    assert DailyImport.objects.get().next_at is not None
    put(folder, "a.jsonl", rows_of(2))
    put(folder, "b.csv", b"x,y\n1,2\n")
    admin_client.post(url("daily_do", target), {"action": "now"})
    assert DueImport.objects.get().state == "due"
    fire()
    page = admin_client.get(url("change", target))
    [line] = page.context["daily_times"]
    assert line.files[0] == "a.jsonl: 2 new"
    assert line.files[1].count("b.csv") == 1
    assert not page.context["daily_is_busy"]
    admin_client.post(url("daily_remove", target))
    assert not DailyImport.objects.exists()


def test_the_price_of_a_day_is_shown_as_a_guess_from_what_is_here(
    admin_client: Client, target: ConversationSet
) -> None:
    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})

    def price(**changes: Any) -> dict[str, Any]:
        # What is not written yet, such as where from, does not hide the price.
        page = admin_client.post(url("daily_price", target), written(**changes))
        names = ("sentence", "read", "a_day")
        shown = {name: page.context.get(name) for name in names}
        return {"text": " ".join(page.content.decode().split()), **shown}

    assert "not graded" in price()["text"]
    assert "no conversation is here" in price(suite=suite.pk, count=100)["text"]
    assert "how many will come" in price(suite=suite.pk)["text"]

    for name, rows in {"a": rows_of(30), "b": [row_of("x")]}.items():
        imported([row | {"date": "2026-11-16"} for row in rows], target)
        assert price(suite=suite.pk, count=100)["read"] == len(rows), name
    asked = price(suite=suite.pk, count=100)
    assert "Grades 100 conversations" in asked["sentence"]
    assert "guess from 1 conversation of" in asked["text"]
    assert asked["a_day"] is None  # one day says nothing of others

    imported(
        [row | {"id": f"y{n}", "date": "2026-11-18"} for n, row in enumerate(rows_of(8))], target
    )
    target.refresh_from_db()
    asked = price(suite=suite.pk)
    assert (new_of_a_day(target), asked["a_day"]) == (13, 13)  # 39 on 3 days
    assert "Grades 13 conversations" in asked["sentence"]
    assert price(suite=suite.pk, count="many")["a_day"] == 13


def test_days_long_ago_do_not_count_for_the_price(target: ConversationSet) -> None:
    target.days = {"": 900, "2026-01-01": 1000, "2026-11-01": 28, "2026-11-28": 28}
    assert new_of_a_day(target) == 2
    target.days = {"": 900}
    assert new_of_a_day(target) is None


def test_who_may_not_start_runs_sees_no_price(client: Client, target: ConversationSet) -> None:
    person = User.objects.create_user("ann", is_staff=True)
    rights = ["add_conversationset", "view_conversationset"]
    person.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client.force_login(person)
    assert url("daily_price", target) not in client.get(url("daily", target)).content.decode()
    assert client.post(url("daily_price", target), written()).status_code == 403


def test_who_may_not_start_runs_continues_none_that_grades(
    client: Client, target: ConversationSet, admin_user: User
) -> None:
    row = DailyImport.objects.create(
        conversation_set=target,
        url="https://example.org/",
        is_enabled=False,
        is_graded=True,
        suite=make_suite(),
        owner=admin_user,
    )
    person = User.objects.create_user("ann", is_staff=True)
    rights = ["add_conversationset", "view_conversationset"]
    person.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client.force_login(person)
    for action in ("continue", "now"):
        client.post(url("daily_do", target), {"action": action})
    row.refresh_from_db()
    assert (row.owner, row.is_enabled, row.times.exists()) == (admin_user, False, False)
