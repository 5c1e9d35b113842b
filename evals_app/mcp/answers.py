"""What tools answer as data, beside their text: short enough for a model to read."""

from typing import Literal

from pydantic import Field

from evals_app.engine.record.trial import Cause, Verdict
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.reports.answers.run_answers import Answer, RunRow

MAX_ROWS = 100  # of a list in data; texts may have more


class SuiteData(Answer):
    """A suite in a list."""

    slug: str
    name: str
    agent: str = Field(description="Slug.")
    tags: list[str]
    last_run: int | None = Field(description="Its last full run; null: none, or hidden from you.")
    verdict: str | None = Field(description="Of that run.")


class SuitesData(Answer):
    """Suites."""

    suites: list[SuiteData]


class AgentData(Answer):
    """An agent in a list."""

    slug: str
    name: str
    driver: str
    model: str | None


class AgentsData(Answer):
    """Agents."""

    agents: list[AgentData]


class FixtureData(Answer):
    """A set of test data in a list."""

    slug: str
    name: str
    description: str


class FixturesData(Answer):
    """Sets of test data."""

    fixtures: list[FixtureData]


class RunsData(Answer):
    """Runs, newest first."""

    runs: list[RunRow]
    before: int | None = Field(description="Send it as `before` for the next part; null: no more.")


class RunData(Answer):
    """A run, as it is now."""

    run: RunRow


class StartedData(RunData):
    """A run that was started."""

    is_new: bool = Field(description="false: it was started before with this idempotency_key.")


class ConversationData(Answer):
    """A conversation in a list."""

    execution: int
    case: str
    trial: int
    verdict: Verdict | None
    cause: Cause | None
    reason: str | None = Field(description="Shortened.")


class RunWithConversations(RunData):
    """How a run went."""

    notes: list[str]
    conversations: list[ConversationData] = Field(description="Those that were asked for.")
    more: bool = Field(description="Whether there are more conversations.")


class CheckData(Answer):
    """The result of a check in a conversation."""

    grade: int | None = Field(description="Its number, for review_conversation; null: a limit.")
    name: str
    type: str
    turn: int | None = Field(description="null: the whole conversation.")
    state: str = Field(description="passed, failed, error, ungraded or informational.")
    score: float | None
    reason: str | None = Field(description="Shortened.")


class WhyData(ConversationData):
    """Why a conversation passed or failed."""

    run: int
    checks: list[CheckData]


class ChangedCase(Answer):
    """A case that is not as it was."""

    case: str
    change: ChangeKind


class ComparedData(Answer):
    """Two runs compared."""

    base: int
    head: int
    headline: str
    finding: str
    cases: list[ChangedCase]
    more: bool = Field(description="Whether there are more cases.")


class ChangeOfFile(Answer):
    """What becomes of an object in files."""

    kind: str
    slug: str
    what: str = Field(description="created, updated, unchanged or archived.")


class FilesData(Answer):
    """What files change."""

    version: str = Field(description="For write_files.")
    changes: list[ChangeOfFile]
    remarks: list[str] = Field(description="Warnings, and what is left out.")


class TriedCheckData(Answer):
    """The grade of a check that was tried."""

    status: Literal["ok", "error", "ungraded", "not_applicable"]
    passed: bool | None
    score: float | None
    reason: str
