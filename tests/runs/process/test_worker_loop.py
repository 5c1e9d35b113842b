"""One process works on several runs at once."""

import pytest

from evals_app.engine.running.run_gateway import Orders, WorkerReport
from evals_app.models import Execution, Lease, Run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.work.heartbeat import Heartbeat
from evals_app.runs.work.lease import open_lease
from tests.runs.suites import RULES, make_agent, make_suite, start

pytestmark = pytest.mark.django_db(transaction=True)

LATE_S = 60


def start_slug(slug: str, messages: list[str]) -> Run:
    late = {"when": "late", "reply": "Done at last.", "delay_ms": LATE_S * 1000}
    agent = make_agent(slug, rules=[late, *RULES])
    return start(make_suite(messages, slug=slug, agent=agent, contains="o"))


def test_a_process_adopts_a_run_while_its_conversations_only_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits, healthy = start_slug("waits", ["late"]), start_slug("healthy", ["hello"])

    class WaitsForTheOther(Heartbeat):
        def beat(self, report: WorkerReport) -> Orders:
            if Run.objects.filter(pk=healthy.pk, status="finished").exists():
                waits.cancel()
            return super().beat(report)

    # Nothing but the end of the other run ends the wait.
    monkeypatch.setattr("evals_app.runs.work.run_worker.Heartbeat", WaitsForTheOther)
    counts = work()

    assert counts == {"claimed": 2, "recorded": 2, "refused": 0}
    waits.refresh_from_db()
    healthy.refresh_from_db()
    assert (healthy.passed, waits.cancelled) == (1, 1)
    assert not Lease.objects.exists()


def test_runs_begin_in_the_order_of_their_age() -> None:
    runs = [start_slug(f"suite-{number}", ["hello"]) for number in range(4)]

    work()

    begun = Run.objects.order_by("started_at").values_list("pk", flat=True)
    assert list(begun) == [run.pk for run in runs]


def test_a_run_that_breaks_takes_no_other_along(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, healthy = start_slug("broken", ["late"]), start_slug("healthy", ["hello"])

    class Breaks(Heartbeat):
        def beat(self, report: WorkerReport) -> Orders:
            if self.lease.run_id == broken.pk and report.doing:
                message = "Impossible."
                raise LookupError(message)
            return super().beat(report)

    # Nothing that a user could write breaks a whole run.
    monkeypatch.setattr("evals_app.runs.work.run_worker.Heartbeat", Breaks)
    work()

    healthy.refresh_from_db()
    assert healthy.passed == 1
    assert broken.executions.get().status == Execution.Status.QUEUED
    assert not Lease.objects.exists()


def test_what_has_seen_its_worker_die_is_left_to_a_process_that_works_on_nothing_else() -> None:
    run = start_slug("suspects", ["hello"])
    run.executions.update(attempts=1)
    beside_others = open_lease(run.pk, is_alone=lambda: False)
    assert beside_others is not None

    claimed = beside_others.claim(5, free=5, in_hand=0)
    beside_others.release()

    assert claimed == []
    work()
    run.refresh_from_db()
    assert run.passed == 1
