"""Requests of OpenTelemetry's protocol, in both encodings."""

import json
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from evals_app.engine.running.spans import AgentSpan
from evals_app.formats.otlp import OtlpError, answer, read_spans

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = {
    "traceId": TRACE,
    "spanId": "00f067aa0ba902b7",
    "parentSpanId": "00f067aa0ba902b6",
    "name": "execute_tool find",
    "startTimeUnixNano": "1700000000000000000",
    "endTimeUnixNano": "1700000000002000000",
    "kind": 1,
    "attributes": [
        {"key": "text", "value": {"stringValue": "a"}},
        {"key": "count", "value": {"intValue": "7"}},
        {"key": "share", "value": {"doubleValue": 0.5}},
        {"key": "odd", "value": {"doubleValue": "NaN"}},
        {"key": "is_on", "value": {"boolValue": True}},
        {"key": "raw", "value": {"bytesValue": "AAE="}},
        {"key": "nothing", "value": {}},
        {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}},
        {
            "key": "object",
            "value": {"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}]}},
        },
    ],
    "unknown": "of a later version",
}
READ = AgentSpan(
    span_id="00f067aa0ba902b7",
    parent_id="00f067aa0ba902b6",
    name="execute_tool find",
    start_ns=1700000000000000000,
    end_ns=1700000000002000000,
    attributes={
        "text": "a",
        "count": 7,
        "share": 0.5,
        "odd": "nan",
        "is_on": True,
        "raw": "AAE=",
        "nothing": None,
        "list": [1],
        "object": {"a": "b"},
    },
)


def in_json(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def in_protobuf() -> bytes:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    written = {key: value for key, value in SPAN.items() if not key.endswith("Id")}
    json_format.ParseDict(written, span, ignore_unknown_fields=True)
    span.trace_id, span.span_id = bytes.fromhex(TRACE), bytes.fromhex(READ.span_id)
    span.parent_span_id = bytes.fromhex(READ.parent_id)
    return request.SerializeToString()


def test_both_encodings_say_the_same() -> None:
    assert read_spans(in_json(SPAN), is_json=True) == [(TRACE, READ)]
    assert read_spans(in_protobuf(), is_json=False) == [(TRACE, READ)]


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        ({}, None),
        ({"status": {"code": 1}}, None),
        ({"status": {"code": 2, "message": "It broke."}}, "It broke."),
        (
            {
                "status": {"code": "STATUS_CODE_ERROR"},
                "events": [
                    {
                        "name": "exception",
                        "attributes": [
                            {"key": "exception.message", "value": {"stringValue": "No order."}}
                        ],
                    }
                ],
            },
            "No order.",
        ),
    ],
)
def test_a_span_that_failed_says_why(ending: dict[str, Any], error: str | None) -> None:
    ((_, span),) = read_spans(in_json(SPAN | ending), is_json=True)

    assert span.error == error


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xff",
        b"[]",
        b"{",
        b'{"resourceSpans": [7]}',
        b'{"\\ud800": 1}',
        b'{"resourceSpans": 7}',
        in_json(SPAN | {"traceId": "not hexadecimal"}),
        in_json(SPAN | {"startTimeUnixNano": "soon"}),
        b'{"resourceSpans":' + b"[" * 100_000,
    ],
)
def test_what_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(OtlpError):
        read_spans(body, is_json=True)


def test_protobuf_that_is_none_is_refused() -> None:
    with pytest.raises(OtlpError):
        read_spans(b"\xff\xff", is_json=False)


def test_nothing_is_a_request_too() -> None:
    assert read_spans(b"", is_json=False) == read_spans(b"{}", is_json=True) == []


def test_the_answer_counts_what_was_not_accepted() -> None:
    response = ExportTraceServiceResponse.FromString(answer({"unknown": 2}, is_json=False))

    assert response.partial_success.rejected_spans == 2
    assert json.loads(answer({"unknown": 2}, is_json=True)) == {
        "partialSuccess": {"rejectedSpans": "2", "errorMessage": "Not accepted: 2 unknown."}
    }
    assert answer({}, is_json=False) == b""
    assert json.loads(answer({}, is_json=True)) == {}
