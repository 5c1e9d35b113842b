"""Settling two runs: look after look, each once, whatever dies in between."""

import json
import threading
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from evals_app.engine.statistics.retest import LOOKS
from evals_app.models import Agent, Run, Settlement, Suite
from evals_app.runs.ending.cancel import cancel_run, cancel_settlement
from evals_app.runs.ending.reap import reap
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.reading.suite_verdict import with_last_runs
from evals_app.runs.retests import rounds as module
from evals_app.runs.retests.candidates import plan_settlement, price_of
from evals_app.runs.retests.rounds import advance
from evals_app.runs.starting.freeze import CannotStartError
from tests.runs.settlements import rewrite, settle, settled, two_runs
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


def findings(settlement: Settlement) -> dict[str, str]:
    return {suspect.name: suspect.finding.value for suspect in settlement.read_cases()}


def test_a_case_that_fails_since_then_is_really_worse_after_five_trials() -> None:
    base, head = two_runs()

    settlement = settled(base, head)

    assert (settlement.status, settlement.look, settlement.really_worse) == ("finished", 1, 1)
    (suspect,) = settlement.read_cases()
    assert (suspect.base.passed, suspect.head.failed) == (5, 5)
    of_base, of_head = settlement.runs.order_by("pk")
    assert (of_base.rerun_of, of_base.passed) == (base, 5)
    assert (of_head.rerun_of, of_head.failed) == (head, 5)
    assert settlement.finished_at is not None


def test_a_case_that_was_renamed_is_settled_in_both_versions() -> None:
    base, head = two_runs(new_name="What now?")

    settlement = settled(base, head)

    assert (settlement.status, settlement.really_worse) == ("finished", 1)
    (suspect,) = settlement.read_cases()
    assert (suspect.name, suspect.base_name) == ("What now?", "case 2")
    assert (suspect.base.passed, suspect.head.failed) == (5, 5)


def test_each_look_has_only_the_trials_and_cases_that_are_still_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base, head = two_runs()
    rewrite(base, {"case 1": (3, 0), "case 3": (2, 1)})
    rewrite(head, {"case 1": (2, 1), "case 3": (1, 2)})
    # Nothing is ever certain: the case that fails stays open until the last look.
    monkeypatch.setattr("evals_app.engine.statistics.retest.p_value", lambda _: 1.0)

    settlement = settled(base, head)

    sizes = settlement.runs.filter(rerun_of=head).order_by("pk").values_list("total", flat=True)
    assert list(sizes) == [3 * 5, 5, 10]
    assert (settlement.status, settlement.look) == ("finished", len(LOOKS))
    assert findings(settlement) == {
        "case 1": "cannot_tell",
        "case 2": "cannot_tell",
        "case 3": "was_flaky",
    }
    assert [row.head.total for row in settlement.read_cases()] == [5, 20, 5]


def test_what_got_better_is_settled_only_if_asked() -> None:
    head, base = two_runs()

    with pytest.raises(CannotStartError, match="nothing to retest"):
        plan_settlement(base, head)
    assert findings(settled(base, head, with_better=True)) == {"case 2": "really_better"}


def test_its_runs_speak_for_no_suite_and_meet_no_gate() -> None:
    base, _ = two_runs()
    Suite.objects.update(min_score=0.9)
    suite = Suite.objects.get()
    last = finished(suite, trials=1)

    settlement = settled(base, last)

    (run,) = settlement.runs.filter(rerun_of=last)
    assert (run.is_whole, run.summary["gates"]) == (False, [])
    assert run.covers.startswith(f"re-run of run {last.pk} for retest {settlement.pk}")
    standing: Any = with_last_runs(Suite.objects.all()).get()
    assert (standing.verdict_run_id, standing.last_run_id) == (last.pk, last.pk)


# Where the old version is gone


@pytest.mark.parametrize(
    "driver",
    [
        {"driver": "http", "connection": {"url": "https://agent.example.org/chat"}},
        pytest.param({"driver": "model", "model": "gone/model-1"}, id="a provider that is gone"),
    ],
)
def test_stored_trials_stand_in_for_a_version_that_cannot_run(driver: dict[str, Any]) -> None:
    base, head = two_runs(trials=20)
    _let_it_be_of(base, agent=Agent.objects.create(slug="outside", name="Outside", **driver))

    settlement = settled(base, head)

    assert "outside" in settlement.stand_in or "gone" in settlement.stand_in
    assert findings(settlement) == {"case 2": "really_worse"}
    assert {run.rerun_of for run in settlement.runs.all()} == {head}
    (suspect,) = settlement.read_cases()
    assert (suspect.base.passed, suspect.head.total) == (20, 5)


def _let_it_be_of(run: Run, *, agent: Agent) -> None:
    """Let the frozen agent of a run be another one."""
    content = json.loads(run.snapshot.content)
    content["agent"] = agent.to_spec().model_dump(mode="json", by_alias=True)
    run.snapshot.content = json.dumps(content)
    run.snapshot.save()


def test_a_run_of_another_version_of_evalwell_has_stored_trials_only() -> None:
    base, head = two_runs(trials=10)
    base.snapshot.content = "{}"
    base.snapshot.save()

    plan = plan_settlement(base, head)

    assert "another version" in plan.stand_in
    assert plan.sides == (head,)
    with pytest.raises(CannotStartError, match="another version"):
        plan_settlement(head, base, with_better=True)


def test_too_few_stored_trials_are_refused() -> None:
    base, head = two_runs(trials=1)
    base.snapshot.content = "{}"
    base.snapshot.save()

    with pytest.raises(CannotStartError, match="10 trials"):
        plan_settlement(base, head)


# What cannot be settled


def test_what_cannot_be_settled_is_named() -> None:
    base, head = two_runs()
    other = make_suite(["something else"], slug="other", agent=Agent.objects.get())
    far = finished(other)

    for pair, word in {(base, base): "different runs", (base, far): "no graded case"}.items():
        with pytest.raises(CannotStartError, match=word):
            plan_settlement(*pair)
    Run.objects.filter(pk=head.pk).update(status="running", verdict="")
    with pytest.raises(CannotStartError, match="has not ended"):
        plan_settlement(base, Run.objects.get(pk=head.pk))


def test_two_runs_are_settled_once_at_a_time() -> None:
    base, head = two_runs()
    settle(base, head)

    with pytest.raises(CannotStartError, match="already"):
        settle(base, head)

    work()
    assert settled(base, head).status == "finished"


# Money


def test_the_price_counts_both_versions_and_the_most_is_20_trials() -> None:
    base, head = two_runs()
    plan = plan_settlement(base, head)

    price = price_of(plan)

    assert plan.most_trials == 40
    assert [forecast.conversations for forecast in price.most] == [20, 20]
    assert [forecast.conversations for forecast in price.likely] == [8, 8]
    assert (price.likely_usd, price.most_usd) == ((Decimal(0), Decimal(0)), Decimal(0))


def test_all_runs_share_one_ceiling_and_a_stopped_one_ends_it() -> None:
    base, head = two_runs()

    settlement = settle(base, head, max_cost_usd=Decimal("0.5"))

    runs = list(settlement.runs.order_by("pk"))
    assert [run.max_cost_usd for run in runs] == [Decimal("0.5")] * 2
    runs[0].stop(Run.StopReason.BUDGET)
    work()
    reap()
    settlement.refresh_from_db()
    assert settlement.status == "stopped"
    assert "$0.50" in settlement.why_stopped
    with pytest.raises(CannotStartError, match=f"retest {settlement.pk}"):
        resume_run(runs[0], max_cost_usd=Decimal(2))


# Whatever happens in between


def test_what_goes_wrong_with_one_stops_no_worker(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    base, head = two_runs()
    settlement = settle(base, head)

    def fail(*_: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(module, "look_at", fail)
        work()
        reap()
    settlement.refresh_from_db()
    assert (settlement.status, settlement.look) == ("running", 1)
    assert f"Retest {settlement.pk}" in caplog.text

    reap()

    settlement.refresh_from_db()
    assert settlement.status == "finished"


def test_cancelling_it_cancels_its_runs() -> None:
    base, head = two_runs()
    settlement = settle(base, head)

    assert cancel_settlement(settlement)
    assert not cancel_settlement(settlement)

    settlement.refresh_from_db()
    assert settlement.status == "cancelled"
    assert {run.status for run in settlement.runs.all()} == {"cancelled"}
    assert findings(settlement) == {"case 2": "cannot_tell"}


def test_cancelling_one_of_its_runs_ends_it() -> None:
    base, head = two_runs()
    settlement = settle(base, head)

    cancel_run(settlement.runs.earliest("pk"))
    work()

    settlement.refresh_from_db()
    assert settlement.status == "stopped"
    assert str(settlement.runs.earliest("pk").pk) in settlement.why_stopped


def test_nothing_that_could_be_graded_ends_it() -> None:
    base, head = two_runs()
    settlement = settle(base, head)
    for run in settlement.runs.all():
        run.executions.update(status="finished", verdict="errored", cause="judge", started_at=None)
        Run.objects.filter(pk=run.pk).update(errored=run.total, not_run=0)

    reap()

    settlement.refresh_from_db()
    assert settlement.status == "stopped"
    assert settlement.why_stopped


def test_a_process_that_dies_before_a_look_starts_is_replaced_by_the_reaper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base, head = two_runs()

    def die(*_: Any, **__: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(module, "create_run", die)
        with pytest.raises(SystemExit):
            settle(base, head)
    settlement = Settlement.objects.get()
    assert settlement.runs.count() == 0

    reap()
    work()

    settlement.refresh_from_db()
    assert settlement.status == "finished"


def test_a_process_that_dies_between_two_runs_leaves_the_other_one_to_the_reaper() -> None:
    base, head = two_runs()
    settlement = settle(base, head)
    (last,) = settlement.runs.filter(rerun_of=head)
    last.delete()

    reap()

    assert settlement.runs.count() == 2


@pytest.mark.django_db(transaction=True)
def test_processes_that_advance_at_once_start_each_run_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base, head = two_runs()
    monkeypatch.setattr("evals_app.engine.statistics.retest.p_value", lambda _: 1.0)
    settlement = start_without_runs(monkeypatch, base, head)

    at_once(lambda: advance(settlement.pk))
    assert settlement.runs.count() == 2

    monkeypatch.setattr("evals_app.runs.ending.finish.advance_safely", lambda _: None)
    work()
    at_once(lambda: advance(settlement.pk))

    settlement.refresh_from_db()
    assert settlement.look == 2
    assert settlement.runs.count() == 4


def start_without_runs(monkeypatch: pytest.MonkeyPatch, base: Run, head: Run) -> Settlement:
    with monkeypatch.context() as patch:
        patch.setattr(module, "advance", lambda _: None)
        return settle(base, head)


def at_once(operation: Any, *, processes: int = 4) -> None:
    """Do something at the same moment, each with a connection of its own."""
    barrier, wrong = threading.Barrier(processes), []

    def do() -> None:
        try:
            barrier.wait()
            operation()
        except BaseException as exc:  # noqa: BLE001 - the test reports it
            wrong.append(exc)
        finally:
            connection.close()

    threads = [threading.Thread(target=do) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
