"""The way in for spans: encodings, compression, and what is refused."""

import gzip
import json
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from evals_app.requests.parsers import MAX_BODY
from tests.api.clients import make_client

pytestmark = pytest.mark.django_db

PROTOBUF = "application/x-protobuf"
IN_JSON = json.dumps(
    {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "ab" * 16, "spanId": "cd" * 8}]}]}]}
).encode()


def in_protobuf() -> bytes:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id = b"\xab" * 16, b"\xcd" * 8
    return request.SerializeToString()


def post(body: bytes, content_type: str, **headers: str) -> Any:
    client: Any = make_client("spans", ["evals_app.add_run"])
    return client.generic(
        "POST", "/api/otlp/v1/traces", body, content_type=content_type, headers=headers
    )


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("content_type", [PROTOBUF, "application/json; charset=utf-8"])
def test_the_answer_comes_in_the_encoding_of_the_request(
    content_type: str, *, packed: bool
) -> None:
    is_json = "json" in content_type
    body = IN_JSON if is_json else in_protobuf()

    answer = post(
        gzip.compress(body) if packed else body,
        content_type,
        accept=PROTOBUF,
        **({"content-encoding": "gzip"} if packed else {}),
    )

    assert (answer.status_code, answer["Content-Type"]) == (
        200,
        "application/json" if is_json else PROTOBUF,
    )
    refused = (
        int(answer.json()["partialSuccess"]["rejectedSpans"])
        if is_json
        else ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans
    )
    assert refused == 1


def test_an_empty_request_is_answered() -> None:
    assert post(b"", PROTOBUF).content == b""


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "status"),
    [
        (b"\xff\xff", PROTOBUF, "", 400),
        (b"{", "application/json", "", 400),
        (in_protobuf(), "text/plain", "", 415),
        (in_protobuf(), PROTOBUF, "br", 415),
        (in_protobuf(), PROTOBUF, "gzip", 400),
        (gzip.compress(in_protobuf())[:-5], PROTOBUF, "gzip", 400),
        (gzip.compress(bytes(MAX_BODY + 1)), PROTOBUF, "gzip", 413),
    ],
    ids=["no Protobuf", "no JSON", "text", "Brotli", "no gzip", "cut off", "a bomb"],
)
def test_what_cannot_be_read_is_refused(
    body: bytes, content_type: str, encoding: str, status: int
) -> None:
    answer = post(body, content_type, **({"content-encoding": encoding} if encoding else {}))

    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
