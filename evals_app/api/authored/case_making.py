"""Make a case of a conversation."""

from typing import Annotated, Any, ClassVar, Literal

from django.contrib.auth.models import User
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.proposing.proposals import Proposal, default_keys
from evals_app.engine.proposing.value_parts import ValuePart
from evals_app.engine.specs.base_spec import Name, Slug, Spec
from evals_app.library.making.case_making import (
    ADD_CASE,
    CannotMakeError,
    CaseOptions,
    make_case,
    own_suite,
    proposed_name,
    recorded_suites,
    recording_of,
    suites_for,
)
from evals_app.library.making.observing import ObservedConversation, observe
from evals_app.models import Case, Execution, Suite
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import read_body
from evals_app.requests.endpoint import Endpoint, responses
from evals_app.requests.permissions import Need, Scope, require
from evals_app.requests.problems import BLANK, MissingError, RefusedError, unknown
from fixtures_app.ground.words import near

_VIEW = "evals_app.view_execution"


class ProposedPart(Answer):
    """A value of a proposal that may be left open."""

    key: str
    words: str
    is_ticked: bool
    doubt: str | None = Field(description="Why it is not ticked; null: it is.")


class Proposed(Answer):
    """Something that the case could check."""

    key: str
    kind: Literal["call", "order", "phrase", "expected", "change", "nothing_else", "limit"]
    turn: int | None = Field(description="From 1; null: the whole conversation.")
    words: str
    is_ticked: bool
    doubt: str | None = Field(description="Why it is not ticked; null: it is, or it is optional.")
    parts: list[ProposedPart]


class CannedToolsAnswer(Answer):
    """What tools would answer if results are used as canned tools."""

    is_possible: bool
    words: list[str]
    suites: list[str] = Field(description="Slugs of suites of copies that exist.")


class ProposedCase(Answer):
    """The case that a conversation could become."""

    name: str
    suites: list[str] = Field(description="Slugs of the suites that can take it.")
    is_passed: bool
    compared_with: int = Field(description="Other passed trials of the same case.")
    proposals: list[Proposed]
    canned_tools: CannedToolsAnswer


class MadeCase(Answer):
    """The case, and where it is."""

    id: int
    name: str
    suite: str = Field(description="Slug.")
    agent: str = Field(description="Slug.")
    checks: int
    url: str = Field(description="Its page.")


class MakeCase(Spec):
    """How to make a case of a conversation."""

    name: Name | None = Field(default=None, description="null: one that is free.")
    suite: Slug | None = Field(
        default=None, description="null: the suite of the run; a new one if that is gone."
    )
    keys: list[Annotated[str, Field(max_length=200)]] | None = Field(
        default=None,
        max_length=1000,
        description="Keys of proposals and of their parts; null: what is ticked.",
    )
    canned_tools: bool = Field(
        default=False,
        description="Tools answer as recorded, in a copy of the agent with a suite of its own.",
    )
    asks_again: bool = Field(
        default=False, description="Earlier messages become turns that are asked again."
    )
    replay: bool = Field(
        default=False,
        description="The user's words are said only while they fit; a judge reads that.",
    )


class CaseOfExecution(Endpoint):
    """What could become a case, and the case."""

    needs: ClassVar = {"GET": Need(Scope.READ, _VIEW), "POST": Need(Scope.AUTHOR, _VIEW, ADD_CASE)}

    @extend_schema(
        operation_id="executions_case_get",
        summary="Read the checks that could be made of a conversation",
        responses=responses(ProposedCase, 404),
    )
    def get(self, request: Request, pk: int) -> Response:
        execution, observed = _observe(pk)
        recording = recording_of(execution, observed)
        may_see = request.user.has_perm("evals_app.view_suite")
        return Response(
            ProposedCase.of(
                name=proposed_name(execution, observed),
                suites=_slugs(suites_for(execution)) if may_see else [],
                is_passed=observed.is_passed,
                compared_with=len(observed.others),
                proposals=[_proposal_json(proposal) for proposal in observed.proposals()],
                canned_tools=CannedToolsAnswer.of(
                    is_possible=bool(recording and recording.tools),
                    words=list(recording.words) if recording else [],
                    suites=_slugs(recorded_suites(execution)) if recording and may_see else [],
                ),
            )
        )

    @extend_schema(
        operation_id="executions_case_make",
        summary="Make a case of a conversation",
        request=MakeCase,
        responses=responses(MadeCase, 404, 422, status=201),
    )
    def post(self, request: Request, pk: int) -> Response:
        body = read_body(MakeCase, request.data)
        execution, observed = _observe(pk)
        wanted = CaseOptions(
            keys=_keys(body, observed),
            name=body.name or "",
            suite=_suite(body, execution, user_of(request)),
            asks_again=body.asks_again,
            replays=body.replay,
            is_recorded=body.canned_tools,
        )
        for permission in wanted.permissions(execution):
            require(request, permission)
        case = make_case(execution, observed, wanted, by=user_of(request))
        address = request.build_absolute_uri(reverse("admin:evals_app_case_change", args=[case.pk]))
        answer = _case_answer(case, url=address)
        return Response(answer, status=201)


def _observe(pk: int) -> tuple[Execution, ObservedConversation]:
    rows = Execution.objects.select_related("run__snapshot", "run__suite", "reviewed").defer(
        "run__summary", "turn_ms"
    )
    execution = rows.filter(pk=pk).first()
    observed = observe(execution) if execution is not None and execution.verdict else None
    if execution is None:
        raise MissingError(Execution, pk)
    if observed is None or not observed.trial.turns:
        message = (
            f"Conversation {pk} has not ended, nothing was said, or its transcript was removed."
        )
        raise RefusedError(message, status=404, kind=BLANK)
    return execution, observed


def _slugs(suites: list[Suite]) -> list[str]:
    return [suite.slug for suite in suites]


def _proposal_json(proposal: Proposal) -> Json:
    return Proposed.of_object(
        proposal, doubt=proposal.doubt or None, parts=[_part(part) for part in proposal.parts]
    )


def _part(part: ValuePart) -> Json:
    return ProposedPart.of(
        key=part.key, words=str(part), is_ticked=not part.doubt, doubt=part.doubt or None
    )


def _keys(body: MakeCase, observed: ObservedConversation) -> set[str]:
    proposals = observed.proposals()
    if body.keys is None:
        return default_keys(proposals)
    known = [key for one in proposals for key in (one.key, *(part.key for part in one.parts))]
    for place, key in enumerate(body.keys):
        if key not in known:
            raise unknown(key, known, what="key", keys=f"keys[{place}]")
    return set(body.keys)


def _suite(body: MakeCase, execution: Execution, user: User) -> Suite | None:
    """Return the suite that a body names, or the usual one; None: a new one."""
    of_copies = body.canned_tools and not execution.run.is_of_real_conversations
    if body.suite is None:
        return None if of_copies else own_suite(execution)
    offered = recorded_suites(execution) if of_copies else suites_for(execution)
    for suite in offered:
        if suite.slug == body.suite:
            return suite
    may_see = user.has_perm("evals_app.view_suite")
    whose = "of a copy of the agent" if of_copies else "of this agent"
    hint = near(body.suite, _slugs(offered)) if may_see else ""
    problem = f"There is no suite {body.suite!r} {whose}.{hint}"
    raise CannotMakeError(problem, key="suite", value=body.suite)


def _case_answer(case: Case, *, url: str) -> Json:
    suite: Any = case.suite
    spec = case.to_spec()
    return MadeCase.of(
        id=case.pk,
        name=case.name,
        suite=suite.slug,
        agent=suite.agent.slug,
        checks=len(list(spec.assertions())),
        url=url,
    )
