"""Hold many conversations at once, grade each, and hand the outcomes over in batches.

What is to do, and where results go, are callables that the caller passes in: this module knows
neither a database nor a queue. All of it runs in one event loop.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

from evals_app.engine.agents.scripted import scripted_judge
from evals_app.engine.conversation import Conversation
from evals_app.engine.errors import ConfigurationError, EngineError
from evals_app.engine.grading import grade_trial
from evals_app.engine.judging import ModelJudge
from evals_app.engine.llm.call import Complete
from evals_app.engine.llm.models import Models
from evals_app.engine.scoring import Decision, decide, execution_summary
from evals_app.engine.spec import AgentSpec, ModelSpec, ProviderSpec
from evals_app.engine.suite import AssertionSpec, CaseSpec, SuiteSpec
from evals_app.engine.template import Resolved, resolve
from evals_app.engine.trial import (
    Cause,
    Failure,
    GradedAssertion,
    Judge,
    JudgeCall,
    Trial,
    Usage,
    World,
    total_usage,
)

BATCH = 200  # outcomes recorded at once
BATCH_AFTER_S = 0.25  # or after this long
UNRECORDED = 2 * BATCH  # then slots wait


@dataclass(frozen=True, slots=True)
class Job:
    """One execution to carry out; `id` is the caller's."""

    id: int
    case: str
    trial: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job. `decision` None: it was cancelled, and `trial` is what had been said."""

    job: Job
    trial: Trial
    graded: tuple[GradedAssertion, ...] = ()
    decision: Decision | None = None
    summary: Mapping[str, object] = field(default_factory=dict)

    @property
    def judge_calls(self) -> tuple[JudgeCall, ...]:
        return tuple(call for each in self.graded for call in each.grade.calls)

    @property
    def judge_usage(self) -> Usage:
        return total_usage([call.usage for call in self.judge_calls])

    @property
    def is_scripted(self) -> bool:
        """Whether any part of the verdict came from a script."""
        return self.trial.is_scripted or any(call.is_scripted for call in self.judge_calls)


class Signal(IntEnum):
    """What the caller wants, ever more urgent; it is never taken back."""

    GO = 0
    FINISH = 1  # claim nothing more, finish what is being held
    CANCEL = 2  # stop conversations, keep what was said
    RELEASE = 3  # stop conversations, hand them back to be held again
    LOST = 4  # somebody else owns the work: write nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that the executions of a run share.

    `judge` is the model that judges unless an assertion names its own; `scripted` are the agents
    that `scripted/<slug>` judges follow. `open_world` is given a case's frozen clock.
    """

    suite: SuiteSpec
    agent: AgentSpec
    open_world: Callable[[str | None], World]
    providers: Sequence[ProviderSpec] = ()
    judge: ModelSpec | None = None
    scripted: Mapping[str, AgentSpec] = field(default_factory=dict)
    secret: bytes = b""
    execution_s: float = 1500.0

    def case(self, name: str) -> CaseSpec:
        return next(case for case in self.suite.cases if case.name == name)

    def judge_model(self, assertion: AssertionSpec) -> ModelSpec | None:
        """Give the model that judges this assertion."""
        return self.agent.model if assertion.model == "agent" else assertion.model or self.judge


Claim = Callable[[int], Awaitable[Sequence[Job]]]
Begin = Callable[[Sequence[int]], Awaitable[set[int]]]
Record = Callable[[Sequence[Outcome]], Awaitable[bool]]
Pulse = Callable[[], Awaitable[Signal]]


async def execute(
    plan: Plan,
    *,
    slots: int,
    claim: Claim,
    begin: Begin,
    record: Record,
    pulse: Pulse,
    pulse_s: float = 1.0,
) -> None:
    """Carry out jobs, `slots` at a time, until none is left or the caller wants it to end.

    `claim(n)` gives up to n jobs, none when there are no more. `begin(ids)` is told just before
    conversations start and says which still may. `record(outcomes)` says whether the work is
    still ours. `pulse()` is asked every `pulse_s` seconds what the caller wants.
    """
    async with Models(plan.providers) as models:
        crew = _Crew(plan, models.complete, claim=claim, begin=begin, record=record)
        await crew.work(slots, pulse=pulse, pulse_s=pulse_s)


async def execute_in_memory(plan: Plan, *, slots: int = 10) -> list[Outcome]:
    """Carry out a whole suite without a database; outcomes come in the order of the cases."""
    jobs = [
        Job(0, case.name, trial)
        for case in plan.suite.cases
        for trial in range(1, plan.suite.trials_of(case) + 1)
    ]
    waiting = deque(Job(number, job.case, job.trial) for number, job in enumerate(jobs))
    outcomes: list[Outcome] = []

    async def claim(count: int) -> Sequence[Job]:
        return [waiting.popleft() for _ in range(min(count, len(waiting)))]

    async def begin(ids: Sequence[int]) -> set[int]:
        return set(ids)

    async def record(batch: Sequence[Outcome]) -> bool:
        outcomes.extend(batch)
        return True

    async def pulse() -> Signal:
        return Signal.GO

    await execute(plan, slots=slots, claim=claim, begin=begin, record=record, pulse=pulse)
    return sorted(outcomes, key=lambda outcome: outcome.job.id)


async def write_off(plan: Plan, job: Job, *, reason: str) -> Outcome:
    """Give the outcome of a job that cannot be carried out: errored, by the harness."""
    return await _broken(plan, job, _unheld(plan, job), reason)


def _unheld(plan: Plan, job: Job) -> Trial:
    return Trial(job.case, job.trial, len(plan.case(job.case).turns), plan.agent.slug)


async def _broken(plan: Plan, job: Job, trial: Trial, reason: str) -> Outcome:
    failed = trial.but(failure=Failure(Cause.HARNESS, reason))
    graded = await grade_trial(
        failed, case=plan.case(job.case), suite=plan.suite, judge_for=lambda _: None
    )
    return _outcome(plan, job, failed, graded)


def _outcome(plan: Plan, job: Job, trial: Trial, graded: tuple[GradedAssertion, ...]) -> Outcome:
    decision = decide(trial, graded, suite=plan.suite)
    return Outcome(job, trial, graded, decision, execution_summary(trial, graded, decision))


def _judge_context(plan: Plan, case: CaseSpec, trial: Trial) -> Resolved:
    return resolve(
        plan.suite.judge_context,
        agent_name=plan.agent.agent,
        now=case.clock or trial.started_at,
        channel=case.channel,
        params=case.context_params,
    )


class _Crew:
    """The slots of one `execute`, what they work on, and what they have not handed over yet."""

    def __init__(
        self, plan: Plan, complete: Complete, *, claim: Claim, begin: Begin, record: Record
    ) -> None:
        self._plan = plan
        self._cases = {case.name: case for case in plan.suite.cases}
        self._complete = complete
        self._claim, self._begin, self._record = claim, begin, record
        self._signal = Signal.GO
        self._jobs: deque[Job] = deque()
        self._exhausted = False
        self._changed = asyncio.Condition()  # of jobs, exhausted, signal, outcomes
        self._outcomes: list[Outcome] = []
        self._beginning: dict[int, asyncio.Future[bool]] = {}
        self._asking = asyncio.Lock()  # one question at a time; meanwhile the next one fills up
        self._slots: list[asyncio.Task[None]] = []

    async def work(self, slots: int, *, pulse: Pulse, pulse_s: float) -> None:
        async with asyncio.TaskGroup() as group:
            helpers = [
                group.create_task(self._feed(slots)),
                group.create_task(self._heed(pulse, pulse_s)),
            ]
            self._slots = [group.create_task(self._slot()) for _ in range(slots)]
            recorder = group.create_task(self._hand_over())
            await asyncio.wait(self._slots)
            for helper in helpers:
                helper.cancel()
            await self._tell(self._stop_recording)
            await recorder

    async def _tell(self, change: Callable[[], None]) -> None:
        async with self._changed:
            change()
            self._changed.notify_all()

    # Feeding: the next claim is under way before the buffer is empty.

    async def _feed(self, slots: int) -> None:
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: len(self._jobs) <= slots // 2)
            if self._signal is not Signal.GO:
                return
            found = await self._claim(slots)

            def take(found: Sequence[Job] = found) -> None:
                self._jobs.extend(found)
                self._exhausted = not found

            await self._tell(take)
            if not found:
                return

    async def _next(self) -> Job | None:
        def is_settled() -> bool:
            return bool(self._jobs) or self._exhausted or self._signal is not Signal.GO

        async with self._changed:
            await self._changed.wait_for(is_settled)
            if not self._jobs or self._signal is not Signal.GO:
                return None
            job = self._jobs.popleft()
            self._changed.notify_all()
            return job

    # Holding.

    async def _slot(self) -> None:
        while (job := await self._next()) is not None:
            if not await self._may_begin(job.id):
                continue
            # Nothing is awaited in between: a cancellation must not lose what has just come out.
            self._outcomes.append(await self._carry_out(job))
            async with self._changed:
                self._changed.notify_all()
                await self._changed.wait_for(lambda: len(self._outcomes) < UNRECORDED)

    async def _may_begin(self, job_id: int) -> bool:
        """Ask whether a job is still ours; those who ask at the same time share one question."""
        is_first = not self._beginning
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._beginning[job_id] = future
        if is_first:
            await asyncio.sleep(0)
            async with self._asking:
                asked, self._beginning = self._beginning, {}
                ours = await self._begin(list(asked))
            for each, waiting in asked.items():
                if not waiting.done():
                    waiting.set_result(each in ours)
        return await future

    async def _carry_out(self, job: Job) -> Outcome:
        case = self._cases[job.case]
        conversation: Conversation | None = None
        try:
            async with asyncio.timeout(self._plan.execution_s):
                conversation = Conversation(
                    case,
                    number=job.trial,
                    agent=self._plan.agent,
                    world=self._plan.open_world(case.clock),
                    complete=self._complete,
                )
                trial = await conversation.hold()
                context = _judge_context(self._plan, case, trial)
                warnings = context.warnings("The judge's context")
                trial = trial.but(warnings=trial.warnings + warnings)
                graded = await grade_trial(
                    trial,
                    case=case,
                    suite=self._plan.suite,
                    judge_for=partial(self._judge_for, context=context.text),
                )
        except asyncio.CancelledError:
            if self._signal is Signal.CANCEL and conversation is not None:
                self._outcomes.append(Outcome(job, conversation.trial()))
            raise
        except TimeoutError:
            reason = f"Not finished within {self._plan.execution_s:g} s."
        except EngineError as exc:
            reason = str(exc)
        except Exception as exc:  # noqa: BLE001 - one broken execution must not stop its neighbours
            reason = f"{type(exc).__name__}: {exc}"
        else:
            return _outcome(self._plan, job, trial, graded)
        said = conversation.trial() if conversation else _unheld(self._plan, job)
        return await _broken(self._plan, job, said, reason)

    def _judge_for(self, assertion: AssertionSpec, *, context: str) -> Judge | None:
        model = self._plan.judge_model(assertion)
        if model is None:
            return None
        is_scripted = model.provider == "scripted"
        if is_scripted and model.name not in self._plan.scripted:
            message = f"There is no scripted agent {model.name!r} to judge with."
            raise ConfigurationError(message)
        return ModelJudge(
            ask=scripted_judge(self._plan.scripted[model.name].rules)
            if is_scripted
            else self._complete,
            model=model,
            judge_prompt=self._plan.suite.judge_prompt,
            judge_context=context,
            secret=self._plan.secret,
            is_scripted=is_scripted,
            effort="low",  # reading against criteria needs no long thought, and cases are many
        )

    # Heeding and handing over.

    async def _heed(self, pulse: Pulse, pulse_s: float) -> None:
        while self._signal is not Signal.LOST:
            await asyncio.sleep(pulse_s)
            await self._escalate(await pulse())

    async def _escalate(self, signal: Signal) -> None:
        if signal <= self._signal:
            return

        def heed() -> None:
            self._signal = signal
            self._jobs.clear()

        await self._tell(heed)
        if signal >= Signal.CANCEL:
            for slot in self._slots:
                slot.cancel()

    def _stop_recording(self) -> None:
        self._exhausted = True
        self._slots = []

    async def _hand_over(self) -> None:
        """Record outcomes in batches until the slots are gone and nothing is left."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: bool(self._outcomes) or not self._slots)
                if not self._outcomes:
                    return
                if self._slots:
                    await self._fill_up()
            batch = self._outcomes[:BATCH]
            if self._signal is not Signal.LOST and not await self._record(batch):
                await self._escalate(Signal.LOST)
            await self._tell(partial(self._forget, len(batch)))

    def _forget(self, count: int) -> None:
        del self._outcomes[:count]

    async def _fill_up(self) -> None:
        """Wait a moment for more outcomes; `_changed` is held."""
        try:
            async with asyncio.timeout(BATCH_AFTER_S):
                await self._changed.wait_for(
                    lambda: len(self._outcomes) >= BATCH or not self._slots
                )
        except TimeoutError:
            return
