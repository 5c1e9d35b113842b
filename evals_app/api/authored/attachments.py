"""Files that turns attach to messages, stored by their content."""

from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.engine.specs.files import FileSpec, content_problem, media_type, sha256_of
from evals_app.formats.reading.problems import shorten
from evals_app.models import Activity, Attachment
from evals_app.models.people.activity import note_act
from evals_app.reports.answers.run_answers import Answer
from evals_app.requests.endpoint import Endpoint, find_or_404, problems, responses
from evals_app.requests.parsers import BytesParser
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import refused_at
from evals_app.requests.throttles import Uploads
from fixtures_app.ground.spec_errors import messages_of


class StoredFile(Answer):
    """A stored file, as a turn names it."""

    path: str
    sha256: str
    media_type: str
    size_bytes: int


class Attachments(Endpoint):
    """Store a file."""

    needs: ClassVar = {"POST": Need(Scope.AUTHOR, "evals_app.change_case")}
    parameters = ("name",)
    throttle_classes = [*Endpoint.throttle_classes, Uploads]
    parser_classes = [BytesParser]

    @extend_schema(
        operation_id="files_store",
        summary="Store a file for turns",
        description="The body is the file itself. A turn names it by `path` and `sha256`.",
        parameters=[
            OpenApiParameter(
                "name", str, required=True, description="File name; its extension sets the type."
            )
        ],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses=responses(StoredFile, 413, status=201),
    )
    def post(self, request: Request) -> Response:
        if (request.content_type or "").startswith("multipart/"):
            raise refused_at("", "Send the file itself as the body, not a form that contains it.")
        path = _path(request)
        content: Any = request.data
        if problem := content_problem(path, content or b""):
            raise refused_at("", problem)
        Attachment.objects.store([content])
        note_act(Activity.Kind.ADDED, f"Stored the file {path}.", user=request.user)
        stored = StoredFile.of(
            path=path,
            sha256=sha256_of(content),
            media_type=media_type(path),
            size_bytes=len(content),
        )
        return Response(stored, status=201)


def _path(request: Request) -> str:
    """Read the file name; one that a turn could not use is refused."""
    name = request.query_params.get("name", "")
    try:
        return FileSpec(path=name).path
    except ValidationError as exc:
        message = "Send the file name as ?name=, for example receipt.png."
        if name:
            message = messages_of(exc)[0]
        raise refused_at("name", message, shorten(name)) from exc


class AttachmentContent(Endpoint):
    """Read a file again."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_case")}

    @extend_schema(
        operation_id="files_get",
        summary="Read a stored file",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **problems()},
    )
    def get(self, request: Request, sha256: str) -> HttpResponse:
        row = find_or_404(Attachment.objects.all(), pk=sha256)
        # A browser must never show it as a page of this site: its author is unknown.
        return HttpResponse(
            bytes(row.content),
            content_type="application/octet-stream",
            headers={"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"},
        )
