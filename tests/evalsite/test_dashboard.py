import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from evals_app.models import (
    Agent,
    MonthlyCeiling,
    Provider,
    Settlement,
    Spending,
    Suite,
    Worker,
)
from evals_app.reports.words.similarity import STAND_IN
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
    assert "Never run" in text


@pytest.mark.parametrize(
    ("before", "last", "change"),
    [
        pytest.param(["passed", "failed"], ["passed"] * 2, "50 points up", id="better"),
        pytest.param(["passed"] * 2, ["passed", "failed"], "50 points down", id="worse"),
        pytest.param(["passed"], ["passed"] * 3, "same as before", id="same"),
        pytest.param(["errored"], ["passed"], "", id="before unknown"),
        pytest.param(["errored"], ["errored"], "", id="both unknown"),
    ],
)
def test_a_suite_shows_its_last_run_and_the_change(
    admin_client: Client, before: list[str], last: list[str], change: str
) -> None:
    make_run(before)
    run = make_run(last)

    line = lines(admin_client)["Refunds"]

    assert line.last.run.pk == run.pk
    assert line.change == change


def test_of_a_first_run_there_is_no_change(admin_client: Client) -> None:
    make_run(["passed"])

    assert lines(admin_client)["Refunds"].change == "first run"


def test_runs_tried_by_hand_and_open_ones_are_kept_out_of_trends(admin_client: Client) -> None:
    run = make_run(["passed"])
    make_run(["failed"], is_tryout=True)
    make_run(["failed"], is_whole=False, case_count=1, suite_case_count=38)
    make_run(["failed", "not_run"], stop_reason="budget")
    make_run(["failed", "cancelled"])
    make_run(["queued"])

    line = lines(admin_client)["Refunds"]

    assert [point.run.pk for point in line.points] == [run.pk]


def test_a_part_that_passes_leaves_the_verdict_and_is_named(admin_client: Client) -> None:
    make_run(["failed", "passed"])
    part = make_run(["passed"], is_whole=False, case_count=1, suite_case_count=38)

    line = lines(admin_client)["Refunds"]

    assert "Failed" in line.standing
    assert "1 of 38 cases: passed" in line.standing
    assert f"/run/{part.pk}/" in line.standing
    assert (line.last.rate, line.change) == (0.5, "first run")


def test_a_suite_that_was_only_tried_by_hand_leads_there(admin_client: Client) -> None:
    tried = make_run(["passed"], is_tryout=True)

    line = lines(admin_client)["Refunds"]

    assert "Never run as a whole" in line.standing
    assert f"/run/{tried.pk}/" in line.standing
    assert line.last is None


def test_runs_that_compared_texts_in_different_ways_share_no_trend(admin_client: Client) -> None:
    make_run(["passed"], similarity="embeddings openai/small")
    words = make_run(["failed", "passed"], similarity="fuzzy_match", is_similarity_stand_in=True)

    context = admin_client.get(PAGE).context
    (line,) = context["suites"]
    ((_, points),) = context["trend"].rows
    chart = json.loads(context["trend"].chart.data)

    assert line.change == "measured differently"
    assert [differs for _, differs in points] == [True, False]
    assert chart["datasets"][0]["data"] == [None, 50.0]
    assert STAND_IN in line.standing
    make_run(["passed"], similarity=words.similarity)
    line = lines(admin_client)["Refunds"]
    assert (line.change, "1 removed" in line.changes.details) == ("100 points up", True)


def test_suites_of_one_name_are_distinguished_by_their_agents(admin_client: Client) -> None:
    for number in ("one", "two"):
        agent = Agent.objects.create(slug=number, name=f"Agent {number}")
        make_suite(number, name="ping", agent=agent)

    text = read(admin_client)

    assert "Agent one" in text
    assert "Agent two" in text


def test_the_chart_and_the_table_show_the_same_numbers(admin_client: Client) -> None:
    make_run(["passed", "failed"])
    make_run(["passed"])

    context = admin_client.get(PAGE).context
    chart = json.loads(context["trend"].chart.data)

    ((line, points),) = context["trend"].rows
    shown = [None if point is None else point.result_text for point, _ in points]
    assert (line.name, chart["datasets"][0]["data"]) == ("Refunds", [50.0, 100.0])
    assert [text and text.replace("\u00a0", " ") for text in shown] == [
        "50 % (1 of 2)",
        "100 % (1 of 1)",
    ]
    assert chart["labels"] == context["trend"].heads == ["1 before", "last"]


def test_a_trend_is_as_wide_as_its_longest_suite_and_ends_today(admin_client: Client) -> None:
    short = make_suite("short")
    for _ in range(12):
        make_run(["passed"])
    for _ in range(2):
        make_run(["failed"], suite=short)

    trend = {line.name: points for line, points in admin_client.get(PAGE).context["trend"].rows}

    assert len(trend["Refunds"]) == len(trend["Short"]) == 10
    assert [point is None for point, _ in trend["Short"]] == [True] * 8 + [False] * 2


def test_a_single_run_is_no_trend(admin_client: Client) -> None:
    make_run(["passed"])

    assert admin_client.get(PAGE).context["trend"] is None


def test_scripted_verdicts_are_labelled(admin_client: Client) -> None:
    make_run(["failed"])

    text = read(admin_client)

    assert text.count("Scripted</span>") == 1  # the last run of the suite


def test_open_runs_and_failures_of_the_last_whole_runs_are_listed(admin_client: Client) -> None:
    make_run(["failed"])
    last = make_run(["errored", "failed", "passed"])
    make_run(["failed"], is_whole=False, case_count=1, suite_case_count=38)
    run = make_run(["running", "passed"])

    context = admin_client.get(PAGE).context

    assert [row["run"].pk for row in context["open_runs"]] == [run.pk]
    assert (context["open_count"], context["waiting"]) == (1, 2)
    assert {row["execution"].run_id for row in context["failures"]} == {last.pk}
    assert len(context["failures"]) == 2


def test_what_an_open_run_covers_is_beside_it(admin_client: Client) -> None:
    make_run(["running"], is_whole=False, suite_case_count=38)

    assert "1 of 38 cases · 0 of 1 done" in read(admin_client)


@pytest.mark.parametrize(
    ("before", "last", "names"),
    [
        pytest.param("passed", "failed", ["a"], id="fails now"),
        pytest.param("passed", "errored", [], id="could not be decided now"),
        pytest.param("failed", "failed", [], id="failed before"),
        pytest.param("failed", "passed", [], id="better"),
    ],
)
def test_what_got_worse_leads_to_the_comparison(
    admin_client: Client, before: str, last: str, names: list[str]
) -> None:
    make_run({"b": ["failed"], "a": ["failed"]})
    first = make_run({"b": ["failed"], "a": [before]})
    second = make_run({"b": ["failed"], "a": [last]})

    worse = admin_client.get(PAGE).context["worse"]

    assert [item["names"] for item in worse] == names
    if worse:
        assert worse[0]["url"].endswith(f"compare/?run={first.pk}&run={second.pk}")


REASSURANCE = "Every case that passed in the run before still passes"
NOTHING_YET = "Nothing to compare with yet"


@pytest.mark.parametrize(
    ("runs", "words", "missing"),
    [
        pytest.param([], NOTHING_YET, REASSURANCE, id="never run"),
        pytest.param([["failed"]], NOTHING_YET, REASSURANCE, id="a first run"),
        pytest.param([["passed"], ["passed"]], REASSURANCE, NOTHING_YET, id="nothing changed"),
        pytest.param([["errored"], ["passed"]], NOTHING_YET, REASSURANCE, id="nothing decided"),
        ([["passed", "passed"], ["passed", "errored"]], "1 case that passed", REASSURANCE),
        pytest.param([["passed"], ["failed"]], "1 suite", REASSURANCE, id="got worse"),
    ],
)
def test_it_reassures_only_where_there_was_something_to_compare_with(
    admin_client: Client, runs: list[list[str]], words: str, missing: str
) -> None:
    make_suite()
    for states in runs:
        make_run(states)

    text = read(admin_client)

    assert words in text
    assert missing not in text


def test_what_failed_twice_is_not_forgotten(admin_client: Client) -> None:
    for state in ("passed", "failed", "failed"):
        make_run([state])

    assert "The last run of 1 suite failed" in read(admin_client)


def test_suites_with_nothing_to_compare_with_are_counted_apart(admin_client: Client) -> None:
    for _ in range(2):
        make_run(["passed"])
    make_run(["passed"], suite=make_suite("other"))

    text = read(admin_client)

    assert REASSURANCE in text
    assert f"{NOTHING_YET} in 1 suite." in text


def test_what_a_settlement_found_is_shown_until_the_suite_runs_again(admin_client: Client) -> None:
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

    context = admin_client.get(PAGE).context
    text = read(admin_client)

    assert (context["worse_suites"], len(context["worse"])) == (1, 1)
    assert f"/settlement/{settlement.pk}/change/" in text
    assert "3 cases really worse" in text
    assert REASSURANCE not in text
    make_run(["passed"])
    assert admin_client.get(PAGE).context["worse"] == []


def test_runs_that_compared_texts_in_different_ways_got_no_worse(admin_client: Client) -> None:
    make_run({"a": ["passed"]}, similarity="embeddings openai/small")
    make_run({"a": ["failed"]}, similarity="fuzzy_match")

    assert admin_client.get(PAGE).context["worse"] == []


def test_the_line_of_a_suite_is_in_words_too(admin_client: Client) -> None:
    make_run(["passed", "failed"])
    assert lines(admin_client)["Refunds"].sparkline == ""
    make_run(["passed"])

    text = lines(admin_client)["Refunds"].sparkline.replace("\u00a0", " ")

    assert "50 %, 100 %" in text
    assert 'aria-hidden="true"' in text


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

    assert context["suites"] == context["failures"] == []


def test_archived_suites_are_left_out(admin_client: Client) -> None:
    make_run(["passed"], suite=make_suite("used"))
    make_run(["passed"], suite=make_suite("old"))
    Suite.objects.filter(slug="old").archive()

    assert lines(admin_client).keys() == {Suite.objects.get(slug="used").name}
