"""Spans that agents send, while they are tested and of real conversations: OTLP over HTTP."""

import zlib
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from evals_app.models import ConversationSet, SpanInbox
from evals_app.requests.endpoint import AnyRenderer, Endpoint, find_or_404, problems
from evals_app.requests.parsers import MAX_BODY, BytesParser, TooLargeError
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.problems import RefusedError
from evals_app.requests.throttles import RateLimit, SpansSent, Strangers
from evals_app.runs.ground.traces import receive
from evals_app.runs.recorded.received_spans import RETRY_S, NoRoomError, keep_spans

if TYPE_CHECKING:
    from collections import Counter

    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PROTOBUF, JSON = "application/x-protobuf", "application/json"
_GZIP = 16 + zlib.MAX_WBITS
_RESPONSES = {
    (200, PROTOBUF): OpenApiTypes.BINARY,
    (200, JSON): OpenApiTypes.OBJECT,
    **problems(413, 415),
}


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
        responses=_RESPONSES,
    )
    def post(self, request: Request) -> HttpResponse:
        # Loaded when the first spans arrive: most sites receive none.
        from evals_app.formats.otlp import spans_in  # noqa: PLC0415

        return _answer(request, lambda sent: receive(spans_in(sent)))


class TracesOfSet(Traces):
    """Receive spans of real conversations."""

    needs: ClassVar = {"POST": Need(Scope.SPANS, "evals_app.add_conversationset")}

    @extend_schema(
        operation_id="otlp_traces_of_set",
        summary="Send an agent's spans of real conversations",
        description="As `otlp/v1/traces`. They become conversations of this set, if it takes what agents"
        " send. `partial_success` counts what came too late. 503: too much waits, or the disk is full;"
        " send it again after `Retry-After` seconds.",
        request={PROTOBUF: OpenApiTypes.BINARY, JSON: OpenApiTypes.OBJECT},
        responses=_RESPONSES | problems(404, 409),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:  # type: ignore[override]
        target = find_or_404(ConversationSet.objects.all(), slug=slug)
        inbox = SpanInbox.objects.filter(conversation_set=target, is_open=True).first()
        if inbox is None:
            raise RefusedError(
                f"The set {target.name} does not take what agents send. Turn it on, on its page.",
                status=HTTPStatus.CONFLICT,
            )
        may_run = request.user.has_perm("evals_app.add_run")
        try:
            return _answer(request, lambda sent: keep_spans(inbox, sent, may_run=may_run))
        except NoRoomError as error:
            unavailable = HTTPStatus.SERVICE_UNAVAILABLE
            raise RefusedError(str(error), status=unavailable, retry_after=RETRY_S) from error


def _answer(
    request: Request, take: "Callable[[ExportTraceServiceRequest], Counter[str]]"
) -> HttpResponse:
    """Read a request, and say in its encoding what of it was not accepted."""
    from evals_app.formats.otlp import OtlpError, answer, read_request  # noqa: PLC0415

    is_json = (request.content_type or "").partition(";")[0].strip().lower() == JSON
    try:
        sent = read_request(_unpack(request), is_json=is_json)
    except OtlpError as error:
        raise ParseError(str(error)) from error
    body = answer(take(sent), is_json=is_json)
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
