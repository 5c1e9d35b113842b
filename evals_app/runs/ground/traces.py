"""Spans of agents: received by the web server, read by the worker that has the conversation."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from evals_app.engine.running.spans import AgentSpan, ReceivedSpans
from evals_app.models import Execution, Trace, TraceSpan
from fixtures_app.ground.storable import storable

MAX_SPANS = 1_000  # of a conversation
MAX_BYTES = 4_000_000  # of their JSON
ID_CHARS = 16  # of a span: hexadecimal digits
ACCEPTED_AFTER = timedelta(hours=1)  # the end of an execution: shown, but no longer graded


def open_trace(execution_id: int, trace_id: str) -> None:
    """Accept spans of a conversation that is about to begin."""
    Trace.objects.get_or_create(trace_id=trace_id, defaults={"execution_id": execution_id})


def receive(sent: Sequence[tuple[str, AgentSpan]]) -> Counter[str]:
    """Store spans by their traces; return how many were not accepted, by reason.

    A span that is sent again counts as accepted.
    """
    running = Q(execution__status=Execution.Status.RUNNING)
    ended = Q(execution__finished_at__gt=timezone.now() - ACCEPTED_AFTER)
    by_trace: dict[str, list[AgentSpan]] = {}
    refused: Counter[str] = Counter()
    for trace_id, span in sent:
        if len(span.span_id) == ID_CHARS:
            by_trace.setdefault(trace_id, []).append(span)
        else:
            refused["without an id of 8 bytes"] += 1
    with transaction.atomic():
        rows = Trace.objects.filter(running | ended, pk__in=by_trace).order_by("pk")
        for trace in rows.select_for_update(of=("self",)):
            if more := _store(trace, by_trace.pop(trace.pk)):
                refused["more than can be stored for one conversation"] += more
    if unknown := sum(map(len, by_trace.values())):
        refused["not of a conversation that is running or has just ended"] += unknown
    return refused


def _store(trace: Trace, spans: Sequence[AgentSpan]) -> int:
    """Store the spans of a trace that is locked; return how many do not fit."""
    new = {span.span_id: span for span in spans}
    stored = TraceSpan.objects.filter(trace=trace, span_id__in=new).values_list(
        "span_id", flat=True
    )
    for span_id in stored:
        del new[span_id]
    rows, refused = [], 0
    for span in new.values():
        content = storable(span.to_json())
        size_bytes = len(json.dumps(content))
        if trace.span_count == MAX_SPANS or trace.size_bytes + size_bytes > MAX_BYTES:
            refused += 1
            continue
        trace.span_count += 1
        trace.size_bytes += size_bytes
        rows.append(TraceSpan(trace=trace, span_id=span.span_id, content=content))
    trace.refused += refused
    TraceSpan.objects.bulk_create(rows)
    trace.save(update_fields=["span_count", "size_bytes", "refused"])
    return refused


def read_spans(known: Mapping[str, int]) -> dict[str, ReceivedSpans]:
    """Return the spans of these traces, if more have arrived than the known number."""
    traces = Trace.objects.filter(pk__in=known)
    changed = {
        trace.pk: trace for trace in traces if trace.span_count + trace.refused > known[trace.pk]
    }
    spans: dict[str, list[AgentSpan]] = {trace_id: [] for trace_id in changed}
    rows = TraceSpan.objects.filter(trace__in=changed).order_by("pk") if changed else ()
    for row in rows:
        spans[row.trace_id].append(AgentSpan(**row.content))
    return {pk: ReceivedSpans(tuple(spans[pk]), trace.refused) for pk, trace in changed.items()}
