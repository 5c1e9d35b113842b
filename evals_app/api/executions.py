"""Executions: the conversation, and how it was graded."""

from typing import ClassVar

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.endpoint import FIELDS, Endpoint, chosen, responses, wanted_fields
from evals_app.api.permissions import Need, Scope
from evals_app.documents import execution_details
from evals_app.reports.answers import ExecutionDetails


class OneExecution(Endpoint):
    """One execution with all its details."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_execution")}
    parameters = ("fields",)

    @extend_schema(
        operation_id="executions_get",
        summary="Read an execution: messages, tool calls, grades, limits and changes",
        parameters=[FIELDS],
        responses=responses(ExecutionDetails, 404),
    )
    def get(self, request: Request, pk: int) -> Response:
        wanted = wanted_fields(request, ExecutionDetails.KEYS)
        answer = execution_details(pk)
        if answer is None:
            raise Http404
        return Response(chosen(answer, wanted))
