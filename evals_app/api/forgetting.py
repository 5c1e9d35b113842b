"""Remove for good over REST: what was said, and the data of a person."""

from typing import ClassVar

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.models import Execution, Run
from evals_app.requests.auth import user_of
from evals_app.requests.endpoint import Endpoint, find_or_404, responses
from evals_app.requests.permissions import Need, Scope
from evals_app.runs.forgetting.conversations import (
    FORGETTING,
    forget_conversation,
    forget_conversations_of,
)
from evals_app.runs.forgetting.people import forget_person

_FORGET = Need(Scope.AUTHOR, *FORGETTING)


class ContentOfExecution(Endpoint):
    """What was said in a conversation."""

    needs: ClassVar = {"DELETE": _FORGET}

    @extend_schema(
        operation_id="executions_forget",
        summary="Remove what was said in a conversation",
        description="Messages, tool calls, quotes, prompts of judges, spans and comments are removed for"
        " good, also where the conversation was graded again. Verdicts, causes and figures stay.",
        responses=responses(None, 404, 422, status=204),
    )
    def delete(self, request: Request, pk: int) -> Response:
        forget_conversation(find_or_404(Execution.objects.all(), pk=pk), by=user_of(request))
        return Response(status=204)


class ContentOfRun(Endpoint):
    """What was said in all conversations of a run."""

    needs: ClassVar = {"DELETE": _FORGET}

    @extend_schema(
        operation_id="runs_forget",
        summary="Remove what was said in all conversations of a run",
        description="As for one conversation.",
        responses=responses(None, 404, 422, status=204),
    )
    def delete(self, request: Request, pk: int) -> Response:
        run = find_or_404(Run.objects.defer("summary"), pk=pk)
        forget_conversations_of(run, by=user_of(request))
        return Response(status=204)


class DataOfPerson(Endpoint):
    """The personal data of a person."""

    needs: ClassVar = {"DELETE": Need(Scope.AUTHOR, "auth.change_user")}

    @extend_schema(
        operation_id="people_forget",
        summary="Remove the personal data of a person",
        description="The account becomes anonymous; what the person did and decided stays.",
        responses=responses(None, 404, 422, status=204),
    )
    def delete(self, request: Request, username: str) -> Response:
        forget_person(find_or_404(User.objects.all(), username=username), by=user_of(request))
        return Response(status=204)
