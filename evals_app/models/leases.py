"""Leases and workers: who works on what, and until when that is assumed."""

import uuid

from django.db import models
from django.db.models import F
from django.db.models.functions import Now

from evals_app.models.money import UsdField
from evals_app.models.runs import Run


class Lease(models.Model):
    """One drainer at work on a run. After `until` it counts as dead and its rows are released.

    `grants` states how many parallel calls it may make, and wants to, of each limited provider:
    `{slug: {"granted", "wanted", "waited"}}`. `reserved_usd` is its share of what the run has
    reserved, `spent` what it has spent: `[role, model, USD as text]`, one for each Use. `activity` is shown to people.
    """

    token = models.UUIDField(primary_key=True, default=uuid.uuid4)
    run = models.ForeignKey(Run, models.CASCADE, related_name="leases")
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    slots = models.PositiveSmallIntegerField()
    until = models.DateTimeField(db_index=True)
    reserved_usd = UsdField(default=0)
    spent = models.JSONField(default=list)
    grants = models.JSONField(default=dict)
    activity = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.host}:{self.pid} on run {self.run_id}"


class Worker(models.Model):
    """A worker command that is or recently was alive."""

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


class Tally(models.Model):
    """How often something happened on this site, for monitoring."""

    LEASES_REAPED = "leases_reaped"
    RESULTS_REFUSED = "results_refused"

    name = models.CharField(max_length=40, primary_key=True)
    count = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def add(cls, name: str, count: int) -> None:
        """Count, as part of the caller's transaction."""
        cls.objects.get_or_create(name=name)
        cls.objects.filter(name=name).update(count=F("count") + count)
