"""Connected computers: they fetch an agent's messages, and send the answers."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.agents.external.connected import CallAnswer
from evals_app.engine.llm.call import MAX_REPLY_BYTES
from evals_app.engine.specs.agent_spec import DRIVERS
from evals_app.engine.specs.base_spec import Spec
from evals_app.models import Agent, AgentCall
from evals_app.reports.answers.run_answers import Answer
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import RunId, read_body
from evals_app.requests.endpoint import Endpoint, find_or_404, responses
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import RefusedError
from evals_app.requests.throttles import ConnectedPolls, Strangers
from evals_app.requests.waiting import wait_until
from evals_app.runs.ground.connections import (
    computers_at_work,
    has_calls,
    leave,
    renew_calls,
    see_computer,
    spare_computers,
    store_answer,
    take_calls,
    undelivered_calls,
)
from fixtures_app.ground.strict_json import JsonObject

MAX_WAIT_S = 10
MAX_CALLS = 100  # of one computer at once
LOOK_EVERY_S = 0.5
_NEED = Need(Scope.CONNECT, "evals_app.add_run")
Id = Annotated[UUID, Field(strict=False)]


class PollCalls(Spec):
    """What a computer can do, and what it is doing."""

    computer: Id = Field(description="A UUID that the computer makes when it connects.")
    host: str = Field(min_length=1, max_length=200, description="Its name, for people.")
    free: int = Field(ge=0, le=MAX_CALLS, description="How many messages it can take now.")
    holding: list[RunId] = Field(
        default_factory=list,
        max_length=MAX_CALLS,
        description="The messages that it is working on: their leases are renewed.",
    )
    wait: int = Field(
        default=0,
        ge=0,
        le=MAX_WAIT_S,
        description="Seconds to wait for a message, if none is there.",
    )


class OneCall(Answer):
    """A message for the agent."""

    id: int
    request: JsonObject = Field(
        description="The same keys that an agent over HTTP gets: input, history, session_id and"
        " others; and timeout_s, traceparent."
    )


class CallsAnswer(Answer):
    """Messages for a computer."""

    calls: list[OneCall]
    dropped: list[int] = Field(description="Those that it need not answer any more.")
    waited: bool = Field(
        description="false: too many requests wait already. Ask again after two seconds."
    )


class SendAnswer(Spec):
    """What the agent answered: its output, or why there is none."""

    computer: Id = Field(description="The computer that has the message.")
    output: str = Field(
        default="", max_length=MAX_REPLY_BYTES, description="Text, or a reply as JSON."
    )
    error: str = Field(default="", max_length=4000, description="Why there is no output.")
    took_s: float = Field(default=0, ge=0, le=86_400, description="How long the agent worked.")
    ignored_files: bool = Field(
        default=False, description="The message had files, and the agent did not get them."
    )


class AcceptedAnswer(Answer):
    """Whether an answer counts."""

    accepted: bool = Field(description="false: another computer answered before.")


def _connected_agent(slug: str) -> Agent:
    agent = find_or_404(Agent.objects.all(), slug=slug)
    if agent.driver != "connected":
        raise RefusedError(
            f"{slug} is of the type “{DRIVERS[agent.driver].label}”. Choose"
            f" “{DRIVERS['connected'].label}” on its page (driver: connected) to answer for it from"
            " here.",
            status=409,
        )
    return agent


class AgentCalls(Endpoint):
    """Fetch messages."""

    needs: ClassVar = {"POST": _NEED}
    throttle_classes = (ConnectedPolls, Strangers)

    @extend_schema(
        operation_id="agents_calls_fetch",
        summary="Fetch messages for a connected agent",
        description="Also the sign of life of a computer: one that is silent for 30 s is gone, and"
        " its messages go to others.",
        request=PollCalls,
        responses=responses(CallsAnswer, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        body = read_body(PollCalls, request.data)
        _connected_agent(slug)
        spare_computers(slug)
        see_computer(body.computer, agent=slug, host=body.host, user=user_of(request))
        dropped = renew_calls(body.computer, body.holding)
        calls = undelivered_calls(body.computer, agent=slug, holding=body.holding)[: body.free]
        free, waited = body.free - len(calls), True
        if free and body.wait and not (calls or dropped or has_calls(slug)):
            waited = wait_until(lambda: has_calls(slug), seconds=body.wait, pause_s=LOOK_EVERY_S)
        if free and has_calls(slug):
            calls += take_calls(body.computer, agent=slug, count=free)
        shown = [{"id": call.pk, "request": call.request} for call in calls]
        return Response({"calls": shown, "dropped": sorted(dropped), "waited": waited})


class AnswerCall(Endpoint):
    """Answer a message."""

    needs: ClassVar = {"POST": _NEED}
    throttle_classes = (ConnectedPolls, Strangers)

    @extend_schema(
        operation_id="agents_calls_answer",
        summary="Answer a message for a connected agent",
        description="May be repeated: the first answer counts, once. 404: nothing waits for it any more.",
        request=SendAnswer,
        responses=responses(AcceptedAnswer, 404, 413),
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        body = read_body(SendAnswer, request.data)
        call = find_or_404(AgentCall.objects.defer("request"), agent=slug, pk=pk)
        answer = CallAnswer(body.output, body.error, body.took_s, body.ignored_files)
        return Response({"accepted": store_answer(call, answer, computer=body.computer)})


class BusyWith(Answer):
    """A message that a computer works on."""

    run: int
    execution: int
    case: str
    turn: int = Field(description="From 1.")


class ConnectedComputer(Answer):
    """A computer that answers for an agent now."""

    computer: UUID = Field(description="The UUID that it made when it connected.")
    host: str = Field(description="Its name, as it says.")
    user: str = Field(description="Whose token it has.")
    connected_at: datetime
    seen_at: datetime = Field(description="When the site last heard of it.")
    busy_with: list[BusyWith]


class ComputersAnswer(Answer):
    """The computers of an agent."""

    computers: list[ConnectedComputer]


class AgentComputers(Endpoint):
    """The computers that are connected for an agent."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_agent", "evals_app.view_run")}

    @extend_schema(
        operation_id="agents_computers_list",
        summary="List the connected computers of an agent",
        description="Those of which the site has heard within 30 s, the longest connected first. Empty"
        " for an agent of another type.",
        responses=responses(ComputersAnswer, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        find_or_404(Agent.objects.all(), slug=slug)
        computers = [
            {
                "computer": computer.pk,
                "host": computer.host,
                "user": computer.user.get_username(),
                "connected_at": computer.connected_at,
                "seen_at": computer.seen_at,
                "busy_with": list(work),
            }
            for computer, work in computers_at_work(slug)
        ]
        return Response({"computers": computers})


class OneComputer(Endpoint):
    """A connected computer."""

    needs: ClassVar = {"DELETE": _NEED}
    throttle_classes = (ConnectedPolls, Strangers)

    @extend_schema(
        operation_id="agents_computers_leave",
        summary="Disconnect a computer",
        description="Other computers get the messages that it has not answered.",
        responses={204: None, **{k: v for k, v in responses(None, 404).items() if v}},
    )
    def delete(self, request: Request, slug: str, computer: UUID) -> HttpResponse:
        leave(computer, agent=slug)
        return HttpResponse(status=204)
