"""Retests: whether the cases in which two runs differ are really worse or better."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evals_app.engine.statistics.retest import LOOKS, Finding, Look, Suspect, SuspectState
from evals_app.models.fields.money import UsdField
from evals_app.models.run_records.runs import Run


class Settlement(models.Model):
    """Fresh trials of the cases in which two runs differ, in up to three looks.

    `cases` are its suspects, those of `engine/statistics/retest.py`; the counters say how many have
    which finding. Each look has a run of the head and one of the base; where the base cannot be run
    again, `stand_in` says why, and its stored trials are used. `max_cost_usd` is the ceiling of all
    runs together.
    """

    class Status(models.TextChoices):
        RUNNING = "running", "Running"
        FINISHED = "finished", "Finished"
        STOPPED = "stopped", "Stopped early"
        CANCELLED = "cancelled", "Cancelled"

    COUNTERS: ClassVar = tuple(finding.value for finding in Finding)

    base = models.ForeignKey(Run, models.CASCADE, related_name="settlements_as_base")
    head = models.ForeignKey(Run, models.CASCADE, related_name="settlements_as_head")
    with_better = models.BooleanField(default=False)  # cases that seem better are suspects, too
    stand_in = models.TextField(blank=True)
    status = models.CharField(max_length=9, choices=Status, default=Status.RUNNING)
    why_stopped = models.TextField(blank=True)
    look = models.PositiveSmallIntegerField(default=1)  # the one that is running, or was the last
    cases = models.JSONField(default=list)
    compared = models.PositiveIntegerField()  # cases that both runs have
    few = models.PositiveIntegerField()  # of them, those with too few trials for suspicions
    hopeless = models.PositiveIntegerField()  # left out: too few stored trials
    suspects = models.PositiveIntegerField()
    really_worse = models.PositiveIntegerField(default=0)
    really_better = models.PositiveIntegerField(default=0)
    cannot_tell = models.PositiveIntegerField(default=0)
    was_flaky = models.PositiveIntegerField(default=0)
    max_cost_usd = UsdField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()  # those of runs count
        verbose_name = "retest"
        constraints = [
            models.UniqueConstraint(
                fields=["base", "head"],
                name="settlement_running_once",
                condition=Q(status="running"),
            ),
            models.CheckConstraint(
                name="settlement_ends_at_some_time",
                condition=Q(status="running", finished_at__isnull=True)
                | (~Q(status="running") & Q(finished_at__isnull=False)),
            ),
        ]

    def __str__(self) -> str:
        return f"Retest of run {self.head_id} against run {self.base_id}"

    @property
    def is_open(self) -> bool:
        return self.status == self.Status.RUNNING

    @property
    def current_look(self) -> Look:
        return LOOKS[self.look - 1]

    @property
    def fresh_before(self) -> int:
        """How many fresh trials of each version an open case has from earlier looks."""
        return LOOKS[self.look - 2].trials if self.look > 1 else 0

    @property
    def sides(self) -> tuple[Run, ...]:
        """Return the runs whose versions it runs again."""
        return (self.head,) if self.stand_in else (self.base, self.head)

    def read_cases(self) -> list[Suspect]:
        return [Suspect.from_json(stored) for stored in self.cases]

    def note_cases(self, suspects: Sequence[Suspect]) -> None:
        """Record the results of the last look; the caller saves the row."""
        self.cases = [suspect.to_json() for suspect in suspects]
        findings = Counter(suspect.finding.value for suspect in suspects)
        for counter in self.COUNTERS:
            setattr(self, counter, findings[counter])

    def has_open_cases(self) -> bool:
        return any(suspect.state is SuspectState.OPEN for suspect in self.read_cases())

    def end(self, status: Status, *, why: str = "") -> bool:
        """End it unless it has ended; return whether this call did it."""
        still_open = Settlement.objects.filter(pk=self.pk, status=self.Status.RUNNING)
        return bool(still_open.update(status=status, why_stopped=why, finished_at=Now()))
