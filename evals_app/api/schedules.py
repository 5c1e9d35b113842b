"""Schedules over REST: list, create, read, change, delete."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from django.contrib.auth.models import User
from django.db import transaction
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.basics.permits import refuse_if
from evals_app.engine.specs.base_spec import Slug
from evals_app.engine.specs.rhythm import Frequency, Rhythm
from evals_app.library.changes.edits import note_deletion, note_edit
from evals_app.models import Agent, Schedule, Suite
from evals_app.models.run_records.schedules import RHYTHM
from evals_app.reports.answers.run_answers import Answer, in_json
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import Ceiling, no_such, read_body
from evals_app.requests.endpoint import (
    ListEndpoint,
    OneEndpoint,
    describe_get,
    describe_patch,
    find_or_404,
    new_response,
    responses,
)
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import RefusedError
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.schedules import (
    last_due_runs,
    model_problem,
    next_times,
    problems_of,
    save_schedule,
)
from fixtures_app.ground.strict_json import JsonObject

VIEW = Need(Scope.READ, "evals_app.view_schedule")


def _need(what: str) -> Need:
    return Need(Scope.RUN, *RUNNING, f"evals_app.{what}_schedule")


class DueRunAnswer(Answer):
    """A suite at a time when its schedule was due: one run, or the reason why there is none."""

    due_at: datetime
    suite: str = Field(description="Slug.")
    state: Literal["due", "started", "skipped", "refused"]
    why: str | None = Field(description="Why it was skipped or did not start.")
    run: int | None


class ScheduleAnswer(Answer):
    """A schedule, as lists show it."""

    id: int
    name: str
    suites: list[str] = Field(description="Slugs.")
    frequency: Frequency
    at: str
    cron: str
    time_zone: str
    in_words: str = Field(description="When it is due, in words.")
    agent: str | None = Field(description="Slug; null: the suites' own agents.")
    model: str | None = Field(description="Replaces the model of the agents.")
    trials: int | None
    max_cost_usd: float | None = Field(description="Cost limit of each run.")
    baseline: Literal["latest", "pinned"] | None
    is_enabled: bool
    owner: str | None = Field(
        description="The person it runs as: who saved it last. null: deleted."
    )
    problems: list[str] = Field(description="What prevents it from starting runs.")
    next_at: datetime | None
    last: list[DueRunAnswer] = Field(description="The results of the last time it was due.")
    created_at: datetime
    updated_at: datetime


class ScheduleDetails(ScheduleAnswer):
    """A schedule with the times that come next."""

    next_times: list[datetime] = Field(description="The next five; none while it is disabled.")


class WriteSchedule(Rhythm):
    """A whole schedule: what is left out gets its default."""

    name: str = Field(default="", max_length=200, description="Empty: named after its time.")
    suites: list[Slug] = Field(min_length=1, max_length=100)
    agent: Slug | None = Field(default=None, description="Slug; replaces the suites' own agents.")
    model: Annotated[
        str | None,
        Field(min_length=1, max_length=300, description="Replaces the model of the agents."),
        refuse_if(lambda name: model_problem(name or "")),
    ] = None
    trials: int | None = Field(default=None, ge=1, le=100, description="Trials of each case.")
    max_cost_usd: Ceiling | None = Field(
        default=None, description="Each run stops before a call that could cost more."
    )
    baseline: Literal["latest", "pinned"] | None = Field(
        default=None, description="What runs are compared with, as when a run is started."
    )
    is_enabled: bool = True


@describe_get("schedules_list", "List schedules")
class Schedules(ListEndpoint):
    """All schedules, newest first."""

    needs: ClassVar = {"GET": VIEW, "POST": _need("add")}
    queryset = Schedule.objects.select_related("owner", "agent").prefetch_related("suites")
    answer = ScheduleAnswer

    def row_json(self, row: Schedule) -> JsonObject:
        return ScheduleAnswer.of_object(row, **_values(row))

    @extend_schema(
        operation_id="schedules_create",
        summary="Create a schedule, which runs as the caller",
        request=WriteSchedule,
        responses=responses(ScheduleDetails, status=201),
    )
    def post(self, request: Request) -> Response:
        schedule = _write(Schedule(), request.data, user_of(request))
        return new_response(_details(schedule), "schedule", schedule.pk)


@describe_get("schedules_get", "Read a schedule", 404)
class OneSchedule(OneEndpoint):
    """One schedule, with the times that come next."""

    needs: ClassVar = {
        "GET": VIEW,
        "PUT": _need("change"),
        "PATCH": _need("change"),
        "DELETE": _need("delete"),
    }
    model = Schedule
    answer = ScheduleDetails

    def read(self, key: int) -> JsonObject:
        return _details(_find(key))

    @extend_schema(
        operation_id="schedules_replace",
        summary="Change a schedule, which then runs as the caller",
        request=WriteSchedule,
        responses=responses(ScheduleDetails, 404),
    )
    def put(self, request: Request, pk: int) -> Response:
        return Response(_details(_write(_find(pk), request.data, user_of(request))))

    @describe_patch("schedules", "a schedule, which then runs as the caller", ScheduleDetails)
    def patch(self, request: Request, pk: int) -> Response:
        schedule = _find(pk)
        body = self.merge_body(request, _body_of(schedule))
        return Response(_details(_write(schedule, body, user_of(request))))

    @extend_schema(
        operation_id="schedules_delete",
        summary="Delete a schedule; its runs are kept",
        responses=responses(None, 404, status=204),
    )
    def delete(self, request: Request, pk: int) -> Response:
        schedule = _find(pk)
        with transaction.atomic():
            note_deletion(schedule, user=request.user)
            schedule.delete()
        return Response(status=204)


def _find(pk: int) -> Schedule:
    return find_or_404(Schedule.objects.select_related("owner", "agent"), pk=pk)


def _body_of(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as PUT takes it."""
    known = _values(schedule) | {"name": schedule.name}
    return {
        key: known[key] if key in known else in_json(getattr(schedule, key))
        for key in WriteSchedule.model_fields
    }


def _write(schedule: Schedule, data: object, user: User) -> Schedule:
    """Store what a request contains."""
    is_new = schedule.pk is None
    body = read_body(WriteSchedule, data)
    suites, agent = _find_named(body, user)
    for name in (*RHYTHM, "name", "trials", "max_cost_usd", "is_enabled"):
        setattr(schedule, name, getattr(body, name))
    schedule.agent, schedule.model, schedule.baseline = agent, body.model or "", body.baseline or ""
    with transaction.atomic():
        save_schedule(schedule, suites=suites, by=user)
        note_edit(schedule, user=user, note="Written over REST.", is_new=is_new)
    return schedule


def _find_named(body: WriteSchedule, user: User) -> tuple[list[Suite], Agent | None]:
    """Return the suites and the agent that a body names; one that does not exist is refused."""
    suites = {suite.slug: suite for suite in Suite.objects.current().filter(slug__in=body.suites)}
    agent = Agent.objects.filter(slug=body.agent).first() if body.agent else None
    errors = [
        no_such(f"suites[{number}]", slug, Suite.objects.current(), user, " to run")
        for number, slug in enumerate(body.suites)
        if slug not in suites
    ]
    if body.agent is not None and agent is None:
        errors.append(no_such("agent", body.agent, Agent.objects.all(), user, " to run"))
    if errors:
        raise RefusedError(errors[0]["message"], errors=errors)
    return list(suites.values()), agent


def _values(schedule: Schedule) -> dict[str, object]:
    """Return what an answer has besides the columns of the row."""
    return {
        "name": str(schedule),
        "suites": sorted(suite.slug for suite in schedule.suites.all()),
        "agent": schedule.agent and schedule.agent.slug,
        "model": schedule.model or None,
        "baseline": schedule.baseline or None,
        "owner": schedule.owner and schedule.owner.get_username(),
        "problems": list(problems_of(schedule)),
        "last": [
            DueRunAnswer.of_object(due, suite=due.suite.slug, why=due.why or None, run=due.run_id)
            for due in last_due_runs(schedule)
        ],
    }


def _details(schedule: Schedule) -> JsonObject:
    times = [in_json(moment) for moment in next_times(schedule)]
    return ScheduleDetails.of_object(schedule, **_values(schedule), next_times=times)
