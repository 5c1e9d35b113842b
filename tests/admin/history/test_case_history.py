"""The pages with the history of a case, and what is worth a look in a suite."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.test import Client

from evals_app.admin.history.case_history import PER_PAGE, history_url, strip_of
from evals_app.models import CaseResult, Execution, Run
from tests.authored import a_case, client_who_may, write_suite
from tests.makers import make_run, make_suite
from tests.runs.suites import finished
from tests.runs.suites import make_suite as make_real_suite

pytestmark = pytest.mark.django_db


def lines(client: Client, run: Run, case: str = "case 1", **more: str) -> list[Any]:
    page = client.get(history_url(run.suite_slug, case, **more))
    assert page.status_code == 200
    return list(page.context["lines"])


def test_the_history_shows_each_run_with_its_trials_and_what_happened(admin_client: Client) -> None:
    make_run({"case 1": ["passed", "passed"]})
    run = make_run({"case 1": ["passed", "failed", "passed"]})

    newest, oldest = lines(admin_client, run)

    assert (newest.passed, oldest.passed) == ("2 of 3 trials passed", "2 of 2 trials passed")
    assert ("Worse" in newest.change, oldest.change) == (True, "")
    assert newest.execution.verdict == "failed"
    assert newest.is_unexplained is False  # whether the case was edited is unknown


def test_a_change_without_a_reason_is_called_unexplained(admin_client: Client) -> None:
    make_run()
    run = make_run(["failed"])
    CaseResult.objects.update(digest="same")

    newest, oldest = lines(admin_client, run)

    assert (newest.is_unexplained, oldest.is_unexplained) == (True, False)


def edited_agent() -> Run:
    """Return a run before which an administrator edited the agent."""
    suite = make_real_suite()
    finished(suite)
    suite.agent.connection["rules"] = [{"reply": "A secret."}]
    suite.agent.save()
    owner = User.objects.create_user("owner")
    LogEntry.objects.log_actions(owner.pk, [suite.agent], CHANGE, "Edited.", single_object=True)
    return finished(suite)


def test_values_of_settings_are_shown_to_who_may_see_them_and_the_parts_to_all(
    admin_client: Client,
) -> None:
    run = edited_agent()

    (whole, _), (bare, _) = (
        lines(client, run) for client in (admin_client, client_who_may("view_run"))
    )

    for line in (whole, bare):
        ((part,)) = line.parts
        assert part.title == "Agent"
        assert "owner" in part.note
    assert "secret" in str(whole.parts)
    assert "secret" not in str(bare.parts)


def test_a_long_history_comes_in_pages(admin_client: Client) -> None:
    runs = [make_run() for _ in range(PER_PAGE + 1)]

    first = admin_client.get(history_url("refunds", "case 1"))
    second = admin_client.get(first.context["older_url"])

    assert [line.entry.run for line in first.context["lines"]] == runs[:0:-1]
    assert [line.entry.run for line in second.context["lines"]] == runs[:1]
    assert first.context["lines"][-1].entry.before.run == runs[0]
    assert (second.context["older_url"], second.context["is_older"]) == ("", True)


def test_trial_runs_are_shown_on_request(admin_client: Client) -> None:
    run = make_run(is_tryout=True)

    assert lines(admin_client, run, all="true")[0].entry.run == run
    assert admin_client.get(history_url("refunds", "case 1")).status_code == 404


def test_a_case_that_never_ran_has_an_empty_history(admin_client: Client) -> None:
    write_suite([a_case("Refund")])

    assert admin_client.get(history_url("refunds", "Refund")).context["lines"] == []


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({}, 404),
        ({"suite": "refunds"}, 404),
        ({"suite": "nothing", "case": "case 1"}, 404),
        ({"suite": "refunds", "case": "case 2"}, 404),
        pytest.param({"suite": "re\0funds", "case": "ca\0se 1"}, 200, id="no characters"),
        ({"suite": "refunds", "case": "case 1", "before": "x", "all": "x"}, 200),
        ({"suite": "refunds", "case": "case 1", "before": "9" * 19}, 200),
    ],
)
def test_a_made_up_address_finds_nothing(
    admin_client: Client, query: dict[str, str], status: int
) -> None:
    make_run()

    page = admin_client.get(f"/admin/evals_app/run/case-history/?{urlencode(query)}")

    assert page.status_code == status


def test_the_strip_has_the_runs_around_an_execution(admin_client: Client) -> None:
    runs = [make_run(["failed" if number == 3 else "passed"]) for number in range(12)]
    CaseResult.objects.update(digest="old")
    CaseResult.objects.filter(run__gte=runs[5].pk).update(digest="new")
    execution = Execution.objects.get(run=runs[6])

    marks = strip_of(execution)

    assert [mark.run for mark in marks] == runs[1:11]
    assert [mark.run for mark in marks if mark.is_this] == [runs[6]]
    assert [mark.run for mark in marks if mark.is_edited] == [runs[5]]
    page = admin_client.get(f"/admin/evals_app/execution/{execution.pk}/strip/").content.decode()
    assert page.count('class="ew-dot is-good" role="img" aria-label="Passed"') == 9
    assert page.count('class="ew-dot is-bad" role="img" aria-label="Failed"') == 1


def test_the_strip_of_a_trial_run_has_that_run_too() -> None:
    whole, tried, other = make_run(), make_run(is_tryout=True), make_run(is_tryout=True)

    marks = strip_of(Execution.objects.get(run=tried))

    assert [(mark.run, mark.is_this) for mark in marks] == [(whole, False), (tried, True)]
    assert other.pk > tried.pk


def test_what_is_worth_a_look_names_cases_with_links(admin_client: Client) -> None:
    suite = make_suite()
    run = make_run({"Refund & co": ["passed", "failed"]}, suite=suite)
    url = f"/admin/evals_app/suite/{suite.pk}/notable/"

    page = admin_client.get(url)
    bare = client_who_may("view_run", "view_suite").get(url)

    assert history_url("refunds", "Refund & co").replace("&", "&amp;") in page.content.decode()
    execution = run.executions.first()
    assert execution is not None
    assert f"/admin/evals_app/execution/{execution.pk}/" in page.content.decode()
    assert "/admin/evals_app/execution/" not in bare.content.decode()


def test_a_suite_that_never_ran_has_nothing_worth_a_look(admin_client: Client) -> None:
    suite = make_suite()

    page = admin_client.get(f"/admin/evals_app/suite/{suite.pk}/notable/")

    assert (page.status_code, page.context["lists"]) == (200, [])
