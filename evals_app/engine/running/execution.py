"""Run many conversations at once, grade each, and hand over the outcomes in batches.

The caller's gateway provides the jobs and takes the results: this module knows
neither a database nor a queue. All of it runs in one event loop. `Feeder` claims the jobs, a slot
carries them out one after another, `Recorder` hands over their outcomes.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from evals_app.engine.agents.external.agent_queue import AgentQueue
from evals_app.engine.basics import at_work
from evals_app.engine.basics.errors import EngineError
from evals_app.engine.basics.template import resolve
from evals_app.engine.basics.together import Together
from evals_app.engine.callables.pool import Callables
from evals_app.engine.judging import Answers, Asker, Steps
from evals_app.engine.llm.budget import CallBudget, ModelUse
from evals_app.engine.llm.models import Models
from evals_app.engine.llm.replay import ExecutionCalls
from evals_app.engine.record.grade import GradedAssertion, GradeStatus
from evals_app.engine.record.trial import Cause, Failure, Trial
from evals_app.engine.record.world import World
from evals_app.engine.running.aid_making import AidMaker, SharedAids, make_asker
from evals_app.engine.running.call_desk import CallDesks
from evals_app.engine.running.conversation import Conversation, variables_of
from evals_app.engine.running.feeding import Feeder
from evals_app.engine.running.gathering import Gatherer
from evals_app.engine.running.recording import Recorder
from evals_app.engine.running.run_gateway import (
    ExecutionJob,
    InterruptedConversation,
    Outcome,
    Plan,
    RunGateway,
    Signal,
    WorkerReport,
)
from evals_app.engine.running.users.user_side import UserSide
from evals_app.engine.specs.files import with_contents
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.engine.verdicts.execution_verdict import decide, execution_summary
from evals_app.engine.verdicts.grading import NO_AIDS, grade_check, grade_trial, key_of
from evals_app.engine.verdicts.similarity import SimilarityMeter

_BY_OUTSIDE_AGENT = ModelUse("agent")  # its model is unknown
NEWS_AFTER_S = 0.05  # many calls are rate-limited at the same moment


async def execute(
    plan: Plan, gateway: RunGateway, *, slots: int, heartbeat_s: Callable[[], float] = lambda: 1.0
) -> None:
    """Carry out jobs, `slots` at a time, until none is left or the gateway wants it to end.

    The gateway is asked for orders every `heartbeat_s()` seconds.
    """
    budget = CallBudget(gateway.reserve_amounts, is_limited=plan.has_ceiling)
    async with (
        Models(plan.providers, budget=budget, book=gateway.book) as models,
        Callables(most=slots) as callables,
    ):
        pool = _SlotPool(
            plan, gateway, slots=slots, models=models, budget=budget, callables=callables
        )
        await pool.work(heartbeat_s)


async def write_off(plan: Plan, job: ExecutionJob, *, reason: str) -> Outcome:
    """Return the outcome of a job that cannot be carried out: errored, by the harness."""
    return await _broken_outcome(plan, job, _not_run(plan, job), reason)


def _not_run(plan: Plan, job: ExecutionJob) -> Trial:
    if job.stored is not None:
        return job.stored.trial
    return Trial(job.case.name, job.trial, len(job.case.turns), plan.agent.slug)


async def _broken_outcome(plan: Plan, job: ExecutionJob, trial: Trial, reason: str) -> Outcome:
    failed = trial.but(failure=Failure(Cause.HARNESS, reason))
    graded = await grade_trial(
        failed,
        case=job.case,
        suite=plan.suite,
        aids_for=lambda *_: NO_AIDS,
        judged_criterion_of=plan.judged_criterion_of,
        trust=plan.trust,
    )
    return _outcome(plan, job, failed, graded)


def _outcome(
    plan: Plan,
    job: ExecutionJob,
    trial: Trial,
    graded: tuple[GradedAssertion, ...],
    calls: ExecutionCalls | None = None,
) -> Outcome:
    decision = decide(trial, graded, suite=plan.suite, case=job.case)
    summary = execution_summary(trial, graded, decision)
    if plan.cache is not None and calls is not None:
        summary["cached_answers"] = {name: calls.counts[name] for name in ("found", "asked")}
    return Outcome(job, trial, graded, decision, summary)


def _forget_unusable(
    calls: ExecutionCalls, trial: Trial, graded: Sequence[GradedAssertion]
) -> None:
    """Drop answers of judges that led to no grade, so that a later run asks again."""
    for check in graded:
        if check.grade.status is GradeStatus.UNGRADED and check.grade.cause is Cause.JUDGE:
            calls.forget(key_of(trial, check.turn, check.position))


@dataclass(slots=True)
class _Execution:
    """An execution in progress: its conversation and its model calls."""

    job: ExecutionJob
    calls: ExecutionCalls
    conversation: Conversation | None = None
    is_waiting: bool = False  # for spans
    is_graded: bool = False

    @property
    def doing(self) -> str:
        """What it is doing, in words."""
        if self.calls.doing:
            return self.calls.doing
        if self.is_graded or self.job.stored:
            return "being graded"
        if self.is_waiting:
            return "waiting for its spans"
        return self.conversation.doing if self.conversation else "about to begin"


class _SlotPool:
    """The slots of one `execute`, and what they work on."""

    def __init__(
        self,
        plan: Plan,
        gateway: RunGateway,
        *,
        slots: int,
        models: Models,
        budget: CallBudget,
        callables: Callables,
    ) -> None:
        self._plan = plan
        self._gateway = gateway
        self._models = models
        self._budget = budget
        self._callables = callables
        self._aids = SharedAids(
            plan=plan,
            similarity=SimilarityMeter(models.embed),
            steps=Steps(plan.steps, gateway.keep_steps),
            run_code=callables.grade,
        )
        self._queue = (
            AgentQueue(plan.agent.rate_group, book=gateway.book) if plan.agent.rate_group else None
        )
        self._gatherer = Gatherer(gateway)
        self._desks = CallDesks(gateway)
        self._signal = Signal.GO
        self._feeder = Feeder(gateway, slots)
        self._recorder = Recorder(self._record)
        self._may_begin: Together[int, bool] = Together(self._begin)
        self._slot_count = slots
        self._slots: list[asyncio.Task[None]] = []
        self._executions: dict[int, _Execution] = {}
        self._begun: dict[int, InterruptedConversation] = {}

    async def work(self, heartbeat_s: Callable[[], float]) -> None:
        await self._send_heartbeat()  # limits are known before the first call
        async with asyncio.TaskGroup() as group:
            helpers = [
                group.create_task(self._feeder.feed()),
                group.create_task(self._obey(heartbeat_s)),
            ]
            self._slots = [group.create_task(self._slot()) for _ in range(self._slot_count)]
            group.create_task(self._recorder.work())
            await asyncio.wait(self._slots)
            for helper in helpers:
                helper.cancel()
            self._recorder.close()
        if self._signal is not Signal.LOST:
            await self._budget.report()
            if self._begun:
                await self._gateway.keep(self._begun)

    async def _slot(self) -> None:
        while (job := await self._feeder.next()) is not None:
            at_work.EXECUTION.set(job.id)
            if self._plan.stops_when_decided:
                await self._recorder.wait_for_case(job.case.name)  # the case may then be decided
            if await self._may_begin(job.id):
                paid = job.begun.calls if job.begun else ()
                cache = self._plan.cache
                cached = cache.of_trial(job.trial) if cache else None
                calls = ExecutionCalls(self._models.complete, paid=paid, cached=cached)
                execution = self._executions[job.id] = _Execution(job, calls)
                try:
                    # Nothing is awaited in between: a cancellation must not lose the outcome.
                    self._recorder.add(await self._carry_out(execution))
                finally:
                    del self._executions[job.id]
            else:
                self._feeder.forget(1)
            self._feeder.release_slot()
            await self._recorder.wait_for_room()

    async def _begin(self, ids: Sequence[int]) -> list[bool]:
        ours = await self._gateway.begin(ids)
        return [job_id in ours for job_id in ids]

    async def _carry_out(self, execution: _Execution) -> Outcome:
        job = execution.job
        try:
            async with asyncio.timeout(self._plan.execution_s) as limit:
                trial, graded = await self._run_and_grade(execution)
        except asyncio.CancelledError:
            self._note_broken_off(execution)
            raise
        except EngineError as exc:
            reason = str(exc)
        except Exception as exc:  # noqa: BLE001 - one broken execution must not stop its neighbours
            reason = f"{type(exc).__name__}: {exc}".rstrip(": ")
            if isinstance(exc, TimeoutError) and limit.expired():
                reason = f"The conversation did not finish within {self._plan.execution_s:g} s."
        else:
            return _outcome(self._plan, job, trial, graded, execution.calls)
        trial = (
            execution.conversation.trial() if execution.conversation else _not_run(self._plan, job)
        )
        return await _broken_outcome(self._plan, job, trial, reason)

    async def _run_and_grade(
        self, execution: _Execution
    ) -> tuple[Trial, tuple[GradedAssertion, ...]]:
        job = execution.job
        world = self._plan.open_world(job.case.clock)
        trial = job.stored.trial if job.stored else await self._run(execution, world)
        execution.is_graded = True
        context = resolve(
            self._plan.suite.judge_context, **variables_of(trial, agent_name=self._plan.agent.agent)
        )
        trial = trial.but(warnings=trial.warnings + context.warnings("The judge's context"))
        aids_for = AidMaker(
            shared=self._aids,
            calls=execution.calls,
            judge_context=context.text,
            opened_world=world.initial_state,
            answers=Answers(job.stored.answers) if job.stored else None,
        )
        graded = await grade_trial(
            await self._with_files(trial, job.case),
            case=job.case,
            suite=self._plan.suite,
            aids_for=aids_for,
            inventory=self._plan.inventory,
            judged_criterion_of=self._plan.judged_criterion_of,
            trust=self._plan.trust,
        )
        _forget_unusable(execution.calls, trial, graded)
        return trial, graded

    async def _with_files(self, trial: Trial, case: CaseSpec) -> Trial:
        """Return a trial with the contents of its files, if a judge is to read them."""
        checks = (placed.check for placed in self._plan.suite.placed_checks(case))
        has_files = any(turn.files for turn in trial.turns)
        if not has_files or all(check.grader.family != "judged" for check in checks):
            return trial
        return await with_contents(
            trial, [turn.files for turn in case.turns], self._gateway.read_file
        )

    async def _run(self, execution: _Execution, world: World) -> Trial:
        job = execution.job
        execution.conversation = Conversation(
            job.case,
            number=job.trial,
            agent=self._plan.agent,
            world=world,
            complete=execution.calls,
            callables=self._callables,
            queue=self._queue,
            desk=self._desks.of(job.id),
            read_file=self._gateway.read_file,
            user=self._user_of(execution),
            # Unknown until it was spent.
            spend=partial(self._budget.charge, Decimal(0), use=_BY_OUTSIDE_AGENT),
            started_at=job.begun.started_at if job.begun else "",
            session_id=job.begun.session_id if job.begun else "",
        )
        wait_s = self._plan.agent.spans_waited_s
        if wait_s is None:
            return await execution.conversation.run()
        await self._gateway.open_trace(job.id, execution.conversation.trace_id or "")
        trial = await execution.conversation.run()
        execution.is_waiting = True
        return await self._gatherer.gather(trial, wait_s=wait_s)

    def _user_of(self, execution: _Execution) -> UserSide:
        """Return who says the messages of a conversation."""
        plan, case = self._plan, execution.job.case
        model = case.user_model(plan.judge)
        if model is None:
            return UserSide(case)

        def asker_for(key: str) -> Asker:
            return make_asker(plan, model, execution.calls.of_check(key))

        async def is_done(trial: Trial) -> bool:
            grades = [
                await grade_check(
                    check,
                    trial=trial,
                    case=case,
                    turn=None,
                    aids_for=lambda *_: NO_AIDS,
                    key="",
                    inventory=plan.inventory,
                )
                for check in case.goal_checks
            ]
            return all(grade.passed for grade in grades)

        return UserSide(case, asker_for, is_done, execution.calls.forget)

    def _note_broken_off(self, execution: _Execution) -> None:
        """Keep the transcript, or the paid calls, of a conversation that the gateway ends."""
        conversation = execution.conversation
        if self._signal is Signal.CANCEL and conversation:
            self._recorder.add(Outcome(execution.job, conversation.trial()))
        elif self._signal is Signal.RELEASE and (made := execution.calls.paid_calls()):
            started_at = conversation.started_at if conversation else ""
            self._begun[execution.job.id] = InterruptedConversation(started_at, made)

    async def _record(self, outcomes: Sequence[Outcome]) -> None:
        if self._signal is not Signal.LOST and not await self._gateway.record(outcomes):
            self._escalate(Signal.LOST)
        self._feeder.forget(len(outcomes))

    # Obeying the gateway.

    async def _obey(self, heartbeat_s: Callable[[], float]) -> None:
        while self._signal is not Signal.LOST:
            with suppress(TimeoutError):
                async with asyncio.timeout(heartbeat_s()):
                    # Other processes must learn soon that a provider is rate-limiting us.
                    await self._models.news.wait()
                    await asyncio.sleep(NEWS_AFTER_S)
            await self._send_heartbeat()

    async def _send_heartbeat(self) -> None:
        await self._budget.report()
        doing = {job_id: execution.doing for job_id, execution in self._executions.items()}
        loads, queue = self._models.loads(), self._queue
        if queue is not None:
            loads[queue.group.slug] = queue.load()
        orders = await self._gateway.send_heartbeat(WorkerReport(doing, loads))
        places = dict(orders.places)
        if queue is not None and (most := places.pop(queue.group.slug, None)) is not None:
            queue.set_places(most)
        self._models.apply(places=places, blocks=orders.blocks)
        self._escalate(orders.signal)

    def _escalate(self, signal: Signal) -> None:
        if signal <= self._signal:
            return
        self._signal = signal
        self._feeder.stop()
        if signal >= Signal.CANCEL:
            for slot in self._slots:
                slot.cancel()
