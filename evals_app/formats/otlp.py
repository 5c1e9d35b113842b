"""OTLP/HTTP, the protocol of OpenTelemetry: bytes of a request -> spans, and the answer to it.

Both encodings are read: Protobuf, and JSON, which has ids in hexadecimal digits where the JSON of
Protobuf has Base64.
"""

import base64
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SentSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from evals_app.engine.running.spans import AgentSpan

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
_ID_BYTES = 8  # of a span
_IDS = ("traceId", "spanId", "parentSpanId")


class OtlpError(ValueError):
    """A body is not a request of OTLP; the message says why."""


def read_spans(body: bytes, *, is_json: bool) -> list[tuple[str, AgentSpan]]:
    """Return the spans of a request, each with the id of its trace.

    Raises:
        OtlpError: it cannot be read.
    """
    return spans_in(read_request(body, is_json=is_json))


def read_request(body: bytes, *, is_json: bool) -> ExportTraceServiceRequest:
    """Return a request that can be kept.

    Raises:
        OtlpError: it cannot be read.
    """
    return _from_json(body) if is_json else _from_protobuf(body)


def spans_in(request: ExportTraceServiceRequest) -> list[tuple[str, AgentSpan]]:
    """Return the spans of a request, each with the id of its trace."""
    return [
        (span.trace_id.hex(), _span(span))
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def without_others(
    request: ExportTraceServiceRequest, traces: Collection[str], seen: set[tuple[bytes, bytes]]
) -> bytes:
    """Return a request as Protobuf, with the spans of these traces alone, each once.

    `seen` has those of earlier requests. Requests that follow each other are one request.
    """
    kept = ExportTraceServiceRequest()
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            mine = []
            for span in scope.spans:
                key = (span.trace_id, span.span_id)
                is_one = len(span.span_id) == _ID_BYTES and key not in seen
                if is_one and span.trace_id.hex() in traces:
                    seen.add(key)
                    mine.append(span)
            if mine:
                of_resource = kept.resource_spans.add(resource=resource.resource)
                of_resource.scope_spans.add(scope=scope.scope, spans=mine)
    return kept.SerializeToString()


def answer(refused: Mapping[str, int], *, is_json: bool) -> bytes:
    """Return the answer to a request whose other spans were accepted."""
    response = ExportTraceServiceResponse()
    if refused:
        reasons = [f"{count} {reason}" for reason, count in refused.items()]
        response.partial_success.rejected_spans = sum(refused.values())
        response.partial_success.error_message = f"Not accepted: {'; '.join(reasons)}."
    if is_json:
        return json_format.MessageToJson(response, indent=None).encode()
    return response.SerializeToString()


def _from_protobuf(body: bytes) -> ExportTraceServiceRequest:
    try:
        return ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        raise OtlpError("The body is not an ExportTraceServiceRequest in Protobuf.") from None


def _from_json(body: bytes) -> ExportTraceServiceRequest:
    try:
        data = json.loads(body)
        json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair breaks Protobuf
        for span in _spans_in(data):
            for name in _IDS:
                if isinstance(span.get(name), str):
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        return json_format.ParseDict(data, ExportTraceServiceRequest(), ignore_unknown_fields=True)
    except (ValueError, TypeError, AttributeError, RecursionError, json_format.Error) as error:
        raise OtlpError(f"The body is not an ExportTraceServiceRequest in JSON: {error}") from None


def _spans_in(data: Any) -> Iterator[dict[str, Any]]:
    for resource in data.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                yield from span.get("links", ())
                yield span


def _span(span: SentSpan) -> AgentSpan:
    return AgentSpan(
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        attributes=_plain(span.attributes),
        error=_error(span),
    )


def _error(span: SentSpan) -> str | None:
    if span.status.code != Status.STATUS_CODE_ERROR:
        return None
    for event in span.events:
        if event.name == "exception":
            said = _plain(event.attributes)
            if message := said.get("exception.message") or said.get("exception.type"):
                return str(message)
    return span.status.message or "The span ended with an error."


def _plain(attributes: Iterable[KeyValue]) -> dict[str, object]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _plain(value.kvlist_value.values)
    plain = getattr(value, kind)
    if isinstance(plain, bytes):
        return base64.b64encode(plain).decode()
    if isinstance(plain, float) and not math.isfinite(plain):
        return str(plain)  # JSON has no such number
    return plain
