"""Schedules: suites that run automatically, and the result of each time that one was due."""

from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from django.conf import settings
from django.db import models
from django.db.models import Q
from pydantic import ValidationError

from evals_app.engine.specs.rhythm import Rhythm
from evals_app.models.authored.agents import Agent
from evals_app.models.authored.suites import Suite
from evals_app.models.fields.money import UsdField
from evals_app.models.run_records.runs import Run

RHYTHM = tuple(Rhythm.model_fields)


class Repeating(models.Model):
    """What happens automatically, and when. It runs as its owner: the person who saved it last.

    `next_at` is null while it is disabled, and where its time never comes.
    """

    class Frequency(models.TextChoices):
        HOURLY = "hourly", "Every hour"
        DAILY = "daily", "Every day or night"
        WEEKDAYS = "weekdays", "Monday to Friday"
        CRON = "cron", "Cron expression (advanced)"

    frequency = models.CharField(max_length=8, choices=Frequency, default=Frequency.DAILY)
    at = models.CharField(max_length=5, default="03:00")
    cron = models.CharField(max_length=100, blank=True)
    time_zone = models.CharField(max_length=100, default="UTC")
    is_enabled = models.BooleanField(default=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", editable=False
    )
    next_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
        indexes = [
            models.Index(
                fields=["next_at"], name="%(class)s_due", condition=Q(next_at__isnull=False)
            )
        ]

    @property
    def in_words(self) -> str:
        """When it is due: "every day at 03:00, Europe/Zurich"."""
        try:
            return f"{self.rhythm.in_words}, {self.time_zone}"
        except ValidationError:
            return f"at an invalid time, {self.time_zone}"

    @property
    def rhythm(self) -> Rhythm:
        """When it is due; a ValidationError, for example if its time zone is unknown here."""
        return Rhythm.model_validate({name: getattr(self, name) for name in RHYTHM})


class Schedule(Repeating):
    """Suites, how they run, and when."""

    class Baseline(models.TextChoices):
        OWN = "", "What the suite's gates compare with"
        PINNED = "pinned", "The suite's released version: no case may get worse"
        LATEST = "latest", "The last full run that passed: no case may get worse"

    name = models.CharField(max_length=200, blank=True)
    suites = models.ManyToManyField(Suite, related_name="schedules")
    # Without its agent it would test another one, so an agent in use cannot be deleted.
    agent = models.ForeignKey(Agent, models.PROTECT, null=True, blank=True, related_name="+")
    model = models.CharField(max_length=301, blank=True)
    trials = models.PositiveSmallIntegerField(null=True, blank=True)
    max_cost_usd = UsdField(null=True, blank=True)
    baseline = models.CharField(max_length=6, choices=Baseline, blank=True)

    def __str__(self) -> str:
        words = self.in_words
        return self.name or words[:1].upper() + words[1:]

    def choices(self) -> dict[str, Any]:
        """Return how its runs start, as `start_run` takes it."""
        return {
            "agent": self.agent,
            "model": self.model,
            "trials": self.trials,
            "max_cost_usd": self.max_cost_usd,
            "baseline": self.baseline or None,
        }


class DueRun(models.Model):
    """A suite of a schedule at a time when it was due: one run, or the reason why there is none.

    It is unique and written before anything starts, so that each time starts one run, however many
    processes notice it.
    """

    KEYS = "schedule:"  # how the keys of their runs begin

    class State(models.TextChoices):
        DUE = "due", "Starting"
        STARTED = "started", "Started"
        SKIPPED = "skipped", "Skipped"
        REFUSED = "refused", "Did not start"

    # The constraint has the index.
    schedule = models.ForeignKey(Schedule, models.CASCADE, related_name="due_runs", db_index=False)
    suite = models.ForeignKey(Suite, models.CASCADE, related_name="+")
    due_at = models.DateTimeField()
    state = models.CharField(max_length=7, choices=State, default=State.DUE)
    why = models.TextField(blank=True)
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="due_runs")

    class Meta:
        default_permissions = ()  # people who see the schedule see this
        constraints = [
            models.UniqueConstraint(fields=["schedule", "suite", "due_at"], name="due_run_unique")
        ]
        indexes = [models.Index(fields=["id"], name="due_run_waiting", condition=Q(state="due"))]

    def __str__(self) -> str:
        return f"{self.suite} at {self.due_at:%Y-%m-%d %H:%M} UTC"

    @property
    def key(self) -> str:
        """The unique key of its run."""
        return f"{self.KEYS}{self.schedule_id}:{self.suite_id}:{self.due_at.isoformat()}"

    @property
    def group(self) -> UUID | None:
        """What the runs of this time have in common, alike in each process; None for a single one."""
        others = self.schedule.due_runs.filter(due_at=self.due_at).exclude(pk=self.pk)
        if not others.exists():
            return None
        return uuid5(NAMESPACE_OID, f"{self.KEYS}{self.schedule_id}:{self.due_at.isoformat()}")

    def settle(self, state: State, *, run: Run | None = None, why: str = "") -> None:
        """Note the result; only the first one counts."""
        waiting = DueRun.objects.filter(pk=self.pk, state=self.State.DUE)
        waiting.update(state=state, run=run, why=why)
