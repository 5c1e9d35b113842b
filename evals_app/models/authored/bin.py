"""What people deleted, kept for some days, and edits of many cases that can be undone."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from evals_app.models.authored.suites import Suite

_UNDONE_WITHIN = timedelta(days=1)  # people undo at once, or not at all


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
        default_permissions = ()  # people who may delete something may restore it

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


class BulkEditQuerySet(models.QuerySet["BulkEdit"]):
    """Edits of many cases."""

    def overdue(self) -> "BulkEditQuerySet":
        """Those that no one undoes any longer."""
        return self.filter(edited_at__lt=timezone.now() - _UNDONE_WITHIN)


class BulkEdit(models.Model):
    """What someone did to many cases of a suite at once: the values of `fields` before and after.

    `changed` has a list for each case: its key, the values before, and those after. Without fields,
    the cases were added.
    """

    suite = models.ForeignKey(Suite, models.CASCADE, related_name="+")
    what = models.TextField()
    fields = models.JSONField(default=list)
    changed = models.JSONField()
    edited_at = models.DateTimeField(db_default=Now())

    objects = BulkEditQuerySet.as_manager()

    class Meta:
        default_permissions = ()  # people who may change cases may undo it

    def __str__(self) -> str:
        return self.what
