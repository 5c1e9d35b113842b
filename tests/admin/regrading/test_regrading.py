"""Grading a run again in the admin: what is asked first, and what pages show of it."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.models import Assertion, Case, Execution, GradeResult, Run, Suite, Transcript
from evals_app.runs.process.worker_loop import work
from evals_app.runs.regrading.start_regrade import regrade
from tests.admin.run_pages import page_of, url
from tests.authored import client_who_may
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return finished(make_suite(["hello", "bye"]))


def mend(case: str = "case 2") -> None:
    Assertion.objects.filter(turn__case__name=case).update(options={"value": "bye"})


def graded_again(run: Run, **choices: Any) -> Run:
    again = regrade(run, **choices)
    work()
    return Run.objects.get(pk=again.pk)


def text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def page_of_execution(execution: Execution) -> str:
    return reverse("admin:evals_app_execution_change", args=[execution.pk])


# The dialog


def test_where_nothing_was_edited_there_is_no_choice_of_checks(
    admin_client: Client, run: Run
) -> None:
    dialog = admin_client.get(url(run, "regrade"))

    assert dialog.context["form"].edits == []
    assert list(dialog.context["form"].fields) == ["cases", "judge", "trials", "max_cost_usd"]


def test_edits_of_checks_are_named_and_can_be_left_out(admin_client: Client, run: Run) -> None:
    mend()
    agent = run.suite.agent  # type: ignore[union-attr]  # it has one
    agent.connection["rules"] = [{"reply": "Something else."}]  # which does not matter
    agent.save()

    form = admin_client.get(url(run, "regrade")).context["form"]
    posted = {"suite": "as_it_was", "cases": ["case 2"]}
    response = admin_client.post(url(run, "regrade"), posted)

    assert form.edits == ["case “case 2”"]
    again = Run.objects.get(grades_of=run)
    assert (again.regrading["suite"], again.total) == ("as_it_was", 1)
    assert str(again.executions.get().pk) in response.headers["HX-Redirect"]


def test_what_it_takes_and_leaves_out_is_said_before_it_starts(
    admin_client: Client, run: Run
) -> None:
    Case.objects.get(name="case 1").turns.update(user="Good morning")
    posted = {"cases": ["case 1", "case 2"], "trials": "3"}

    size = admin_client.post(url(run, "regrade_size"), posted)

    assert "3 conversations" in size.context["sentence"]
    assert "case 1" in size.context["left_out"][0]
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("posted", "word"),
    [
        pytest.param({"trials": "0"}, "How often", id="never"),
        pytest.param({"max_cost_usd": "-1"}, "Cost ceiling", id="a ceiling below 0"),
        pytest.param({"cases": []}, "Cases", id="no case"),
        pytest.param({"judge": "nowhere"}, "provider/model", id="no judge"),
    ],
)
def test_what_is_wrong_is_said_at_once_and_starts_nothing(
    admin_client: Client, run: Run, posted: dict[str, Any], word: str
) -> None:
    body = {"cases": ["case 1"], **posted}

    size = admin_client.post(url(run, "regrade_size"), body)
    response = admin_client.post(url(run, "regrade"), body)

    assert word in " ".join(size.context["problems"])
    assert response.context["form"].errors
    assert Run.objects.count() == 1


def test_one_conversation_is_graded_alone(admin_client: Client, run: Run) -> None:
    execution = run.executions.get(case="case 2")
    assert "regrade/?execution=" in text(admin_client, page_of_execution(execution))

    admin_client.post(f"{url(run, 'regrade')}?execution={execution.pk}", {"trials": "1"})

    assert Run.objects.get(grades_of=run).executions.get().source == execution


@pytest.mark.parametrize("query", ["execution=0", "execution=x", f"execution={'9' * 30}"])
def test_a_conversation_of_another_run_is_not_found(
    admin_client: Client, run: Run, query: str
) -> None:
    assert admin_client.get(f"{url(run, 'regrade')}?{query}").status_code == 404


def test_a_run_without_a_suite_or_of_an_archived_one_is_graded_as_it_was(
    admin_client: Client, run: Run
) -> None:
    Suite.objects.update(archived_at=run.finished_at)
    assert "archived" in admin_client.get(url(run, "regrade")).context["form"].why_not_current
    Suite.objects.all().delete()

    admin_client.post(url(run, "regrade"), {"cases": ["case 1"]})

    assert Run.objects.get(grades_of=run).regrading["suite"] == "as_it_was"


def test_an_open_run_cannot_be_graded_again(admin_client: Client, run: Run) -> None:
    Run.objects.update(status="running", verdict="")

    assert admin_client.get(url(run, "regrade")).status_code == 404
    assert url(run, "regrade") not in text(admin_client, page_of(run))


def test_who_may_only_read_is_not_offered_it(run: Run) -> None:
    reader = client_who_may("view_run", "view_execution", "view_suite", "view_case", "change_case")
    case = Case.objects.get(name="case 1")
    pages = [
        page_of(run),
        page_of_execution(run.executions.get(case="case 1")),
        reverse("admin:evals_app_suite_cases", args=[run.suite_id]),
        reverse("admin:evals_app_case_change", args=[case.pk]),
    ]

    assert not any("/regrade/" in text(reader, page) for page in pages)


# From a suite and from a case


def test_checks_are_tried_on_the_last_whole_run(admin_client: Client, run: Run) -> None:
    finished(run.suite, names=["case 1"])  # type: ignore[arg-type]  # it has one
    case = Case.objects.get(name="case 2")

    on_suite = text(admin_client, reverse("admin:evals_app_suite_cases", args=[run.suite_id]))
    on_case = text(admin_client, reverse("admin:evals_app_case_change", args=[case.pk]))

    assert f'href="{url(run, "regrade")}"' in on_suite
    assert f'hx-get="{url(run, "regrade")}?case=case+2"' in on_case


def test_a_case_without_a_result_has_nothing_to_try(admin_client: Client, run: Run) -> None:
    new = Case.objects.create(suite=run.suite, name="new", position=9)

    page = text(admin_client, reverse("admin:evals_app_case_change", args=[new.pk]))

    assert "/regrade/" not in page


# What pages show


def test_the_page_says_what_it_grades_and_what_changed(admin_client: Client, run: Run) -> None:
    mend()
    again = graded_again(run)

    shown = admin_client.get(page_of(again)).context

    assert f"Run {run.pk} graded again" in shown["scope"]
    assert "1 from failed to passed" in shown["changed_in_short"]
    (changed,) = shown["changes"]
    assert (changed.execution.case, changed.execution.source.run_id) == ("case 2", run.pk)
    labels = dict(shown["numbers"])
    assert {f"Agent cost in run {run.pk}", f"Agent tokens in run {run.pk}"} <= labels.keys()
    assert page_of(again) in text(admin_client, url(run, "related"))


def test_where_nothing_changed_nothing_is_listed(admin_client: Client, run: Run) -> None:
    shown = admin_client.get(page_of(graded_again(run))).context

    assert (shown["changes"], shown["steadiness"]) == ([], None)


def test_only_the_first_changes_are_listed(
    admin_client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals_app.admin.regrading.regrade_results.MAX_CHANGED", 2)
    mend()
    again = graded_again(run, trials=5)

    shown = admin_client.get(page_of(again)).context

    assert (len(shown["changes"]), shown["changes_more"]) == (2, 3)
    assert not shown["has_odds"]


def test_an_execution_shows_the_verdict_of_before(admin_client: Client, run: Run) -> None:
    mend()
    again = graded_again(run)
    source = run.executions.get(case="case 2")

    after = admin_client.get(page_of_execution(again.executions.get(case="case 2"))).context
    before = admin_client.get(page_of_execution(source)).context

    assert after["graded_before"]["execution"] == source
    assert after["graded_before"]["has_changed"]
    assert after["trial"].turns[0].reply == "You said: bye"
    assert [row["run"] for row in before["graded_again"]] == [again.pk]


def test_removed_transcripts_are_those_of_the_other_run(admin_client: Client, run: Run) -> None:
    again = graded_again(run)
    Transcript.objects.all().delete()
    Run.objects.filter(pk=run.pk).update(pruned_at=run.finished_at)

    page = admin_client.get(page_of(again)).context
    execution = admin_client.get(page_of_execution(again.executions.get(case="case 1"))).context

    assert (page["transcripts"], page["regrade_url"]) == ("removed", "")
    assert execution["is_pruned"]


def test_the_steadiness_of_judges_is_shown_beside_their_checks(
    admin_client: Client, run: Run
) -> None:
    case = Case.objects.get(name="case 1")
    options = {"criteria": "Polite", "model": "scripted/judge"}
    Assertion.objects.create(turn=case.turns.get(), position=1, type="llm_judge", options=options)
    judge = run.suite.agent  # type: ignore[union-attr]  # it has one
    verdict = {"verdict": "pass", "critique": "Fine.", "requirements": []}
    judge.pk, judge.slug = None, "judge"
    judge.connection = {"rules": [{"reply": json.dumps(verdict)}]}
    judge.save()
    again = graded_again(run, cases=["case 1"], trials=3)
    assert again.passed == 3, GradeResult.objects.filter(execution__run=again).last().reason  # type: ignore[union-attr]

    page = admin_client.get(page_of(again)).context
    execution = text(admin_client, page_of_execution(again.executions.get(trial=2)))

    (row,) = page["steadiness"]
    assert dict(row)["Gradings"] == "3"
    assert "3 of 3 gradings" in execution
