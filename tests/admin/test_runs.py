from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from evals_app.models import Run
from tests.makers import make_execution, make_run, make_snapshot, make_suite

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/run/"


def page_of(run: Run) -> str:
    return reverse("admin:evals_app_run_change", args=[run.pk])


def url(run: Run, what: str, *more: Any) -> str:
    return reverse(f"admin:evals_app_run_{what}", args=[run.pk, *more])


def client_who_may(*codenames: str) -> Client:
    user = User.objects.create_user("reviewer", password="secret", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


# The list


def test_the_list_shows_verdict_counts_score_and_who_was_tested(admin_client: Client) -> None:
    make_run(["passed", "failed"], model="anthropic/claude-haiku-5-5", is_scripted=False)

    text = admin_client.get(LIST).content.decode()

    assert "Failed</span>" in text
    assert "1 passed, 1 failed of 2" in text
    assert "anthropic/claude-haiku-5-5" in text
    assert "0.62" in text  # the mean of 1 and 0.25
    assert "Scripted</span>" not in text


def test_the_list_labels_scripted_runs(admin_client: Client) -> None:
    make_run(["passed"])

    assert "Scripted</span>" in admin_client.get(LIST).content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("", {"Refunds", "Greetings"}, id="all"),
        pytest.param("?suite_slug=refunds", {"Refunds"}, id="suite"),
        pytest.param("?verdict__exact=failed", {"Greetings"}, id="verdict"),
        pytest.param("?status__exact=running", set(), id="status"),
    ],
)
def test_the_list_is_filtered(admin_client: Client, query: str, found: set[str]) -> None:
    make_run(["passed"], suite=make_suite())
    make_run(["failed"], suite=make_suite("greetings"))

    results = admin_client.get(LIST + query).context["cl"].result_list

    assert {run.suite_name for run in results} == found


@pytest.mark.parametrize("runs", [1, 12])
def test_the_list_takes_the_same_queries_for_any_number_of_runs(
    admin_client: Client, django_assert_num_queries: Callable[..., Any], runs: int
) -> None:
    for _ in range(runs):
        make_run(["passed"])

    with django_assert_num_queries(4):  # session, user, runs, suites of the filter
        admin_client.get(LIST)


def test_runs_are_neither_added_nor_changed_nor_deleted_by_hand(admin_client: Client) -> None:
    run = make_run(["passed"])

    assert admin_client.get(f"{LIST}add/").status_code == 403
    assert admin_client.post(page_of(run), {"verdict": "passed"}).status_code == 403
    assert admin_client.post(f"{LIST}{run.pk}/delete/", {"post": "yes"}).status_code == 403


# The page


@pytest.mark.parametrize("cases", [2, 20])
def test_the_page_of_an_ended_run_takes_a_fixed_number_of_queries(
    admin_client: Client, django_assert_num_queries: Callable[..., Any], cases: int
) -> None:
    run = make_run(["failed", "errored"] * (cases // 2))
    admin_client.get(page_of(run))  # a process looks a content type up once

    with django_assert_num_queries(6):  # session, user, run, causes, trials, reruns
        admin_client.get(page_of(run))


@pytest.mark.parametrize("cases", [1, 9])
def test_the_page_of_an_open_run_takes_a_fixed_number_of_queries(
    admin_client: Client, django_assert_num_queries: Callable[..., Any], cases: int
) -> None:
    run = make_run(["running"] * cases)
    admin_client.get(page_of(run))  # a process looks a content type up once

    with django_assert_num_queries(7):  # session, user, run, leases, running, workers, reruns
        admin_client.get(page_of(run))


def test_the_page_shows_what_was_frozen(admin_client: Client) -> None:
    snapshot = make_snapshot(fixtures=[{"name": "Shop data"}])
    run = make_run(["passed"], snapshot=snapshot, judge="scripted/mild", is_scripted=False)

    text = admin_client.get(page_of(run)).content.decode()

    assert "Shop data" in text
    assert "scripted/mild" in text
    assert "Scripted judge" in text
    assert snapshot.sha256[:12] in text


def test_the_page_links_failures_and_reruns(admin_client: Client) -> None:
    run = make_run(["failed"])
    again = make_run(["passed"], rerun_of=run)
    failed = run.executions.get()

    text = admin_client.get(page_of(run)).content.decode()

    assert reverse("admin:evals_app_execution_change", args=[failed.pk]) in text
    assert page_of(again) in text
    assert page_of(run) in admin_client.get(page_of(again)).content.decode()


def test_a_waiting_run_says_how_to_start_a_worker(admin_client: Client) -> None:
    text = admin_client.get(page_of(make_run(["queued"]))).content.decode()

    assert "Waiting for a worker" in text
    assert "python manage.py worker" in text


def test_untrusted_text_is_escaped(admin_client: Client) -> None:
    attack = '"><script>alert(1)</script>'
    run = make_run(["passed"], agent_name=attack)
    make_execution(run, attack, state="failed", reason=attack)

    text = admin_client.get(page_of(run)).content.decode()

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_a_run_that_does_not_exist_leads_back(admin_client: Client) -> None:
    for pk in ("0", "999", "x"):
        assert admin_client.get(f"{LIST}{pk}/change/").status_code == 302


# The live part


def test_the_live_part_asks_again_only_while_the_run_is_open(admin_client: Client) -> None:
    open_text = admin_client.get(url(make_run(["running"]), "live")).content.decode()
    ended_text = admin_client.get(url(make_run(["failed"]), "live")).content.decode()

    assert 'hx-trigger="every 2s"' in open_text
    assert "hx-trigger" not in ended_text
    assert "What went wrong" in ended_text


def test_the_live_part_of_an_open_run_holds_nothing_that_can_have_the_focus(
    admin_client: Client,
) -> None:
    run = make_run(["running", "queued", "failed"])

    text = admin_client.get(url(run, "live")).content.decode()

    for focusable in ("<a ", "<button", "<input", "tabindex", "<summary"):
        assert focusable not in text


def test_the_live_part_is_refused_without_the_right(client: Client) -> None:
    run = make_run(["running"])

    for someone in (client, client_who_may("view_suite")):
        response = someone.get(url(run, "live"))

        assert (response.status_code, response.content) == (403, b"")
        assert response.headers["HX-Refresh"] == "true"


# What a person can do


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


@pytest.mark.parametrize(
    ("states", "labels"),
    [
        pytest.param(["passed"] * 2, ["Re-run all 2"], id="nothing went wrong"),
        pytest.param(["failed"], ["Re-run 1 failed", "Re-run all 1"], id="failed"),
        pytest.param(["errored"], ["Re-run 1 errored", "Re-run all 1"], id="errored"),
        pytest.param(
            ["errored", "cancelled"],
            ["Re-run 2 errored or not held", "Re-run all 2"],
            id="cancelled",
        ),
    ],
)
def test_buttons_say_what_would_be_run_again(
    admin_client: Client, states: list[str], labels: list[str]
) -> None:
    response = admin_client.get(page_of(make_run(states)))

    assert [label for _, label in response.context["rerun_buttons"]] == labels


def test_a_rerun_tells_how_many_conversations_it_holds(admin_client: Client) -> None:
    run = make_run({"Refund": ["passed", "failed", "passed"], "Hello": ["passed"] * 3})

    text = admin_client.get(url(run, "rerun", "failed")).content.decode()

    assert "Re-run 1 failed?" in text
    assert "Hold 3 conversations" in text
    assert Run.objects.count() == 1


def test_a_rerun_without_anything_to_run_says_why(admin_client: Client) -> None:
    run = make_run(["passed"])

    response = admin_client.post(url(run, "rerun", "failed"))
    text = admin_client.get(response.headers["HX-Redirect"]).content.decode()

    assert Run.objects.count() == 1
    assert "has no failed executions" in text


def test_there_is_no_rerun_of_anything_else(admin_client: Client) -> None:
    assert admin_client.get(url(make_run(["passed"]), "rerun", "passed")).status_code == 404


@pytest.mark.parametrize("what", [("cancel",), ("rerun", "all")], ids=["cancel", "rerun"])
def test_who_may_not_start_runs_may_neither_cancel_nor_repeat_them(what: tuple[str, ...]) -> None:
    run = make_run(["running", "failed"])
    client = client_who_may("view_run")

    assert client.get(url(run, *what)).status_code == 403
    assert client.post(url(run, *what)).status_code == 403
    run.refresh_from_db()
    assert (run.stop_reason, Run.objects.count()) == ("", 1)


def test_who_may_not_start_runs_sees_no_such_buttons() -> None:
    client = client_who_may("view_run")

    for run in (make_run(["running"]), make_run(["failed"])):
        text = client.get(page_of(run)).content.decode()

        assert url(run, "cancel") not in text
        assert "Re-run" not in text


def test_who_may_start_runs_sees_the_buttons() -> None:
    client = client_who_may("view_run", "add_run")
    running, failed = make_run(["running"]), make_run(["failed"])

    assert url(running, "cancel") in client.get(page_of(running)).content.decode()
    assert "Re-run 1 failed" in client.get(page_of(failed)).content.decode()


def test_without_the_right_to_view_there_is_nothing() -> None:
    run = make_run(["passed"])
    client = client_who_may("add_run")

    for address in (LIST, page_of(run), url(run, "report"), url(run, "cancel")):
        assert client.get(address).status_code == 403


def test_who_may_not_read_executions_is_not_led_to_them() -> None:
    run = make_run(["failed"])

    text = client_who_may("view_run").get(page_of(run)).content.decode()

    assert "case 1" in text
    assert "/execution/" not in text


def test_the_report_is_a_download_with_links(admin_client: Client) -> None:
    run = make_run(["passed", "failed"])

    response = admin_client.get(url(run, "report"))
    text = response.content.decode()

    assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert f"run-{run.pk}-refunds.md" in response.headers["Content-Disposition"]
    assert text.startswith(f"# Refunds: run {run.pk}")
    assert f"<http://testserver{page_of(run)}>" in text
