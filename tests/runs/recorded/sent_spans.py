"""What agents that are instrumented with OpenTelemetry send: requests of OTLP as JSON."""

import json
from collections.abc import Iterator
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from evals_app.formats.otlp import read_request

URL = "/api/conversation-sets/help-desk/otlp/v1/traces"
SECOND = 1_000_000_000
AT = 1_795_000_000 * SECOND  # 2026-11-18


def trace_of(number: int) -> str:
    return f"{number:032x}"


def span(trace: int, number: int, *, parent: int = 0, **attributes: Any) -> dict[str, Any]:
    return {
        "traceId": trace_of(trace),
        "spanId": f"{trace * 100 + number:016x}",
        "parentSpanId": f"{trace * 100 + parent:016x}" if parent else "",
        "name": "work",
        "startTimeUnixNano": str(AT + (trace * 60 + number) * SECOND),
        "endTimeUnixNano": str(AT + (trace * 60 + number + 1) * SECOND),
        "attributes": [
            {"key": name.replace("__", "."), "value": {"stringValue": value}}
            for name, value in attributes.items()
        ],
    }


def turn(trace: int, asked: str, reply: str, *, session: str = "") -> list[dict[str, Any]]:
    """Return the spans of a turn, in the order in which they end: its model call, then what is around it.

    Only the outer one names the session.
    """
    said = {
        "gen_ai__input__messages": [{"role": "user", "content": asked}],
        "gen_ai__output__messages": [{"role": "assistant", "content": reply}],
    }
    model: dict[str, Any] = {"gen_ai__operation__name": "chat"} | {
        name: json.dumps(value) for name, value in said.items()
    }
    outer: dict[str, Any] = {"gen_ai__conversation__id": session} if session else {}
    return [span(trace, 2, parent=1, **model), span(trace, 1, **outer)]


def body_of(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def request_of(*spans: dict[str, Any]) -> ExportTraceServiceRequest:
    return read_request(body_of(*spans), is_json=True)


def bodies_of(*spans: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Return a request in both encodings, each with its type."""
    yield "application/json", body_of(*spans)
    yield "application/x-protobuf", request_of(*spans).SerializeToString()


def refused_in(answer: Any) -> int:
    """Return how many spans an answer says were not accepted."""
    return int(answer.json().get("partialSuccess", {}).get("rejectedSpans", 0))
