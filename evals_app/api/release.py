"""May we ship? The answer about a suite or a topic, and what people decide."""

from datetime import date
from typing import ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.runs.run_views import VIEW, find_run
from evals_app.library.shipping import (
    DECIDING,
    accept_failures,
    set_readiness,
    withdraw_acceptance,
)
from evals_app.models import AcceptedFailure, Agent, ShipDecision, Suite
from evals_app.reports.answers.release import (
    AcceptedFailureJson,
    ReleaseJson,
    ShipDecisionJson,
    accepted_failure_json,
    ship_decision_json,
)
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.answers.topics.topic_json import (
    AgentTopicsJson,
    OneTopicJson,
    TopicReadinessJson,
    agent_topics_json,
    one_topic_json,
    readiness_json,
)
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import AcceptFailures, Nothing, SetReadiness, Ship, read_body
from evals_app.requests.decisions import decide, release_of_run
from evals_app.requests.endpoint import (
    Endpoint,
    ListEndpoint,
    OneEndpoint,
    describe_get,
    find_or_404,
    responses,
)
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import BLANK, RefusedError
from evals_app.runs.release import release_of
from evals_app.runs.topics import topics_of
from fixtures_app.ground.words import near

_SEE_TOPICS = Need(Scope.READ, "evals_app.view_run", "evals_app.view_agent")
_DECIDE = Need(Scope.RUN, "evals_app.view_run", DECIDING)


@describe_get("suites_decision", "May we ship?", 404)
class SuiteDecision(OneEndpoint):
    """Whether what a suite tests may be shipped: its last full run against the released version."""

    needs: ClassVar = {"GET": VIEW}
    model = Suite
    answer = ReleaseJson

    def read(self, key: str) -> Json | None:
        suite = Suite.objects.select_related("agent", "baseline").filter(slug=key).first()
        return None if suite is None else release_of(suite).to_json()


@describe_get("suites_decisions", "List what people decided", 404)
class ShipDecisions(ListEndpoint):
    """What people decided about the runs of a suite, newest first."""

    needs: ClassVar = {"GET": VIEW}
    queryset = ShipDecision.objects.none()  # for the schema
    answer = ShipDecisionJson

    row_json = staticmethod(ship_decision_json)

    def get_queryset(self) -> QuerySet[ShipDecision]:
        return find_or_404(Suite.objects.all(), slug=self.kwargs["slug"]).ship_decisions.all()


class DecideRun(Endpoint):
    """A person's decision about the version that a run tested."""

    needs: ClassVar = {"POST": _DECIDE}

    @extend_schema(
        operation_id="runs_decide",
        summary="Note that a version is shipped, or is not",
        description="What is shipped becomes the released version of the suite, if the run can be one. The"
        " decision appears beside the computed answer, and does not change it.",
        request=Ship,
        responses=responses(ShipDecisionJson, 404, 422, status=201),
    )
    def post(self, request: Request, pk: int) -> Response:
        body = read_body(Ship, request.data)
        decision = decide(find_run(pk), body, by=user_of(request))
        return Response(ship_decision_json(decision), status=201)


class AcceptFailuresOfRun(Endpoint):
    """Failures of a run that a person accepts."""

    needs: ClassVar = {"POST": _DECIDE}

    @extend_schema(
        operation_id="runs_accept_failures",
        summary="Accept that cases fail",
        description="They no longer hold up shipping: until they pass again in a full"
        " run, are edited, or the day `until` is over. An earlier acceptance of a case is replaced.",
        request=AcceptFailures,
        responses=responses(ReleaseJson, 404, 422, status=201),
    )
    def post(self, request: Request, pk: int) -> Response:
        body = read_body(AcceptFailures, request.data)
        run = find_run(pk)
        accept_failures(run, body.cases, by=user_of(request), reason=body.reason, until=body.until)
        return Response(release_of_run(run).to_json(), status=201)


class WithdrawAcceptance(Endpoint):
    """A known failure that is accepted no longer."""

    needs: ClassVar = {"POST": _DECIDE}

    @extend_schema(
        operation_id="accepted_failures_withdraw",
        summary="Accept a failure no longer",
        description="Withdrawing it again changes nothing.",
        request=None,
        responses=responses(AcceptedFailureJson, 404),
    )
    def post(self, request: Request, pk: int) -> Response:
        read_body(Nothing, request.data)
        accepted = find_or_404(AcceptedFailure.objects.select_related("suite"), pk=pk)
        withdraw_acceptance(accepted, by=user_of(request))
        return Response(accepted_failure_json(accepted))


@describe_get("agents_topics", "Ready by topic", 404)
class TopicsOfAgent(OneEndpoint):
    """What an agent may answer by itself: the topics of its cases, and what people said."""

    needs: ClassVar = {"GET": _SEE_TOPICS}
    model = Agent
    answer = AgentTopicsJson

    def read(self, key: str) -> Json | None:
        agent = Agent.objects.filter(slug=key).first()
        return None if agent is None else agent_topics_json(topics_of(agent), today=_today())


class TopicOfAgent(Endpoint):
    """One topic of an agent, and what people said about it."""

    needs: ClassVar = {"GET": _SEE_TOPICS, "POST": _DECIDE}

    @extend_schema(
        operation_id="agents_topic",
        summary="Is a topic ready?",
        responses=responses(OneTopicJson, 404),
    )
    def get(self, request: Request, slug: str, topic: str) -> Response:
        agent = find_or_404(Agent.objects.all(), slug=slug)
        topics = topics_of(agent)
        found = topics.find(topic)
        if found is None:
            hint = near(topic, [one.name for one in topics.topics])
            message = f"The agent {slug!r} has no topic {topic!r}.{hint}"
            raise RefusedError(message, status=404, kind=BLANK)
        history = agent.readiness.filter(topic=topic).order_by("-pk")
        return Response(one_topic_json(found, history, today=_today()))

    @extend_schema(
        operation_id="agents_set_topic",
        summary="Say whether a topic is ready",
        description="It appears beside the computed answer, and does not change it. What was said before"
        " is kept.",
        request=SetReadiness,
        responses=responses(TopicReadinessJson, 404, 422, status=201),
    )
    def post(self, request: Request, slug: str, topic: str) -> Response:
        body = read_body(SetReadiness, request.data)
        agent = find_or_404(Agent.objects.all(), slug=slug)
        known = [found.name for found in topics_of(agent).topics]
        row = set_readiness(agent, topic, known=known, by=user_of(request), **dict(body))
        return Response(readiness_json(row, today=_today()), status=201)


def _today() -> date:
    return timezone.now().date()
