"""What was spent, day by day, and how much may be spent in a month."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce

from evals_app.models.fields.money import UsdField
from evals_app.models.run_records.runs import Run


class Spending(models.Model):
    """What a run spent on one day (UTC) with one model, for its agent or for its grades.

    The ledger of the site: it stays when runs, suites and people are deleted. `role` and `model`
    are blank where they are unknown. `unsettled_usd` is the most that calls of dead workers may
    have cost; it counts as spent wherever a ceiling must not be exceeded.
    """

    class Role(models.TextChoices):
        AGENT = "agent", "Agent"
        JUDGE = "judge", "Judges"
        UNKNOWN = "", "Unknown"

    day = models.DateField()
    # The constraint has the index.
    run = models.ForeignKey(
        Run, models.SET_NULL, null=True, related_name="spending", db_index=False
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    agent_slug = models.CharField(max_length=100)
    agent_name = models.CharField(max_length=200)
    role = models.CharField(max_length=5, choices=Role, blank=True)
    model = models.CharField(max_length=301, blank=True)
    spent_usd = UsdField(default=0)
    unsettled_usd = UsdField(default=0)

    class Meta:
        verbose_name_plural = "spending"
        default_permissions = ()  # people who may read runs may read this
        constraints = [
            models.UniqueConstraint(fields=["run", "day", "role", "model"], name="spending_unique")
        ]
        indexes = [
            # With the amounts: a month is added up without reading the rows.
            models.Index(
                fields=["day", "person", "spent_usd", "unsettled_usd"], name="spending_by_day"
            ),
            models.Index(
                fields=["person", "day", "spent_usd", "unsettled_usd"], name="spending_by_person"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day}, {self.agent_slug}, {self.model or 'unknown model'}"


class MonthlyCeiling(models.Model):
    """The most that may be spent in a month (UTC): by the runs of a person, or by the whole site."""

    # The constraint has the index.
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    max_usd = UsdField()

    class Meta:
        constraints = [
            # In a unique constraint, NULL persons would differ from each other.
            models.UniqueConstraint(
                Coalesce("person", 0),
                name="monthly_ceiling_unique",
                violation_error_message="There is a ceiling for this already; change that one.",
            )
        ]

    def __str__(self) -> str:
        return f"Monthly ceiling of {self.person or 'the site'}"
