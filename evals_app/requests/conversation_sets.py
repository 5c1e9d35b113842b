"""What REST and MCP share about sets of real conversations: bodies, answers, and grading."""

from datetime import UTC, date, datetime
from typing import Annotated, Literal

from django.contrib.auth.models import User
from django.forms.models import model_to_dict
from pydantic import Field

from evals_app.engine.specs.base_spec import Slug, Spec
from evals_app.models import (
    ConversationGrading,
    ConversationImport,
    ConversationSet,
    ImportedConversation,
    Run,
    SpanInbox,
    Suite,
)
from evals_app.reports.answers.forecasts import all_in_words
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.reports.words.imports import import_in_words
from evals_app.requests.bodies import Ceiling, RunId, no_such
from evals_app.requests.problems import RefusedError, refused_at
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.recorded.copied_runs import MAX_CHOSEN, CopiedConversations
from evals_app.runs.recorded.grade_conversations import (
    WantedConversations,
    flag_of,
    plan_grading,
)
from evals_app.runs.recorded.received_spans import MAX_MINUTES, address_of_inbox, waiting_in
from evals_app.runs.recorded.waiting_gradings import ask_for_grading
from evals_app.runs.regrading.forecast_regrade import forecast_regrade

State = Literal["waiting", "importing", "imported", "interrupted", "failed"]
GradingState = Literal["waiting", "preparing", "started", "failed"]
Day = Annotated[date, Field(strict=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
_Text = Annotated[str, Field(max_length=200)]


class Wanted(Spec):
    """Which conversations of a set are wanted."""

    since: Day | None = Field(default=None, description="Of this day or later.")
    until: Day | None = Field(default=None, description="Of this day or before.")
    topic: _Text = ""
    fact: str = Field(
        default="", max_length=400, description="Name and value, for example channel=chat."
    )
    id: _Text = Field(default="", description="Part of the id.")

    def to_wanted(
        self, *, count: int | None = None, a_day: int | None = None
    ) -> WantedConversations:
        return WantedConversations(
            since=self.since,
            until=self.until,
            topic=self.topic,
            flag=flag_of(self.fact),
            text_id=self.id,
            count=count,
            a_day=a_day,
        )


class GradeConversations(Wanted):
    """The suite whose general checks apply, and which conversations are graded."""

    suite: Slug
    count: Count | None = Field(default=None, description="At most this many; null: all.")
    a_day: Count | None = Field(default=None, description="At most this many of each day.")
    max_cost_usd: Ceiling | None = Field(
        default=None, description="Each run stops before a call that could cost more."
    )

    def sample(self) -> WantedConversations:
        return self.to_wanted(count=self.count, a_day=self.a_day)


class CopyConversations(Spec):
    """Conversations of runs to copy into a set: those of a run, or some."""

    run: RunId | None = None
    verdict: Literal["", "passed", "failed", "errored", "measured"] = Field(
        default="", description="Of the run, only those with this verdict."
    )
    executions: Annotated[list[RunId], Field(max_length=MAX_CHOSEN)] | None = Field(
        default=None, description="Instead of a run: these conversations."
    )
    masking: bool = Field(default=True, description="`false` keeps names, addresses and numbers.")


class ConversationSetAnswer(Answer):
    """A set of real conversations, as lists show it."""

    id: int
    slug: str
    name: str
    count: int = Field(description="Conversations of imports that have ended.")
    created_at: datetime


class ConversationSetDetails(ConversationSetAnswer):
    """A set with how many conversations there are of each day and topic."""

    days: dict[str, int] = Field(description="By day; an empty key: unknown.")
    topics: dict[str, int]


class ConversationImportAnswer(Answer):
    """An import: how far it is, what it did and what it left."""

    id: int
    file_name: str
    state: State
    kind: str = Field(description="What the file was read as: table, traces, records or text.")
    read_count: int = Field(description="Conversations of the file that are done.")
    failure: str = Field(description="Why it cannot be imported; empty if it can.")
    added: int
    known: int = Field(description="Were here already.")
    changed: int = Field(description="Are here with other content, and stay as they are.")
    repeated: int = Field(description="Are in the file more than once.")
    continued: int = Field(
        description="Of what agents sent: went on after they were imported. What came then is a"
        " conversation of its own."
    )
    is_masked: bool
    masked: dict[str, int] = Field(description="How often each kind was masked.")
    losses: dict[str, int] = Field(description="What was left out, and how often.")
    problems: list[str] = Field(description="What cannot be read.")
    in_words: list[str]
    created_at: datetime
    finished_at: datetime | None


class ImportedConversationAnswer(Answer):
    """A real conversation; `GET executions/{execution}/` has its messages."""

    id: int
    external_id: str = Field(description="Its id in the file.")
    execution: int
    happened_at: datetime | None
    topics: list[str]
    facts: dict[str, str]


class WriteSpanInbox(Spec):
    """Whether a set takes what agents send, and when a conversation has ended."""

    is_open: bool = Field(default=True, description="`false`: stop, and import what waits.")
    quiet_minutes: Annotated[int, Field(ge=1, le=MAX_MINUTES)] = Field(
        default=10, description="A conversation of which nothing came for so long is imported."
    )


class SpanInboxAnswer(Answer):
    """Whether a set takes what agents send, where to, and what waits."""

    is_open: bool
    quiet_minutes: int
    address: str = Field(description="For `OTEL_EXPORTER_OTLP_ENDPOINT`, without `/v1/traces`.")
    waiting_bytes: int
    waiting_since: datetime | None
    left_out: dict[str, int] = Field(description="What was not imported, and how often.")


class GradingForecast(Answer):
    """What grading would take, and which checks apply."""

    conversations: int
    runs: int = Field(description="One for each import that has some of the conversations.")
    in_words: str = Field(description="Calls, time and price.")
    checks: list[str] = Field(description="Checks of the suite that apply.")
    has_rubric: bool
    unused: list[str] = Field(description="Checks that do not apply, each with the reason.")


class ConversationGradingAnswer(Answer):
    """A grading of many conversations, whose runs a worker starts."""

    id: int
    state: GradingState
    suite: str | None = Field(description="Null: it was deleted.")
    conversations: int
    prepared: int = Field(description="How many of them are done.")
    failure: str = Field(description="Why it cannot start; empty if it can.")
    runs: list[int] = Field(description="Those that are started, one for each import.")
    created_at: datetime


def span_inbox_json(row: SpanInbox) -> Json:
    """Return whether a set takes what agents send as REST answers it."""
    waiting, since = waiting_in(row)
    return SpanInboxAnswer.of_object(
        row,
        address=address_of_inbox(row.conversation_set),
        waiting_bytes=waiting,
        waiting_since=None if since is None else datetime.fromtimestamp(since, UTC),
    )


def grading_json(row: ConversationGrading) -> Json:
    """Return a grading as REST answers it."""
    state: GradingState = "preparing" if row.claim else "waiting"
    if row.finished_at is not None:
        state = "started"
    return ConversationGradingAnswer.of_object(
        row,
        state="failed" if row.failure else state,
        suite=row.suite.slug if row.suite else None,
        conversations=row.total,
        prepared=row.done,
        runs=list(row.runs.values_list("pk", flat=True)),
    )


def chosen_conversations(given: CopyConversations) -> CopiedConversations:
    """Return what is to be copied; CannotCopyError if nothing can be."""
    if (given.run is None) is (given.executions is None):
        raise refused_at("run", "Name either `run` or `executions`.")
    if given.run is None:
        return CopiedConversations.of(given.executions or ())
    run = Run.objects.defer("summary").filter(pk=given.run).first()
    if run is None:
        raise refused_at("run", f"Run {given.run} does not exist.")
    return CopiedConversations.of_run(run, given.verdict)


def import_json(row: ConversationImport) -> Json:
    """Return an import as REST answers it."""
    words = list(import_in_words(model_to_dict(row))) if row.finished_at else []
    return ConversationImportAnswer.of_object(row, state=_state(row), in_words=words)


def _state(row: ConversationImport) -> State:
    if row.finished_at is not None:
        return "imported"
    if row.failure:
        return "failed"
    if not row.is_by_worker:
        return "interrupted"
    return "importing" if row.claim else "waiting"


def conversation_json(row: ImportedConversation) -> Json:
    """Return a real conversation as lists show it."""
    return ImportedConversationAnswer.of_object(
        row, execution=row.execution_id, topics=row.topic_list
    )


def grading_forecast(target: ConversationSet, given: GradeConversations, user: User) -> Json:
    """Return what grading would take; CannotStartError if it cannot start."""
    limit = given.max_cost_usd
    suite = _suite(given.suite, user)
    with plan_grading(target, suite, given.sample(), by=user.pk, max_cost_usd=limit) as plans:
        forecasts = [forecast_regrade(plan) for plan in plans]
        head = plans[0].head.suite
        return GradingForecast.of(
            conversations=sum(forecast.conversations for forecast in forecasts),
            runs=len(plans),
            in_words=all_in_words(
                forecasts, max_cost_usd=limit, month_left_usd=month_left(user.pk)
            ),
            checks=[check.label for check in head.assertions],
            has_rubric=head.rubric_check is not None,
            unused=list(plans[0].unused),
        )


def grade(
    target: ConversationSet, given: GradeConversations, user: User
) -> list[Run] | ConversationGrading:
    """Start grading, or let a worker start it; CannotStartError if it cannot start."""
    suite = _suite(given.suite, user)
    return ask_for_grading(target, suite, given.sample(), by=user, max_cost_usd=given.max_cost_usd)


def _suite(slug: str, user: User) -> Suite:
    suite = Suite.objects.filter(slug=slug).first()
    if suite is None:
        error = no_such("suite", slug, Suite.objects.all(), user)
        raise RefusedError(error["message"], errors=[error])
    return suite
