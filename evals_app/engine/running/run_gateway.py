"""What `execute` and its caller exchange: the plan, jobs, outcomes, reports and orders."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from typing import Protocol

from evals_app.engine.agents.external.connected import CallState, OfferedCall
from evals_app.engine.graders.similarity import SemanticSimilarity
from evals_app.engine.judging import Recipe
from evals_app.engine.llm.answer_cache import AnswerCache
from evals_app.engine.llm.budget import BudgetAccount
from evals_app.engine.llm.models import Block, ProviderLoad
from evals_app.engine.llm.replay import PaidCall
from evals_app.engine.record.grade import GradedAssertion, JudgedCriterionSpec
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Trial
from evals_app.engine.record.usage import Usage, total_cost, total_usage
from evals_app.engine.record.world import World
from evals_app.engine.running.spans import ReceivedSpans
from evals_app.engine.specs.agent_spec import AgentSpec, ScriptedAgent
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec
from evals_app.engine.specs.inventory import NOTHING_KNOWN, Inventory
from evals_app.engine.specs.outside_spec import RateGroup
from evals_app.engine.statistics.trust import JudgeTrust
from evals_app.engine.suites.suite_spec import AssertionSpec, CaseSpec, SuiteSpec
from evals_app.engine.verdicts.execution_verdict import Decision
from evals_app.engine.verdicts.judged_criteria import judged_criterion_of
from evals_app.engine.verdicts.similarity import SimilaritySpec


@dataclass(frozen=True, slots=True)
class InterruptedConversation:
    """A conversation that was interrupted: when it began, its paid calls, and its session."""

    started_at: str
    calls: Sequence[PaidCall]
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation that is graded again, and answers of judges that need not be paid for twice."""

    trial: Trial
    answers: Sequence[Mapping[str, object]] = ()


@dataclass(frozen=True, slots=True)
class ExecutionJob:
    """One execution to carry out; `id` is the caller's.

    With a `stored` conversation it is only graded: the agent is not asked.
    """

    id: int
    case: CaseSpec
    trial: int
    begun: InterruptedConversation | None = None
    stored: StoredConversation | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a job. `decision` None: it was cancelled, and `trial` is the transcript so far."""

    job: ExecutionJob
    trial: Trial
    graded: tuple[GradedAssertion, ...] = ()
    decision: Decision | None = None
    summary: Mapping[str, object] = field(default_factory=dict)

    @property
    def judge_calls(self) -> tuple[JudgeCall, ...]:
        """The calls of judges, and of the model that played the user, if it was asked now."""
        users = self.trial.user_calls if self.job.stored is None else ()
        return (*users, *(call for graded in self.graded for call in graded.grade.calls))

    @property
    def judge_usage(self) -> Usage:
        return total_usage([call.usage for call in self.judge_calls])

    @property
    def judge_cost_usd(self) -> Decimal | None:
        return total_cost([call.cost_usd for call in self.judge_calls])

    @property
    def is_scripted(self) -> bool:
        """Whether any part of the verdict came from a script."""
        calls = (*self.trial.user_calls, *self.judge_calls)
        return self.trial.is_scripted or any(call.is_scripted for call in calls)


class Signal(IntEnum):
    """The caller's order, by urgency; it is never withdrawn."""

    GO = 0
    FINISH = 1  # claim nothing more, finish what is running
    CANCEL = 2  # stop conversations, keep their transcripts
    RELEASE = 3  # stop conversations, release them to be run again
    LOST = 4  # another worker owns the work: write nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that the executions of a run share; each job brings its own case.

    `judge` is the model that judges unless an assertion names its own; `scripted` are the agents
    that `scripted/<slug>` judges follow. `open_world` is given a case's frozen clock. `steps` are
    the evaluation steps that were known at the start, by the key of their Recipe. `inventory` is
    what checks may name. `stops_when_decided`: the gateway lets no trial begin that is not needed. With
    `trust`, judges that it does not trust only inform. `cache` has answers of models from earlier runs.
    """

    suite: SuiteSpec
    agent: AgentSpec
    open_world: Callable[[str | None], World]
    providers: Sequence[ProviderSpec] = ()
    judge: ModelSpec | None = None
    scripted: Mapping[str, ScriptedAgent] = field(default_factory=dict)
    secret: bytes = b""
    execution_s: float = 1500.0
    has_ceiling: bool = False
    similarity: SimilaritySpec | None = None
    steps: Mapping[str, Sequence[str]] = field(default_factory=dict)
    inventory: Inventory = NOTHING_KNOWN
    stops_when_decided: bool = False
    trust: JudgeTrust | None = None
    cache: AnswerCache | None = None

    @property
    def rate_limited(self) -> Sequence[ProviderSpec | RateGroup]:
        """Return the providers and agents whose rate limits all processes share."""
        group = self.agent.rate_group
        return self.providers if group is None else [*self.providers, group]

    def similarity_of(self, assertion: AssertionSpec) -> SimilaritySpec | None:
        """Return how this assertion compares texts, if it does."""
        grader = assertion.grader
        if not isinstance(grader, SemanticSimilarity):
            return None
        if grader.embedder is not None:
            return SimilaritySpec(way="embeddings", model=grader.embedder)
        return self.similarity

    def judges_of(self, assertion: AssertionSpec) -> Sequence[ModelSpec]:
        """Return the models that judge this check: a jury, one, or none."""
        return assertion.judges(agent=self.agent.asked_model, judge=self.judge)

    def judged_criterion_of(self, assertion: AssertionSpec) -> JudgedCriterionSpec | None:
        """Return the criterion and judges of this check, if it is judged."""
        judges = self.judges_of(assertion)
        return judged_criterion_of(assertion, judges, judge_prompt=self.suite.judge_prompt)


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The state of a worker: what each of its executions is doing, and each provider it calls."""

    doing: Mapping[int, str]
    providers: Mapping[str, ProviderLoad]


@dataclass(frozen=True, slots=True)
class Orders:
    """The caller's orders: the signal, and the shared state of the providers."""

    signal: Signal = Signal.GO
    places: Mapping[str, int] = field(default_factory=dict)
    blocks: Mapping[str, Block] = field(default_factory=dict)


class RunGateway(Protocol):
    """The caller's side, which provides jobs and takes outcomes: one short transaction per call."""

    async def claim(self, count: int, *, free: int, in_hand: int) -> Sequence[ExecutionJob] | None:
        """Return up to `count` jobs, none when there are no more.

        `free` slots have nothing to do, `in_hand` jobs are claimed and not recorded. None: ask
        again when a slot is free, or, if one was, when nothing is in hand.
        """

    async def begin(self, ids: Sequence[int]) -> set[int]:
        """Return which of the conversations that are about to begin may do so."""

    async def record(self, outcomes: Sequence[Outcome]) -> bool:
        """Keep outcomes; return whether the work is still ours."""

    async def send_heartbeat(self, report: WorkerReport) -> Orders:
        """Report, and return orders; called at the start and at every heartbeat."""

    async def reserve_amounts(
        self, account: BudgetAccount, amounts: Sequence[Decimal]
    ) -> Sequence[bool]:
        """Store the account, and return which of the amounts are reserved in addition."""

    async def book(self, provider: str, count: int) -> float:
        """Reserve times for `count` calls; return the seconds until the first."""

    async def keep_steps(
        self, recipe: Recipe, proposal: Sequence[str] | None
    ) -> Sequence[str] | None:
        """Keep evaluation steps, of several proposals the first; return those that are kept.

        None: none have been proposed yet.
        """

    async def keep(self, begun: Mapping[int, InterruptedConversation]) -> None:
        """Keep the paid calls of released conversations, by job."""

    async def open_trace(self, job_id: int, trace_id: str) -> None:
        """Start keeping the spans of a conversation that is about to begin."""

    async def read_spans(self, known: Mapping[str, int]) -> Mapping[str, ReceivedSpans]:
        """Return what has arrived of these traces, if there are more spans than known."""

    async def offer_call(self, call: OfferedCall) -> None:
        """Store a message for a connected computer, unless it is stored already."""

    async def read_calls(
        self, keys: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], CallState]:
        """Return the state of calls by job and turn."""

    async def read_file(self, sha256: str) -> bytes:
        """Return the content of a file that a case shows to its agent.

        Raises:
            ConfigurationError: it is not there.
        """
