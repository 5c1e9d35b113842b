import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from evals_app.admin.checks.check_form import title_of
from evals_app.models import Agent, Assertion, Case, Run, Suite
from tests.admin.case_pages import CHECKS, RICH, checks_of, page_of, url_of
from tests.authored import CONTAINS, a_case, client_who_may, write_case, write_suite
from tests.makers import make_grade, make_run, make_suite
from tests.page_form import open_page

pytestmark = pytest.mark.django_db


# Two people


def test_a_save_over_changes_of_someone_else_is_refused(admin_client: Client) -> None:
    case = write_case()
    mine, other = page_of(admin_client, case), page_of(admin_client, case)
    other.post(name="Theirs")

    refused = mine.post(name="Mine")

    assert refused.problems[0].startswith("Someone else saved this at ")
    assert refused.fields["name"] == ["Mine"]
    assert Case.objects.get().name == "Theirs"


def test_a_person_may_decide_to_save_over_changes_of_someone_else(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "one", "assertions": [CONTAINS]}, {"user": "two"}])
    mine, other = page_of(admin_client, case), page_of(admin_client, case)
    other.post(name="Theirs", turns__0__DELETE="on")

    refused = mine.post(name="Mine")
    (version,) = re.findall(r'data-overwrite="([^"]+)"', refused.html)
    saved = refused.post(_overwrite=version)

    assert saved.is_saved, saved.problems
    assert Case.objects.get().name == "Mine"
    # What the other person removed is written anew, with its checks.
    assert [turn.user for turn in case.turns.order_by("position")] == ["one", "two"]
    assert [check.type for check in checks_of(case)] == ["contains"]


def test_a_form_that_names_no_version_is_refused(admin_client: Client) -> None:
    refused = page_of(admin_client, write_case()).post(version=None)

    assert not refused.is_saved


def test_a_row_of_another_case_cannot_be_taken_over(admin_client: Client) -> None:
    suite = write_suite([a_case("One"), a_case("Two")])
    one, two = suite.cases.order_by("name")
    theirs = two.turns.get()

    page_of(admin_client, one).post(turns__0__id=theirs.pk, turns__0__user="Mine")

    theirs.refresh_from_db()
    assert (theirs.case_id, theirs.user) == (two.pk, "Where is my order?")


# History


def test_the_history_names_changes_inside_turns(admin_client: Client) -> None:
    case = write_case()
    page = page_of(admin_client, case)
    page.check(CHECKS, "contains", opt__value="x")

    page.post(**{f"{CHECKS}-0-opt-value": "other"})

    message = LogEntry.objects.get().get_change_message()
    assert "Added check" in message
    assert "Changed Text to look for for check" in message


def test_the_history_counts_its_entries(admin_client: Client) -> None:
    case = write_case()
    page_of(admin_client, case).post(name="Another name")

    history = admin_client.get(reverse("admin:evals_app_case_history", args=[case.pk]))

    assert history.context["action_list"].paginator.count == 1
    assert not history.context["pagination_required"]


# Permissions


def test_who_may_only_look_sees_a_readable_page_that_cannot_be_changed() -> None:
    case = write_case(tags=["orders", "smoke"])
    client = client_who_may("view_case")

    page = page_of(client, case)

    assert "Where is my order?" in page.html
    assert "orders, smoke" in page.text
    assert page.fields.keys() <= {"csrfmiddlewaretoken", "version"}
    assert "Save" not in page.text
    assert "Run now" not in page.text
    assert client.post(url_of(case), {}).status_code == 403


def test_who_may_change_cases_may_remove_what_is_in_them() -> None:
    turns = [{"user": "one", "assertions": [CONTAINS]}, {"user": "two"}]
    case = write_case(turns=turns)
    client = client_who_may("change_case")

    saved = page_of(client, case).post(turns__0__DELETE="on")

    assert saved.is_saved, saved.problems
    assert case.turns.count() == 1


def test_save_and_run_is_refused_to_who_may_not_start() -> None:
    case = write_case()
    client = client_who_may("change_case")

    page = page_of(client, case).post(evals_app_case_save_and_run="1")

    assert page.response.status_code == 403
    assert not Run.objects.exists()


# Running


def test_save_and_run_runs_this_case_alone_outside_of_trends(admin_client: Client) -> None:
    suite = write_suite([a_case("Order"), a_case("Order again")])
    case = suite.cases.get(name="Order")

    answer = page_of(admin_client, case).post(
        turns__0__user="New text", evals_app_case_save_and_run="1"
    )

    run = Run.objects.get()
    assert answer.response.headers["Location"] == result_of(run)
    assert run.is_tryout
    assert [execution.case for execution in run.executions.all()] == ["Order"]
    assert "New text" in run.snapshot.cases.get(position=0).content
    assert run.created_by is not None


@pytest.mark.parametrize("trials", [1, 2])
def test_who_edits_the_case_of_a_conversation_returns_to_its_next_result(
    admin_client: Client, trials: int
) -> None:
    case = write_case(trials=trials)
    seen = make_run(["failed"], suite=case.suite).executions.get()
    address = f"{reverse('admin:evals_app_case_change', args=[case.pk])}?from={seen.pk}"

    saved = open_page(admin_client, address).post(_save="1")
    ran = open_page(admin_client, address).post(evals_app_case_save_and_run="1")

    first = Run.objects.latest("pk").executions.earliest("position", "trial")
    conversation = reverse("admin:evals_app_execution_change", args=[seen.pk])
    assert saved.response.headers["Location"] == conversation
    result = reverse("admin:evals_app_execution_change", args=[first.pk])
    assert ran.response.headers["Location"] == f"{result}?before={seen.pk}"


def test_a_new_case_can_be_saved_and_run(admin_client: Client) -> None:
    suite = write_suite()
    page = open_page(admin_client, f"{reverse('admin:evals_app_case_add')}?suite={suite.pk}")
    turn = page.turn()
    page.check(f"{turn}-assertions", "contains", opt__value="x")

    page.post(name="New", evals_app_case_save_and_run="1")

    assert Run.objects.get().executions.get().case == "New"


def test_run_now_runs_the_saved_case(admin_client: Client) -> None:
    case = write_case()

    response = admin_client.post(
        f"/admin/evals_app/case/{case.pk}/run-now/", {"_form_submitted": "on"}
    )

    run = Run.objects.get()
    assert response.headers["HX-Redirect"] == result_of(run)


def result_of(run: Run) -> str:
    return reverse("admin:evals_app_execution_change", args=[run.executions.get().pk])


def test_several_trials_lead_to_their_run(admin_client: Client) -> None:
    case = write_case(trials=2)

    response = admin_client.post(
        f"/admin/evals_app/case/{case.pk}/run-now/", {"_form_submitted": "on"}
    )

    run = Run.objects.get()
    assert response.headers["HX-Redirect"] == reverse("admin:evals_app_run_change", args=[run.pk])


def test_a_case_leads_to_its_results_those_tried_by_hand_included(admin_client: Client) -> None:
    case = write_case(name="Order & more")
    suite = case.suite
    before = page_of(admin_client, case)
    of_case = {"Order & more": ["passed", "failed"], "Another": ["passed"]}
    make_run(of_case, suite=suite)
    make_run({"Order & more": ["failed"]}, suite=suite, is_tryout=True)
    make_run({"Order & more": ["failed"]}, suite=make_suite("other"))

    context = admin_client.get(page_of(admin_client, case).url).context

    assert "of this case" not in before.text
    assert context["last_result"].count == 3
    listed = admin_client.get(context["last_result"].results_url)
    assert {(row.case, row.run.suite_id) for row in listed.context["cl"].result_list} == {
        ("Order & more", suite.pk)
    }


def test_suites_of_one_name_can_be_distinguished_and_archived_ones_are_not_offered(
    admin_client: Client,
) -> None:
    case = write_case()
    write_suite(slug="ping-one", suite="Ping")
    write_suite(slug="ping-two", suite="Ping")
    write_suite(slug="old")
    Suite.objects.filter(slug="old").archive()

    def offered() -> list[str]:
        form = admin_client.get(page_of(admin_client, case).url).context["adminform"].form
        return [label for _, label in form.fields["suite"].choices]

    assert offered()[-3:] == ["Ping (ping-one)", "Ping (ping-two)", "Refunds"]
    Suite.objects.filter(slug="refunds").archive()
    assert offered()[-3:] == ["Ping (ping-one)", "Ping (ping-two)", "Refunds"]


def test_why_a_run_cannot_start_is_explained(admin_client: Client) -> None:
    case = write_case()
    Assertion.objects.update(type="telepathy")

    page_of(admin_client, case).post(evals_app_case_save_and_run="1")

    text = page_of(admin_client, case).text
    assert "The run did not start." in text
    assert not Run.objects.exists()


def test_a_case_that_checks_nothing_is_saved_with_a_warning(admin_client: Client) -> None:
    case = write_case(turns=[{"user": "Hi", "assertions": []}])
    page_of(admin_client, case).post()

    assert "neither pass nor fail" in page_of(admin_client, case).text


@pytest.mark.parametrize(
    ("typed", "timeout", "stored"),
    [
        pytest.param("20000", "60 s", None, id="milliseconds, probably"),
        pytest.param("300", "5", None, id="50 times a short timeout"),
        pytest.param("20000 ms", "60 s", 20_000, id="in milliseconds"),
        pytest.param("20000 s", "60 s", 20_000_000, id="in seconds"),
        pytest.param("20", "60 s", 20_000, id="a usual number alone"),
    ],
)
def test_a_time_without_a_unit_that_is_far_too_long_is_asked_about(
    admin_client: Client, typed: str, timeout: str, stored: int | None
) -> None:
    case = write_case()

    saved = page_of(admin_client, case).post(max_time_ms=typed, turn_timeout_s=timeout)

    assert saved.is_saved is (stored is not None)
    assert Case.objects.get().max_time_ms == stored
    for problem in saved.problems:
        assert f"“{typed} s” or “{typed} ms”" in problem


def test_a_time_limit_that_cannot_be_exceeded_is_saved_with_a_warning(admin_client: Client) -> None:
    case = write_case()

    assert page_of(admin_client, case).post(max_time_ms="60", turn_timeout_s="60").is_saved
    assert "cannot exceed" in page_of(admin_client, case).text


def test_what_is_hardly_meant_is_saved_with_a_warning(admin_client: Client) -> None:
    case = write_case()
    page_of(admin_client, case).post(
        **{f"{CHECKS}-0-type": "matches", f"{CHECKS}-0-opt-value": r"\\d+"}
    )

    assert "Turn 1, check 1: " in page_of(admin_client, case).text


def test_streaming_of_an_agent_over_http_is_saved_with_a_warning(admin_client: Client) -> None:
    case = write_case()
    Agent.objects.update(driver="http", connection={"url": "https://agent.example.org/"})
    page_of(admin_client, case).post(streaming="on")

    assert "Streaming: " in page_of(admin_client, case).text


# Copies


def test_a_case_is_copied_whole(admin_client: Client) -> None:
    suite = write_suite([RICH])
    case = suite.cases.get()

    admin_client.post(f"/admin/evals_app/case/{case.pk}/duplicate/", {"_form_submitted": "on"})

    copied = suite.cases.exclude(pk=case.pk).get()
    assert copied.name == "Everything copy"
    assert copied.to_spec().model_copy(update={"name": "Everything"}) == case.to_spec()


def test_a_check_says_why_it_failed_in_the_newest_run_also_by_hand(
    admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    case = write_case(turns=[{"user": "Hi", "assertions": [CONTAINS]}])
    title = title_of(Assertion.objects.get())
    for number, passed in enumerate((True, False)):
        run = make_run({case.name: ["passed", "failed"]}, suite=case.suite, is_tryout=bool(number))
        first, last = run.executions.order_by("trial")
        for execution in (first, last):
            fails = execution == last and not passed
            reason = "There is no refund in it." if fails else "Found."
            grade = make_grade(label=title, passed=not fails, reason=reason)
            grade.execution = execution
            grade.save()

    with django_assert_max_num_queries(21):
        page = page_of(admin_client, case)

    assert "Failed last time: There is no refund in it." in page.text
    assert f"in run {run.pk}, a try" in page.text
    assert reverse("admin:evals_app_execution_change", args=[last.pk]) in page.html


# How many queries


def big_case() -> Case:
    checks = [{"type": "contains", "value": str(number)} for number in range(5)]
    turns = [{"user": str(number), "assertions": checks} for number in range(20)]
    return write_case(turns=turns, final_assertions=checks)


@pytest.mark.slow
def test_saving_asks_the_same_however_many_turns_did_not_change(
    admin_client: Client, django_assert_num_queries: Any
) -> None:
    page = page_of(admin_client, big_case())

    with django_assert_num_queries(24):  # the last full run, whose conversations could be graded
        assert page.post().is_saved


def test_a_case_leads_to_its_suite(admin_client: Client) -> None:
    case = write_case()

    answer = admin_client.get(f"/admin/evals_app/case/{case.pk}/suite/")

    assert answer["Location"] == f"/admin/evals_app/suite/{case.suite_id}/cases/"


def test_the_list_can_be_searched_and_filtered(admin_client: Client) -> None:
    write_suite([a_case("Refund late"), a_case("Greeting", tags=["smoke"])])
    other = write_suite([a_case("Refund early")], slug="other")

    def names(query: str) -> set[str]:
        text = admin_client.get(f"/admin/evals_app/case/?{query}").content.decode()
        return {case.name for case in Case.objects.all() if f">{case.name}</a>" in text}

    assert names("q=refund") == {"Refund late", "Refund early", "Greeting"}
    assert names("q=late") == {"Refund late"}
    assert names("q=smoke") == {"Greeting"}
    assert names(f"suite__id__exact={other.pk}") == {"Refund early"}
    assert Suite.objects.count() == 2
