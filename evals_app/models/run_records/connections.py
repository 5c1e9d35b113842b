"""Computers that answer for an agent, and the messages that wait for them."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from evals_app.models.run_records.executions import Execution

SEEN_WITHIN = timedelta(seconds=30)  # a computer that was not heard of for longer is gone
# If no computer of an agent was heard of for this long, the site was away rather than all of them.
SILENT_AFTER = timedelta(seconds=20)
BEAT_WITHIN = timedelta(seconds=12)  # how far apart a computer that is there is heard of
BACK_WITHIN = timedelta(seconds=15)  # how soon computers find the site again
LOST_AFTER = timedelta(
    seconds=60
)  # longer, its last message is given up: the site may have been away


class ComputerQuerySet(models.QuerySet["Computer"]):
    """Computers, and those that are there now."""

    def of_agent(self, slug: str) -> "ComputerQuerySet":
        """Return the computers that are connected for an agent now."""
        return self.filter(agent=slug, seen_at__gt=Now() - SEEN_WITHIN).order_by("connected_at")


class Computer(models.Model):
    """One `evalwell connect`, by the id that it made for itself."""

    id = models.UUIDField(primary_key=True)
    agent = models.CharField(max_length=100, db_index=True)
    host = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    connected_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField()

    objects = ComputerQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.host} for {self.agent}"


class AgentCall(models.Model):
    """A message of a conversation for one of an agent's computers, until the conversation is over.

    A computer has it until `leased_until`; `offers` counts how often one may still take it. `answer`
    is written once.
    """

    # The constraint has the index.
    execution = models.ForeignKey(
        Execution, models.CASCADE, related_name="agent_calls", db_index=False
    )
    turn = models.PositiveIntegerField()
    agent = models.CharField(max_length=100, db_index=True)
    session_id = models.CharField(max_length=32)
    request = models.JSONField()
    offers = models.PositiveSmallIntegerField()
    computer = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    answer = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["execution", "turn"], name="agent_call_unique")
        ]

    def __str__(self) -> str:
        return f"Turn {self.turn} of conversation {self.execution_id}"
