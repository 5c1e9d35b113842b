"""Real conversations that are imported every day, and the result of each time."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from evals_app.models.authored.suites import Suite
from evals_app.models.fields.money import UsdField
from evals_app.models.run_records.conversation_sets import ConversationGrading, ConversationSet
from evals_app.models.run_records.schedules import Repeating


class DailyImport(Repeating):
    """Where new conversations of a set come from, and how they are graded.

    They are in files of a `folder` or at an address (`url`), whose last answer `validators` identify,
    or neither: what agents send to the set is graded in any case.
    `columns` says by header what the columns of tables are. With `is_graded`, at most `count` of the
    new conversations are graded by `suite`, which may have been deleted since.
    """

    conversation_set = models.OneToOneField(
        ConversationSet, models.CASCADE, related_name="daily_import"
    )
    folder = models.CharField(max_length=1000, blank=True)
    url = models.CharField(max_length=2000, blank=True)
    headers = models.JSONField(default=dict)
    validators = models.JSONField(default=dict)
    columns = models.JSONField(default=dict)
    is_masked = models.BooleanField(default=True)
    is_graded = models.BooleanField(default=False)
    suite = models.ForeignKey(Suite, models.SET_NULL, null=True, related_name="+")
    count = models.PositiveIntegerField(null=True)
    max_cost_usd = UsdField(null=True)

    class Meta(Repeating.Meta):
        default_permissions = ()  # those of sets count
        constraints = [
            models.CheckConstraint(
                name="daily_import_of_a_folder_or_an_address", condition=Q(folder="") | Q(url="")
            )
        ]

    def __str__(self) -> str:
        return f"{self.conversation_set}, {self.in_words}"

    @property
    def source(self) -> str:
        """The folder or the address, or else agents."""
        return self.folder or self.url or "your agents"


class DueImport(models.Model):
    """A time at which a set was due, from looking for files to the end of grading.

    It is unique and written before anything happens. The process that works on it has it until
    `claimed_until`. `why` is why nothing was imported or graded, `problems` are about single files.
    At the end, `topics` has by topic, and for "" in all, how many of the graded conversations failed
    and how many there are; `groups` the same by the key of each group that has a check.
    """

    class State(models.TextChoices):
        DUE = "due", "Looking for files"
        IMPORTING = "importing", "Importing"
        GRADING = "grading", "Grading"
        ENDED = "ended", "Done"

    # The constraint has the index.
    daily_import = models.ForeignKey(
        DailyImport, models.CASCADE, related_name="times", db_index=False
    )
    due_at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=State, default=State.DUE)
    why = models.TextField(blank=True)
    problems = models.JSONField(default=list)
    topics = models.JSONField(default=dict)
    groups = models.JSONField(default=dict)
    grading = models.ForeignKey(ConversationGrading, models.SET_NULL, null=True, related_name="+")
    claimed_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["daily_import", "due_at"], name="due_import_unique")
        ]
        indexes = [models.Index(fields=["id"], name="due_import_open", condition=~Q(state="ended"))]

    def __str__(self) -> str:
        return f"{self.daily_import_id} at {self.due_at:%Y-%m-%d %H:%M} UTC"

    def settle(self, before: str, state: str, **noted: Any) -> bool:
        """Change the state; return whether this process did, and no other."""
        mine = DueImport.objects.filter(pk=self.pk, state=before)
        return bool(mine.update(state=state, claimed_until=None, **noted))
