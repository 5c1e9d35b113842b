"""Runs that were stopped go on: nothing that was paid for is paid again."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models.functions import Now

from evals_app.models import GradeResult, PaidCalls, Run, Transcript
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.reap import reap
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.start_run import start_run
from tests.model_server import ModelServer
from tests.runs.priced import make_priced_suite, one_cent
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def priced_suite(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a suite of 12 cases of two turns whose every call costs one cent."""
    return make_priced_suite(model_server, monkeypatch)


def test_a_run_stops_at_its_ceiling_and_goes_on_without_repeating_a_paid_call(
    model_server: ModelServer, priced_suite: Any, settings: Any
) -> None:
    settings.EVALS_PULSE_S = 0.05
    model_server.answers(one_cent)
    run = start_run(priced_suite, max_cost_usd=Decimal("0.105"))

    work()
    run.refresh_from_db()
    stopped = (run.status, run.verdict, run.stop_reason, run.spent_usd, run.reserved_usd)
    paid = len(model_server.requests)
    done = run.passed
    resume_run(run, max_cost_usd=Decimal("5.00"))
    work()

    assert stopped[:3] == ("finished", "inconclusive", "budget")
    assert stopped[3] == Decimal("0.01") * paid
    assert stopped[3] <= Decimal("0.105")
    assert stopped[4] == 0
    assert 0 < done < 12
    run.refresh_from_db()
    assert (run.status, run.verdict, run.passed, run.stop_reason) == ("finished", "passed", 12, "")
    asked = [str(received.body["messages"]) for received in model_server.requests]
    assert len(asked) == len(set(asked)) == 24  # every call was made exactly once
    assert run.spent_usd == Decimal("0.24")
    assert run.agent_cost_usd == Decimal("0.24")
    assert set(run.executions.values_list("agent_cost_usd", flat=True)) == {Decimal("0.02")}
    assert not PaidCalls.objects.exists()
    assert Transcript.objects.count() == 12


@pytest.mark.parametrize("ceiling", [None, Decimal("0.05")])
def test_going_on_needs_a_higher_ceiling(
    model_server: ModelServer, priced_suite: Any, settings: Any, ceiling: Decimal | None
) -> None:
    settings.EVALS_PULSE_S = 0.05
    model_server.answers(one_cent)
    run = start_run(priced_suite, max_cost_usd=Decimal("0.05"))
    work()
    run.refresh_from_db()

    with pytest.raises(CannotStartError, match=r"needs a ceiling above \$0\.05"):
        resume_run(run, max_cost_usd=ceiling)


def test_a_cancelled_run_goes_on_with_what_did_not_run() -> None:
    run = start_run(make_suite(cases=4))
    first = run.executions.order_by("pk")[0]
    cancel_run(run)
    Transcript.objects.create(execution=first, trial={})
    run.executions.filter(pk=first.pk).update(attempts=1, agent_cost_usd="0.5", turn_ms=[7.0])
    run.refresh_from_db()

    resume_run(run)
    waiting = set(run.executions.values_list("status", "attempts", "agent_cost_usd"))
    work()

    run.refresh_from_db()
    assert waiting == {("queued", 0, None)}  # nobody died
    assert (run.status, run.passed, run.cancelled, run.not_run) == ("finished", 4, 0, 0)
    assert Transcript.objects.count() == GradeResult.objects.count() == 4


def test_a_run_that_was_out_of_time_has_time_again() -> None:
    run = start_run(make_suite(cases=2))
    Run.objects.filter(pk=run.pk).update(deadline_at=Now() - timedelta(seconds=1))
    reap()
    run.refresh_from_db()
    was = (run.status, run.stop_reason, run.not_run)

    resume_run(run)
    work()

    run.refresh_from_db()
    assert was == ("finished", "deadline", 2)
    assert (run.status, run.passed, run.deadline_at) == ("finished", 2, None)


def test_a_run_without_a_ceiling_gets_none_later() -> None:
    run = start_run(make_suite(cases=2))
    cancel_run(run)
    run.refresh_from_db()

    with pytest.raises(CannotStartError, match="was started without a ceiling"):
        resume_run(run, max_cost_usd=Decimal(5))


def test_a_run_that_was_not_stopped_cannot_be_resumed() -> None:
    run = start_run(make_suite(cases=1))

    with pytest.raises(CannotStartError, match="goes on"):
        resume_run(run)
    work()
    with pytest.raises(CannotStartError, match="is complete"):
        resume_run(run)
