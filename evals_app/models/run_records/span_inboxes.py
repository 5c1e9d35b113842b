"""What agents send of real conversations: whether a set takes it, and the traces that it has."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from evals_app.models.run_records.conversation_sets import ConversationSet


class SpanInbox(models.Model):
    """Whether a set takes the spans that agents send to it.

    They wait in the `folder`, not in the database, until nothing of their conversation came for
    `quiet_minutes`. `left_out` counts what was not imported by reason. `looked_at` is when a worker
    looked last for conversations that are complete.
    """

    conversation_set = models.OneToOneField(
        ConversationSet, models.CASCADE, related_name="span_inbox"
    )
    is_open = models.BooleanField(default=True)
    quiet_minutes = models.PositiveSmallIntegerField(default=10)
    folder = models.UUIDField(default=uuid4)
    left_out = models.JSONField(default=dict)
    looked_at = models.DateTimeField(null=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()  # those of sets count

    def __str__(self) -> str:
        return f"What agents send to {self.conversation_set}"


class ReceivedTrace(models.Model):
    """A trace whose spans are imported: what comes of it later is late, or was sent again."""

    # The constraint has the index.
    inbox = models.ForeignKey(SpanInbox, models.CASCADE, related_name="traces", db_index=False)
    trace_id = models.CharField(max_length=32)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["inbox", "trace_id"], name="received_trace_unique")
        ]
        indexes = [models.Index(fields=["created_at"], name="received_traces_by_age")]

    def __str__(self) -> str:
        return self.trace_id
