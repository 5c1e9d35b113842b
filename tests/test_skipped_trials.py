"""Skipped trials are shown as such: on pages, over REST, in reports, metrics and the command."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.models import Run
from evals_app.reports.words.figures import counts_of
from evals_app.runs.reading.run_readers import run_details
from evals_app.runs.starting.rerun import cases_to_rerun
from tests.api.clients import make_client
from tests.makers import make_run
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db

NBSP = "\N{NO-BREAK SPACE}"


@pytest.fixture
def run() -> Run:
    """A run of one case that was decided after two of its four trials, and one that was not."""
    return make_run(
        {"A": ["failed", "failed", "skipped", "skipped"], "B": ["passed"] * 4},
        stops_when_decided=True,
    )


def page(client: Client, run: Run) -> str:
    url = reverse("admin:evals_app_run_change", args=[run.pk])
    return client.get(url).content.decode()


def test_the_page_of_a_run_counts_them_and_shows_no_interval(
    admin_client: Client, run: Run
) -> None:
    text = page(admin_client, run)

    assert "decided after 2 of 4" in text
    assert text.count(f"{NBSP}% to ") == 2  # those of the other case and of the run
    assert 'aria-label="A, trial 3: Skipped"' in text
    assert "pass^k)" not in text


def test_the_page_of_a_skipped_execution_says_why(admin_client: Client, run: Run) -> None:
    skipped = run.executions.filter(status="skipped").first()
    assert skipped is not None

    for name in ("change", "live"):
        url = reverse(f"admin:evals_app_execution_{name}", args=[skipped.pk])
        response = admin_client.get(url)
        assert response.status_code == 200
        assert "This conversation was skipped" in response.content.decode()
        assert "Limits" not in response.content.decode()


def test_lists_show_and_filter_them(admin_client: Client, run: Run) -> None:
    runs = admin_client.get(reverse("admin:evals_app_run_changelist")).content.decode()
    url = reverse("admin:evals_app_execution_changelist")
    executions = admin_client.get(url, {"status__exact": "skipped"}).content.decode()

    assert "4 passed, 2 failed, 2 skipped of 8" in runs
    assert executions.count('aria-label="Skipped"') == 2


def test_rest_counts_them(run: Run) -> None:
    client = make_client()

    answer = client.get(f"/api/runs/{run.pk}/").json()
    rows = client.get(f"/api/runs/{run.pk}/executions/", {"status": "skipped"}).json()["results"]

    assert answer["counts"] == {
        "total": 8,
        "passed": 4,
        "failed": 2,
        "measured": 0,
        "errored": 0,
        "skipped": 2,
        "cancelled": 0,
        "not_run": 0,
    }
    a, b = answer["cases"]
    assert (a["trials"], a["skipped"], a["interval"]) == (4, 2, None)
    assert (a["pass_at_k"], a["pass_hat_k"]) == (None, None)
    assert (b["skipped"], len(b["pass_hat_k"])) == (0, 4)
    assert (answer["pass_at_k"], answer["pass_hat_k"]) == (None, None)
    assert answer["verdict"] == "failed"
    assert [(row["trial"], row["status"], row["verdict"]) for row in rows] == [
        *((3, "skipped", None), (4, "skipped", None))
    ]


def test_all_trials_can_be_asked_for_over_rest() -> None:
    make_suite(["hello"], trials=3, stop_when_decided=True)
    client = make_client("run")
    flags = {}
    for all_trials in (False, True):
        body = {"suite": "greetings", "all_trials": all_trials}
        expected = client.post("/api/runs/forecast/", body, format="json").json()
        started = client.post("/api/runs/", body, format="json").json()
        run = Run.objects.get(pk=started["id"])
        flags[all_trials] = (expected["may_skip_trials"], run.stops_when_decided)

    assert flags == {False: (True, True), True: (False, False)}


def test_the_markdown_names_them(admin_client: Client, run: Run) -> None:
    url = reverse("admin:evals_app_run_report", args=[run.pk, "markdown"])
    text = admin_client.get(url).getvalue().decode()

    assert "2 skipped" in text
    assert f"| 0{NBSP}% (0 of 2) | decided after 2 of 4 |" in text
    assert "| 3 | ⏭ skipped |" in text


def test_the_command_counts_them(run: Run) -> None:
    assert counts_of(run) == "4 passed, 2 failed, 2 skipped"


def test_they_are_no_reason_to_run_a_case_again(run: Run) -> None:
    assert not cases_to_rerun(run, only="errored").exists()
    details: Any = run_details(run.pk)
    assert details["stop_reason"] is None


def test_metrics_count_them(run: Run, settings: Any) -> None:
    settings.METRICS = True
    make_run(["skipped", "skipped", "passed", "queued"])

    text = make_client("read").get("/metrics").content.decode()

    assert 'evalwell_executions{state="skipped"} 2' in text
