"""The spans of a conversation as the page of its execution shows them: a tree with bars."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evals_app.engine.record.trial import Trial
from evals_app.engine.running.spans import AgentSpan, Tree
from evals_app.reports.words.figures import duration
from evals_app.runs.ground.traces import read_spans
from fixtures_app.editing.markup import TemplateContext

MAX_LINES = 200
MAX_DEPTH = 12  # deeper spans are not indented further
_KINDS = {
    "tool": "Tool call",
    "model": "Model call",
    "retrieval": "Retrieval",
    "embeddings": "Embeddings",
    "other": "",
}


@dataclass(frozen=True)
class SpanLine:
    """A span in the tree; `start` and `width` of its bar are percentages."""

    name: str
    kind: str
    turn: int | None
    depth: int
    duration: str
    start: str
    width: str
    error: str | None


def spans_context(trial: Trial | None) -> TemplateContext:
    """Return the spans of a conversation, and how many came too late to count."""
    if trial is None or trial.span_count is None or not trial.trace_id:
        return {}
    received = read_spans({trial.trace_id: 0}).get(trial.trace_id)
    spans = received.spans if received else ()
    return {
        "spans": list(_lines(spans, trial))[:MAX_LINES],
        "more_spans": max(0, len(spans) - MAX_LINES),
        "late_spans": max(0, len(spans) - trial.span_count),
        "has_span_box": True,
    }


def _lines(spans: Sequence[AgentSpan], trial: Trial) -> Iterator[SpanLine]:
    tree = Tree(spans, (turn.span_id for turn in trial.turns))
    turns = {
        span.span_id: turn.index for turn in trial.turns for span in tree.of_turn(turn.span_id)
    }
    known = {span.span_id for span in spans}
    children: dict[str, list[AgentSpan]] = {}
    for span in tree.spans:
        children.setdefault(span.parent_id, []).append(span)
    roots = [span for span in tree.spans if span.parent_id not in known]
    first = min((span.start_ns for span in spans), default=0)
    whole = max((span.end_ns for span in spans), default=0) - first
    waiting = [(span, 0) for span in reversed(roots)]
    while waiting:
        span, depth = waiting.pop()
        waiting += [(child, depth + 1) for child in reversed(children.get(span.span_id, ()))]
        yield _line(span, turns, depth=depth, first=first, whole=whole or 1)


def _line(
    span: AgentSpan, turns: Mapping[str, int], *, depth: int, first: int, whole: int
) -> SpanLine:
    return SpanLine(
        name=span.name,
        kind=_KINDS[span.kind],
        turn=turns.get(span.span_id),
        depth=min(depth, MAX_DEPTH),
        duration=duration(span.duration_ms),
        start=f"{100 * (span.start_ns - first) / whole:.2f}",
        width=f"{100 * max(0, span.end_ns - span.start_ns) / whole:.2f}",
        error=span.error,
    )
