"""Traces: the spans that agents send of their own work."""

from django.db import models
from django.db.models.functions import Now

from evals_app.models.run_records.executions import Execution


class Trace(models.Model):
    """A conversation whose spans are accepted, by the id that the agent is sent.

    `refused` counts the spans above the limit.
    """

    trace_id = models.CharField(max_length=32, primary_key=True)
    execution = models.ForeignKey(Execution, models.CASCADE, related_name="traces")
    span_count = models.PositiveIntegerField(default=0)
    size_bytes = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.trace_id


class TraceSpan(models.Model):
    """A span as JSON; see `engine.spans.Span`."""

    # The constraint has the index.
    trace = models.ForeignKey(Trace, models.CASCADE, related_name="spans", db_index=False)
    span_id = models.CharField(max_length=16)
    content = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "span_id"], name="trace_span_unique")
        ]

    def __str__(self) -> str:
        return self.span_id
