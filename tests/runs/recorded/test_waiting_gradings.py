"""Many conversations: a row has what is wanted, and a worker starts the runs, each once."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from evals_app.models import Activity, Assertion, ConversationGrading, Execution, Run, Suite
from evals_app.runs.ending.reap import reap
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded import grade_conversations, waiting_gradings
from evals_app.runs.recorded.grade_conversations import WantedConversations, plan_grading
from evals_app.runs.recorded.sets import remove_set
from evals_app.runs.recorded.waiting_gradings import (
    MAX_ATTEMPTS,
    ask_for_grading,
    cancel_grading,
    has_waiting_gradings,
    start_waiting_gradings,
)
from evals_app.runs.regrading.forecast_regrade import forecast_regrade
from evals_app.runs.regrading.start_regrade import regrade
from evals_app.runs.starting import preparing
from evals_app.runs.starting.freeze import CannotStartError
from tests.runs.recorded.conversations import imported, row_of, rows_of
from tests.runs.suites import make_suite

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both]

ALL = WantedConversations()
UNANSWERED = row_of("alone", ("user", "Hello?"))


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_gradings, "MAX_AT_ONCE", 2)


@pytest.fixture
def suite() -> Suite:
    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})
    return suite


def asked(suite: Suite, wanted: WantedConversations = ALL, **how: Any) -> ConversationGrading:
    target = imported(rows_of(5)).conversation_set
    row = ask_for_grading(target, suite, wanted, **how)
    assert isinstance(row, ConversationGrading)
    return row


def test_the_request_only_stores_what_is_wanted_and_a_worker_starts_the_run(suite: Suite) -> None:
    row = asked(suite, max_cost_usd=Decimal("2.5"))
    assert (row.total, row.done, Run.objects.count()) == (5, 0, 0)
    assert has_waiting_gradings()

    start_waiting_gradings()

    row.refresh_from_db()
    [run] = row.runs
    assert (row.done, row.claim, row.failure, has_waiting_gradings()) == (5, None, "", False)
    assert (run.total, run.max_cost_usd, run.group) == (5, Decimal("2.5"), None)
    assert row.finished_at
    work()
    run.refresh_from_db()
    assert (run.verdict, run.passed) == ("passed", 5)


def test_few_are_started_at_once(suite: Suite) -> None:
    target = imported(rows_of(5)).conversation_set
    runs = ask_for_grading(target, suite, WantedConversations(count=2))
    assert isinstance(runs, list)
    assert [run.total for run in runs] == [2]


def test_what_is_missing_is_said_at_once(suite: Suite) -> None:
    Assertion.objects.all().delete()
    with pytest.raises(CannotStartError, match="no check that applies"):
        asked(suite)
    assert not ConversationGrading.objects.exists()


def test_what_is_imported_meanwhile_is_not_graded(suite: Suite) -> None:
    row = asked(suite)
    imported(rows_of(9)[5:], row.conversation_set)
    start_waiting_gradings()
    assert [run.total for run in row.runs] == [5]


def test_a_worker_that_died_is_followed_by_one_that_starts_no_run_twice(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = imported(rows_of(5)).conversation_set
    imported(rows_of(9)[5:], target)
    row = ask_for_grading(target, suite, ALL)
    assert isinstance(row, ConversationGrading)
    started: list[Run] = []

    def die_in_the_second(*args: Any, **how: Any) -> Run:
        if started:
            monkeypatch.setattr(preparing, "insert_planned", _die)
        started.append(regrade(*args, **how))
        return started[-1]

    monkeypatch.setattr(grade_conversations, "regrade", die_in_the_second)
    monkeypatch.setattr("evals_app.runs.starting.start_run.forget_unprepared", lambda _run: None)
    with pytest.raises(KeyboardInterrupt):
        start_waiting_gradings()
    monkeypatch.undo()
    assert [run.total for run in row.runs] == [4]
    assert Run.all_runs.filter(status=Run.PREPARING, is_import=False).count() == 1
    assert not has_waiting_gradings()  # it is still claimed

    ConversationGrading.objects.update(claimed_until=timezone.now())
    start_waiting_gradings()
    reap()

    row.refresh_from_db()
    assert [run.total for run in row.runs] == [4, 5]
    assert {run.group for run in row.runs} == {row.group}
    assert (row.done, Run.all_runs.filter(is_import=False).count()) == (9, 2)
    assert Execution.objects.filter(source__isnull=False).count() == 9
    assert Activity.objects.filter(kind="run").count() == 2


def _die(*_args: object) -> None:
    raise KeyboardInterrupt


def test_a_worker_that_dies_each_time_is_not_followed_forever(suite: Suite) -> None:
    row = asked(suite)
    ConversationGrading.objects.update(attempts=MAX_ATTEMPTS)
    start_waiting_gradings()
    row.refresh_from_db()
    assert f"{MAX_ATTEMPTS} times" in row.failure
    assert not has_waiting_gradings()


def test_what_cannot_be_started_says_why(suite: Suite) -> None:
    row = asked(suite)
    Suite.objects.update(archived_at=timezone.now())
    start_waiting_gradings()
    row.refresh_from_db()
    assert "archived" in row.failure
    assert (row.finished_at, row.claim) == (None, None)


def test_a_deleted_suite_is_named_as_the_reason(suite: Suite) -> None:
    row = asked(suite)
    Suite.objects.all().delete()
    start_waiting_gradings()
    row.refresh_from_db()
    assert "deleted" in row.failure


def test_it_is_cancelled_before_and_while_it_is_prepared(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = asked(suite)
    assert cancel_grading(row)
    assert not cancel_grading(row)
    assert not has_waiting_gradings()

    row = ask_for_grading(row.conversation_set, suite, ALL)  # type: ignore[assignment]
    insert = preparing.insert_planned

    def cancel_then_insert(*args: Any) -> None:
        cancel_grading(row)
        insert(*args)

    monkeypatch.setattr(preparing, "insert_planned", cancel_then_insert)
    start_waiting_gradings()
    [run] = Run.all_runs.filter(is_import=False)
    assert run.stop_reason == "cancelled"


def test_a_set_that_is_removed_meanwhile_takes_it_along(suite: Suite) -> None:
    row = asked(suite)
    remove_set(row.conversation_set)
    start_waiting_gradings()
    assert not ConversationGrading.objects.exists()


def test_what_is_wanted_is_stored_and_read_as_it_was() -> None:
    wanted = WantedConversations(
        since=date(2026, 11, 1), topic="price", flag=("channel", "chat"), a_day=3, imports=(1, 2)
    )
    assert WantedConversations.from_json(wanted.to_json()) == wanted
    assert WantedConversations.from_json(ALL.to_json()) == ALL


def test_the_price_of_many_is_that_of_some_scaled(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grade_conversations, "LOOKED_AT", 4)
    rows = [*rows_of(6), *(row_of(f"x{n}", ("user", f"Hello {n}?")) for n in range(6))]
    target = imported(rows).conversation_set
    with plan_grading(target, suite, ALL) as plans:
        [plan] = plans
        [left_out] = grade_conversations.left_out_of(plans)
        read = len(plan.planned)
        assert read + len(plan.left_out["unanswered"]) == 4
        assert forecast_regrade(plan).conversations == 3 * read
        assert f"about {3 * (4 - read)} conversations" in left_out
