"""Executions: what was said and done, and how it was graded."""

from typing import ClassVar

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.endpoint import FIELDS, Endpoint, answers, chosen, wanted_fields
from evals_app.api.permissions import Need, Scope
from evals_app.api.shapes import ExecutionDetailsShape
from evals_app.documents import execution_details


class ExecutionDetails(Endpoint):
    """One execution, whole."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_execution")}
    parameters = ("fields",)

    @extend_schema(
        operation_id="executions_get",
        summary="Read an execution: messages, tool calls, grades, limits, changes",
        parameters=[FIELDS],
        responses=answers(ExecutionDetailsShape, 404),
    )
    def get(self, request: Request, pk: int) -> Response:
        wanted = wanted_fields(request, ExecutionDetailsShape().get_fields())
        found = execution_details(pk)
        if found is None:
            raise Http404
        return Response(chosen(found, wanted))
