"""Tools about what agents send to a set: see it, switch it."""

from pydantic import Field

from evals_app.engine.specs.base_spec import Slug, Spec
from evals_app.mcp.conversations import find_set
from evals_app.mcp.tool import Caller, Told
from evals_app.models import SpanInbox
from evals_app.reports.answers.run_answers import Answer
from evals_app.reports.words.imports import left_out_in_words
from evals_app.requests.conversation_sets import SpanInboxAnswer, WriteSpanInbox, span_inbox_json
from evals_app.runs.recorded.received_spans import save_inbox


class SetOfAgents(Spec):
    """The set to which agents send."""

    set: Slug


class SpansOfSet(WriteSpanInbox):
    """The set, and whether it takes what agents send."""

    set: Slug


class SentSpansData(Answer):
    """What agents send to a set."""

    spans: SpanInboxAnswer | None = Field(description="null: it never took any.")


def read_sent_spans(_caller: Caller, given: SetOfAgents) -> Told:
    """Return whether a set takes what agents send, what waits and what was left out."""
    rows = SpanInbox.objects.select_related("conversation_set")
    row = rows.filter(conversation_set=find_set(given.set)).first()
    if row is None:
        text = "It does not take what agents send. take_sent_spans begins it."
        return Told(text, SentSpansData.of(spans=None))
    return _words_about(row)


def take_sent_spans(caller: Caller, given: SpansOfSet) -> Told:
    """Take what agents send to a set, or stop."""
    row = save_inbox(
        find_set(given.set),
        is_open=given.is_open,
        quiet_minutes=given.quiet_minutes,
        by=caller.user,
    )
    return _words_about(row)


def _words_about(row: SpanInbox) -> Told:
    data = span_inbox_json(row)
    lines = ["It no longer takes what agents send."]
    if row.is_open:
        lines = [f"It takes what agents send to {data['address']} (OTEL_EXPORTER_OTLP_ENDPOINT)."]
    if waiting := data["waiting_bytes"]:
        lines.append(f"{waiting:,} bytes wait to be imported.")
    return Told("\n".join([*lines, *left_out_in_words(row.left_out)]), SentSpansData.of(spans=data))
