from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from evals_app.admin.history.suite_rows import ListedSuite
from evals_app.library.baselines import set_baseline
from evals_app.library.shipping import decide_shipping
from evals_app.models import (
    Agent,
    MonthlyCeiling,
    Provider,
    Review,
    Settlement,
    Spending,
    Suite,
    Worker,
)
from evals_app.runs.ground.ledger import today
from tests.authored import client_who_may
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db

PAGE = "/admin/"


def read(client: Client) -> str:
    return " ".join(client.get(PAGE).content.decode().split())


def lines(client: Client) -> dict[str, Any]:
    return {line.name: line for line in client.get(PAGE).context["suites"]}


def test_an_empty_site_shows_three_ways_to_start(admin_client: Client) -> None:
    text = read(admin_client)

    for way in ("Load examples", "Choose files", "Add an agent", "Write a suite"):
        assert way in text
    assert "No worker is running" not in text


def test_who_may_import_suites_alone_is_led_there_but_not_to_the_examples() -> None:
    text = read(client_who_may("add_suite"))

    assert "Choose files" in text
    assert "Ask your administrator to load them." in text
    assert "right to import" not in text


def test_a_site_with_a_suite_is_not_empty(admin_client: Client) -> None:
    make_suite()

    text = read(admin_client)

    assert "Load examples" not in text
    assert "No suite has run yet" in text


def test_runs_tried_by_hand_and_open_ones_are_kept_out_of_trends(admin_client: Client) -> None:
    run = make_run(["passed"])
    make_run(["failed"], is_tryout=True)
    make_run(["failed"], is_whole=False, case_count=1, suite_case_count=38)
    make_run(["failed", "not_run"], stop_reason="budget")
    make_run(["failed", "cancelled"])
    make_run(["queued"])

    line = lines(admin_client)["Refunds"]

    assert [point.run.pk for point in line.points] == [run.pk]


def test_scripted_verdicts_are_labelled(admin_client: Client) -> None:
    make_run(["failed"])

    text = read(admin_client)

    assert text.count("Scripted</span>") == 2  # in the answer, and in the list


GOOD, BAD = {"a": ["passed"], "b": ["passed"]}, {"a": ["failed"], "b": ["passed"]}


def rows(client: Client) -> dict[str, ListedSuite]:
    page = client.get(PAGE).context["rows"]
    return {row.line.name: row for row in [*page.shown, *page.folded]}


def test_answers_that_need_someone_come_first_and_decided_ones_are_folded(
    admin_client: Client, admin_user: User
) -> None:
    for slug, runs, is_released, decides in (
        ("yes", [GOOD], False, None),
        ("decided", [GOOD], False, True),
        ("released", [GOOD], True, None),
        ("not-yet", [GOOD, {"a": ["errored"], "b": ["passed"]}], True, None),
        ("rejected", [BAD], False, False),
        ("no", [BAD], False, None),
        ("never", [], False, None),
    ):
        suite = make_suite(slug, name=slug)
        made = [make_run(run, suite=suite) for run in runs]
        if is_released:
            set_baseline(made[0])
        if decides is not None:
            decide_shipping(
                made[-1], shipped=decides, answered="", is_yes=decides, by=admin_user, reason="So."
            )
    context = admin_client.get(PAGE).context
    asks = context["asks"]

    assert [ask.release.suite.slug for ask in asks.shown] == ["no", "not-yet", "yes", "rejected"]
    assert {ask.release.suite.slug for ask in asks.settled} == {"decided", "released"}
    assert (asks.waiting, [ask.step.label for ask in asks.shown[2:3]]) == (3, ["Mark as shipped"])
    assert "3 answers need someone" in read(admin_client)
    order = [row.line.name for row in context["rows"].shown]
    assert order[:2] == ["no", "not-yet"]
    assert order[-1] == "never"
    assert {row.title for row in context["decided"]} == {
        "decided: shipped",
        "rejected: not shipped",
    }


@pytest.mark.parametrize(
    ("runs", "is_released", "reason"),
    [
        pytest.param([], False, "No cases yet", id="never run"),
        pytest.param([BAD], False, "First run: 1 case failed", id="first run"),
        pytest.param([GOOD, BAD], False, "1 worse", id="worse than before"),
        pytest.param([GOOD, GOOD], False, "no case changed", id="same"),
        pytest.param([GOOD, BAD], True, "1 case got worse", id="worse than the released version"),
        pytest.param([GOOD], True, "This is the released version", id="released"),
        pytest.param([{"a": ["errored"]}], False, "1 of 1 case not graded", id="not graded"),
    ],
)
def test_a_suite_says_in_words_why_it_stands_where_it_does(
    admin_client: Client,
    runs: list[dict[str, list[str]]],
    is_released: bool,  # noqa: FBT001 - a column of the table above
    reason: str,
) -> None:
    make_suite()
    made = [make_run(run) for run in runs]
    if is_released:
        set_baseline(made[0])

    assert reason in rows(admin_client)["Refunds"].reason


def test_only_whole_runs_count_in_the_last_five(admin_client: Client) -> None:
    for states in (["passed"], ["failed"], ["passed"]):
        make_run(states)
    part = make_run(["failed"], is_whole=False, case_count=1, suite_case_count=38)
    row = rows(admin_client)["Refunds"]

    assert row.dots == ["none", "none", "good", "bad", "good"]
    assert (row.passed, row.of) == (1, 1)
    assert row.line.sparkline.count("%") == 3
    assert part.in_short in row.reason


def test_a_case_that_failed_is_one_row_until_a_person_reviews_it(
    admin_client: Client, admin_user: User
) -> None:
    make_run({"old": ["failed"]})
    run = make_run({"a": ["failed", "failed", "passed"], "b": ["failed"], "c": ["passed"]})

    def look() -> list[str]:
        return [row.title for row in admin_client.get(PAGE).context["look"]]

    assert look() == ["a", "b"]
    assert "2 of 3 trials failed" in read(admin_client)
    execution = run.executions.filter(case="a", verdict="failed")[0]
    Review.objects.create(execution=execution, kind="comment", reason="Hm.", by=admin_user)
    assert look() == ["b"]


@pytest.mark.parametrize(
    ("states", "case_count", "done"),
    [
        (["running", "passed", "failed"], 3, "2 of 3 cases, 1 failed"),
        (
            {"a": ["passed", "failed"], "b": ["passed", "running"]},
            2,
            "1 of 2 cases, 1 with a failure",
        ),
    ],
    ids=["one trial", "several trials"],
)
def test_open_runs_are_counted_in_cases(
    admin_client: Client, states: Any, case_count: int, done: str
) -> None:
    make_run(states, case_count=case_count)

    (row,) = admin_client.get(PAGE).context["open_runs"]

    assert row.done == done
    assert done in read(admin_client)


def test_when_the_last_open_run_has_ended_the_page_says_so(admin_client: Client) -> None:
    make_run(["passed"])
    text = admin_client.get(PAGE, headers={"HX-Request": "true"}).content.decode()

    assert "Show the new answers" in text
    assert "Show the new answers" not in read(admin_client)


def test_what_a_settlement_found_is_beside_the_suite_and_in_what_was_decided(
    admin_client: Client,
) -> None:
    runs = [make_run(["passed"]), make_run(["passed"])]
    settlement = Settlement.objects.create(
        base=runs[0],
        head=runs[1],
        compared=3,
        few=0,
        hopeless=0,
        suspects=3,
        really_worse=3,
        status="finished",
        finished_at=timezone.now(),
    )

    (decided,) = admin_client.get(PAGE).context["decided"]

    assert decided.title == "Refunds: 3 really worse"
    assert decided.url.endswith(f"/settlement/{settlement.pk}/change/")
    assert "Retested: 3 really worse" in rows(admin_client)["Refunds"].reason


def test_spending_and_the_ceilings_that_apply_are_shown(admin_client: Client) -> None:
    make_run(["passed"])
    other = User.objects.create_user("other")
    MonthlyCeiling.objects.create(max_usd=50)
    MonthlyCeiling.objects.create(max_usd=7, person=other)
    Spending.objects.create(day=today(), agent_slug="shop", spent_usd="1.5")

    spent = admin_client.get(PAGE).context["spent"]

    assert (spent["amount"], spent["ceilings"]) == ("$1.50", "$50.00 for the site")


def test_it_warns_when_no_worker_is_alive(admin_client: Client) -> None:
    make_suite()
    without = read(admin_client)
    Worker.objects.create(host="a", pid=1, version="1", processes=3)

    assert "No worker is running" in without
    assert "No worker is running" not in read(admin_client)


@pytest.mark.parametrize(
    ("model", "is_set", "warned"),
    [
        pytest.param("acme/large", False, True, id="used and missing"),
        pytest.param("acme/large", True, False, id="used and set"),
        pytest.param("other/large", False, False, id="not used"),
        pytest.param("", False, False, id="no model"),
    ],
)
def test_it_warns_when_an_agents_provider_has_no_key(
    admin_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    is_set: bool,  # noqa: FBT001 - a column of the table above
    warned: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    Provider.objects.create(
        slug="acme", name="Acme", kind="anthropic", api_key_env="PROVIDER_ACME_KEY"
    )
    Agent.objects.create(slug="a", name="A", model=model)
    if is_set:
        monkeypatch.setenv("PROVIDER_ACME_KEY", "made-up")

    text = read(admin_client)

    assert ("Acme has no key" in text) == warned
    assert "made-up" not in text


def test_a_bare_model_name_tells_its_provider(admin_client: Client) -> None:
    Provider.objects.filter(slug="anthropic").delete()
    Provider.objects.create(
        slug="anthropic", name="Anthropic", kind="anthropic", api_key_env="PROVIDER_NOT_SET"
    )
    Agent.objects.create(slug="a", name="A", model="claude-haiku-5-5")

    assert "Anthropic has no key" in read(admin_client)


def test_who_may_see_nothing_is_told_whom_to_ask() -> None:
    make_suite()
    User.objects.create_superuser("ada", first_name="Ada", last_name="Lovelace")
    User.objects.create_superuser("gone", is_active=False)

    context = client_who_may().get(PAGE).context

    assert (context["rights"], context["administrators"]) == ([], ["Ada Lovelace"])
    assert "Ada Lovelace" in read(client_who_may(name="other"))


def test_a_person_who_may_write_but_not_read_results_sees_what_they_may_do() -> None:
    make_suite()

    context = client_who_may("add_suite", "change_case").get(PAGE).context

    assert context["rights"] == ["write suites", "edit cases"]
    assert (context["administrators"], context["suites"], context["spent"]) == ([], [], None)


def test_who_may_do_nothing_about_a_key_is_not_warned() -> None:
    Provider.objects.create(slug="acme", name="Acme", kind="anthropic", api_key_env="NOT_SET_KEY")
    Agent.objects.create(slug="a", name="A", model="acme/large")

    assert client_who_may("view_provider").get(PAGE).context["keyless"] == []


def test_a_step_that_is_done_is_ticked(admin_client: Client) -> None:
    before = read(admin_client)
    Agent.objects.create(slug="a", name="A")

    assert "Done: " not in before
    assert "Done: " in read(admin_client)


def test_who_may_see_nothing_sees_no_results(client: Client) -> None:
    make_run(["failed"])
    user = User.objects.create_user("newcomer", is_staff=True)
    client.force_login(user)

    text = read(client)

    assert Suite.objects.exists()
    assert "Refunds" not in text
    assert "case 1" not in text
    assert "Three ways to start" not in text


def test_who_may_see_runs_sees_suites_only_with_that_right_too(client: Client) -> None:
    make_run(["failed"])
    user = User.objects.create_user("newcomer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_run"))
    client.force_login(user)

    context = client.get(PAGE).context

    assert context["suites"] == context["look"] == []


def test_archived_suites_are_left_out(admin_client: Client) -> None:
    make_run(["passed"], suite=make_suite("used"))
    make_run(["passed"], suite=make_suite("old"))
    Suite.objects.filter(slug="old").archive()

    assert lines(admin_client).keys() == {Suite.objects.get(slug="used").name}
