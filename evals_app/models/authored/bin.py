"""What people deleted, kept for some days."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone


class DeletedObjectQuerySet(models.QuerySet["DeletedObject"]):
    """What people deleted."""

    def overdue(self) -> "DeletedObjectQuerySet":
        """What was kept long enough."""
        kept = timedelta(days=settings.EVALS_KEEP_DELETED_DAYS)
        return self.filter(deleted_at__lt=timezone.now() - kept)


class DeletedObject(models.Model):
    """A deleted object, or cases of a suite that were deleted together; its rows are in `parts`.

    `needs` lists what must exist before it can be restored, as pairs of a kind and a key: the suite
    of a case, for example.
    """

    class Kind(models.TextChoices):
        CASE = "case", "Case"
        SUITE = "suite", "Suite"
        AGENT = "agent", "Agent"
        FIXTURE = "fixture", "Test data"
        ENTITY_TYPE = "entity type", "Entity type"

    kind = models.CharField(max_length=11, choices=Kind)
    object_id = models.BigIntegerField(null=True)  # null: several cases
    name = models.CharField(max_length=200)
    about = models.TextField()
    suite_id = models.BigIntegerField(null=True)  # of cases; the suite may be deleted, too
    needs = models.JSONField(default=list)
    # While a suite can be restored, the transcripts of its baseline stay.
    baseline = models.ForeignKey(
        "evals_app.Run", models.SET_NULL, null=True, editable=False, related_name="+"
    )
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=150)
    deleted_at = models.DateTimeField(db_default=Now(), db_index=True)

    objects = DeletedObjectQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deleted"
        default_permissions = ()  # whoever may delete something may restore it

    def __str__(self) -> str:
        return self.name


class DeletedPart(models.Model):
    """Rows of something deleted, as Django serializes them, and the references that were emptied."""

    deleted = models.ForeignKey(DeletedObject, models.CASCADE, related_name="parts")
    content = models.TextField()
    references = models.JSONField(default=list)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.deleted} ({self.pk})"
