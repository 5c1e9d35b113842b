"""Leases and workers: who works on what, and until when that is assumed."""

import uuid
from collections.abc import Mapping

from django.db import connection, models
from django.db.models.functions import Now

from evals_app.models.fields.money import UsdField
from evals_app.models.run_records.runs import Run


class Lease(models.Model):
    """One worker at work on a run. After `until` it counts as dead and its rows are released.

    `grants` states how many parallel calls it may make, and wants to, of each limited provider:
    `{slug: {"granted", "wanted", "waited"}}`. `reserved_usd` is its share of what the run has
    reserved, `spent` what it has spent: `[role, model, USD as text]`, one for each Use. `counted`
    is what its model calls add to the tallies: `[what, role, model, kind, number]`, one for each
    Counted. `activity` is shown to people.
    """

    token = models.UUIDField(primary_key=True, default=uuid.uuid4)
    run = models.ForeignKey(Run, models.CASCADE, related_name="leases")
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    slots = models.PositiveSmallIntegerField()
    until = models.DateTimeField(db_index=True)
    reserved_usd = UsdField(default=0)
    spent = models.JSONField(default=list)
    counted = models.JSONField(default=list)
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


_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def series(name: str, /, **labels: str) -> str:
    """Return the name of something that is counted by labels, as Prometheus writes it."""
    written = ",".join(f'{key}="{label.translate(_ESCAPED)}"' for key, label in labels.items())
    return f"{name}{{{written}}}" if labels else name


class Tally(models.Model):
    """How often something happened on this site, for monitoring.

    Counts grow when results are recorded, so rows need not be counted. `name` is a `series`.
    """

    LEASES_REAPED = "leases_reaped"
    RESULTS_REFUSED = "results_refused"

    name = models.CharField(max_length=500, primary_key=True)
    count = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def add(cls, name: str, count: int) -> None:
        """Count, as part of the caller's transaction."""
        cls.add_all({name: count})

    @classmethod
    def add_all(cls, counts: Mapping[str, int]) -> None:
        """Count at the end of the caller's transaction: others who count the same wait for it."""
        if not counts:
            return
        table = connection.ops.quote_name(cls._meta.db_table)
        with connection.cursor() as cursor:
            # One statement for all: bulk_create can replace a value, but not add to it. Sorted, so
            # that two transactions wait for each other in the same order.
            cursor.executemany(
                f"INSERT INTO {table} (name, count) VALUES (%s, %s) ON CONFLICT (name)"  # noqa: S608 - a name of ours
                f" DO UPDATE SET count = {table}.count + excluded.count",
                sorted(counts.items()),
            )
