"""What people decide: shipped or not, known failures, and what an agent may answer by itself."""

from datetime import date

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from evals_app.models.authored.agents import Agent
from evals_app.models.authored.suites import Suite
from evals_app.models.run_records.runs import Run


class ShipDecision(models.Model):
    """A person shipped what a run tested, or did not. Never changed; the newest of a run counts.

    `answered` is what Evalwell answered at that moment, in one line.
    """

    suite = models.ForeignKey(Suite, models.CASCADE, related_name="ship_decisions")
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="ship_decisions")
    run_number = models.PositiveBigIntegerField()  # of a deleted run, too
    shipped = models.BooleanField()
    reason = models.TextField(blank=True)
    answered = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=150)  # also of deleted users
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()
        permissions = [("decide_release", "Can decide what is shipped, and accept known failures")]

    def __str__(self) -> str:
        return f"{self.in_words} (run {self.run_number})"

    @property
    def in_words(self) -> str:
        """The decision with its day, person and reason."""
        what = "Shipped" if self.shipped else "Not shipped"
        reason = f": “{self.reason}”" if self.reason else ""
        return f"{what} on {self.created_at:%Y-%m-%d} by {self.by_name}{reason}"


class AcceptedFailure(models.Model):
    """A case may fail, because a person accepted it after a run.

    It counts while the case has this content (`digest`, see `CaseResult`), until it passes again in a
    full run, until the day `until` is over, or until someone withdraws it.
    """

    suite = models.ForeignKey(Suite, models.CASCADE, related_name="accepted_failures")
    run_number = models.PositiveBigIntegerField()  # also of a deleted run
    case = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, blank=True)
    reason = models.TextField()
    until = models.DateField(null=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=150)
    created_at = models.DateTimeField(db_default=Now())
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()  # `decide_release` counts

    def __str__(self) -> str:
        return self.case

    def is_over(self, today: date) -> bool:
        """Whether it was withdrawn, or its last day has passed."""
        is_late = self.until is not None and self.until < today
        return is_late or self.withdrawn_at is not None


class TopicReadiness(models.Model):
    """What a person said about an agent on a topic. Never changed; the newest of a topic counts."""

    class State(models.TextChoices):
        READY = "ready", "Ready"
        LIMITED = "limited", "Ready with limits"
        FIX_SOURCE = "fix_source", "Fix the source first"
        PEOPLE_ONLY = "people_only", "People only"

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="readiness")
    topic = models.CharField(max_length=200)  # a tag
    state = models.CharField(max_length=11, choices=State)
    owner = models.CharField(max_length=150, blank=True)
    note = models.TextField(blank=True)
    until = models.DateField(null=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=150)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()  # `decide_release` counts

    def __str__(self) -> str:
        return f"{self.topic}: {self.get_state_display()}"

    def is_over(self, today: date) -> bool:
        """Whether its last day has passed."""
        return self.until is not None and self.until < today

    @property
    def in_words(self) -> str:
        """The state with its day, person and note."""
        note = f": “{self.note}”" if self.note else ""
        state = self.get_state_display()
        return f"{state}, set on {self.created_at:%Y-%m-%d} by {self.by_name}{note}"
