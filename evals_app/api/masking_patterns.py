"""Masking patterns over REST: list, create, read, change, delete."""

from datetime import datetime
from typing import Annotated, ClassVar

from django.contrib.auth.models import User
from django.db import transaction
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.basics.permits import refuse_if
from evals_app.engine.specs.base_spec import Spec
from evals_app.library.changes.edits import note_deletion, note_edit
from evals_app.models import MaskingPattern
from evals_app.models.run_records.masking_patterns import MAX_NAME
from evals_app.reports.answers.run_answers import Answer
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import read_body
from evals_app.requests.endpoint import (
    ListEndpoint,
    OneEndpoint,
    describe_get,
    find_or_404,
    new_response,
    responses,
)
from evals_app.requests.pagination import NewestFirst
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import refused_at
from evals_app.runs.recorded.masking import MAX_PATTERNS, problem_of_name, problem_of_pattern
from fixtures_app.ground.strict_json import JsonObject


def _need(what: str, scope: Scope = Scope.AUTHOR) -> Need:
    return Need(scope, f"evals_app.{what}_maskingpattern")


class MaskingPatternAnswer(Answer):
    """A pattern, and the word in its masks."""

    id: int
    name: str
    pattern: str
    is_enabled: bool
    created_at: datetime


class WriteMaskingPattern(Spec):
    """A whole pattern: what is left out gets its default."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME), refuse_if(problem_of_name)] = (
        Field(description="The word in the mask: contract becomes [contract 1].")
    )
    pattern: Annotated[str, Field(max_length=1000), refuse_if(problem_of_pattern)] = Field(
        description="A regular expression of RE2."
    )
    is_enabled: bool = True


@describe_get("masking_patterns_list", "List masking patterns")
class MaskingPatterns(ListEndpoint):
    """All patterns, the newest first."""

    needs: ClassVar = {"GET": _need("view", Scope.READ), "POST": _need("add")}
    queryset = MaskingPattern.objects.all()
    pagination_class = NewestFirst
    answer = MaskingPatternAnswer

    @extend_schema(
        operation_id="masking_patterns_create",
        summary="Create a masking pattern",
        request=WriteMaskingPattern,
        responses=responses(MaskingPatternAnswer, status=201),
    )
    def post(self, request: Request) -> Response:
        if MaskingPattern.objects.count() >= MAX_PATTERNS:
            raise refused_at("", f"A site has at most {MAX_PATTERNS} masking patterns.")
        row = _write(MaskingPattern(), request.data, user_of(request))
        answer = MaskingPatternAnswer.of_object(row)
        return new_response(answer, "masking-pattern", row.pk)


@describe_get("masking_patterns_get", "Read a masking pattern", 404)
class OneMaskingPattern(OneEndpoint):
    """One pattern."""

    needs: ClassVar = {
        "GET": _need("view", Scope.READ),
        "PUT": _need("change"),
        "DELETE": _need("delete"),
    }
    model = MaskingPattern
    answer = MaskingPatternAnswer

    def read(self, key: int) -> JsonObject:
        return MaskingPatternAnswer.of_object(_find(key))

    @extend_schema(
        operation_id="masking_patterns_replace",
        summary="Change a masking pattern",
        request=WriteMaskingPattern,
        responses=responses(MaskingPatternAnswer, 404),
    )
    def put(self, request: Request, pk: int) -> Response:
        row = _write(_find(pk), request.data, user_of(request))
        return Response(MaskingPatternAnswer.of_object(row))

    @extend_schema(
        operation_id="masking_patterns_delete",
        summary="Delete a masking pattern",
        responses=responses(None, 404, status=204),
    )
    def delete(self, request: Request, pk: int) -> Response:
        row = _find(pk)
        with transaction.atomic():
            note_deletion(row, user=user_of(request))
            row.delete()
        return Response(status=204)


def _find(pk: int) -> MaskingPattern:
    return find_or_404(MaskingPattern.objects.all(), pk=pk)


def _write(row: MaskingPattern, data: object, user: User) -> MaskingPattern:
    is_new = row.pk is None
    body = read_body(WriteMaskingPattern, data)
    if MaskingPattern.objects.filter(name=body.name).exclude(pk=row.pk).exists():
        raise refused_at("name", f"There is a masking pattern {body.name!r} already.")
    row.name, row.pattern, row.is_enabled = body.name, body.pattern, body.is_enabled
    with transaction.atomic():
        row.save()
        note_edit(row, user=user, note="Written over REST.", is_new=is_new)
    row.refresh_from_db()
    return row
