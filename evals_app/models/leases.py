"""Leases and workers: who works on what, and until when we believe it."""

import uuid

from django.db import models
from django.db.models.functions import Now

from evals_app.models.runs import Run


class Lease(models.Model):
    """One drainer at work on a run. Past `until` it is dead and its rows go back."""

    token = models.UUIDField(primary_key=True, default=uuid.uuid4)
    run = models.ForeignKey(Run, models.CASCADE, related_name="leases")
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    slots = models.PositiveSmallIntegerField()
    until = models.DateTimeField(db_index=True)
    activity = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.host}:{self.pid} on run {self.run_id}"


class Worker(models.Model):
    """A worker command that is, or was lately, alive."""

    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    version = models.CharField(max_length=40)
    processes = models.PositiveSmallIntegerField()
    is_draining = models.BooleanField(default=False)
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now(), db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["host", "pid"], name="worker_unique")]

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"
