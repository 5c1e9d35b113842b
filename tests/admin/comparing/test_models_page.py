"""The page of agents and models: followed while runs run, and then one table."""

from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.admin.comparing import models_page
from evals_app.admin.starting.run_dialog import models_url
from evals_app.models import Execution, Run
from tests.authored import a_case, client_who_may, write_suite
from tests.makers import end_run, make_execution, make_grade, make_run, make_suite
from tests.runs.suites import make_agent

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/run/"
GROUP = UUID(int=12)


def two_suites() -> list[Run]:
    """Write two suites with two models; the second model is worse in one of them."""
    orders = make_suite("orders")
    return [
        make_run({"Lost": ["passed"] * 3}, model="a/x", group=GROUP),
        make_run({"Lost": ["passed"] * 3}, model="a/y", group=GROUP),
        make_run(
            {"Late": ["passed"] * 3, "Wrong": ["passed"] * 3},
            suite=orders,
            model="a/x",
            group=GROUP,
        ),
        make_run(
            {"Late": ["passed"] * 3, "Wrong": ["failed", "passed", "failed"]},
            suite=orders,
            model="a/y",
            group=GROUP,
        ),
    ]


def shown(client: Client, name: str = "run_models", **more: str) -> Any:
    response = client.get(models_url(GROUP, name=name, **more))
    assert response.status_code == 200
    return response


def texts(lines: Any) -> list[list[str]]:
    return [[line.name, *(cell.text if cell else "" for cell in line.cells)] for line in lines]


def test_runs_started_together_are_one_table_the_largest_difference_first(
    admin_client: Client,
) -> None:
    two_suites()

    context = shown(admin_client).context

    assert context["names"] == ["a/x", "a/y"]
    assert texts(context["lines"]) == [
        ["Orders", "6 of 6 trials, score 1.00", "4 of 6 trials, score 0.75"],
        ["Refunds", "3 of 3 trials, score 1.00", "3 of 3 trials, score 1.00"],
    ]
    worse = context["lines"][0].cells[1]
    assert (worse.change, worse.is_worse, worse.wrong) == ("2 fewer", True, "2 failed")
    totals = {line.label: [cell.value for cell in line.cells] for line in context["totals"]}
    assert totals["Trials passed"] == ["100\xa0%", "77.8\xa0%"]
    (line,) = context["against"]
    assert line.worst == "Worst in Orders: 4 of 6 trials passed, against 6 of 6."


def test_each_run_and_what_failed_in_it_is_a_click_away(admin_client: Client) -> None:
    *_, worse = two_suites()

    text = shown(admin_client).content.decode()

    assert reverse("admin:evals_app_run_change", args=[worse.pk]) in text
    failed = f"/admin/evals_app/execution/?run={worse.pk}&amp;verdict__exact=failed"
    assert failed in text
    assert admin_client.get(failed.replace("&amp;", "&")).status_code == 200


def test_cases_are_read_when_a_suite_is_opened(admin_client: Client) -> None:
    *_, worse = two_suites()

    whole = shown(admin_client).content.decode()
    response = shown(admin_client, "run_models_cases", suite="orders")

    assert "Wrong" not in whole
    assert texts(response.context["lines"]) == [
        ["Wrong", "3 of 3 trials, score 1.00", "1 of 3 trials, score 0.50"],
        ["Late", "3 of 3 trials, score 1.00", "3 of 3 trials, score 1.00"],
    ]
    first = Execution.objects.filter(run=worse, verdict="failed").earliest("pk")
    link = response.context["lines"][0].cells[1].url
    assert link == reverse("admin:evals_app_execution_change", args=[first.pk])


def test_many_cases_come_page_by_page(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models_page, "CASES_ON_A_PAGE", 1)
    two_suites()

    first = shown(admin_client, "run_models_cases", suite="orders").context
    last = admin_client.get(first["more_url"]).context

    assert [line.name for line in (*first["lines"], *last["lines"])] == ["Wrong", "Late"]
    assert (first["left"], last["more_url"]) == (1, "")


def test_a_suite_that_no_run_has_has_no_cases(admin_client: Client) -> None:
    two_suites()

    assert shown(admin_client, "run_models_cases", suite="nothing").context["lines"] == []


def test_while_a_run_is_open_the_page_polls_and_shows_how_far_it_is(admin_client: Client) -> None:
    make_run(["passed"], model="a/x", group=GROUP)
    make_run(["passed", "running", "queued"], model="a/y", group=GROUP)

    page, poll = shown(admin_client), shown(admin_client, "run_models_live")

    assert texts(page.context["lines"]) == [["Refunds", "1 of 1 trial, score 1.00", "1 of 3"]]
    assert "1 of 2 runs have ended" in page.context["status_line"]
    for response in (page, poll):
        assert 'hx-trigger="every 2s"' in response.content.decode()
        assert "totals" not in response.context
    assert "HX-Retarget" not in poll.headers


def test_when_all_have_ended_the_table_takes_the_place_of_the_progress(
    admin_client: Client,
) -> None:
    two_suites()

    poll = shown(admin_client, "run_models_live")

    assert poll.headers["HX-Retarget"] == "#models-live"
    assert "every 2s" not in poll.content.decode()
    assert "In total" in poll.content.decode()


def test_a_poll_of_runs_that_were_deleted_reloads_the_page(admin_client: Client) -> None:
    response = admin_client.get(models_url(GROUP, name="run_models_live"))

    assert response.headers["HX-Refresh"] == "true"


def test_any_runs_can_be_ticked_and_put_into_one_table(admin_client: Client) -> None:
    runs = [make_run(["passed"]) for _ in range(2)]
    ticked = [str(run.pk) for run in reversed(runs)]

    response = admin_client.post(LIST, {"action": "tabulate_chosen", "_selected_action": ticked})

    assert response.headers["Location"] == models_url([run.pk for run in runs])
    context = admin_client.get(response.headers["Location"]).context
    assert context["names"] == ["Shop agent", "Shop agent (2)"]


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("", "at least one"),
        ("group=nightly", "nightly"),
        (f"group={UUID(int=1)}", "No runs"),
        ("run=a", "numbers"),
        ("run=4711", "no run 4711"),
        ("run=7&run=7", "twice"),
        (f"run={2**63}", f"no run {2**63}"),
    ],
)
def test_what_is_no_table_leads_to_the_list_with_a_message(
    admin_client: Client, query: str, word: str
) -> None:
    response = admin_client.get(f"{LIST}models/?{query}", follow=True)

    assert response.redirect_chain == [(LIST, 302)]
    (message,) = response.context["messages"]
    assert word in str(message)


def test_the_list_and_the_page_of_a_run_lead_to_its_group(admin_client: Client) -> None:
    run, alone = make_run(group=GROUP), make_run()
    url = models_url(GROUP)

    assert url in admin_client.get(LIST).content.decode()
    assert url in admin_client.get(f"{LIST}{run.pk}/related/").content.decode()
    assert "run/models" not in admin_client.get(f"{LIST}{alone.pk}/related/").content.decode()


def test_labels_of_checks_are_for_people_who_may_read_them(admin_client: Client) -> None:
    run = make_run(["passed"], group=GROUP)
    grade = make_grade(label="Knows the secret price", passed=False)
    make_execution(run, "Price", state="failed", grades=[grade])
    run.case_results.all().delete()
    end_run(run)
    viewer = client_who_may("view_run")

    assert "secret price" in shown(admin_client).content.decode()
    assert "secret price" not in shown(viewer).content.decode()
    assert b"secret price" in b"".join(shown(admin_client, "run_models_report", kind="md"))
    assert b"secret price" not in b"".join(shown(viewer, "run_models_report", kind="md"))


def test_a_file_is_sent_in_each_kind_that_a_person_may_read(admin_client: Client) -> None:
    two_suites()
    viewer = client_who_may("view_run")

    for url, _ in shown(admin_client).context["report_urls"]:
        response = admin_client.get(url)
        assert response.status_code == 200
        assert b"".join(response)
    offered = [url for url, _ in shown(viewer).context["report_urls"]]
    assert len(offered) == 3
    refused = viewer.get(models_url(GROUP, name="run_models_report", kind="html"))
    assert refused.status_code == 403
    assert viewer.get(models_url(GROUP, name="run_models_report", kind="pdf")).status_code == 404


def test_a_further_model_joins_the_table(admin_client: Client) -> None:
    suite = write_suite([a_case()])
    make_run({"Where is it": ["passed"] * 3}, suite=suite, group=GROUP, overrides={"trials": 3})
    link = shown(admin_client).context["add_url"]
    page = admin_client.get(link)
    posted = {"suites": suite.pk, "group": GROUP, "trials": page.context["form"]["trials"].value()}

    refused = admin_client.post(link, posted)
    other = make_agent("other", rules=[{"reply": "hello"}])
    url = admin_client.post(link, posted | {"agents": other.pk}).headers["Location"]

    assert refused.context["form"].errors == {"models": ["Name the model to add, or an agent."]}
    assert url == models_url(GROUP)
    new = Run.objects.latest("pk")
    assert (new.group, new.agent_slug, new.total) == (GROUP, "other", 3)
    assert new.overrides["all_trials"]


def test_only_runs_of_one_group_and_those_who_may_run_get_the_button(admin_client: Client) -> None:
    first, *_ = two_suites()
    alone = make_run({"A": ["passed"]})

    for client, wanted in (
        (admin_client, [first.pk, alone.pk]),
        (client_who_may("view_run", "view_suite"), GROUP),
    ):
        assert not client.get(models_url(wanted)).context["add_url"]
