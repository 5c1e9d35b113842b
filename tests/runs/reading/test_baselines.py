"""Runs compared with a baseline: which one, and what their gates make of it."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from evals_app.admin.agents.copies import copy_suite
from evals_app.library.baselines import set_baseline, unset_baseline
from evals_app.models import GradeResult, Run, Suite, Turn
from evals_app.reports.answers.comparison import headline
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.reading.compared_runs import compare_runs
from evals_app.runs.reviews.reviewing import review_grade
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.rerun import rerun
from tests import makers
from tests.runs.suites import finished, make_agent, make_suite, start

pytestmark = pytest.mark.django_db


def break_case(suite: Suite, name: str) -> None:
    """Make the agent's reply to a case wrong without editing the case."""
    word = Turn.objects.get(case__suite=suite, case__name=name).user
    agent = suite.agent
    agent.connection["rules"] = [{"when": word, "reply": "Nonsense."}, *agent.connection["rules"]]
    agent.save()


def gates(run: Run) -> dict[str, tuple[float | None, bool | None]]:
    return {gate["name"]: (gate["actual"], gate["passed"]) for gate in run.summary["gates"]}


def reason(run: Run) -> str:
    text: str = run.summary["gates"][0]["reason"]
    return text


GREETINGS = ["hello one", "hello two", "bye"]  # the last one fails


@pytest.fixture
def suite() -> Suite:
    return make_suite(GREETINGS, run_rule="gates", max_regressions=0)


def test_a_run_is_compared_with_the_baseline_of_its_suite(suite: Suite) -> None:
    base = finished(suite)
    set_baseline(base)
    same = finished(suite)
    break_case(suite, "case 2")
    worse = finished(suite)

    assert gates(base) == {"max_regressions": (None, None)}
    assert [run.verdict for run in (base, same, worse)] == ["passed", "passed", "failed"]
    assert (same.baseline, worse.baseline) == (base, base)
    assert gates(worse) == {"max_regressions": (1, False)}
    assert "“case 2”" in reason(worse)
    assert "case 3" not in reason(worse)


def applied(run: Run) -> list[bool]:
    return [gate["is_applied"] for gate in run.summary["gates"]]


def test_a_suite_without_a_baseline_is_held_back_once_it_had_one(suite: Suite) -> None:
    first, second = finished(suite), finished(suite)
    set_baseline(first)
    first.delete()
    suite.refresh_from_db()
    after_deletion = finished(suite)
    set_baseline(second)
    unset_baseline(second)
    suite.refresh_from_db()
    after_removal = finished(suite)

    runs = [second, after_deletion, after_removal]
    assert [(run.verdict, applied(run)) for run in runs] == [
        ("passed", [False]),
        ("inconclusive", [True]),
        ("inconclusive", [True]),
    ]


def test_reviewing_a_first_run_does_not_ask_for_the_baseline_that_it_became(suite: Suite) -> None:
    run = finished(suite)
    set_baseline(run)
    grade = GradeResult.objects.filter(execution__run=run, passed=False).first()
    assert grade is not None
    review_grade(grade, by=User.objects.create_user("ann"), passed=True)
    run.refresh_from_db()

    assert run.reviewed["verdict"] == "passed"
    assert [gate["is_applied"] for gate in run.reviewed["gates"]] == [False]


def test_a_copy_of_a_suite_never_had_a_baseline(suite: Suite) -> None:
    set_baseline(finished(suite))
    suite.refresh_from_db()

    assert copy_suite(suite).had_baseline is False


def test_the_mean_score_is_compared_over_the_same_cases() -> None:
    suite = make_suite(["hello one", "hello two"], run_rule="gates", max_score_drop=0.1)
    set_baseline(finished(suite))
    break_case(suite, "case 2")
    Turn.objects.filter(case__name="case 1").update(user="bye")  # an edit, not a regression

    (gate,) = finished(suite).summary["gates"]

    assert (gate["actual"], gate["passed"]) == (1.0, False)


def test_replies_that_take_much_longer_than_in_the_baseline_fail_a_gate_and_are_said() -> None:
    agent = make_agent(rules=[{"reply": "hello", "delay_ms": 20}])
    suite = make_suite(GREETINGS, agent=agent, run_rule="gates", max_p95_increase=0.5)
    base = finished(suite)
    set_baseline(base)
    agent.connection = {"rules": [{"reply": "hello", "delay_ms": 300}]}
    agent.save()
    suite.refresh_from_db()

    slow = finished(suite)
    (head,) = compare_runs([base.pk, slow.pk]).heads

    (gate,) = slow.summary["gates"]
    assert (gate["name"], gate["passed"], slow.verdict) == ("max_p95_increase", False, "failed")
    assert gate["actual"] > 2
    assert f"with run {base.pk}" in gate["reason"]
    assert "times as long." in headline(head.cases)


def test_a_chosen_baseline_lets_no_case_get_worse_whatever_the_suite_says() -> None:
    suite = make_suite(GREETINGS, run_rule="gates", gate_pass_rate=0.1)
    base = finished(suite)
    break_case(suite, "case 1")
    unasked, chosen = finished(suite), finished(suite, baseline=base.pk)

    assert (unasked.baseline, "max_regressions" in gates(unasked)) == (None, False)
    assert chosen.overrides == {"baseline": base.pk}
    assert gates(chosen)["max_regressions"] == (1, False)
    assert chosen.verdict == "failed"
    assert chosen.snapshot_id == unasked.snapshot_id


def test_a_suite_that_allows_regressions_allows_them_with_a_chosen_baseline(suite: Suite) -> None:
    suite.max_regressions = 1
    suite.save()
    base = finished(suite)
    break_case(suite, "case 1")

    assert gates(finished(suite, baseline=base.pk)) == {"max_regressions": (1, True)}


def test_latest_is_the_last_whole_run_that_passed() -> None:
    suite = make_suite(GREETINGS, run_rule="gates", gate_pass_rate=0.1)
    assert start(suite, baseline="latest").baseline is None
    work()
    good = finished(suite)
    finished(suite, names={"case 1"})
    finished(suite, agent=make_agent("other"))
    break_case(suite, "case 2")
    bad = [finished(suite, baseline="latest") for _ in range(2)]
    pinned = Run.objects.order_by("pk").first()
    assert pinned is not None
    set_baseline(pinned)

    assert [(run.baseline, run.verdict) for run in bad] == [(good, "failed")] * 2
    assert finished(suite, baseline="pinned").baseline == pinned


@pytest.mark.parametrize(
    ("runs", "is_there"),
    [
        pytest.param([["passed"]], True, id="passed"),
        pytest.param([["passed"], ["failed"]], True, id="passed, then failed"),
        pytest.param([["failed"]], False, id="failed"),
        pytest.param([["errored"]], False, id="inconclusive"),
        pytest.param([], False, id="none"),
    ],
)
def test_only_a_run_that_passed_is_the_latest(runs: list[list[str]], *, is_there: bool) -> None:
    suite = make_suite(["hello"])
    made = [makers.make_run(states, suite=suite) for states in runs]

    assert start(suite, baseline="latest").baseline == (made[0] if is_there else None)


def test_a_latest_run_that_was_deleted_does_not_make_the_next_one_the_first() -> None:
    suite = make_suite(["hello one", "hello two"], run_rule="gates", max_regressions=0)
    base = makers.make_run(["passed", "passed"], suite=suite)
    break_case(suite, "case 2")
    finished(suite, baseline="latest")
    base.delete()

    with pytest.raises(CannotStartError, match="deleted"):
        start(suite, baseline="latest")


def test_a_first_run_has_nothing_to_compare_with_and_gets_no_gate() -> None:
    run = finished(make_suite(["hello"]), baseline="latest")

    assert (run.baseline, run.overrides, run.summary["gates"]) == (None, {}, [])
    assert run.verdict == "passed"


def other_suite(suite: Suite) -> int:
    return makers.make_run(suite=makers.make_suite("others")).pk


def still_open(suite: Suite) -> int:
    return start(suite).pk


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda _: "pinned", "set_baseline", id="none is pinned"),
        pytest.param(lambda _: 4711, "no run 4711", id="unknown"),
        pytest.param(other_suite, "suite others", id="of another suite"),
        pytest.param(still_open, "not ended", id="still running"),
    ],
)
def test_a_run_does_not_start_without_the_baseline_that_was_asked_for(
    suite: Suite, make: Any, words: str
) -> None:
    baseline = make(suite)
    before = Run.objects.count()

    with pytest.raises(CannotStartError, match=words):
        start(suite, baseline=baseline)

    assert Run.objects.count() == before


def test_part_of_a_suite_is_compared_in_what_it_has(suite: Suite) -> None:
    base = finished(suite)
    break_case(suite, "case 1")
    break_case(suite, "case 2")

    run = finished(suite, baseline=base.pk, names={"case 2"})

    assert gates(run) == {"max_regressions": (1, False)}
    assert "2 not in this run" in reason(run)


@pytest.mark.parametrize("version", ["current", "frozen"])
def test_a_rerun_is_compared_with_the_baseline_that_was_chosen(suite: Suite, version: Any) -> None:
    base = finished(suite)
    set_baseline(finished(suite))
    break_case(suite, "case 1")
    worse = finished(suite, baseline=base.pk)

    again = rerun(worse, only="failed", version=version)
    work()
    again.refresh_from_db()

    assert (again.baseline, again.overrides) == (base, {"baseline": base.pk})
    assert gates(again) == {"max_regressions": (1, False)}


def test_a_rerun_as_things_are_now_has_the_baseline_of_the_suite(suite: Suite) -> None:
    first = finished(suite)
    set_baseline(first)
    second = finished(suite)
    set_baseline(second)

    now, then = (rerun(second, only="all", version=version) for version in ("current", "frozen"))

    assert (now.baseline, then.baseline) == (second, first)


def test_a_run_whose_chosen_baseline_was_deleted_can_be_run_again(suite: Suite) -> None:
    base = finished(suite)
    run = finished(suite, baseline=base.pk)
    base.delete()
    run.refresh_from_db()

    again = rerun(run, only="all")
    work()
    again.refresh_from_db()

    assert again.baseline is None
    assert gates(again) == {"max_regressions": (None, None)}
    assert applied(again) == [True]


def test_a_resumed_run_keeps_its_baseline(suite: Suite) -> None:
    base = finished(suite)
    run = start(suite, baseline=base.pk)
    cancel_run(run)
    run.refresh_from_db()
    assert gates(run) == {"max_regressions": (None, None)}
    resume_run(run)
    work()
    run.refresh_from_db()

    assert run.baseline == base
    assert gates(run) == {"max_regressions": (0, True)}


def test_an_edited_way_of_grading_is_named(suite: Suite) -> None:
    base = finished(suite)
    suite.pass_rule = "score"
    suite.save()
    content = json.loads(base.snapshot.content)
    content |= {"judge": "openai/gpt-x", "similarity": {"way": "embeddings", "model": "openai/e"}}
    base.snapshot = makers.make_snapshot(**content)
    base.save()

    text = reason(finished(suite, baseline=base.pk))

    for words in ("suite.pass_rule was", "openai/gpt-x", "similarity.way"):
        assert words in text


def test_a_baseline_of_another_version_is_compared_with_a_warning(suite: Suite) -> None:
    base = finished(suite)
    base.snapshot = makers.make_snapshot(suite={"colour": "blue"})
    base.save()

    run = finished(suite, baseline=base.pk)

    assert gates(run) == {"max_regressions": (0, True)}
    assert "Another version" in reason(run)


def test_equal_ways_of_grading_are_not_mentioned(suite: Suite) -> None:
    base = finished(suite)
    break_case(suite, "case 1")

    assert "Measured differently" not in reason(finished(suite, baseline=base.pk))
