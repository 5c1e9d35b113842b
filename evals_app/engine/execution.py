"""Hold many conversations at once, grade each, and hand the outcomes over in batches.

What is to do, and where results go, are callables that the caller passes in: this module knows
neither a database nor a queue. All of it runs in one event loop.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from types import MappingProxyType

from evals_app.engine.aid_making import AidMaker, SharedAids
from evals_app.engine.callables.pool import Callables
from evals_app.engine.conversation import Conversation
from evals_app.engine.desk import Begun, Desk, Job, Orders, Outcome, Plan, Report, Signal
from evals_app.engine.errors import EngineError
from evals_app.engine.files import no_file
from evals_app.engine.grading import NO_AIDS, grade_trial
from evals_app.engine.judging import Recipe, Steps
from evals_app.engine.llm.models import Models
from evals_app.engine.llm.purse import Account, Purse
from evals_app.engine.llm.replay import Calls, PaidCall
from evals_app.engine.scoring import decide, execution_summary
from evals_app.engine.similarity import Similarity
from evals_app.engine.suite import CaseSpec
from evals_app.engine.template import Resolved, resolve
from evals_app.engine.together import Together
from evals_app.engine.trial import Cause, Failure, GradedAssertion, Trial

BATCH = 200  # outcomes recorded at once
BATCH_AFTER_S = 0.25  # or after this long
UNRECORDED = 2 * BATCH  # then slots wait
NEWS_AFTER_S = 0.05  # many calls are told the same at the same moment


async def execute(
    plan: Plan, desk: Desk, *, slots: int, pulse_s: Callable[[], float] = lambda: 1.0
) -> None:
    """Carry out jobs, `slots` at a time, until none is left or the desk wants it to end.

    The desk is asked for orders every `pulse_s()` seconds.
    """
    purse = Purse(desk.bank, is_limited=plan.has_ceiling)
    async with (
        Models(plan.providers, purse=purse, book=desk.book) as models,
        Callables(most=slots) as callables,
    ):
        crew = _Crew(plan, desk, models=models, purse=purse, callables=callables)
        await crew.work(slots, pulse_s=pulse_s)


async def execute_in_memory(
    plan: Plan, *, slots: int = 10, contents: Mapping[str, bytes] = MappingProxyType({})
) -> list[Outcome]:
    """Carry out a whole suite without a database; outcomes come in the order of the cases.

    `contents` are those of the files that cases show, by SHA-256.
    """
    desk = _MemoryDesk(plan, contents)
    await execute(plan, desk, slots=slots)
    return sorted(desk.outcomes, key=lambda outcome: outcome.job.id)


class _MemoryDesk:
    """A desk without limits, for one process."""

    def __init__(self, plan: Plan, contents: Mapping[str, bytes]) -> None:
        jobs = [
            (case, trial)
            for case in plan.suite.cases
            for trial in range(1, plan.suite.trials_of(case) + 1)
        ]
        self._waiting = deque(Job(number, *job) for number, job in enumerate(jobs))
        self.outcomes: list[Outcome] = []
        self._steps: dict[str, Sequence[str]] = {}
        self._contents = contents

    async def claim(self, count: int, *, free: int, in_hand: int) -> Sequence[Job]:
        return [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]

    async def begin(self, ids: Sequence[int]) -> set[int]:
        return set(ids)

    async def record(self, outcomes: Sequence[Outcome]) -> bool:
        self.outcomes.extend(outcomes)
        return True

    async def pulse(self, report: Report) -> Orders:
        return Orders()

    async def bank(self, account: Account, amounts: Sequence[Decimal]) -> Sequence[bool]:
        return [True] * len(amounts)

    async def book(self, provider: str, count: int) -> float:
        return 0.0

    async def keep_steps(
        self, recipe: Recipe, proposal: Sequence[str] | None
    ) -> Sequence[str] | None:
        if proposal is not None:
            self._steps.setdefault(recipe.key, proposal)
        return self._steps.get(recipe.key)

    async def keep(self, begun: Mapping[int, Begun]) -> None:
        """Nothing is handed back."""

    async def read_file(self, sha256: str) -> bytes:
        found = self._contents.get(sha256)
        return await no_file(sha256) if found is None else found


async def write_off(plan: Plan, job: Job, *, reason: str) -> Outcome:
    """Give the outcome of a job that cannot be carried out: errored, by the harness."""
    return await _broken(plan, job, _unheld(plan, job), reason)


def _unheld(plan: Plan, job: Job) -> Trial:
    return Trial(job.case.name, job.trial, len(job.case.turns), plan.agent.slug)


async def _broken(plan: Plan, job: Job, trial: Trial, reason: str) -> Outcome:
    failed = trial.but(failure=Failure(Cause.HARNESS, reason))
    graded = await grade_trial(failed, case=job.case, suite=plan.suite, aids_for=lambda *_: NO_AIDS)
    return _outcome(plan, job, failed, graded)


def _outcome(plan: Plan, job: Job, trial: Trial, graded: tuple[GradedAssertion, ...]) -> Outcome:
    decision = decide(trial, graded, suite=plan.suite)
    return Outcome(job, trial, graded, decision, execution_summary(trial, graded, decision))


def _paid(job: Job) -> Sequence[PaidCall]:
    return job.begun.calls if job.begun else ()


def _judge_context(plan: Plan, case: CaseSpec, trial: Trial) -> Resolved:
    return resolve(
        plan.suite.judge_context,
        agent_name=plan.agent.agent,
        now=case.clock or trial.started_at,
        channel=case.channel,
        params=case.context_params,
    )


@dataclass(slots=True)
class _Holding:
    """An execution in hand: its conversation, and the model calls that it makes."""

    job: Job
    calls: Calls
    conversation: Conversation | None = None
    is_graded: bool = False

    @property
    def doing(self) -> str:
        """Say in words what it is at."""
        if self.calls.doing:
            return self.calls.doing
        if self.is_graded:
            return "being graded"
        return self.conversation.doing if self.conversation else "about to begin"


class _Crew:
    """The slots of one `execute`, what they work on, and what they have not handed over yet."""

    def __init__(
        self, plan: Plan, desk: Desk, *, models: Models, purse: Purse, callables: Callables
    ) -> None:
        self._plan = plan
        self._desk = desk
        self._models = models
        self._purse = purse
        self._callables = callables
        self._aids = SharedAids(
            plan=plan,
            similarity=Similarity(models.embed),
            steps=Steps(plan.steps, desk.keep_steps),
            run_code=callables.grade,
        )
        self._signal = Signal.GO
        self._jobs: deque[Job] = deque()
        self._in_hand = 0  # claimed and not recorded
        self._busy = 0  # slots that have a job
        self._is_exhausted = False
        self._changed = asyncio.Condition()  # of jobs, exhausted, signal, outcomes, in hand
        self._outcomes: list[Outcome] = []
        self._may_begin: Together[int, bool] = Together(self._begin)
        self._slots: list[asyncio.Task[None]] = []
        self._held: dict[int, _Holding] = {}
        self._begun: dict[int, Begun] = {}

    async def work(self, slots: int, *, pulse_s: Callable[[], float]) -> None:
        await self._pulse()  # limits are known before the first call
        async with asyncio.TaskGroup() as group:
            helpers = [
                group.create_task(self._feed(slots)),
                group.create_task(self._heed(pulse_s)),
            ]
            self._slots = [group.create_task(self._slot()) for _ in range(slots)]
            recorder = group.create_task(self._hand_over())
            await asyncio.wait(self._slots)
            for helper in helpers:
                helper.cancel()
            await self._tell(self._stop_recording)
            await recorder
        if self._signal is not Signal.LOST:
            await self._purse.tell()
            if self._begun:
                await self._desk.keep(self._begun)

    async def _tell(self, change: Callable[[], None]) -> None:
        async with self._changed:
            change()
            self._changed.notify_all()

    # Feeding: the next claim is under way before the buffer is empty.

    async def _feed(self, slots: int) -> None:
        is_half_empty: Callable[[], bool] = partial(self._is_down_to, slots // 2)
        is_low = is_half_empty
        while True:
            async with self._changed:
                await self._changed.wait_for(is_low)
            if self._signal is not Signal.GO:
                return
            free = max(0, slots - self._busy - len(self._jobs))
            found = await self._desk.claim(slots, free=free, in_hand=self._in_hand)
            if found is None:
                is_low = self._is_idle if free else partial(self._has_free, slots)
            else:
                is_low = is_half_empty
                await self._tell(partial(self._take, found))
                if not found:
                    return

    def _is_down_to(self, count: int) -> bool:
        return len(self._jobs) <= count

    def _has_free(self, slots: int) -> bool:
        return self._busy + len(self._jobs) < slots or self._signal is not Signal.GO

    def _is_idle(self) -> bool:
        return not self._in_hand or self._signal is not Signal.GO

    def _take(self, found: Sequence[Job]) -> None:
        self._jobs.extend(found)
        self._in_hand += len(found)
        self._is_exhausted = not found

    async def _next(self) -> Job | None:
        def is_settled() -> bool:
            return bool(self._jobs) or self._is_exhausted or self._signal is not Signal.GO

        async with self._changed:
            await self._changed.wait_for(is_settled)
            if not self._jobs or self._signal is not Signal.GO:
                return None
            job = self._jobs.popleft()
            self._busy += 1
            self._changed.notify_all()
            return job

    # Holding.

    async def _slot(self) -> None:
        while (job := await self._next()) is not None:
            if not await self._may_begin(job.id):
                self._busy -= 1
                await self._tell(partial(self._drop, 1))
                continue
            holding = _Holding(job, Calls(self._models.complete, paid=_paid(job)))
            self._held[job.id] = holding
            try:
                # Nothing is awaited in between: a cancellation must not lose what has come out.
                self._outcomes.append(await self._carry_out(holding))
            finally:
                del self._held[job.id]
                self._busy -= 1
            async with self._changed:
                self._changed.notify_all()
                await self._changed.wait_for(lambda: len(self._outcomes) < UNRECORDED)

    async def _begin(self, ids: Sequence[int]) -> list[bool]:
        ours = await self._desk.begin(ids)
        return [each in ours for each in ids]

    async def _carry_out(self, holding: _Holding) -> Outcome:
        job = holding.job
        try:
            async with asyncio.timeout(self._plan.execution_s) as limit:
                trial, graded = await self._hold_and_grade(holding)
        except asyncio.CancelledError:
            self._note_broken_off(holding)
            raise
        except EngineError as exc:
            reason = str(exc)
        except Exception as exc:  # noqa: BLE001 - one broken execution must not stop its neighbours
            reason = f"{type(exc).__name__}: {exc}".rstrip(": ")
            if isinstance(exc, TimeoutError) and limit.expired():
                reason = f"Not finished within {self._plan.execution_s:g} s."
        else:
            return _outcome(self._plan, job, trial, graded)
        held = holding.conversation
        said = held.trial() if held else _unheld(self._plan, job)
        return await _broken(self._plan, job, said, reason)

    async def _hold_and_grade(self, holding: _Holding) -> tuple[Trial, tuple[GradedAssertion, ...]]:
        job = holding.job
        conversation = holding.conversation = Conversation(
            job.case,
            number=job.trial,
            agent=self._plan.agent,
            world=self._plan.open_world(job.case.clock),
            complete=holding.calls,
            callables=self._callables,
            read_file=self._desk.read_file,
            spend=partial(self._purse.settle, Decimal(0)),  # nobody knew it before
            started_at=job.begun.started_at if job.begun else None,
        )
        trial = await conversation.hold()
        holding.is_graded = True
        context = _judge_context(self._plan, job.case, trial)
        trial = trial.but(warnings=trial.warnings + context.warnings("The judge's context"))
        aids_for = AidMaker(
            shared=self._aids,
            calls=holding.calls,
            judge_context=context.text,
            opened_world=conversation.opened_world,
        )
        graded = await grade_trial(
            trial,
            case=job.case,
            suite=self._plan.suite,
            aids_for=aids_for,
            inventory=self._plan.inventory,
        )
        return trial, graded

    def _note_broken_off(self, holding: _Holding) -> None:
        """Keep what was said, or what was paid for, of a conversation that the desk ends."""
        if holding.conversation is None:
            return
        if self._signal is Signal.CANCEL:
            self._outcomes.append(Outcome(holding.job, holding.conversation.trial()))
        elif self._signal is Signal.RELEASE and (made := holding.calls.made()):
            self._begun[holding.job.id] = Begun(holding.conversation.started_at, made)

    # Heeding and handing over.

    async def _heed(self, pulse_s: Callable[[], float]) -> None:
        while self._signal is not Signal.LOST:
            try:
                async with asyncio.timeout(pulse_s()):
                    # Others must hear soon that a provider wants to be left alone.
                    await self._models.news.wait()
                    await asyncio.sleep(NEWS_AFTER_S)
            except TimeoutError:
                pass
            await self._pulse()

    async def _pulse(self) -> None:
        await self._purse.tell()
        held = {holding.job.id: holding.doing for holding in self._held.values()}
        orders = await self._desk.pulse(Report(held, self._models.standing()))
        self._models.heed(places=orders.places, blocks=orders.blocks)
        await self._escalate(orders.signal)

    async def _escalate(self, signal: Signal) -> None:
        if signal <= self._signal:
            return

        def heed() -> None:
            self._signal = signal
            self._drop(len(self._jobs))
            self._jobs.clear()

        await self._tell(heed)
        if signal >= Signal.CANCEL:
            for slot in self._slots:
                slot.cancel()

    def _stop_recording(self) -> None:
        self._is_exhausted = True
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
            if self._signal is not Signal.LOST and not await self._desk.record(batch):
                await self._escalate(Signal.LOST)
            await self._tell(partial(self._forget, len(batch)))

    def _forget(self, count: int) -> None:
        del self._outcomes[:count]
        self._drop(count)

    def _drop(self, count: int) -> None:
        self._in_hand -= count

    async def _fill_up(self) -> None:
        """Wait a moment for more outcomes; `_changed` is held."""
        try:
            async with asyncio.timeout(BATCH_AFTER_S):
                await self._changed.wait_for(
                    lambda: len(self._outcomes) >= BATCH or not self._slots
                )
        except TimeoutError:
            return
