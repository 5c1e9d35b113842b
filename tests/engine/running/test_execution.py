"""Many conversations at once: claiming, side by side, batches, and every way to end."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from evals_app.engine.agents.tools.toolbox import Toolbox
from evals_app.engine.basics import at_work
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause, Verdict
from evals_app.engine.record.usage import NO_USAGE
from evals_app.engine.record.world import World
from evals_app.engine.running import recording
from evals_app.engine.running.execution import write_off
from evals_app.engine.running.run_gateway import ExecutionJob, Plan, Signal
from tests.engine.llm.makers import KEY_VARIABLE, make_provider
from tests.engine.makers import CLOCK, make_agent, make_case, make_model_agent, make_world
from tests.engine.memory_gateway import (
    MemoryGateway,
    cases_of,
    decision_of,
    execute_in_memory,
    make_plan,
)
from tests.model_server import KEY, ModelServer, Reply, last_text

pytestmark = pytest.mark.anyio


# In memory


async def test_a_whole_suite_is_carried_out_in_memory() -> None:
    plan = make_plan(*cases_of("hello", "bye", "crash"), trials=2)

    outcomes = await execute_in_memory(plan)

    assert [(outcome.job.case.name, outcome.job.trial) for outcome in outcomes] == [
        ("1 hello", 1),
        ("1 hello", 2),
        ("2 bye", 1),
        ("2 bye", 2),
        ("3 crash", 1),
        ("3 crash", 2),
    ]
    decisions = [decision_of(outcome) for outcome in outcomes]
    assert [decision.verdict for decision in decisions] == ["passed"] * 4 + ["failed"] * 2
    assert decisions[4].cause is Cause.AGENT
    assert outcomes[0].trial.turns[0].reply == "You said: hello"
    assert outcomes[0].graded[0].grade.passed is True
    assert outcomes[0].summary["overall_passed"] is True
    assert [outcome.trial.number for outcome in outcomes[:2]] == [1, 2]


async def test_what_an_execution_does_is_known_to_be_its_own() -> None:
    seen: list[int | None] = []

    def open_world(clock: str | None) -> World:
        seen.append(at_work.EXECUTION.get())
        return make_world(clock)

    await MemoryGateway(make_plan(*cases_of("a", "b", "c"), open_world=open_world)).run(slots=2)

    assert sorted(number for number in seen if number is not None) == [0, 1, 2]


async def test_every_execution_has_a_world_of_its_own() -> None:
    call = {"tool": "entity.update", "args": {"id": "order-1", "data": {"total": 1}}}
    worlds: list[World] = []
    clocks: list[str | None] = []

    def open_world(clock: str | None) -> World:
        clocks.append(clock)
        worlds.append(make_world(clock))
        return worlds[-1]

    frozen = make_case("a", name="frozen", contains="o", clock=CLOCK)
    plan = make_plan(
        frozen,
        make_case("b", contains="o"),
        agent=make_agent({"calls": [call], "reply": "So."}),
        open_world=open_world,
    )

    outcomes = await execute_in_memory(plan)

    assert sorted(clocks, key=str) == [CLOCK, None]
    assert [len(world.journal) for world in worlds] == [1, 1]
    assert [len(outcome.trial.world_journal) for outcome in outcomes] == [1, 1]


# Side by side


async def test_slots_work_side_by_side_through_a_real_client(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    everybody = threading.Barrier(4)

    def answer(request: dict[str, Any]) -> Reply:
        everybody.wait(timeout=20)  # nobody is answered before all four have asked
        return Reply(f"You said {last_text(request)}")

    model_server.answers(answer)
    plan = make_plan(
        *cases_of("a", "b", "c", "d"),
        agent=make_model_agent(),
        providers=[make_provider(model_server.url)],
    )
    gateway = MemoryGateway(plan)

    await gateway.run(slots=4)

    assert gateway.verdicts == [Verdict.PASSED] * 4
    assert model_server.most_at_once == 4


async def test_no_more_runs_at_once_than_there_are_slots(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    pair, lock = threading.Barrier(2), threading.Lock()
    at_once = most_at_once = 0

    def answer(request: dict[str, Any]) -> Reply:
        nonlocal at_once, most_at_once
        with lock:
            at_once += 1
            most_at_once = max(most_at_once, at_once)
        pair.wait(timeout=20)
        with lock:
            at_once -= 1
        return Reply("So.")

    model_server.answers(answer)
    plan = make_plan(
        *cases_of(*"abcdef"), agent=make_model_agent(), providers=[make_provider(model_server.url)]
    )
    gateway = MemoryGateway(plan)

    await gateway.run(slots=2)

    assert len(gateway.outcomes) == 6
    assert most_at_once == 2


async def test_those_who_begin_at_the_same_time_share_one_question() -> None:
    gateway = MemoryGateway(make_plan(*cases_of(*"abcd")))

    await gateway.run(slots=4)

    assert gateway.begun == [[0, 1, 2, 3]]


async def test_one_question_is_asked_at_a_time_and_meanwhile_the_next_one_fills_up() -> None:
    gateway = MemoryGateway(make_plan(*cases_of(*"abcdef")))
    is_asked, all_claimed = asyncio.Event(), asyncio.Event()
    asking = most_asking = 0

    async def slow() -> None:
        nonlocal asking, most_asking
        asking += 1
        most_asking = max(most_asking, asking)
        is_asked.set()
        await all_claimed.wait()
        for _ in range(50):  # whoever would ask beside it has done so by then
            await asyncio.sleep(0)
        asking -= 1

    async def one_by_one() -> None:
        if len(gateway.waiting) == 5:
            await is_asked.wait()  # the first begins alone
        if not gateway.waiting:
            all_claimed.set()

    gateway.on_begin = slow
    gateway.on_claim = one_by_one
    gateway.most = 1
    await gateway.run(slots=6, heartbeat_s=1)

    assert gateway.begun == [[0], [1, 2, 3, 4, 5]]
    assert most_asking == 1


async def test_what_is_no_longer_ours_does_not_run() -> None:
    gateway = MemoryGateway(make_plan(*cases_of(*"abc")))
    gateway.refused = {1}

    await gateway.run()

    assert [outcome.job.id for outcome in gateway.outcomes] == [0, 2]


async def test_the_next_claim_does_not_wait_for_what_is_running() -> None:
    gateway = MemoryGateway(make_plan(*cases_of(*"abcdefgh")))
    begun_at_claim: list[int] = []
    is_claimed_again = asyncio.Event()

    async def note() -> None:
        begun_at_claim.append(len(gateway.begun))
        if len(begun_at_claim) > 1:
            is_claimed_again.set()

    gateway.on_begin = is_claimed_again.wait  # nobody begins before
    gateway.on_claim = note
    await gateway.run(slots=4, heartbeat_s=1)

    assert begun_at_claim[0] == 0
    assert len(gateway.outcomes) == 8
    assert set(gateway.claims) == {4}


async def test_nothing_to_do_is_done_at_once() -> None:
    gateway = MemoryGateway(make_plan(*cases_of("a")))
    gateway.waiting = []

    await gateway.run()

    assert (gateway.claims, gateway.begun, gateway.batches) == ([4], [], [])


# Batches


def shrink(monkeypatch: pytest.MonkeyPatch, *, batch: int, after_s: float) -> None:
    """Hundreds of conversations for every test would take long."""
    monkeypatch.setattr(recording, "BATCH", batch)
    monkeypatch.setattr(recording, "UNRECORDED", 2 * batch)
    monkeypatch.setattr(recording, "BATCH_AFTER_S", after_s)


async def test_a_full_batch_is_recorded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch, batch=3, after_s=3600)
    gateway = MemoryGateway(make_plan(*cases_of(*"abcdefgh")))

    await gateway.run(slots=2)

    assert [len(batch) for batch in gateway.batches] == [3, 3, 2]


async def test_a_batch_that_is_not_full_is_recorded_after_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shrink(monkeypatch, batch=100, after_s=0.02)
    gateway = MemoryGateway(make_plan(*cases_of("hello", "late")))

    gateway.on_record = gateway.signals(Signal.CANCEL)
    await gateway.run()

    # The neighbour would have taken an hour: its outcome was not waited for.
    assert [[outcome.job.case.name for outcome in batch] for batch in gateway.batches] == [
        ["1 hello"],
        ["2 late"],
    ]


async def test_slots_wait_while_too_much_is_unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch, batch=2, after_s=0.001)
    gateway = MemoryGateway(make_plan(*cases_of(*"abcdefghijklmnop")))
    is_blocked = asyncio.Event()
    begun_while_recording: list[int] = []

    async def slow() -> None:
        if is_blocked.is_set():
            return
        is_blocked.set()
        for _ in range(200):  # whoever may go on would have done so by then
            await asyncio.sleep(0)
        begun_while_recording.append(sum(map(len, gateway.begun)))

    gateway.on_record = slow
    await gateway.run(slots=3)

    # 4 unrecorded, 3 more in the hands of the slots at the moment they have to wait.
    assert begun_while_recording[0] <= 4 + 3
    assert len(gateway.outcomes) == 16


async def test_everything_is_recorded_exactly_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch, batch=7, after_s=0.001)
    gateway = MemoryGateway(make_plan(*cases_of(*"abcdefghij"), trials=10))

    await gateway.run(slots=16)

    assert [outcome.job.id for outcome in gateway.outcomes] == list(range(100))
    assert all(len(batch) <= 7 for batch in gateway.batches)


# Ends


async def test_finishing_claims_nothing_more_and_finishes_what_is_running() -> None:
    slow = make_agent({"reply": "So.", "delay_ms": 60})
    gateway = MemoryGateway(make_plan(*cases_of(*"abcdefgh"), agent=slow))

    gateway.on_begin = gateway.signals(Signal.FINISH)
    await gateway.run(slots=2)

    assert gateway.verdicts == [Verdict.PASSED] * 2
    assert gateway.begun == [[0, 1]]
    assert len(gateway.claims) <= 2  # the second may have been under way by then


async def test_what_a_late_claim_brings_is_not_begun() -> None:
    slow = make_agent({"reply": "So.", "delay_ms": 300})
    gateway = MemoryGateway(make_plan(*cases_of(*"abcd"), agent=slow))
    is_heeded = asyncio.Event()
    pulses = 0

    def pulse() -> Signal:
        nonlocal pulses
        pulses += 1
        if pulses > 3:
            is_heeded.set()
        return Signal.FINISH if pulses > 1 else Signal.GO

    async def late() -> None:
        if gateway.claims:
            await is_heeded.wait()

    gateway.on_heartbeat = pulse
    gateway.on_claim = late
    await gateway.run(slots=2)

    assert gateway.claims == [2, 2]
    assert gateway.begun == [[0, 1]]


async def test_cancelling_keeps_what_was_said() -> None:
    gateway = MemoryGateway(
        make_plan(make_case("hello", "late", "more", contains="o"), *cases_of("hello again"))
    )
    gateway.on_record = gateway.signals(Signal.CANCEL)
    await gateway.run()

    cancelled, finished = gateway.outcomes
    assert finished.decision is not None
    assert (cancelled.decision, cancelled.graded, dict(cancelled.summary)) == (None, (), {})
    assert [(turn.user, turn.error) for turn in cancelled.trial.turns] == [
        ("hello", None),
        ("late", "The turn was interrupted."),
    ]
    assert cancelled.judge_usage == NO_USAGE


async def test_releasing_hands_back_what_is_running_and_records_what_is_done() -> None:
    gateway = MemoryGateway(make_plan(*cases_of("late", "hello", "late")))

    gateway.on_record = gateway.signals(Signal.RELEASE)
    await gateway.run()

    assert [outcome.job.case.name for outcome in gateway.outcomes] == ["2 hello"]
    assert sum(map(len, gateway.begun)) == 3


async def test_whoever_has_lost_the_work_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch, batch=100, after_s=3600)
    gateway = MemoryGateway(make_plan(*cases_of("hello", "late")))

    gateway.on_begin = gateway.signals(Signal.LOST)
    await gateway.run()

    assert gateway.batches == []


async def test_a_refused_batch_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch, batch=1, after_s=0.001)
    gateway = MemoryGateway(make_plan(*cases_of("a", "b", "c", "late")))
    gateway.is_ours = False

    await gateway.run()

    assert len(gateway.batches) == 1


async def test_a_signal_is_never_taken_back() -> None:
    gateway = MemoryGateway(make_plan(*cases_of("late", "hello")))
    signals = [Signal.GO, Signal.FINISH, Signal.GO, Signal.FINISH, Signal.CANCEL]
    gateway.on_heartbeat = lambda: signals.pop(0) if signals else Signal.GO

    await gateway.run(slots=2, heartbeat_s=0.002)

    assert signals == []
    assert gateway.verdicts == [None, Verdict.PASSED]


async def test_what_came_out_in_the_moment_of_a_cancellation_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shrink(monkeypatch, batch=1, after_s=0.001)
    gateway = MemoryGateway(make_plan(*cases_of(*"abcd")))

    async def cancel_now() -> None:
        gateway.signal = Signal.CANCEL
        await asyncio.sleep(0.05)

    gateway.on_record = cancel_now
    await gateway.run(slots=4)

    # Each was either finished and recorded as such, or had begun and is reported as cancelled.
    assert [outcome.job.id for outcome in gateway.outcomes] == [0, 1, 2, 3]


# What goes wrong


async def test_one_broken_execution_does_not_stop_its_neighbours() -> None:
    cases = [
        make_case("hello", name="fine", contains="o"),
        make_case("hello", name="broken", contains="o", clock=CLOCK),
    ]

    def open_world(clock: str | None) -> World:
        if clock is not None:
            raise ValueError(clock)
        return make_world()

    fine, broken = await execute_in_memory(make_plan(*cases, open_world=open_world))

    assert decision_of(fine).verdict is Verdict.PASSED
    assert (decision_of(broken).verdict, decision_of(broken).cause) == (
        Verdict.ERRORED,
        Cause.HARNESS,
    )
    assert decision_of(broken).reason == f"ValueError: {CLOCK}"
    assert [check.grade.status for check in broken.graded] == [GradeStatus.UNGRADED]


async def test_an_agent_that_cannot_work_as_written_is_shown_so_in_words() -> None:
    (outcome,) = await execute_in_memory(
        make_plan(*cases_of("a"), agent=make_agent(tools=["mail.send"]))
    )

    assert decision_of(outcome).cause is Cause.HARNESS
    assert decision_of(outcome).reason.startswith("Unknown tool: mail.send.")


async def test_an_execution_has_its_deadline() -> None:
    cases = [make_case("hello", "late", "more", contains="o"), *cases_of("hello")]
    plan = make_plan(*cases, execution_s=2)

    late, fine = await execute_in_memory(plan)

    assert decision_of(fine).verdict is Verdict.PASSED
    assert (decision_of(late).verdict, decision_of(late).cause) == (Verdict.ERRORED, Cause.HARNESS)
    assert "2 s" in decision_of(late).reason
    assert [turn.user for turn in late.trial.turns] == ["hello", "late"]
    assert [check.grade.passed for check in late.graded] == [True, None, None]


async def test_somebody_elses_timeout_is_not_the_limit_of_an_execution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def times_out(self: Toolbox, name: str, args: object) -> object:
        message = "The socket gave up."
        raise TimeoutError(message)

    monkeypatch.setattr(Toolbox, "call", times_out)
    rule = {"calls": [{"tool": "entity.query", "args": {}}], "reply": "So."}

    (outcome,) = await execute_in_memory(make_plan(*cases_of("a"), agent=make_agent(rule)))

    assert decision_of(outcome).cause is Cause.HARNESS
    assert decision_of(outcome).reason == "TimeoutError: The socket gave up."


async def test_what_the_caller_cannot_do_ends_everything() -> None:
    gateway = MemoryGateway(make_plan(*cases_of("late", "hello")))

    async def lose_database() -> None:
        message = "The database is gone."
        raise OSError(message)

    gateway.on_record = lose_database
    with pytest.raises(ExceptionGroup) as caught:
        await gateway.run()

    assert caught.group_contains(OSError, match="The database is gone")


async def test_a_job_that_is_given_up_is_an_error_of_ours_with_all_its_grades() -> None:
    case = make_case("a", "b", contains="o", limits={"max_tool_calls": 1})
    plan = make_plan(case)

    outcome = await write_off(plan, ExecutionJob(7, case, 2), reason="Its worker died 3 times.")

    assert (decision_of(outcome).verdict, decision_of(outcome).cause) == (
        Verdict.ERRORED,
        Cause.HARNESS,
    )
    assert decision_of(outcome).reason == "Its worker died 3 times."
    assert (outcome.job.id, outcome.trial.number, outcome.trial.planned_turns) == (7, 2, 2)
    assert [check.grade.status for check in outcome.graded] == [GradeStatus.UNGRADED] * 3
    assert outcome.summary["overall_passed"] is False


async def test_jobs_that_are_withheld_are_asked_for_again_when_a_slot_is_free() -> None:
    gateway = WithholdingDesk(make_plan(*cases_of(*"abcdef")))

    await gateway.run(slots=2)

    assert gateway.verdicts == [Verdict.PASSED] * 6
    assert gateway.asked[0] == (2, 0)
    assert all(free or in_hand for free, in_hand in gateway.asked)
    assert 0 in {free for free, _ in gateway.asked}  # in advance, in vain


class WithholdingDesk(MemoryGateway):
    """Gives nothing in advance."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.asked: list[tuple[int, int]] = []

    async def claim(self, count: int, *, free: int, in_hand: int) -> Sequence[ExecutionJob] | None:
        self.asked.append((free, in_hand))
        if self.waiting and not free:
            return None
        return self.give(min(count, free) or count)


async def test_jobs_that_want_to_be_alone_are_asked_for_when_nothing_is_in_hand() -> None:
    gateway = LonelyDesk(make_plan(*cases_of(*"abc")))

    await gateway.run(slots=3)

    assert gateway.begun == [[0], [1], [2]]
    assert gateway.verdicts == [Verdict.PASSED] * 3


class LonelyDesk(MemoryGateway):
    """Gives one job at a time, to empty hands."""

    async def claim(self, count: int, *, free: int, in_hand: int) -> Sequence[ExecutionJob] | None:
        return None if self.waiting and in_hand else self.give(1)
