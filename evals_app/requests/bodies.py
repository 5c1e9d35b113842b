"""The bodies of requests: their keys, and their errors."""

from datetime import date
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet
from pydantic import Field, ValidationError

from evals_app.engine.specs.base_spec import Name, Slug, Spec, Usd
from evals_app.formats.reading.explain import explain
from evals_app.formats.reading.problems import Loc, Problem, holds, keys_text, shorten, value_text
from evals_app.library.shipping import MAX_CHARS, MAX_OWNER
from evals_app.models import Agent, Suite
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.answers.topics.topic_words import ReadinessState
from evals_app.requests.pagination import MAX_ID
from evals_app.requests.problems import RefusedError, error_at, refused_at, refused_data
from evals_app.runs.regrading.start_regrade import MAX_TRIALS
from evals_app.runs.reviews.review_tasks import MAX_ITEMS, USUAL_COUNT
from fixtures_app.ground.words import near

B = TypeVar("B", bound=Spec)

_MAX_MESSAGE = 500

Ceiling = Annotated[Usd, Field(gt=0)]
RunId = Annotated[int, Field(ge=1, le=2**63 - 1)]  # what a database can look for
Words = Annotated[list[Name], Field(max_length=1000)]


class StartRun(Spec):
    """A run to start."""

    suite: Slug
    agent: Slug | None = Field(default=None, description="Replaces the suite's own agent.")
    model: str | None = Field(
        default=None, min_length=1, max_length=300, description="Replaces the agent's own model."
    )
    cases: Words = Field(
        default_factory=list, description="Runs only cases whose name contains one of these."
    )
    tags: Words = Field(
        default_factory=list,
        description="Runs only cases that have one of these tags, or whose suite has.",
    )
    trials: int | None = Field(default=None, ge=1, le=100, description="Trials of each case.")
    all_trials: bool = Field(
        default=False, description="Runs all trials, even if the suite skips those not needed."
    )
    concurrency: int | None = Field(
        default=None, ge=1, le=1000, description="Parallel conversations."
    )
    max_cost_usd: Ceiling | None = Field(
        default=None, description="The run stops before a call that could cost more."
    )
    baseline: RunId | Literal["latest", "pinned"] | None = Field(
        default=None,
        description="The run to compare with: its id, latest (the last full run of the suite that"
        " passed, if there is one) or pinned (the released version of the suite). Then no case may get worse, unless"
        " the suite has a gate max_regressions. null: the suite's gates are compared with its"
        " released version.",
    )
    group: Annotated[UUID, Field(strict=False)] | None = Field(
        default=None,
        description="A UUID that you make: runs with the same one are one table in"
        " /api/runs/comparison/ and on the site.",
    )

    def choices(self) -> dict[str, Any]:
        """Return the choices apart from suite, agent and group, as operations on runs take them."""
        return self.model_dump(exclude={"suite", "agent", "group"}) | {"model": self.model or ""}


class RerunCases(Spec):
    """The cases to run again, in a new run."""

    only: Literal["failed", "errored", "all"] = Field(
        default="failed", description="errored includes cases that were cancelled or did not run."
    )
    cases: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Only the cases with these names; null: all.",
    )
    version: Literal["current", "frozen"] = Field(
        default="current",
        description="current: cases, checks, agent and test data as they are now; frozen: as they"
        " were in that run.",
    )


class RegradeRun(Spec):
    """How to grade the conversations of a run again."""

    suite: Literal["current", "as_it_was"] = Field(
        default="current",
        description="Whose checks: the suite's as they are now, or those of the run.",
    )
    cases: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Only the cases with these names; null: all.",
    )
    trials: int = Field(
        default=1,
        ge=1,
        le=MAX_TRIALS,
        description="How often to grade each conversation. More than once shows how steady the"
        " judge is, and stored answers are then not used.",
    )
    judge: str | None = Field(
        default=None,
        min_length=1,
        max_length=300,
        description="provider/model: replaces the judge of the suite, but none that a check names.",
    )
    max_cost_usd: Ceiling | None = Field(
        default=None, description="The run stops before a call that could cost more."
    )

    def choices(self) -> dict[str, Any]:
        """Return the choices as operations on runs take them."""
        return self.model_dump() | {"judge": self.judge or ""}


class StartSettlement(Spec):
    """Two runs whose differences are to be settled."""

    base: int = Field(ge=1, le=MAX_ID, description="The run to compare with.")
    head: int = Field(ge=1, le=MAX_ID, description="The run that may be worse.")
    with_better: bool = Field(default=False, description="Also test cases that seem better.")
    max_cost_usd: Ceiling | None = Field(
        default=None, description="Cost limit of all its runs together."
    )


class DrawGrades(Spec):
    """Grades of a run to draw for people to check."""

    count: int = Field(
        default=USUAL_COUNT, ge=1, le=MAX_ITEMS, description="How many; fewer if the run has fewer."
    )
    only_judged: bool = Field(default=True, description="Only grades of judges.")
    checks: list[str] | None = Field(
        default=None, min_length=1, max_length=1000, description="Labels of checks; null: all."
    )
    people: list[Annotated[str, Field(min_length=1, max_length=150)]] = Field(
        default_factory=list,
        max_length=100,
        description="User names; empty: anyone who may review conversations.",
    )


class NewCeiling(Spec):
    """How to resume a run that was stopped."""

    max_cost_usd: Ceiling | None = Field(
        default=None, description="New cost limit of the whole run; null: unchanged."
    )


class Pin(Spec):
    """Whether to keep the transcripts of a run."""

    is_pinned: bool = Field(description="Keep the transcripts however old the run gets.")


class AsBaseline(Spec):
    """Whether a run is the baseline of its suite."""

    is_baseline: bool = Field(description="Whether later runs are compared with it.")


class Ship(Spec):
    """A decision about the version that a run tested."""

    shipped: bool = Field(description="Whether it was shipped.")
    reason: str = Field(
        default="",
        max_length=MAX_CHARS,
        description="Needed unless the version was shipped after the answer Yes.",
    )


class AcceptFailures(Spec):
    """Cases of a run that may fail."""

    cases: Annotated[Words, Field(min_length=1)] = Field(description="Their names.")
    reason: Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]
    until: date | None = Field(
        default=None,
        strict=False,  # JSON has no dates
        description="The last day; null: until the case passes again.",
    )


class SetReadiness(Spec):
    """What a person says about an agent on a topic."""

    state: ReadinessState
    owner: str = Field(default="", max_length=MAX_OWNER)
    note: str = Field(
        default="", max_length=MAX_CHARS, description="Needed for `limited`: what the limits are."
    )
    until: date | None = Field(
        default=None,
        strict=False,  # JSON has no dates
        description="The last day; null: no end.",
    )


class ImportedFile(Spec):
    """A file in a JSON import."""

    path: str = Field(min_length=1, max_length=1000)
    content: str


class ImportFiles(Spec):
    """Files to import together."""

    files: list[ImportedFile] = Field(min_length=1, max_length=1000)


class Nothing(Spec):
    """An empty body."""


def read_body(model: type[B], data: object) -> B:
    """Read a body, or refuse it with all its errors."""
    if not isinstance(data, dict):
        raise refused_at("", "Send a JSON object.")
    # A form would have lists as values; no form gets here, but an empty body looks like one.
    given = dict(data)
    if given and not model.model_fields:
        raise refused_at("", "This address takes no body: send none, or {}.")

    def place(loc: Loc, message: str, *, at_key: bool = False) -> Problem:  # noqa: ARG001 - Place
        value: Any = given
        for step in loc:
            value = value[step] if holds(value, step) else None
        # Only a message that repeats a very long key is longer.
        message = message if len(message) <= _MAX_MESSAGE else shorten(message)
        return Problem(
            "", 0, 0, keys_text(loc), value_text(value, loc) if value is not None else "", message
        )

    try:
        return model.model_validate(given)
    except ValidationError as exc:
        raise refused_data(explain(exc, model=model, data=given, place=place)) from exc


def suite_and_agent(body: StartRun, user: User) -> tuple[Suite, Agent | None]:
    """Return the suite and the agent that a body names; one that does not exist is refused."""
    suite = Suite.objects.filter(slug=body.suite).first()
    agent = Agent.objects.filter(slug=body.agent).first() if body.agent else None
    errors = []
    if suite is None:
        errors.append(no_such("suite", body.suite, Suite.objects.all(), user))
    if body.agent is not None and agent is None:
        errors.append(no_such("agent", body.agent, Agent.objects.all(), user))
    if suite is None or errors:
        raise RefusedError(errors[0]["message"], errors=errors)
    return suite, agent


def no_such(
    keys: str, slug: str, rows: QuerySet[Suite] | QuerySet[Agent], user: User, why: str = ""
) -> Json:
    """Describe a slug that is none of these rows; names are suggested to people who may see them."""
    kind = rows.model.__name__.lower()
    known = rows.values_list("slug", flat=True) if user.has_perm(f"evals_app.view_{kind}") else ()
    return error_at(keys, f"There is no {kind} {slug!r}{why}.{near(slug, known)}", slug)
