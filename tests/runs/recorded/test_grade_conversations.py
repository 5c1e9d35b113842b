"""Grading real conversations: by general checks only, without an agent, and apart from all rates."""

from datetime import date
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from evals_app.admin.suites.last_result import last_result
from evals_app.engine.basics.errors import CannotError
from evals_app.library.baselines import set_baseline
from evals_app.library.shipping import accept_failures, decide_shipping
from evals_app.models import Assertion, Case, CaseResult, Execution, GradeResult, Run, Suite
from evals_app.requests.decisions import release_of_run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.reading.case_history import COUNTED, OfSuite
from evals_app.runs.reading.suite_verdict import standings, telling_runs, with_last_runs
from evals_app.runs.recorded.grade_conversations import (
    WantedConversations,
    by_import,
    left_out_of,
    plan_grading,
    start_grading,
)
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.regrading.start_regrade import regrade
from evals_app.runs.retests.candidates import plan_settlement
from evals_app.runs.sent_decisions import ANSWER_ALONE, decision_on_run
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.rerun import rerun
from tests.runs.recorded.conversations import imported, make_set, row_of, rows_of
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db

ALL = WantedConversations()


def suite_with(*checks: dict[str, Any]) -> Suite:
    suite = make_suite()
    for position, check in enumerate(checks):
        kind = check.pop("type")
        Assertion.objects.create(suite=suite, type=kind, options=check, position=position)
    return suite


def graded(row: Any, suite: Suite, wanted: WantedConversations = ALL) -> Run:
    [run] = start_grading(row.conversation_set, suite, wanted)
    work()
    return Run.objects.get(pk=run.pk)


PRICE = {"type": "contains", "value": "6.90"}


def test_real_conversations_are_graded_by_what_needs_no_expected_answer() -> None:
    thanks = (("user", "Why 9 euros?"), ("assistant", "It is 6.90."), ("user", "Thanks"))
    wrong = (("user", "Why 9 euros?"), ("assistant", "It is 9."))
    row = imported([row_of("good", *thanks), row_of("bad", *wrong)])
    suite = suite_with(dict(PRICE), {"type": "exact_match"}, {"type": "latency", "max_ms": 5})

    with plan_grading(row.conversation_set, suite, ALL) as [plan]:
        assert len(plan.unused) == 2
        assert len(plan.planned) == forecast_regrade(plan).conversations == 2
    run = graded(row, suite)

    grades = GradeResult.objects.order_by("execution__position", "position")
    assert list(grades.values_list("execution__case", "type", "passed", "status")) == [
        ("good", "contains", True, "ok"),
        ("bad", "contains", False, "ok"),
    ]
    assert (run.total, run.suite, run.agent_slug) == (2, suite, "recorded")
    assert len(run.regrading["unused_checks"]) == 2
    assert run.spent_usd == 0


def test_they_count_in_no_verdict_rate_or_trend_of_the_suite() -> None:
    suite = suite_with(dict(PRICE))
    Assertion.objects.filter(suite=suite).update(enabled=False)
    own = finished(suite)
    Assertion.objects.filter(suite=suite).update(enabled=True)
    row = imported([row_of("case 1", ("user", "Price?"), ("assistant", "9"))])

    run = graded(row, suite)

    assert (run.verdict, run.failed, run.is_whole, run.covers) == (
        "failed",
        1,
        False,
        "real conversations",
    )
    assert own.verdict == "passed"
    last = last_result(Case.objects.get(name="case 1"))  # of the same name
    assert last is not None
    assert last.run == own.pk
    history = OfSuite(suite.pk, suite.slug).results().filter(COUNTED, name="case 1")
    assert [result.run for result in history] == [own]
    assert list(Run.objects.suite_verdicts()) == [own]
    assert list(telling_runs()) == [own]
    [standing] = standings(list(with_last_runs(Suite.objects.all())))
    assert standing.verdict_run == own
    assert not Run.objects.filter(is_import=True).exists()


def test_they_say_nothing_about_a_version(admin_user: User) -> None:
    suite = suite_with(dict(PRICE))
    own = finished(suite)
    run = graded(imported([row_of("a"), row_of("b")]), suite)
    assert run.passed == 2

    refused: list[partial[Any]] = [
        partial(decide_shipping, run, shipped=True, answered="", is_yes=True, by=admin_user),
        partial(release_of_run, run),
        partial(set_baseline, run),
        partial(accept_failures, run, ["a"], by=admin_user, reason="Known"),
        partial(decision_on_run, run, link=lambda _model, _pk: "", shown=ANSWER_ALONE),
        partial(plan_settlement, own, run),
    ]
    for answer in refused:
        with pytest.raises(CannotError, match="real conversations"):
            answer()
    with pytest.raises(CommandError, match="real conversations"):
        call_command("decide", run=run.pk)


def test_a_sample_is_the_same_each_time_and_goes_by_day_topic_and_id() -> None:
    rows = [
        *rows_of(4, date="2026-11-16", tags=["price"]),
        *(row_of(f"b{n}", date="2026-11-17") for n in range(4)),
    ]
    target = imported(rows).conversation_set

    def ids(**wanted: Any) -> list[str]:
        sample = WantedConversations(**wanted).sample(target)
        return sorted(sample.values_list("external_id", flat=True))

    assert len(ids()) == 8
    assert ids(count=3) == ids(count=3)
    assert len(ids(count=3)) == 3
    assert [name[0] == "b" for name in ids(a_day=2)] == [False, False, True, True]
    assert ids(since=date(2026, 11, 17)) == ["b0", "b1", "b2", "b3"]
    assert ids(until=date(2026, 11, 16), topic="price") == ["0", "1", "2", "3"]
    assert ids(text_id="B1") == ["b1"]
    assert ids(topic="pric") == []


@pytest.mark.both
@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo"])
def test_a_day_is_the_same_for_everyone(zone: str) -> None:
    times = [
        *("2026-11-16T23:30:00-05:00", "2026-11-17T00:30:00Z", "2026-11-17T23:30:00Z"),
        *("2026-11-17T08:30:00+09:00", "2026-11-18T00:00:00Z"),
    ]
    target = imported([row_of(str(n), date=at) for n, at in enumerate(times)]).conversation_set
    target.refresh_from_db()
    assert target.days == {"2026-11-16": 1, "2026-11-17": 3, "2026-11-18": 1}
    with timezone.override(zone):
        for day, count in target.days.items():
            of_day = WantedConversations(
                since=date.fromisoformat(day), until=date.fromisoformat(day)
            )
            assert of_day.sample(target).count() == count
        assert WantedConversations(a_day=1).sample(target).count() == 3


@pytest.mark.both
def test_those_of_a_topic_are_counted_as_their_imports_counted_them() -> None:
    target = make_set()
    for n, tags in enumerate((["price"], ["price", "login"], ["login"], ["Login"])):
        imported([row_of(f"{n} {m}", tags=tags) for m in range(2)], target)

    def counts(topic: str) -> list[int]:
        return [part.count for part in by_import(target, WantedConversations(topic=topic))]

    assert counts("price") == [2, 2]
    likes_any_case = connection.vendor == "sqlite"
    assert counts("login") == ([2, 2, 2] if likes_any_case else [2, 2])
    with pytest.raises(CannotStartError, match="fits"):
        counts("refund")

    target.imports.update(topics={"": 2})  # more topics than are counted by name
    assert counts("price") == [2, 2]


def test_conversations_with_the_same_words_are_not_drawn_together() -> None:
    rows = [row_of(f"{n % 2} {n}", ("user", f"{n % 2}"), ("assistant", "Ja")) for n in range(200)]
    target = imported(rows).conversation_set

    sample = WantedConversations(count=50).sample(target).values_list("external_id", flat=True)

    assert 15 < sum(name.startswith("1") for name in sample) < 35


def test_each_import_has_a_run_of_its_own_in_one_group() -> None:
    suite, target = suite_with(dict(PRICE)), make_set()
    imported(rows_of(2), target)
    imported([row_of("new")], target)

    runs = start_grading(target, suite, ALL)

    assert [run.total for run in runs] == [1, 2]
    assert len({run.group for run in runs}) == 1


def test_they_are_graded_again_by_the_checks_of_today_and_never_run_again() -> None:
    suite = suite_with(dict(PRICE))
    first = graded(imported([row_of("good")]), suite)
    Assertion.objects.filter(suite=suite).update(options={"value": "nothing"})

    again = regrade(Run.objects.get(pk=first.pk))
    work()

    again.refresh_from_db()
    assert (first.verdict, again.verdict, again.conversation_set) == (
        "passed",
        "failed",
        first.conversation_set,
    )
    assert again.grades_of_id == first.grades_of_id
    assert set(CaseResult.objects.values_list("name", flat=True)) == {"good"}
    with pytest.raises(CannotStartError):
        rerun(first, only="all")
    assert Execution.objects.filter(run__is_import=True).count() == 1


@pytest.mark.parametrize(
    ("checks", "wanted"),
    [([{"type": "exact_match"}], ALL), ([PRICE], WantedConversations(topic="none"))],
    ids=["no general check", "no conversation"],
)
def test_what_cannot_be_graded_says_why(
    checks: list[dict[str, Any]], wanted: WantedConversations
) -> None:
    suite = suite_with(*map(dict, checks))
    with pytest.raises(CannotStartError):
        start_grading(imported([row_of("good")]).conversation_set, suite, wanted)
    assert not Run.objects.exists()


def test_conversations_without_a_reply_are_left_out_and_counted() -> None:
    suite, target = suite_with(dict(PRICE)), make_set()
    imported([row_of("good"), row_of("ignored", ("user", "Hello?"))], target)
    imported([row_of("late", ("user", "Anyone?"))], target)

    with plan_grading(target, suite, ALL) as plans:
        assert sum(len(plan.planned) for plan in plans) == 1
        assert forecast_regrade(plans[0]).conversations == 1
        [line] = left_out_of(plans)
        assert "2 conversations" in line
    [run] = start_grading(target, suite, ALL)
    work()

    run.refresh_from_db()
    assert (run.verdict, run.total) == ("passed", 1)
    assert run.regrading["left_out"] == {"unanswered": {"count": 1, "names": ["ignored"]}}


def test_only_conversations_without_a_reply_are_nothing_to_grade() -> None:
    row = imported([row_of("ignored", ("user", "Hello?"))])

    with pytest.raises(CannotStartError, match="1 conversation without"):
        start_grading(row.conversation_set, suite_with(dict(PRICE)), ALL)
