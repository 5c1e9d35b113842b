"""One process works on several runs at once."""

from typing import Any

import pytest
from django.test import TestCase

from evals_app.engine.desk import Report
from evals_app.models import Execution, Lease, Run
from evals_app.runs.heart import Heart
from evals_app.runs.lease import open_lease
from evals_app.runs.shift import work
from evals_app.runs.start import start_run
from tests.runs.suites import RULES, make_agent, make_suite

pytestmark = pytest.mark.django_db(transaction=True)

LATE_S = 6


def start(slug: str, messages: list[str], **options: Any) -> Run:
    late = {"when": "late", "reply": "Done at last.", "delay_ms": LATE_S * 1000}
    agent = make_agent(slug, rules=[late, *RULES])
    suite = make_suite(messages, slug=slug, agent=agent, contains="o", **options)
    with TestCase.captureOnCommitCallbacks(execute=True):
        return start_run(suite)


def execution(run: Run) -> Execution:
    return run.executions.get()


def test_a_process_adopts_a_run_while_its_conversations_only_wait() -> None:
    waits, healthy = start("waits", ["late"]), start("healthy", ["hello"])

    counts = work()

    assert counts == {"claimed": 2, "recorded": 2, "refused": 0}
    ended, begun = execution(healthy).finished_at, execution(waits).finished_at
    assert ended is not None
    assert begun is not None
    assert ended < begun
    assert not Lease.objects.exists()


def test_runs_begin_in_the_order_of_their_age() -> None:
    runs = [start(f"suite-{number}", ["hello"]) for number in range(4)]

    work()

    begun = Run.objects.order_by("started_at").values_list("pk", flat=True)
    assert list(begun) == [run.pk for run in runs]


def test_a_run_that_breaks_takes_no_other_along(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, healthy = start("broken", ["late"]), start("healthy", ["hello"])

    class Breaks(Heart):
        def beat(self, report: Report) -> Any:
            if self.lease.run_id == broken.pk and report.doing:
                message = "Impossible."
                raise LookupError(message)
            return super().beat(report)

    # Nothing that a user could write breaks a whole run.
    monkeypatch.setattr("evals_app.runs.drain.Heart", Breaks)
    work()

    healthy.refresh_from_db()
    assert healthy.passed == 1
    assert execution(broken).status == Execution.Status.QUEUED
    assert not Lease.objects.exists()


def test_what_has_seen_its_worker_die_is_left_to_a_process_that_works_on_nothing_else() -> None:
    run = start("suspects", ["hello"])
    run.executions.update(attempts=1)
    beside_others = open_lease(run.pk, is_alone=lambda: False)
    assert beside_others is not None

    claimed = beside_others.claim(5, free=5, in_hand=0)
    beside_others.release()

    assert claimed == []
    work()
    run.refresh_from_db()
    assert run.passed == 1
