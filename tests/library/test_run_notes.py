"""What people do with a run is in its history, wherever they do it."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evals_app.mcp.table import TOOLS
from evals_app.mcp.tool import Caller, call_tool
from evals_app.models import Run
from evals_app.requests.permissions import Scope
from evals_app.runs.starting.start_run import start_run
from tests.api.clients import make_client, make_user
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db


def notes(run: Run) -> list[tuple[str, str]]:
    entries = LogEntry.objects.filter(content_type__model="run", object_id=str(run.pk))
    return list(entries.order_by("pk").values_list("user__username", "change_message"))


def test_who_cancelled_resumed_requeued_and_kept_a_run_on_pages(admin_client: Client) -> None:
    run = start_run(make_suite())
    for action, data in {
        "cancel": {},
        "resume": {},
        "requeue": {},
        "pin": {"is_pinned": "1"},
    }.items():
        answer: Any = admin_client.post(
            reverse(f"admin:evals_app_run_{action}", args=[run.pk]), data
        )
        assert answer.status_code < 400

    assert notes(run) == [
        ("admin", "Cancelled."),
        ("admin", "Resumed."),
        ("admin", "Stuck conversations requeued."),
        ("admin", "Transcripts kept indefinitely."),
    ]
    page = admin_client.get(reverse("admin:evals_app_run_history", args=[run.pk]))
    assert "Cancelled." in page.content.decode()


def test_a_run_that_has_ended_is_not_cancelled_again(admin_client: Client) -> None:
    run = start_run(make_suite())
    for _ in range(2):
        admin_client.post(reverse("admin:evals_app_run_cancel", args=[run.pk]))

    assert len(notes(run)) == 1


def test_who_did_it_over_rest_and_mcp_and_by_command() -> None:
    client, run = make_client("run"), start_run(make_suite())
    client.post(f"/api/runs/{run.pk}/cancel/")
    client.post(f"/api/runs/{run.pk}/resume/", {}, format="json")
    person = make_user()
    call_tool(TOOLS, "cancel_run", {"run": run.pk}, who=lambda: Caller(person, Scope.RUN))

    assert [text for _, text in notes(run)] == ["Cancelled.", "Resumed.", "Cancelled."]
    assert notes(run)[-1][0] == person.username


def test_a_run_that_a_command_cancels_is_noted_too() -> None:
    run = start_run(make_suite())
    call_command("runs", "cancel", str(run.pk))

    assert [text for _, text in notes(run)] == ["Cancelled."]
