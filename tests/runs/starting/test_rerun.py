"""Cases of a run, run again: as they are now, or as they were."""

from collections.abc import Callable
from typing import Any

import pytest

from evals_app.models import Agent, Assertion, Case, Run, Suite
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.rerun import edits_before_rerun, rerun
from evals_app.runs.starting.start_run import start_run
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db


def run_suite(**options: Any) -> Run:
    return finished(make_suite(["hello", "bye"]), **options)


def verdict_of(run: Run) -> str:
    work()
    return Run.objects.get(pk=run.pk).verdict


def repair() -> None:
    Assertion.objects.filter(turn__case__name="case 2").update(options={"value": "bye"})


def test_a_repaired_case_passes_when_it_is_run_as_it_is_now() -> None:
    run = run_suite()
    repair()

    again = rerun(run, only="failed")

    assert (again.total, again.rerun_of) == (1, run)
    assert verdict_of(again) == "passed"


def test_as_it_was_it_fails_again() -> None:
    run = run_suite()
    repair()

    again = rerun(run, only="failed", version="frozen")

    assert again.snapshot_id == run.snapshot_id
    assert verdict_of(again) == "failed"


def test_what_was_chosen_at_the_start_is_chosen_again() -> None:
    other = make_agent("other")
    run = run_suite(agent=other, trials=2)

    again = rerun(rerun(run, only="all"), only="all", cases=["case 1"])

    assert (again.agent_slug, again.total) == ("other", 2)


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("version", ["current", "frozen"])
def test_a_run_with_another_model_is_repeated_as_one(version: Any) -> None:
    own = make_agent("own", driver="model", rules=[], model="local/a")
    run = start_run(make_suite(agent=own), model="local/b")

    again = rerun(run, only="all", version=version)

    assert (again.model, again.replaced_model) == ("local/b", "local/a")


def test_a_new_agent_of_the_suite_is_what_is_tested_now() -> None:
    run = run_suite()
    run.suite.agent = make_agent("next")  # type: ignore[union-attr]  # it has one
    run.suite.save()  # type: ignore[union-attr]

    assert rerun(Run.objects.get(pk=run.pk), only="failed").agent_slug == "next"


@pytest.mark.parametrize(
    ("cases", "word"),
    [
        pytest.param(["case 1"], "case 1", id="one that passed"),
        pytest.param(["case 22"], "Did you mean 'case 2'?", id="a typing error"),
        pytest.param([], "at least one", id="none"),
    ],
)
def test_only_cases_that_failed_can_be_chosen_of_those_that_failed(
    cases: list[str], word: str
) -> None:
    run = run_suite()

    with pytest.raises(CannotStartError, match=word.replace("?", r"\?")):
        rerun(run, only="failed", cases=cases)

    assert Run.objects.count() == 1


def test_where_nothing_failed_there_is_nothing_to_run_again() -> None:
    run = finished(make_suite(["hello"]))

    with pytest.raises(CannotStartError, match="no failed conversations"):
        rerun(run, only="failed")


def test_cases_that_are_gone_are_left_out_unless_all_are() -> None:
    run = finished(make_suite(["bye", "bye"]))
    Case.objects.filter(name="case 1").delete()

    assert rerun(run, only="failed").total == 1

    Case.objects.all().delete()
    with pytest.raises(CannotStartError, match="no longer"):
        rerun(run, only="failed")
    assert rerun(run, only="failed", version="frozen").total == 2


def test_cases_of_a_deleted_suite_are_run_as_they_were_only() -> None:
    run = run_suite()
    Suite.objects.all().delete()
    run = Run.objects.get(pk=run.pk)

    with pytest.raises(CannotStartError, match="was deleted"):
        rerun(run, only="failed")
    assert rerun(run, only="failed", version="frozen").total == 1


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        pytest.param(repair, "case “case 2”", id="a check of a case"),
        (lambda: Agent.objects.update(system_prompt="Be brief."), "agent echo"),
        pytest.param(lambda: Suite.objects.update(trials=3), "suite greetings", id="the suite"),
        (lambda: Case.objects.filter(name="case 2").delete(), "no longer"),
        (lambda: Suite.objects.update(agent=make_agent("next")), "now next"),
    ],
)
def test_what_was_edited_since_is_named(edit: Callable[[], Any], named: str) -> None:
    run = run_suite()
    edit()

    (edited,) = edits_before_rerun(Run.objects.get(pk=run.pk), ["case 2"])

    assert named in edited


def test_only_edits_of_these_cases_are_named() -> None:
    run = run_suite()
    before = edits_before_rerun(run, ["case 1", "case 2"])
    repair()

    assert before == edits_before_rerun(run, ["case 1"]) == []
