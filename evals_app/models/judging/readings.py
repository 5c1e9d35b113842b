"""What people read of real conversations or of a run: their notes, and the groups of these notes."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evals_app.models.authored.suites import Assertion, Suite
from evals_app.models.run_records.conversation_sets import ConversationSet
from evals_app.models.run_records.executions import Execution
from evals_app.models.run_records.runs import Run

MAX_NOTE = 500  # characters: a line
MAX_GROUP = 100  # characters of a name


class Reading(models.Model):
    """The conversations that people read of one set, or of one run; more can be drawn later.

    `proposal` is the run in which a judge proposed groups last.
    """

    conversation_set = models.OneToOneField(
        ConversationSet, models.CASCADE, null=True, related_name="reading"
    )
    run = models.OneToOneField(Run, models.CASCADE, null=True, related_name="reading")
    proposal = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()  # `review_execution` counts
        constraints = [
            models.CheckConstraint(
                name="reading_of_a_set_or_a_run",
                condition=Q(conversation_set__isnull=False, run__isnull=True)
                | Q(conversation_set__isnull=True, run__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return str(self.conversation_set or f"Run {self.run_id}")


class ReadingItem(models.Model):
    """A conversation to read, by its place in the order of reading."""

    # The constraint has the index.
    reading = models.ForeignKey(Reading, models.CASCADE, related_name="items", db_index=False)
    position = models.PositiveIntegerField()
    execution = models.ForeignKey(Execution, models.CASCADE, related_name="+")

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["reading", "position"], name="reading_item_place"),
            models.UniqueConstraint(fields=["reading", "execution"], name="reading_item_once"),
        ]

    def __str__(self) -> str:
        return f"Conversation {self.position} of {self.reading_id}"


class NoteGroup(models.Model):
    """What goes wrong in the same way: a name for some notes, and the check that finds it.

    A removed group keeps its row, so that it can be restored. `criterion` is what the check asks
    for, `draft` the run in which a judge proposed it, `suite` whose checks it is to join. `trial` are
    the runs that tried it on conversations that were read; `assertion` is the check that was saved.
    """

    reading = models.ForeignKey(Reading, models.CASCADE, related_name="groups", db_index=False)
    name = models.CharField(max_length=MAX_GROUP)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True)
    criterion = models.TextField(blank=True)
    suite = models.ForeignKey(Suite, models.SET_NULL, null=True, related_name="+")
    draft = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="+")
    trial = models.UUIDField(null=True)
    assertion = models.ForeignKey(Assertion, models.SET_NULL, null=True, related_name="+")

    class Meta:
        default_permissions = ()
        verbose_name = "group of notes"
        indexes = [models.Index(fields=["reading"], name="note_groups")]
        constraints = [
            models.UniqueConstraint(
                fields=["reading", "name"],
                name="note_group_unique",
                condition=Q(removed_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return self.name


class GroupRiseManager(models.Manager["GroupRise"]):
    """All rises."""

    def current(self) -> models.QuerySet["GroupRise"]:
        """Return those that are not over, of groups that are still followed."""
        rows = self.filter(ended_at=None, group__removed_at=None, group__assertion__isnull=False)
        return rows.select_related("group__reading__conversation_set")


class GroupRise(models.Model):
    """A group that grew beyond chance: found once, and over when its share is as before.

    `failed` of `total` conversations did not meet its check when it was found, `failed_before` of
    `total_before` in the gradings before. `topics` are those in which it grew.
    """

    group = models.ForeignKey(NoteGroup, models.CASCADE, related_name="rises")
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="+")
    example = models.ForeignKey(Execution, models.SET_NULL, null=True, related_name="+")
    failed = models.PositiveIntegerField()
    total = models.PositiveIntegerField()
    failed_before = models.PositiveIntegerField()
    total_before = models.PositiveIntegerField()
    topics = models.JSONField(default=list)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = GroupRiseManager()

    class Meta:
        default_permissions = ()
        verbose_name = "rise of a group"
        constraints = [
            models.UniqueConstraint(
                fields=["group"], name="group_rise_one_at_a_time", condition=Q(ended_at=None)
            )
        ]

    def __str__(self) -> str:
        return f"{self.group} since {self.began_at:%Y-%m-%d}"


class ReadingNote(models.Model):
    """What one person says of a conversation: fine, or in one line what went wrong."""

    class Kind(models.TextChoices):
        FINE = "fine", "Fine"
        WRONG = "wrong", "Went wrong"
        UNSURE = "unsure", "Not sure"

    item = models.ForeignKey(ReadingItem, models.CASCADE, related_name="notes", db_index=False)
    kind = models.CharField(max_length=6, choices=Kind)
    text = models.CharField(max_length=MAX_NOTE, blank=True)
    group = models.ForeignKey(NoteGroup, models.SET_NULL, null=True, related_name="notes")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=150)  # also of deleted users
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()
        verbose_name = "note on a conversation"
        constraints = [
            models.UniqueConstraint(fields=["item", "by"], name="reading_note_unique"),
            models.CheckConstraint(
                name="reading_note_says_what_went_wrong",
                condition=Q(kind="wrong") & ~Q(text="") | ~Q(kind="wrong") & Q(group=None),
            ),
        ]

    def __str__(self) -> str:
        return self.text or self.get_kind_display()
