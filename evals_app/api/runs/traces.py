"""Spans that agents send while they are tested: OTLP over HTTP."""

import zlib
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from evals_app.requests.endpoint import AnyRenderer, Endpoint, responses
from evals_app.requests.parsers import MAX_BODY, BytesParser, TooLargeError
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import RefusedError
from evals_app.requests.throttles import RateLimit, SpansSent, Strangers
from evals_app.runs.ground.traces import receive

PROTOBUF, JSON = "application/x-protobuf", "application/json"
_GZIP = 16 + zlib.MAX_WBITS


class ProtobufParser(BytesParser):
    """Protobuf, as bytes."""

    media_type = PROTOBUF


class SpansInJsonParser(BytesParser):
    """JSON, as bytes: its ids differ from those of ordinary JSON of Protobuf."""

    media_type = JSON


class Traces(Endpoint):
    """Receive spans."""

    needs: ClassVar = {"POST": Need(Scope.SPANS, "evals_app.add_run")}
    throttle_classes: Sequence[type[RateLimit]] = (SpansSent, Strangers)
    parser_classes: Sequence[type[BaseParser]] = [ProtobufParser, SpansInJsonParser]
    renderer_classes: Sequence[type[JSONRenderer]] = [AnyRenderer]

    @extend_schema(
        operation_id="otlp_traces",
        summary="Send an agent's spans",
        description="An ExportTraceServiceRequest of OpenTelemetry (OTLP/HTTP), optionally compressed"
        " with gzip. Spans are accepted if their trace id is that of a conversation of an agent with"
        " `tool_calls_from: spans`. `partial_success` counts the others.",
        request={PROTOBUF: OpenApiTypes.BINARY, JSON: OpenApiTypes.OBJECT},
        responses={
            (200, PROTOBUF): OpenApiTypes.BINARY,
            (200, JSON): OpenApiTypes.OBJECT,
            **{key: shape for key, shape in responses(None, 413, 415).items() if shape},
        },
    )
    def post(self, request: Request) -> HttpResponse:
        # Loaded when the first spans arrive: most sites receive none.
        from evals_app.formats.otlp import OtlpError, answer, read_spans  # noqa: PLC0415

        is_json = (request.content_type or "").partition(";")[0].strip().lower() == JSON
        try:
            spans = read_spans(_unpack(request), is_json=is_json)
        except OtlpError as error:
            raise ParseError(str(error)) from error
        body = answer(receive(spans), is_json=is_json)
        return HttpResponse(body, content_type=JSON if is_json else PROTOBUF)


def _unpack(request: Request) -> bytes:
    """Return the body; one that is compressed may not become larger than others."""
    body: Any = request.data
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        return body or b""
    if encoding != "gzip":
        raise RefusedError(
            f"The Content-Encoding {encoding[:40]!r} is not supported; send gzip, or none.",
            status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        )
    unpacking = zlib.decompressobj(_GZIP)
    try:
        unpacked = unpacking.decompress(body or b"", MAX_BODY)
    except zlib.error:
        raise ParseError("The body is not compressed with gzip.") from None
    if unpacking.unconsumed_tail or len(unpacked) == MAX_BODY:
        raise TooLargeError
    if not unpacking.eof:
        raise ParseError("The body ends before its gzip does.")
    return unpacked
