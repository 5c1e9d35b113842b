"""Sets of real conversations over REST: make, import, read, grade, remove."""

import tempfile
from collections.abc import Sequence
from typing import IO, Any, ClassVar

from django.contrib.auth.models import User
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import Field
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.specs.base_spec import Name, Spec
from evals_app.formats.conversations.read import MAX_BYTES, read_conversations
from evals_app.formats.conversations.tables import MEANINGS
from evals_app.library.changes.edits import note_deletion
from evals_app.models import (
    Activity,
    ConversationGrading,
    ConversationImport,
    ConversationSet,
    ImportedConversation,
    SpanInbox,
)
from evals_app.models.people.activity import note_act
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import read_body
from evals_app.requests.conversation_sets import (
    ConversationGradingAnswer,
    ConversationImportAnswer,
    ConversationSetAnswer,
    ConversationSetDetails,
    CopyConversations,
    GradeConversations,
    GradingForecast,
    ImportedConversationAnswer,
    SpanInboxAnswer,
    WriteSpanInbox,
    chosen_conversations,
    conversation_json,
    grade,
    grading_forecast,
    grading_json,
    import_json,
    span_inbox_json,
)
from evals_app.requests.endpoint import (
    FIELDS,
    Endpoint,
    ListEndpoint,
    OneEndpoint,
    describe_get,
    find_or_404,
    new_response,
    only_keys,
    responses,
    wanted_fields,
)
from evals_app.requests.filters import ConversationFilters
from evals_app.requests.pagination import NewestFirst
from evals_app.requests.parsers import TooLargeError
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import RefusedError, refused_at
from evals_app.requests.throttles import Uploads
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.recorded.copied_runs import copy_conversations
from evals_app.runs.recorded.grade_conversations import WantedConversations
from evals_app.runs.recorded.import_conversations import import_conversations
from evals_app.runs.recorded.masking import site_masker
from evals_app.runs.recorded.received_spans import save_inbox
from evals_app.runs.recorded.sets import find_or_make_set, remove_set
from evals_app.runs.recorded.waiting_gradings import cancel_grading
from evals_app.runs.recorded.waiting_imports import (
    NO_CONVERSATIONS,
    discard_import,
    keep_upload,
)

_AT_ONCE = 2 * 1024 * 1024  # larger files are imported by a worker
_PIECE = 1024 * 1024
_VIEW = Need(Scope.READ, "evals_app.view_conversationset")
_READ = Need(Scope.READ, "evals_app.view_conversationset", "evals_app.view_execution")
_ADD = Need(Scope.AUTHOR, "evals_app.add_conversationset")
_COPY = Need(
    Scope.AUTHOR,
    "evals_app.add_conversationset",
    "evals_app.view_run",
    "evals_app.view_execution",
)
_REMOVE = Need(Scope.AUTHOR, "evals_app.delete_conversationset")
_GRADE = Need(Scope.RUN, *RUNNING, "evals_app.view_conversationset")


class NewSet(Spec):
    """A set to make."""

    name: Name = Field(description="Where the conversations come from, for example Help desk.")


class FileParser(BaseParser):
    """A file of any kind, on disk if it is large."""

    media_type = "*/*"

    def parse(self, stream: IO[bytes], *_args: object, **_kwargs: object) -> Any:
        file = tempfile.SpooledTemporaryFile(_AT_ONCE)  # noqa: SIM115 - the view closes it
        while piece := stream.read(_PIECE):
            file.write(piece)
            if file.tell() > MAX_BYTES:
                file.close()
                raise TooLargeError(f"The file is larger than {MAX_BYTES // 1024 // 1024} MB.")
        return file


def _set(slug: str) -> ConversationSet:
    return find_or_404(ConversationSet.objects.all(), slug=slug)


@describe_get("conversation_sets_list", "List sets of real conversations")
class ConversationSets(ListEndpoint):
    """All sets, the newest first."""

    needs: ClassVar = {"GET": _VIEW, "POST": _ADD}
    queryset = ConversationSet.objects.all()
    pagination_class = NewestFirst
    answer = ConversationSetAnswer

    @extend_schema(
        operation_id="conversation_sets_create",
        summary="Make a set of real conversations",
        description="Answers with the set of this name if there is one.",
        request=NewSet,
        responses=responses(ConversationSetDetails, 422, status=201),
    )
    def post(self, request: Request) -> Response:
        body = read_body(NewSet, request.data)
        user = user_of(request)
        before = ConversationSet.objects.count()
        target = find_or_make_set(body.name, by=user)
        if ConversationSet.objects.count() > before:
            note_act(Activity.Kind.ADDED, "Made the set.", user=user, row=target)
        answer = ConversationSetDetails.of_object(target)
        return new_response(answer, "conversation-set", target.slug)


@describe_get("conversation_sets_get", "Read a set of real conversations", 404)
class OneConversationSet(OneEndpoint):
    """A set, with how many conversations there are of each day and topic."""

    needs: ClassVar = {"GET": _VIEW, "DELETE": _REMOVE}
    model = ConversationSet
    answer = ConversationSetDetails

    def read(self, slug: str, /) -> Json | None:
        target = ConversationSet.objects.filter(slug=slug).first()
        return None if target is None else ConversationSetDetails.of_object(target)

    @extend_schema(
        operation_id="conversation_sets_delete",
        summary="Remove a set for good: its conversations, and the runs that graded them",
        responses=responses(None, 404, 422, status=204),
    )
    def delete(self, request: Request, slug: str) -> Response:
        target = _set(slug)
        key = target.pk
        remove_set(target)
        target.pk = key  # removing it took its key
        note_deletion(target, user=user_of(request), note="Removed for good.")
        return Response(status=204)


@describe_get("conversation_imports_list", "List the imports of a set", 404)
class ConversationImports(ListEndpoint):
    """The imports of a set, the newest first."""

    needs: ClassVar = {"GET": _VIEW, "POST": _ADD}
    throttle_classes = [*ListEndpoint.throttle_classes, Uploads]
    parser_classes: Sequence[type[BaseParser]] = [FileParser]
    queryset = ConversationImport.objects.all()
    pagination_class = NewestFirst
    answer = ConversationImportAnswer

    def get_queryset(self) -> QuerySet[ConversationImport]:
        return ConversationImport.objects.filter(conversation_set=_set(self.kwargs["slug"]))

    def row_json(self, row: ConversationImport) -> Json:
        return import_json(row)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        if request.method == "POST":
            self.parameters = ("name", "column", "masking")  # type: ignore[misc]
        super().initial(request, *args, **kwargs)

    @extend_schema(
        operation_id="conversation_imports_create",
        summary="Import a file of real conversations",
        description="The body is the file. One of more than 2 MB is imported by a worker: the answer is"
        " then 202, and `GET` on the address in `Location` says how far it is. The same file again"
        " continues what was interrupted, and imports nothing twice.",
        parameters=[
            OpenApiParameter("name", str, required=True, description="The file's name."),
            OpenApiParameter(
                "column",
                str,
                many=True,
                description="What a column of a table is, as WHAT=COLUMN, for example id=Ticket. May"
                f" be repeated. {', '.join(MEANINGS)}.",
            ),
            OpenApiParameter(
                "masking", bool, description="`false` keeps names, addresses and numbers."
            ),
        ],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={
            **responses(ConversationImportAnswer, 404, 413, 422, status=201),
            (202, "application/json"): ConversationImportAnswer,
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        target = _set(slug)
        query = request.query_params
        name = query.get("name", "")
        if not 0 < len(name) <= 300:  # noqa: PLR2004 - as the column
            raise refused_at("name", "Send the file's name, for example ?name=week-47.csv")
        is_masked = query.get("masking", "true") == "true"
        if query.get("masking", "true") not in {"true", "false"}:
            raise refused_at("masking", "masking must be true or false.")
        columns = dict(map(_column, query.getlist("column")))
        given: Any = request.data
        if not given:
            raise refused_at("", "Send the file as the body.")
        with given as body:
            row = _import(target, name, body, by=user_of(request), how=(is_masked, columns))
        response = new_response(import_json(row), "conversation-import", target.slug, row.pk)
        response.status_code = 201 if row.finished_at else 202
        return response


def _import(
    target: ConversationSet,
    name: str,
    body: IO[bytes],
    *,
    by: User,
    how: tuple[bool, dict[str, str]],
) -> ConversationImport:
    is_masked, columns = how
    is_large = body.tell() > _AT_ONCE
    body.seek(0)
    if is_large:
        pieces = iter(lambda: body.read(_PIECE), b"")
        return keep_upload(target, name, pieces, is_masked=is_masked, columns=columns, by=by)
    file = read_conversations(name, body.read(), columns=columns or None)
    if not any(True for _ in file):
        problems = file.problems or [NO_CONVERSATIONS]
        raise RefusedError(problems[0], errors=[])
    masker = site_masker() if is_masked else None
    return import_conversations(target, file, masker=masker, columns=columns, by=by)


@describe_get("span_inboxes_get", "Read whether a set takes what agents send", 404)
class OneSpanInbox(OneEndpoint):
    """What agents send to a set."""

    needs: ClassVar = {"GET": _VIEW, "PUT": _ADD}
    model = ConversationSet
    answer = SpanInboxAnswer

    def read(self, slug: str, /) -> Json | None:
        rows = SpanInbox.objects.select_related("conversation_set")
        row = rows.filter(conversation_set__slug=slug).first()
        return None if row is None else span_inbox_json(row)

    @extend_schema(
        operation_id="span_inboxes_replace",
        summary="Take what agents send to a set, or stop",
        request=WriteSpanInbox,
        responses=responses(SpanInboxAnswer, 404, 422),
    )
    def put(self, request: Request, slug: str) -> Response:
        target = _set(slug)
        body = read_body(WriteSpanInbox, request.data)
        row = save_inbox(target, by=user_of(request), **body.model_dump())
        return Response(span_inbox_json(row))


class CopiesOfRuns(Endpoint):
    """Copying conversations of runs into a set."""

    needs: ClassVar = {"POST": _COPY}

    @extend_schema(
        operation_id="conversation_sets_copy_run",
        summary="Copy conversations of a run, or some of several runs, into a set",
        description="Each is copied once, masked as files are. Of more than 500 a worker copies them:"
        " the answer is then 202.",
        request=CopyConversations,
        responses={
            **responses(ConversationImportAnswer, 404, 422, status=201),
            (202, "application/json"): ConversationImportAnswer,
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        body = read_body(CopyConversations, request.data)
        target = _set(slug)
        chosen = chosen_conversations(body)
        row = copy_conversations(chosen, target, is_masked=body.masking, by=user_of(request))
        response = new_response(import_json(row), "conversation-import", target.slug, row.pk)
        response.status_code = 201 if row.finished_at else 202
        return response


def _column(written: str) -> tuple[str, str]:
    what, is_there, column = written.partition("=")
    if not is_there or what.strip() not in MEANINGS:
        raise refused_at(
            "column",
            f"Expected WHAT=COLUMN, for example id=Ticket, not {written[:80]!r}. WHAT is one of"
            f" {', '.join(MEANINGS)}.",
        )
    return column.strip(), what.strip()


class OneConversationImport(Endpoint):
    """An import of a set."""

    needs: ClassVar = {"GET": _VIEW, "DELETE": _ADD}
    parameters = ("fields",)

    @extend_schema(
        operation_id="conversation_imports_get",
        summary="Read how far an import is, and what it did",
        parameters=[FIELDS],
        responses=responses(ConversationImportAnswer, 404),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        data = import_json(find_or_404(_set(slug).imports.all(), pk=pk))
        return Response(only_keys(data, wanted_fields(request, data)))

    @extend_schema(
        operation_id="conversation_imports_discard",
        summary="Discard an import that did not end, with its file",
        responses=responses(None, 404, 409, status=204),
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        row = find_or_404(_set(slug).imports.all(), pk=pk)
        if not discard_import(row, by=user_of(request)):
            raise RefusedError(f"Import {pk} has ended. Remove the set to remove it.", status=409)
        return Response(status=204)


@describe_get("conversation_sets_conversations", "List the conversations of a set", 404)
class ConversationsOfSet(ListEndpoint):
    """The conversations of a set, the last imported first."""

    needs: ClassVar = {"GET": _READ}
    queryset = ImportedConversation.objects.all()
    pagination_class = NewestFirst
    filterset_class = ConversationFilters
    answer = ImportedConversationAnswer

    def get_queryset(self) -> QuerySet[ImportedConversation]:
        return WantedConversations().of(_set(self.kwargs["slug"]))

    def row_json(self, row: ImportedConversation) -> Json:
        return conversation_json(row)


class ForecastGrading(Endpoint):
    """A forecast of grading conversations of a set."""

    needs: ClassVar = {"POST": _GRADE}

    @extend_schema(
        operation_id="conversation_sets_forecast",
        summary="Forecast what grading real conversations takes, and which checks apply",
        description="Takes the same body as grading, but starts nothing.",
        request=GradeConversations,
        responses=responses(GradingForecast, 404, 422),
    )
    def post(self, request: Request, slug: str) -> Response:
        body = read_body(GradeConversations, request.data)
        return Response(grading_forecast(_set(slug), body, user_of(request)))


class StartedGrading(Answer):
    """The runs that grade real conversations, one for each import, or what starts them."""

    runs: list[int]
    grading: int | None = Field(
        description="Of more than 1,000 conversations: a worker starts the runs, and"
        " `GET gradings/{id}/` of the set says how far it is."
    )


class GradeSet(Endpoint):
    """Grading conversations of a set."""

    needs: ClassVar = {"POST": _GRADE}

    @extend_schema(
        operation_id="conversation_sets_grade",
        summary="Grade real conversations by the general checks of a suite",
        description="No agent is asked. Ask for the forecast first: it has the price. Runs of more than"
        " 1,000 conversations are started by a worker: the answer is then 202.",
        request=GradeConversations,
        responses={
            **responses(StartedGrading, 404, 422, status=201),
            (202, "application/json"): StartedGrading,
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        body = read_body(GradeConversations, request.data)
        started = grade(_set(slug), body, user_of(request))
        if isinstance(started, ConversationGrading):
            answer = StartedGrading.of(runs=[], grading=started.pk)
            response = new_response(answer, "conversation-grading", slug, started.pk)
            response.status_code = 202
            return response
        answer = StartedGrading.of(runs=[run.pk for run in started], grading=None)
        return new_response(answer, "run", started[0].pk)


class OneConversationGrading(Endpoint):
    """A grading that a worker starts."""

    needs: ClassVar = {"GET": _VIEW, "DELETE": _GRADE}
    parameters = ("fields",)

    @extend_schema(
        operation_id="conversation_gradings_get",
        summary="Read how far a worker is with starting a grading",
        parameters=[FIELDS],
        responses=responses(ConversationGradingAnswer, 404),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        data = grading_json(find_or_404(_set(slug).gradings.all(), pk=pk))
        return Response(only_keys(data, wanted_fields(request, data)))

    @extend_schema(
        operation_id="conversation_gradings_cancel",
        summary="Cancel a grading that has not started",
        responses=responses(None, 404, 409, status=204),
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        row = find_or_404(_set(slug).gradings.all(), pk=pk)
        if not cancel_grading(row, by=user_of(request)):
            raise RefusedError(f"Grading {pk} has started. Cancel its runs.", status=409)
        return Response(status=204)
