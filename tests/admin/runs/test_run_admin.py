import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evals_app.admin.runs.run_admin import RunAdmin
from evals_app.models import Run, Settlement, Worker
from tests.admin.run_pages import hold, page_of, url
from tests.authored import client_who_may
from tests.makers import make_execution, make_run, make_snapshot, make_suite

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/run/"


# The list


def test_the_list_shows_verdict_counts_score_and_who_was_tested(admin_client: Client) -> None:
    make_run(["passed", "failed"], model="anthropic/claude-haiku-5-5", is_scripted=False)

    text = admin_client.get(LIST).content.decode()

    assert "Failed</span>" in text
    assert 'aria-label="1 passed, 1 failed"' in text
    assert "(1 of 2)" in text
    assert "anthropic/claude-haiku-5-5" in text
    assert "0.62" in text  # the mean of 1 and 0.25
    assert "Scripted</span>" not in text


@pytest.mark.parametrize(
    ("states", "money", "expected"),
    [
        (["passed"], {"agent_cost_usd": "1.2", "judge_cost_usd": "0.34"}, "$1.54"),
        pytest.param(["passed"], {"agent_cost_usd": "1.2"}, "unknown", id="a part is unknown"),
        (["passed"], {"agent_cost_usd": "1.2", "spent_usd": "1.2"}, "at least $1.20"),
        pytest.param(["running"], {"spent_usd": "0.5"}, "$0.50 so far", id="open"),
    ],
)
def test_the_list_says_what_runs_cost(
    admin_client: Client, states: list[str], money: dict[str, str], expected: str
) -> None:
    columns: dict[str, Any] = {name: Decimal(amount) for name, amount in money.items()}
    make_run(states, **columns)

    assert f">{expected}</td>" in admin_client.get(LIST).content.decode()


def test_the_list_says_what_runs_covered(admin_client: Client) -> None:
    make_run(["passed"], is_whole=False, suite_case_count=38)

    assert "1 of 38 cases" in admin_client.get(LIST).content.decode()


@pytest.mark.both
def test_what_belongs_to_a_run_is_below_it_and_more_of_it_a_click_away(
    admin_client: Client,
) -> None:
    group, suite = uuid4(), make_suite()
    first = make_run(["failed"], suite=suite, group=group)
    counts = {"compared": 1, "few": 0, "hopeless": 0, "suspects": 1}
    settlement = Settlement.objects.create(base=first, head=first, **counts)
    below = [
        make_run(["failed"], suite=suite, **changes)
        for changes in (
            {"rerun_of": first},
            {"grades_of": first},
            {"settlement": settlement, "rerun_of": first},
            {"group": group, "is_whole": False},
        )
    ]

    def listed(query: str = "") -> tuple[list[int], str]:
        response = admin_client.get(LIST + query)
        return [run.pk for run in response.context["cl"].result_list], response.content.decode()

    *followers, beside = (run.pk for run in below)
    assert listed()[0] == [first.pk, *sorted(followers, reverse=True)]
    assert f"?which={first.pk}" not in listed()[1]
    assert set(listed(f"?which={first.pk}")[0]) == {*followers, beside}
    assert len(listed("?which=all")[0]) == 5
    assert listed("?which=%C2%B2")[0] == [first.pk]

    newer = [make_run(["failed"], suite=suite, rerun_of=first).pk for _ in range(3)]
    assert listed()[0] == [first.pk, *sorted([*newer, followers[-1]], reverse=True)]
    assert f'href="?which={first.pk}">1 retest, 4 re-runs, 1 grading again</a>' in listed()[1]


def test_runs_below_others_do_not_count_for_the_pages_of_the_list(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunAdmin, "list_per_page", 2)
    first = make_run(["failed"])
    make_run(["passed"], rerun_of=first)
    assert re.search(r">\s+1\s+run\s+<", admin_client.get(LIST).text)

    make_run(["failed"])
    make_run(["failed"])
    assert "Next</a>" in admin_client.get(LIST).text


def test_runs_below_others_can_be_ticked_too(admin_client: Client) -> None:
    first = make_run(["failed"])
    again = make_run(["passed"], rerun_of=first)
    ticked = {"action": "compare_chosen", "_selected_action": [first.pk, again.pk]}

    answer = admin_client.post(LIST, ticked)

    assert f"run={first.pk}&run={again.pk}" in answer["Location"]


def test_runs_are_listed_by_day_with_the_time_alone(admin_client: Client) -> None:
    now = timezone.now().replace(hour=12, minute=5)
    for days in (400, 2, 1, 0, 0):
        run = make_run(["passed"], started_at=now - timedelta(days=days))
        Run.objects.filter(pk=run.pk).update(created_at=run.started_at)

    text = admin_client.get(LIST).content.decode()

    headings = re.findall(r'scope="rowgroup">([^<]*)<', text)
    old, before = (now - timedelta(days=ago) for ago in (400, 2))
    assert headings[:2] == ["Today", "Yesterday"]
    assert headings[2] in {f"{before:%-d %B}", f"{before:%-d %B %Y}"}
    assert headings[3] == f"{old:%-d %B %Y}"
    assert text.count(">12:05</time>") == 5


def test_rows_of_open_runs_change_without_a_new_page(admin_client: Client) -> None:
    run = make_run(["running"])
    live = admin_client.get(LIST, headers={"HX-Trigger": "live-rows"}).content.decode()

    assert f'hx-select-oob="#row-{run.pk},#live-rows"' in admin_client.get(LIST).content.decode()
    assert f'id="row-{run.pk}"' in live
    assert "<body" not in live

    Run.objects.update(status="finished", verdict="passed")
    assert "hx-select-oob" not in admin_client.get(LIST).content.decode()


@pytest.mark.parametrize(
    ("query", "suites"),
    [
        pytest.param("", {"Refunds", "Greetings"}, id="all"),
        pytest.param("?suite_slug=refunds", {"Refunds"}, id="suite"),
        pytest.param("?verdict__exact=failed", {"Greetings"}, id="verdict"),
        pytest.param("?status__exact=running", set(), id="status"),
    ],
)
def test_the_list_is_filtered(admin_client: Client, query: str, suites: set[str]) -> None:
    make_run(["passed"], suite=make_suite())
    make_run(["failed"], suite=make_suite("greetings"))

    results = admin_client.get(LIST + query).context["cl"].result_list

    assert {run.suite_name for run in results} == suites


# The page


def test_the_page_shows_what_a_run_covered_and_what_replaced_embeddings(
    admin_client: Client,
) -> None:
    whole = make_run(["passed"])
    part = make_run(
        ["passed"],
        is_whole=False,
        suite_case_count=38,
        similarity="semantic_equivalence acme/small",
        is_similarity_stand_in=True,
    )

    plain, text = (admin_client.get(page_of(run)).content.decode() for run in (whole, part))

    for words in ("1 of 38 cases", "the judge acme/small", "Stand-in similarity"):
        assert words in text
        assert words not in plain


@pytest.mark.parametrize(
    ("states", "held_s", "queries"),
    [
        # Session, user, run, leases, claimed rows, running, typical duration (two queries), reruns.
        pytest.param(["running"], 30, 10, id="open"),
        pytest.param(["running"] * 9, 30, 10, id="open, many"),
        # In addition: workers, and what the queue delays.
        pytest.param(["running", "queued"], -60, 12, id="the worst"),
    ],
)
def test_the_page_takes_a_fixed_number_of_queries(
    admin_client: Client,
    django_assert_num_queries: Callable[..., Any],
    states: list[str],
    held_s: float,
    queries: int,
) -> None:
    Worker.objects.create(host="a", pid=1, version="1", processes=3)
    run = make_run(states, model="anthropic/claude-haiku-5-5", is_scripted=False)
    hold(run, seconds=held_s)
    admin_client.get(page_of(run))  # a process looks a content type up once

    with django_assert_num_queries(queries):
        admin_client.get(page_of(run))


def test_asking_again_takes_fewer(
    admin_client: Client, django_assert_num_queries: Callable[..., Any]
) -> None:
    run = make_run(["passed"] * 20 + ["running"] * 5)
    run.executions.filter(status="running").update(started_at=timezone.now())
    hold(run)

    with django_assert_num_queries(
        8
    ):  # session, user, run, leases, claimed rows, cases, providers, running
        admin_client.get(url(run, "live"))


def test_the_page_shows_notes_and_why_a_gate_was_not_measured(admin_client: Client) -> None:
    run = make_run(["passed"])
    gate = {"name": "max_p95_ms", "limit": 5, "actual": None, "passed": None}
    summary = {"notes": ["Read this."], "gates": [gate, gate | {"reason": "All turns failed."}]}
    Run.objects.filter(pk=run.pk).update(summary=run.summary | summary)

    text = admin_client.get(page_of(run)).content.decode()

    assert "Read this." in text
    assert text.count("All turns failed.") == 2  # in the answer, and beside the gate


def test_the_page_shows_what_was_frozen(admin_client: Client) -> None:
    snapshot = make_snapshot(fixtures=[{"name": "Shop data"}])
    run = make_run(["passed"], snapshot=snapshot, judge="scripted/mild", is_scripted=False)

    text = admin_client.get(page_of(run)).content.decode()

    assert "Shop data" in text
    assert "scripted/mild" in text
    assert "A judge is scripted" in text


@pytest.mark.parametrize(
    ("judge", "is_warned"),
    [
        pytest.param("openai/gpt-6, anthropic/claude-opus-5", True, id="one of two"),
        pytest.param("openai/gpt-6", False, id="another family"),
    ],
)
def test_the_page_warns_of_a_judge_of_the_agents_family(
    admin_client: Client, judge: str, *, is_warned: bool
) -> None:
    run = make_run(judge=judge, model="anthropic/claude-haiku-5-5")

    text = admin_client.get(page_of(run)).content.decode()

    assert ("Judge and agent are both Claude models" in text) is is_warned


def test_the_page_links_failures_and_reruns(admin_client: Client) -> None:
    run = make_run(["failed"])
    again = make_run(["passed"], rerun_of=run)
    failed = run.executions.get()

    text = admin_client.get(page_of(run)).content.decode()

    assert reverse("admin:evals_app_execution_change", args=[failed.pk]) in text
    assert page_of(again) in admin_client.get(url(run, "related")).content.decode()
    assert page_of(run) in admin_client.get(url(again, "related")).content.decode()


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
    text, _, beside = text.partition('id="run-status"')

    for focusable in ("<a ", "<button", "<input", "tabindex", "<summary"):
        assert focusable not in text
    assert "Something is stuck" in text
    assert "<button" in beside


def test_what_went_wrong_so_far_is_linked_until_the_run_has_ended(admin_client: Client) -> None:
    run = make_run(["running", "failed"])
    (failed,) = run.executions.filter(verdict="failed")

    text = admin_client.get(url(run, "wrong")).content.decode()
    nothing = admin_client.get(url(make_run(["running"]), "wrong"))
    ended = admin_client.get(url(make_run(["failed"]), "wrong"))

    assert f"/execution/{failed.pk}/change/" in text
    assert (nothing.status_code, nothing.content.strip()) == (200, b"")
    assert (ended.status_code, ended.content) == (286, b"")  # htmx asks no more


@pytest.mark.parametrize("part", ["live", "wrong", "related"])
def test_parts_of_the_page_are_refused_without_the_right(client: Client, part: str) -> None:
    run = make_run(["running"])

    for someone in (client, client_who_may("view_suite")):
        response = someone.get(url(run, part))

        assert (response.status_code, response.content) == (403, b"")
        assert response.headers["HX-Refresh"] == "true"


@pytest.mark.parametrize(
    ("days", "changes", "expected"),
    [
        pytest.param(0, {}, "kept until someone removes them", id="kept for ever"),
        pytest.param(30, {}, "kept for at least 30 days", id="until it is old"),
        pytest.param(30, {"is_pinned": True}, "kept indefinitely", id="pinned"),
    ],
)
def test_the_page_says_for_how_long_they_are_kept(
    admin_client: Client, settings: Any, days: int, changes: dict[str, Any], expected: str
) -> None:
    settings.EVALS_KEEP_TRANSCRIPTS_DAYS = days

    text = admin_client.get(page_of(make_run(["passed"], **changes))).content.decode()

    assert f"<dd>{expected}</dd>" in text


def test_a_run_whose_transcripts_were_removed_says_so(admin_client: Client) -> None:
    run = make_run(["passed"], pruned_at=timezone.now() + timedelta(seconds=5))

    text = admin_client.get(page_of(run)).content.decode()

    assert "Transcripts were removed on" in text
    assert "Verdicts and scores are kept" in text
    assert url(run, "pin") not in text


def test_who_may_not_read_executions_is_not_led_to_them() -> None:
    run = make_run(["failed"])

    text = client_who_may("view_run").get(page_of(run)).content.decode()

    assert "case 1" in text
    assert "/execution/" not in text


def test_the_report_is_a_download_with_links(admin_client: Client) -> None:
    run = make_run(["passed", "failed"])

    response = admin_client.get(url(run, "report", "markdown"))
    text = response.getvalue().decode()

    assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert f"run-{run.pk}-refunds.md" in response.headers["Content-Disposition"]
    assert text.startswith(f"# Refunds: run {run.pk}")
    assert f"<http://testserver{page_of(run)}>" in text
