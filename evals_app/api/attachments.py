"""Files that users show to agents: stored by their content, named by suites."""

from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import ValidationError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.endpoint import Endpoint, answers
from evals_app.api.parsers import BytesParser
from evals_app.api.permissions import Need, Scope
from evals_app.api.problems import RefusedError, error_at
from evals_app.api.shapes import Shape
from evals_app.engine.files import FileSpec, content_problem, media_type, sha256_of
from evals_app.formats.problems import shortened
from evals_app.models import Attachment
from evals_app.throttles import Uploads


class AttachmentShape(Shape):
    """A stored file, as a turn names it."""

    path = serializers.CharField(help_text="The name that was given.")
    sha256 = serializers.CharField()
    media_type = serializers.CharField()
    size_bytes = serializers.IntegerField()


class Attachments(Endpoint):
    """Store a file."""

    needs: ClassVar = {"POST": Need(Scope.AUTHOR, "evals_app.change_case")}
    parameters = ("name",)
    throttle_classes = [*Endpoint.throttle_classes, Uploads]
    parser_classes = [BytesParser]

    @extend_schema(
        operation_id="files_store",
        summary="Store a file that turns can show",
        description="The body is the file itself. A turn names it by `path` and `sha256`.",
        parameters=[
            OpenApiParameter("name", str, required=True, description="Its end tells the kind.")
        ],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses=answers(AttachmentShape, 413, status=201),
    )
    def post(self, request: Request) -> Response:
        if (request.content_type or "").startswith("multipart/"):
            message = "Send the file itself as the body; this is a form that holds one."
            raise RefusedError(message, errors=[error_at("", message)])
        path = _path(request)
        content: Any = request.data
        if problem := content_problem(path, content or b""):
            raise RefusedError(problem, errors=[error_at("", problem)])
        Attachment.objects.store([content])
        stored = {
            "path": path,
            "sha256": sha256_of(content),
            "media_type": media_type(path),
            "size_bytes": len(content),
        }
        return Response(stored, status=201)


def _path(request: Request) -> str:
    """Read what the file is called, as a turn may call it.

    Raises:
        RefusedError: no turn may.
    """
    name = request.query_params.get("name", "")
    try:
        return FileSpec(path=name).path
    except ValidationError as exc:
        message = "Say in ?name= what the file is called, for example receipt.png."
        if name:
            message = exc.errors()[0]["msg"].removeprefix("Value error, ")
        raise RefusedError(message, errors=[error_at("name", message, shortened(name))]) from exc


class AttachmentContent(Endpoint):
    """Read a file again."""

    needs: ClassVar = {"GET": Need(Scope.READ, "evals_app.view_case")}

    @extend_schema(
        operation_id="files_get",
        summary="Read a file that turns show",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, sha256: str) -> HttpResponse:
        row = Attachment.objects.filter(pk=sha256).first()
        if row is None:
            raise Http404
        # Never shown by a browser as a page of this site: whoever wrote it is not known.
        return HttpResponse(
            bytes(row.content),
            content_type="application/octet-stream",
            headers={"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"},
        )
