"""What REST and MCP share about daily imports: the body, the answer, and saving one."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.contrib.auth.models import User
from django.db.models import QuerySet
from pydantic import Field

from evals_app.engine.basics.permits import refuse_if
from evals_app.engine.specs.base_spec import Slug
from evals_app.engine.specs.rhythm import Frequency, Rhythm
from evals_app.engine.specs.tool_spec import FromEnvironment
from evals_app.engine.statistics.growth import Growth
from evals_app.formats.conversations.tables import MEANINGS
from evals_app.models import ConversationSet, DailyImport, DueImport, NoteGroup, Run, Suite
from evals_app.models.run_records.schedules import RHYTHM
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.requests.bodies import Ceiling, no_such
from evals_app.requests.conversation_sets import ConversationImportAnswer, Count, import_json
from evals_app.requests.problems import RefusedError, error_at
from evals_app.runs.recorded.daily_imports import (
    CannotSaveDailyImportError,
    last_times,
    problems_of,
    runs_of,
    save_daily_import,
)
from evals_app.runs.recorded.growing_groups import ALL

WRITTEN = (*RHYTHM, "folder", "url", "columns", "is_masked", "is_enabled", "count", "max_cost_usd")


def _meaning_problem(columns: dict[str, str]) -> str | None:
    wrong = [meaning for meaning in columns.values() if meaning and meaning not in MEANINGS]
    return f"{wrong[0]!r} is none of {', '.join(MEANINGS)}." if wrong else None


class FollowedGroup(Answer):
    """A group at one time: how often its check failed, and in the 28 days before."""

    group: str
    failed: int
    graded: int
    failed_before: int
    graded_before: int
    growth: Growth = Field(
        description="grew: beyond chance. not_shown: no rise that chance does not explain."
    )


class DueImportAnswer(Answer):
    """A time at which new conversations were looked for: what it brought, and who graded it."""

    due_at: datetime
    state: Literal["due", "importing", "grading", "ended"]
    why: str | None = Field(description="Why nothing was imported or graded.")
    problems: list[str] = Field(description="What is wrong with single files.")
    imports: list[ConversationImportAnswer]
    runs: list[int] = Field(description="They grade what is new.")
    failed: int | None = Field(description="Graded conversations that failed; null: not graded.")
    graded: int | None
    groups: list[FollowedGroup]


class DailyImportAnswer(Answer):
    """Where new conversations of a set come from, when, and how they are graded."""

    folder: str | None
    url: str | None
    headers: dict[str, str | FromEnvironment]
    columns: dict[str, str] = Field(description="What the columns of tables are, by header.")
    is_masked: bool
    frequency: Frequency
    at: str
    cron: str
    time_zone: str
    in_words: str
    suite: str | None = Field(description="Slug of the suite that grades what is new; null: none.")
    count: int | None
    max_cost_usd: float | None
    is_enabled: bool
    owner: str | None = Field(description="The person it runs as: who saved it last.")
    problems: list[str] = Field(description="What prevents it from importing or grading.")
    next_at: datetime | None
    last: list[DueImportAnswer] = Field(description="The last five times, the newest first.")


class WriteDailyImport(Rhythm):
    """A whole daily import: what is left out gets its default."""

    folder: Annotated[str, Field(max_length=1000)] | None = Field(
        default=None,
        description="On the server; the operator permits folders. A set that takes what agents send"
        " needs neither folder nor address.",
    )
    url: Annotated[str, Field(max_length=2000)] | None = Field(
        default=None, description="An address that answers with a file, instead of a folder."
    )
    headers: dict[str, str | FromEnvironment] = Field(
        default_factory=dict,
        max_length=50,
        description='Sent to the address; keys as {"env": NAME}.',
    )
    columns: Annotated[dict[str, str], refuse_if(_meaning_problem)] = Field(
        default_factory=dict,
        max_length=200,
        description=f"What columns of tables are, by header: {', '.join(MEANINGS)}.",
    )
    is_masked: bool = True
    suite: Slug | None = Field(default=None, description="Grades what is new; null: do not grade.")
    count: Count | None = Field(
        default=None, description="At most this many of the new conversations; null: all."
    )
    max_cost_usd: Ceiling | None = Field(
        default=None, description="Each time stops before a call that could cost more."
    )
    is_enabled: bool = True


def daily_imports() -> QuerySet[DailyImport]:
    """Return the daily imports with what their answers need."""
    return DailyImport.objects.select_related("conversation_set", "suite", "owner")


def write_daily_import(target: ConversationSet, body: WriteDailyImport, user: User) -> DailyImport:
    """Store a daily import, which then runs as this person; RefusedError names what is wrong."""
    suite = Suite.objects.current().filter(slug=body.suite).first() if body.suite else None
    if body.suite and suite is None:
        error = no_such("suite", body.suite, Suite.objects.current(), user)
        raise RefusedError(error["message"], errors=[error])
    written: dict[str, Any] = {name: getattr(body, name) for name in WRITTEN}
    written |= {"folder": body.folder or "", "url": body.url or ""}
    written["headers"] = body.model_dump(mode="json")["headers"]
    try:
        row = save_daily_import(target, by=user, suite=suite, **written)
    except CannotSaveDailyImportError as error:
        errors = [error_at(name, problem) for name, problem in error.wrong]
        raise RefusedError(str(error), errors=errors) from error
    return row


def daily_import_json(row: DailyImport) -> Json:
    """Return a daily import with its last times."""
    times = last_times(row)
    runs = runs_of(times)
    keys = {int(key) for due in times for key in due.groups}
    names = dict(NoteGroup.objects.filter(pk__in=keys).values_list("pk", "name"))
    return DailyImportAnswer.of_object(
        row,
        folder=row.folder or None,
        url=row.url or None,
        suite=row.suite and row.suite.slug,
        owner=row.owner and row.owner.get_username(),
        problems=list(problems_of(row)),
        last=[_time(due, names, runs.get(due.pk, [])) for due in times],
    )


def _time(due: DueImport, names: dict[int, str], runs: list[Run]) -> Json:
    failed, graded = due.topics.get(ALL, (None, None))
    return DueImportAnswer.of_object(
        due,
        why=due.why or None,
        imports=[import_json(row) for row in due.imports.all()],
        runs=[run.pk for run in runs],
        failed=failed,
        graded=graded,
        groups=[
            FollowedGroup.of(
                group=names[int(key)],
                failed=found["topics"][ALL][0],
                graded=found["topics"][ALL][1],
                failed_before=found["before"][0],
                graded_before=found["before"][1],
                growth=found["growth"],
            )
            for key, found in due.groups.items()
            if int(key) in names
        ],
    )
