"""The daily import of a set over REST: read, write, remove."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.models import ConversationSet, DailyImport
from evals_app.reports.answers.run_answers import Json, in_json
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import read_body
from evals_app.requests.daily_imports import (
    WRITTEN,
    DailyImportAnswer,
    WriteDailyImport,
    daily_import_json,
    daily_imports,
    write_daily_import,
)
from evals_app.requests.endpoint import (
    OneEndpoint,
    describe_get,
    describe_patch,
    find_or_404,
    responses,
)
from evals_app.requests.permissions import Need, Scope
from evals_app.runs.recorded.daily_imports import remove_daily_import

_CHANGE = Need(Scope.AUTHOR, "evals_app.add_conversationset")


@describe_get("daily_imports_get", "Read how a set is imported every day", 404)
class OneDailyImport(OneEndpoint):
    """The daily import of a set."""

    needs: ClassVar = {
        "GET": Need(Scope.READ, "evals_app.view_conversationset"),
        "PUT": _CHANGE,
        "PATCH": _CHANGE,
        "DELETE": _CHANGE,
    }
    model = ConversationSet
    answer = DailyImportAnswer

    def read(self, slug: str, /) -> Json:
        return daily_import_json(_find(slug))

    @extend_schema(
        operation_id="daily_imports_replace",
        summary="Import into a set every day, as the caller",
        description="Makes it, or replaces it as a whole. With a suite, it takes the right to start"
        " runs.",
        request=WriteDailyImport,
        responses=responses(DailyImportAnswer, 404, 422),
    )
    def put(self, request: Request, slug: str) -> Response:
        target = find_or_404(ConversationSet.objects.all(), slug=slug)
        return _write(target, request.data, request)

    @describe_patch(
        "daily_imports", "a daily import, which then runs as the caller", DailyImportAnswer
    )
    def patch(self, request: Request, slug: str) -> Response:
        row = _find(slug)
        stored: dict[str, Any] = {key: in_json(getattr(row, key)) for key in (*WRITTEN, "headers")}
        stored |= {"folder": row.folder or None, "url": row.url or None}
        body = self.merge_body(request, stored | {"suite": row.suite and row.suite.slug})
        return _write(row.conversation_set, body, request)

    @extend_schema(
        operation_id="daily_imports_delete",
        summary="Stop importing every day; conversations and runs are kept",
        responses=responses(None, 404, status=204),
    )
    def delete(self, request: Request, slug: str) -> Response:
        remove_daily_import(_find(slug), by=user_of(request))
        return Response(status=204)


def _find(slug: str) -> DailyImport:
    target = find_or_404(ConversationSet.objects.all(), slug=slug)
    row = daily_imports().filter(conversation_set=target).first()
    if row is None:
        raise NotFound(f"The set {slug!r} has no daily import. PUT sets one up.")
    return row


def _write(target: ConversationSet, data: object, request: Request) -> Response:
    row = write_daily_import(target, read_body(WriteDailyImport, data), user_of(request))
    return Response(daily_import_json(row))
