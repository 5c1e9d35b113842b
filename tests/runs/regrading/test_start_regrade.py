"""Stored conversations, graded again: no agent is asked, and no question is paid for twice."""

import json
import random
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db.models.functions import Now
from django.utils import timezone

from evals_app.admin.runs.run_results import results
from evals_app.engine.running.execution import write_off
from evals_app.library.baselines import why_no_baseline
from evals_app.models import (
    Assertion,
    Case,
    Execution,
    GradeResult,
    Lease,
    Run,
    Suite,
    Transcript,
    Yardstick,
)
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.reap import reap
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.process.retention import due_runs, prune_run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.reading.run_readers import run_details, runs_document
from evals_app.runs.reading.suite_verdict import SuiteVerdict, standings, with_last_runs
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.regrading.start_regrade import plan_regrade, regrade
from evals_app.runs.retests.candidates import plan_settlement
from evals_app.runs.starting.forecast import forecast
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.rerun import rerun
from evals_app.runs.work.run_worker import plan_of
from tests.engine.judging.makers import requirement
from tests.messages_api import Json
from tests.model_server import Answer, ModelServer, Reply, last_text
from tests.runs.suites import claim, finished, lease_of, make_agent, make_suite

pytestmark = pytest.mark.django_db

SAME = ("case", "trial", "verdict", "cause", "reason", "score", "turn_ms", "summary", "time_ms")


def graded_again(run: Run, **choices: Any) -> Run:
    again = regrade(run, **choices)
    work()
    return Run.objects.get(pk=again.pk)


def results_of(run: Run) -> list[Any]:
    return list(run.executions.order_by("position", "trial").values_list(*SAME))


# Scripted agents, checks by code


def run_suite(messages: list[str] | None = None, **options: Any) -> Run:
    return finished(make_suite(messages or ["hello", "bye", "crash"]), **options)


@pytest.mark.parametrize("suite", ["as_it_was", "current"])
def test_where_nothing_changed_the_results_are_the_same(suite: str) -> None:
    run = run_suite(trials=2)

    again = graded_again(run, suite=suite)

    assert results_of(again) == results_of(run)
    counts = ("total", "passed", "failed", "errored", "not_run", "verdict", "score", "status")
    assert [getattr(again, name) for name in counts] == [getattr(run, name) for name in counts]
    assert (again.grades_of, again.is_whole, again.rerun_of) == (run, False, None)


def test_what_the_agent_took_is_counted_once_however_often_its_conversations_are_graded() -> None:
    run = run_suite(["hello", "bye"])
    took = {
        "agent_prompt_tokens": 100,
        "agent_response_tokens": 7,
        "agent_cost_usd": Decimal("0.01"),
    }
    run.executions.update(**took)
    for transcript in Transcript.objects.filter(execution__run=run):
        usage = {"input_uncached": 100, "output": 7}
        transcript.trial["turns"][0] |= {"usage": usage, "cost_usd": "0.01"}
        transcript.save()

    again = graded_again(run, trials=5)

    answer = run_details(again.pk)
    assert answer is not None
    assert (answer["counts"]["total"], answer["tokens"]["agent"]) == (
        10,
        {"prompt": 200, "response": 14},
    )
    assert answer["cost_parts_usd"]["agent"] == 0.02
    assert [case["tokens"]["agent"]["prompt"] for case in answer["cases"]] == [100, 100]
    assert dict(results(again)["numbers"])[f"Agent tokens in run {run.pk}"].startswith("200 ")
    total = runs_document([again])["total"]
    assert (total["tokens"]["agent"]["prompt"], total["cost_parts_usd"]["agent"]) == (0, 0.0)


def test_the_agent_is_not_asked_and_no_conversation_is_stored_twice() -> None:
    run = run_suite()
    agent = run.suite.agent  # type: ignore[union-attr]  # it has one
    agent.connection["rules"] = [{"reply": "Something else."}]
    agent.save()

    again = graded_again(run)

    sources = dict(run.executions.values_list("pk", "case"))
    assert {row.source_id: row.case for row in again.executions.all()} == sources
    assert not Transcript.objects.filter(execution__run=again).exists()
    execution = again.executions.get(case="case 1")
    transcript = Transcript.objects.of(execution)
    assert transcript is not None
    assert transcript.trial["turns"][0]["reply"] == "You said: hello"


def test_a_changed_check_is_tried_on_the_conversations_of_yesterday() -> None:
    run = run_suite(["hello", "bye"])
    Assertion.objects.filter(turn__case__name="case 2").update(options={"value": "bye"})

    now, then = graded_again(run), graded_again(run, suite="as_it_was")

    assert ((run.verdict, run.passed), (now.verdict, now.passed)) == (("failed", 1), ("passed", 2))
    assert (then.verdict, then.passed) == ("failed", 1)
    assert then.snapshot_id == run.snapshot_id


def test_a_conversation_that_would_be_another_one_today_is_named_and_not_graded() -> None:
    run = run_suite(["hello", "hello there", "hello you", "hello all"])
    Case.objects.get(name="case 1").turns.update(user="Good morning")
    Case.objects.filter(name="case 2").update(name="renamed")
    Transcript.objects.filter(execution__case="case 3").delete()

    again = graded_again(run)

    assert list(again.executions.values_list("case", flat=True)) == ["case 4"]
    left_out = {why: cases["names"] for why, cases in again.regrading["left_out"].items()}
    assert left_out == {"changed": ["case 1"], "gone": ["case 2"], "pruned": ["case 3"]}
    notes = " ".join(again.summary["notes"])
    assert all(name in notes for name in ("case 1", "case 2", "case 3"))


def test_expected_answers_and_facts_for_judges_may_change() -> None:
    run = run_suite(["hello"])
    turn = Case.objects.get().turns.get()
    turn.expected, turn.context = "You said: hello", ["A fact"]
    turn.save()
    Assertion.objects.create(turn=turn, position=1, type="exact_match", options={})

    assert graded_again(run).passed == 1


def test_chosen_cases_and_executions_are_graded_alone() -> None:
    run = run_suite(trials=2)
    one = run.executions.get(case="case 2", trial=2)

    assert graded_again(run, cases=["case 1"]).total == 2
    chosen = graded_again(run, executions=[one.pk])
    assert [(row.source_id, row.trial) for row in chosen.executions.all()] == [(one.pk, 2)]


def test_what_was_graded_again_can_be_graded_again() -> None:
    run = run_suite()
    again = graded_again(graded_again(run))

    assert again.grades_of == run
    assert results_of(again) == results_of(run)


def test_a_conversation_that_is_removed_meanwhile_is_an_error_and_never_asked() -> None:
    run = run_suite(["hello", "hello"])
    again = regrade(run)
    Transcript.objects.filter(execution__case="case 2").delete()

    work()

    assert {row.case: row.cause for row in again.executions.all()} == {
        "case 1": "",
        "case 2": "harness",
    }


@pytest.mark.parametrize(
    ("choices", "word"),
    [
        pytest.param({"cases": ["case 11"]}, "Did you mean 'case 1'", id="a typing error"),
        pytest.param({"cases": []}, "at least one", id="no case"),
        pytest.param({"executions": [0]}, "no conversation", id="no execution"),
        pytest.param({"trials": 0}, "0", id="never"),
        pytest.param({"trials": 101}, "101", id="too often"),
        pytest.param({"judge": "unknown"}, "provider/model", id="no judge"),
        pytest.param({"judge": "nowhere/judge-1"}, "nowhere", id="an unknown provider"),
    ],
)
def test_what_cannot_be_graded_is_refused(choices: dict[str, Any], word: str) -> None:
    run = run_suite()
    checked = Case.objects.get(name="case 1").turns.get()
    Assertion.objects.create(
        turn=checked, position=1, type="llm_judge", options={"criteria": "Polite"}
    )
    Case.objects.get(name="case 1").suite.save()

    with pytest.raises(CannotStartError, match=word.replace("?", r"\?")):
        regrade(run, **choices)


def test_a_run_that_goes_on_or_has_no_transcripts_is_refused() -> None:
    run = run_suite()
    Transcript.objects.all().delete()
    with pytest.raises(CannotStartError, match="case 1"):
        regrade(run)
    Run.objects.filter(pk=run.pk).update(status="running", verdict="")
    with pytest.raises(CannotStartError, match="not ended"):
        regrade(Run.objects.get(pk=run.pk))


def test_a_deleted_suite_can_be_graded_as_it_was() -> None:
    run = run_suite(["hello"])
    run.suite.delete()  # type: ignore[union-attr]  # it has one
    run = Run.objects.get(pk=run.pk)

    with pytest.raises(CannotStartError, match="deleted"):
        regrade(run)
    assert graded_again(run, suite="as_it_was").passed == 1


def test_a_cancelled_one_is_resumed() -> None:
    run = run_suite()
    again = regrade(run)
    cancel_run(again)

    again = Run.objects.get(pk=again.pk)
    assert (again.status, again.cancelled) == ("cancelled", 3)
    resume_run(again)
    work()

    assert results_of(Run.objects.get(pk=again.pk)) == results_of(run)


def test_the_work_of_a_worker_that_dies_is_done_by_another_one_once() -> None:
    run = run_suite()
    again = regrade(run)
    lease = lease_of(again)
    first, *rest = claim(lease, 3)
    lease.begin([first.id, *(job.id for job in rest)])
    assert lease.record([async_to_sync(write_off)(plan_of(again), first, reason="Broken.")])
    Lease.objects.filter(pk=lease.token).update(until=Now() - timedelta(seconds=1))

    reap()
    work()

    again = Run.objects.get(pk=again.pk)
    assert (again.status, again.total, again.not_run, again.errored) == ("finished", 3, 0, 1)
    assert GradeResult.objects.filter(execution__run=again).count() == 3
    assert not Transcript.objects.filter(execution__run=again).exists()


def test_a_case_that_was_disabled_since_is_graded_all_the_same() -> None:
    run = run_suite(["hello", "hello"])
    Case.objects.filter(name="case 1").update(enabled=False)

    assert graded_again(run).total == 2


def test_what_was_chosen_for_the_run_still_decides() -> None:
    suite = make_suite(["hello", "bye"])
    base = finished(suite)
    run = finished(suite, baseline=base.pk)

    again = graded_again(run)

    assert (again.overrides, again.baseline) == (run.overrides, base)
    assert again.summary["gates"] == run.summary["gates"] != []


# What else there is about runs


def test_it_is_no_later_result_of_its_suite() -> None:
    run = run_suite(["hello"])
    again = graded_again(run)

    (known,) = standings(list(with_last_runs(Suite.objects.all())))

    assert known == SuiteVerdict(run, None)
    assert again.covers == f"run {run.pk} graded again"


def test_forecasts_of_runs_do_not_learn_from_it() -> None:
    run = run_suite(["hello"])
    before = forecast(run.suite)  # type: ignore[arg-type]  # it has one
    graded_again(run)

    assert forecast(run.suite) == before  # type: ignore[arg-type]  # it has one


def test_its_transcripts_are_kept_with_those_of_the_run() -> None:
    run = run_suite(["hello"])
    again = graded_again(run)
    old = timezone.now() - timedelta(days=90)
    Run.objects.update(finished_at=old)
    assert set(due_runs(older_than_days=30, keep_last=0)) == {run, again}

    Run.objects.filter(pk=again.pk).update(is_pinned=True)

    assert not due_runs(older_than_days=30, keep_last=0).exists()
    assert prune_run(run) is None


def test_it_does_not_push_the_last_runs_out_of_those_that_keep_their_transcripts() -> None:
    suite = make_suite(["hello", "hello"])
    finished(suite)
    part = finished(suite, names=["case 1"])
    graded_again(part)
    Run.objects.update(finished_at=timezone.now() - timedelta(days=90))

    assert part not in due_runs(older_than_days=30, keep_last=1)


def test_it_can_be_the_baseline_if_each_case_was_graded_once() -> None:
    run = run_suite(["hello", "hello"])

    assert why_no_baseline(graded_again(run)) == ""
    assert "every case" in why_no_baseline(graded_again(run, cases=["case 1"]))
    assert "3 times" in why_no_baseline(graded_again(run, trials=3))


def test_gradings_of_one_conversation_are_no_trials_of_the_agent() -> None:
    run = run_suite(["bye"])
    again = graded_again(run, trials=3)

    with pytest.raises(CannotStartError, match="same conversations"):
        plan_settlement(run, graded_again(run))
    with pytest.raises(CannotStartError, match="3 times"):
        plan_settlement(run, again)
    with pytest.raises(CannotStartError, match=f"run {run.pk} instead"):
        rerun(again, only="failed")
    once_more = graded_again(again)
    assert (once_more.total, once_more.grades_of) == (1, run)


# Judges


def judged_run(server: ModelServer, *, cases: int = 3, **judged: Any) -> Run:
    agent = make_agent()
    suite = make_suite(cases=cases, agent=agent, judge_model="local/judge-1")
    for case in suite.cases.all():
        Assertion.objects.create(
            turn=case.turns.get(),
            position=1,
            type="llm_judge",
            options={"criteria": "Says hello", **judged},
        )
    server.answers(verdict("pass"))
    return finished(suite)


def verdict(word: str) -> Callable[[Json], Answer]:
    def answer(_: Json) -> Answer:
        met = "yes" if word == "pass" else "no"
        answered = {
            "requirements": [requirement(quote="You said: hello", met=met)],
            "critique": "It says hello.",
            "injection_suspected": False,
            "verdict": word,
        }
        return Reply(json.dumps(answered), input_tokens=300, output_tokens=40)

    return answer


def test_judges_that_were_asked_the_identical_question_are_not_asked_again(
    server: ModelServer,
) -> None:
    run = judged_run(server)
    asked = len(server.bodies)
    server.answers(verdict("fail"))

    again = graded_again(run)

    assert len(server.bodies) == asked
    assert (again.verdict, again.spent_usd, again.judge_prompt_tokens) == ("passed", 0, 0)
    calls = GradeResult.objects.filter(execution__run=again, type="llm_judge").values_list(
        "calls", flat=True
    )
    assert [call["is_reused"] for (call,) in calls] == [True] * 3
    assert not again.judge_tallies.exists()


def test_a_reworded_criterion_is_a_new_question_and_a_new_yardstick(server: ModelServer) -> None:
    run = judged_run(server)
    Assertion.objects.filter(type="llm_judge").update(options={"criteria": "Says “hello”"})
    server.answers(verdict("fail"))

    again = graded_again(run)

    assert again.failed == 3
    assert again.judge_prompt_tokens == 900
    assert Yardstick.objects.count() == 2
    assert Yardstick.objects.get(criterion="Says “hello”").judge == "local/judge-1"


def test_another_judge_replaces_that_of_the_run(server: ModelServer) -> None:
    run = judged_run(server)
    asked = len(server.bodies)
    server.answers(verdict("fail"))

    again = graded_again(run, suite="as_it_was", judge="local/judge-2")

    assert {body["model"] for body in server.bodies[asked:]} == {"judge-2"}
    assert (again.judge, again.failed) == ("local/judge-2", 3)


def test_a_repaired_answer_is_reused_with_its_repair(server: ModelServer) -> None:
    server.answers(
        lambda request: (
            verdict("pass")(request)
            if "cannot be used" in last_text(request)
            else Reply("No JSON.")
        )
    )
    agent = make_agent()
    suite = make_suite(cases=1, agent=agent, judge_model="local/judge-1")
    Assertion.objects.create(
        turn=suite.cases.get().turns.get(),
        position=1,
        type="llm_judge",
        options={"criteria": "Says hello"},
    )
    run = finished(suite)
    asked = len(server.bodies)

    again = graded_again(run)

    assert (len(server.bodies), again.verdict) == (asked, "passed")


def test_a_judge_that_did_not_grade_is_asked_again_and_a_forecast_knows(
    server: ModelServer,
) -> None:
    agent = make_agent()
    suite = make_suite(cases=1, agent=agent, judge_model="local/judge-1")
    Assertion.objects.create(
        turn=suite.cases.get().turns.get(),
        position=1,
        type="llm_judge",
        options={"criteria": "Says hello"},
    )
    server.answers(lambda _: Reply("No JSON."))
    run = finished(suite)
    server.answers(verdict("pass"))

    with plan_regrade(run) as regrading:
        expected = forecast_regrade(regrading)
    again = graded_again(run)

    assert (run.verdict, again.verdict) == ("inconclusive", "passed")
    assert expected.judge_calls == 1


@pytest.mark.slow
def test_the_noise_of_a_judge_is_measured(server: ModelServer) -> None:
    run = judged_run(server, cases=30)
    for case in Case.objects.all():
        steady = {"criteria": "Is polite"}
        Assertion.objects.create(
            turn=case.turns.get(), position=2, type="llm_judge", options=steady
        )
    draw = random.Random(1)

    def answer(request: Json) -> Answer:
        is_steady = "Is polite" in last_text(request)
        return verdict("pass" if is_steady or draw.random() >= 0.3 else "fail")(request)

    server.answers(answer)
    again = graded_again(run, trials=20)

    noise = {check["label"]: check for check in again.summary["judge_noise"]}
    flips = {label.removeprefix("Judge: "): check["flip_rate"] for label, check in noise.items()}
    assert flips["Is polite"] == 0
    assert flips["Says hello"] == pytest.approx(0.3, abs=0.05)
    assert [check["conversations"] for check in noise.values()] == [30, 30]
    assert again.executions.count() == Execution.objects.filter(run=run).count() * 20


def test_a_forecast_counts_only_what_judges_must_be_asked(server: ModelServer) -> None:
    run = judged_run(server)

    def calls(**choices: Any) -> tuple[int, int]:
        with plan_regrade(run, **choices) as regrading:
            expected = forecast_regrade(regrading)
            return expected.agent_calls, expected.judge_calls

    assert calls() == (0, 0)
    assert calls(suite="as_it_was", trials=4) == (0, 12)
    Assertion.objects.filter(type="llm_judge", turn__case__name="case 1").update(
        options={"criteria": "Is kind"}
    )
    assert calls() == (0, 1)
    assert calls(judge="local/judge-2") == (0, 3)
