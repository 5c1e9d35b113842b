from decimal import Decimal
from typing import Any

import pytest
from django.test import Client, TestCase
from django_q.models import OrmQ

from evals_app.models import Assertion, Run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.admin.run_pages import hold, page_of, url
from tests.authored import client_who_may
from tests.makers import make_run
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db


def test_cancelling_asks_first(admin_client: Client) -> None:
    run = make_run(["passed", "queued", "queued"])

    text = admin_client.get(url(run, "cancel")).content.decode()
    run.refresh_from_db()

    assert "2 conversations of 3" in text
    assert run.stop_reason == ""


def test_a_cancelled_run_says_so(admin_client: Client) -> None:
    # Its snapshot is not whole, so something must still run: else the run would be summed up.
    run = make_run(["running", "queued"])

    response = admin_client.post(url(run, "cancel"))
    run.refresh_from_db()

    assert response.headers["HX-Redirect"] == page_of(run)
    assert (run.stop_reason, run.cancelled) == ("cancelled", 1)
    assert "Stopping" in admin_client.get(page_of(run)).content.decode()


def test_a_run_that_stops_already_cannot_be_cancelled(admin_client: Client) -> None:
    run = make_run(["running", "queued"], stop_reason="budget")

    for address in (page_of(run), url(run, "live")):
        assert url(run, "cancel") not in admin_client.get(address).content.decode()


@pytest.mark.parametrize(
    ("states", "labels"),
    [
        pytest.param(["passed"] * 2, ["Re-run all 2 cases"], id="nothing went wrong"),
        pytest.param(["failed"], ["Re-run 1 failed case", "Re-run the case"], id="failed"),
        (["errored"], ["Re-run 1 case that errored or did not run", "Re-run the case"]),
        pytest.param(
            ["errored", "cancelled"],
            ["Re-run 2 cases that errored or did not run", "Re-run all 2 cases"],
            id="cancelled",
        ),
    ],
)
def test_buttons_say_what_would_be_run_again(
    admin_client: Client, states: list[str], labels: list[str]
) -> None:
    response = admin_client.get(page_of(make_run(states)))

    assert [label for _, label in response.context["rerun_buttons"]] == labels


def test_trials_of_a_case_are_one_case_to_run_again(admin_client: Client) -> None:
    run = make_run({"Refund": ["passed", "failed", "failed"], "Hello": ["passed"] * 3})

    response = admin_client.get(url(run, "rerun", "failed"))

    assert response.context["form"].title == "Re-run 1 failed case?"
    assert Run.objects.count() == 1


def finished_run() -> Run:
    """Run a suite of which two of three cases fail."""
    with TestCase.captureOnCommitCallbacks(execute=True):
        run = start_run(make_suite(["hello", "bye", "bye"]))
    work()
    return Run.objects.get(pk=run.pk)


def test_a_rerun_asks_for_the_version_only_where_something_was_edited(admin_client: Client) -> None:
    run = finished_run()

    before = admin_client.get(url(run, "rerun", "failed")).context["form"]
    Assertion.objects.update(options={"value": "bye"})
    after = admin_client.get(url(run, "rerun", "failed")).context["form"]

    assert "version" not in before.fields
    assert after.fields["version"].initial == "current"
    assert after.edits == ["case “case 2”", "case “case 3”"]


@pytest.mark.parametrize(
    ("version", "is_old"), [pytest.param("current", False), pytest.param("frozen", True)]
)
def test_the_chosen_version_of_the_chosen_cases_is_run(
    admin_client: Client, version: str, *, is_old: bool
) -> None:
    run = finished_run()
    Assertion.objects.update(options={"value": "bye"})

    response = admin_client.post(
        url(run, "rerun", "failed"), {"version": version, "cases": ["case 3"]}
    )
    again = Run.objects.get(rerun_of=run)

    assert response.headers["HX-Redirect"] == page_of(again)
    assert [row.case for row in again.executions.all()] == ["case 3"]
    assert (again.snapshot_id == run.snapshot_id) is is_old


def test_no_case_at_all_is_refused_in_the_dialog(admin_client: Client) -> None:
    run = finished_run()

    response = admin_client.post(url(run, "rerun", "failed"), {})

    assert "HX-Redirect" not in response.headers
    assert "at least one case" in response.content.decode()
    assert Run.objects.count() == 1


def test_a_case_is_run_again_from_its_result(admin_client: Client) -> None:
    run = finished_run()
    execution = run.executions.get(case="case 2")
    page = admin_client.get(f"/admin/evals_app/execution/{execution.pk}/change/").content.decode()
    address = f"{url(run, 'rerun', 'all')}?execution={execution.pk}"

    assert address in page
    assert "case 2" in admin_client.get(address).context["form"].title
    admin_client.post(address, {})

    assert [row.case for row in Run.objects.get(rerun_of=run).executions.all()] == ["case 2"]


def test_a_rerun_without_anything_to_run_says_why(admin_client: Client) -> None:
    run = make_run(["passed"])

    response = admin_client.post(url(run, "rerun", "failed"))
    text = admin_client.get(response.headers["HX-Redirect"]).content.decode()

    assert Run.objects.count() == 1
    assert "has no failed conversations" in text


def test_there_is_no_rerun_of_anything_else(admin_client: Client) -> None:
    assert admin_client.get(url(make_run(["passed"]), "rerun", "passed")).status_code == 404


def test_who_may_not_start_runs_sees_no_such_buttons() -> None:
    client = client_who_may("view_run")

    for run in (make_run(["running"]), make_run(["failed", "cancelled"])):
        text = client.get(page_of(run)).content.decode()

        assert "Re-run" not in text
        for what in ("cancel", "requeue", "resume", "pin"):
            assert url(run, what) not in text


# Runs that were stopped, and go on


def stopped_run(reason: str = "budget", **changes: Any) -> Run:
    money = {"max_cost_usd": Decimal(5), "spent_usd": Decimal("4.97")}
    return make_run(["passed", "not_run", "not_run"], **money | {"stop_reason": reason} | changes)


@pytest.mark.parametrize(
    ("run", "offers"),
    [
        pytest.param({"states": ["passed", "cancelled"]}, True, id="cancelled"),
        pytest.param({"states": ["passed", "not_run"], "stop_reason": "deadline"}, True, id="late"),
        pytest.param({"states": ["passed"], "stop_reason": "budget"}, False, id="nothing is left"),
        pytest.param({"states": ["passed"]}, False, id="complete"),
        pytest.param({"states": ["running"], "stop_reason": "cancelled"}, False, id="stopping"),
    ],
)
def test_only_what_was_stopped_with_something_left_can_go_on(
    admin_client: Client, run: dict[str, Any], *, offers: bool
) -> None:
    made = make_run(**run)

    assert (url(made, "resume") in admin_client.get(page_of(made)).content.decode()) is offers


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        pytest.param("", "above $5.00", id="none"),
        pytest.param("-1", "above 0", id="negative"),
        pytest.param("4.97", "needs a ceiling above", id="spent already"),
    ],
)
def test_a_ceiling_that_does_not_do_is_shown_in_the_dialog(
    admin_client: Client, sent: str, complaint: str
) -> None:
    run = stopped_run()

    response = admin_client.post(url(run, "resume"), {"max_cost_usd": sent})
    run.refresh_from_db()

    assert "HX-Redirect" not in response.headers
    assert complaint in response.content.decode()
    assert not run.is_open


def test_with_a_higher_ceiling_the_run_goes_on(admin_client: Client) -> None:
    run = stopped_run()

    response = admin_client.post(url(run, "resume"), {"max_cost_usd": "7.5"})
    run.refresh_from_db()

    assert response.headers["HX-Redirect"] == page_of(run)
    assert (run.is_open, run.stop_reason, run.max_cost_usd) == (True, "", Decimal("7.5"))


def test_a_run_that_was_not_stopped_does_not_go_on(admin_client: Client) -> None:
    run = make_run(["passed"])

    text = admin_client.post(url(run, "resume"), {"max_cost_usd": "5"}).content.decode()

    assert "was not stopped" in text


# What is stuck


def test_conversations_without_a_worker_are_queued_again_and_workers_are_asked(
    admin_client: Client,
) -> None:
    run = make_run(["running", "queued"])

    response = admin_client.post(url(run, "requeue"))
    text = admin_client.get(response.headers["HX-Redirect"]).content.decode()

    assert not run.executions.filter(status="running").exists()
    assert OrmQ.objects.exists()
    assert "1 conversation requeued." in text
    assert "Something is stuck" not in text


def test_a_run_that_goes_on_offers_nothing_to_put_back(admin_client: Client) -> None:
    run = make_run(["running", "queued"])
    hold(run)

    assert url(run, "requeue") not in admin_client.get(page_of(run)).content.decode()


# Transcripts


def test_transcripts_are_kept_and_let_go_again(admin_client: Client) -> None:
    run = make_run(["passed"])

    page = admin_client.post(url(run, "pin"), {"is_pinned": "1"}, follow=True).content.decode()
    run.refresh_from_db()

    assert run.is_pinned
    assert "Stop keeping transcripts" in page
    admin_client.post(url(run, "pin"), {"is_pinned": "0"})
    run.refresh_from_db()
    assert not run.is_pinned


def test_looking_does_not_keep_them(admin_client: Client) -> None:
    run = make_run(["passed"])

    assert admin_client.get(url(run, "pin")).status_code == 405
