"""Conversations that happened outside, and were imported: sets of them, and each import."""

from collections.abc import Iterable, Mapping
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from evals_app.models.authored.suites import Suite
from evals_app.models.fields.money import UsdField
from evals_app.models.run_records.executions import Execution
from evals_app.models.run_records.runs import Run

MAX_TOPICS = 1000  # that are counted by name


class ConversationSet(models.Model):
    """Real conversations of one place, for example a help desk; later imports add to it.

    The counters are those of complete imports: `days` has the conversations of each day, "" for an
    unknown one, `topics` those with each tag.
    """

    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=100, unique=True)
    count = models.PositiveIntegerField(default=0)
    days = models.JSONField(default=dict)
    topics = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "set of real conversations"
        verbose_name_plural = "real conversations"

    def __str__(self) -> str:
        return self.name


class ConversationImport(models.Model):
    """One file that was imported into a set; its run holds the conversations that it added.

    Instead of a file it may have conversations of ours: of the `source_run` all, or those with the
    `source_verdict`; or those that someone chose, the executions with the `source_keys`.

    Until `finished_at` it is out of sight, and goes on where it was interrupted. `known` were there
    already; `changed` have an id that was there with other content, and stayed as they were;
    `repeated` are in the file twice; `continued` are what came to conversations that were there, and
    became conversations of their own. `named` has some ids of these. `masked` counts what was masked
    by kind; `losses` counts what was left out by reason, `problems` are what could not be read.

    `read_count` conversations of the file with this `digest` are done. The process with the `claim` works on it, until another one takes it over. `upload` is the name of
    a file that waits for a worker, "" if there is none; `failure` is why it cannot be imported.

    Files that are imported every day have the time that found them, `due`; by `stamp` and
    `found_digest` they are known again. What agents sent has their `inbox`.
    """

    OF_RUN = "run"  # the kind of those without a file

    conversation_set = models.ForeignKey(
        ConversationSet, models.CASCADE, related_name="imports", db_index=False
    )
    run = models.OneToOneField(Run, models.CASCADE, related_name="conversation_import")
    file_name = models.CharField(max_length=300)
    source_run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="copies")
    source_verdict = models.CharField(max_length=8, blank=True)
    source_keys = models.JSONField(default=list)
    kind = models.CharField(max_length=60)
    columns = models.JSONField(default=dict)  # what a person said about the columns of the file
    is_masked = models.BooleanField(default=True)
    masked = models.JSONField(default=dict)
    losses = models.JSONField(default=dict)
    problems = models.JSONField(default=list)
    added = models.PositiveIntegerField(default=0)
    known = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    repeated = models.PositiveIntegerField(default=0)
    continued = models.PositiveIntegerField(default=0)
    named = models.JSONField(default=dict)
    days = models.JSONField(default=dict)
    topics = models.JSONField(default=dict)
    digest = models.CharField(max_length=64, blank=True)
    read_count = models.PositiveIntegerField(default=0)
    upload = models.CharField(max_length=40, blank=True)
    failure = models.TextField(blank=True)
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    due = models.ForeignKey("DueImport", models.SET_NULL, null=True, related_name="imports")
    stamp = models.CharField(max_length=60, blank=True)
    found_digest = models.CharField(max_length=64, blank=True)
    inbox = models.ForeignKey("SpanInbox", models.SET_NULL, null=True, related_name="imports")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()  # those of sets count
        constraints = [
            models.UniqueConstraint(
                fields=["conversation_set", "file_name"],
                name="conversation_import_one_at_a_time",
                condition=models.Q(finished_at__isnull=True),
            )
        ]
        indexes = [models.Index(fields=["conversation_set", "-id"], name="conversation_imports")]

    def __str__(self) -> str:
        return self.file_name

    @property
    def is_by_worker(self) -> bool:
        """Whether a worker goes on with it, unless it has ended."""
        return bool(self.upload) or self.kind == self.OF_RUN


class ConversationGrading(models.Model):
    """What someone wants to be graded; a worker starts the runs, one for each import.

    `done` of `total` conversations are prepared. The process with the `claim` works on it, until
    another one takes it over; `failure` is why nothing can be started. Runs have its `KEYS`, so that
    none is started twice.
    """

    KEYS = "grading"

    conversation_set = models.ForeignKey(
        ConversationSet, models.CASCADE, related_name="gradings", db_index=False
    )
    suite = models.ForeignKey(Suite, models.SET_NULL, null=True, related_name="+")
    wanted = models.JSONField(default=dict)
    max_cost_usd = UsdField(null=True)
    group = models.UUIDField(default=uuid4)  # of its runs, if there are several
    total = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    failure = models.TextField(blank=True)
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()  # those of runs count
        indexes = [models.Index(fields=["conversation_set", "-id"], name="conversation_gradings")]

    def __str__(self) -> str:
        return f"Grading of {self.conversation_set}"

    def key_of(self, imported: int | str) -> str:
        """Return the key of the run that grades an import."""
        return f"{self.KEYS}:{self.pk}:{imported}"

    @property
    def runs(self) -> models.QuerySet[Run]:
        """The runs that were started."""
        return Run.objects.filter(idempotency_key__startswith=self.key_of("")).order_by("pk")


class ImportedConversation(models.Model):
    """A conversation of a set, by its id in the file; the execution has what was said.

    `digest` is that of its content before anything was masked. `topics` has one tag a line, between
    line breaks, so that a tag can be looked for. `grades` came with it, from another product.
    """

    # The constraint has the index.
    conversation_set = models.ForeignKey(
        ConversationSet, models.CASCADE, related_name="conversations", db_index=False
    )
    execution = models.OneToOneField(
        Execution, models.CASCADE, related_name="imported_conversation"
    )
    external_id = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    happened_at = models.DateTimeField(null=True)
    topics = models.TextField(blank=True)
    facts = models.JSONField(default=dict)
    grades = models.JSONField(default=list)

    class Meta:
        default_permissions = ()
        verbose_name = "imported conversation"
        constraints = [
            models.UniqueConstraint(
                fields=["conversation_set", "external_id"], name="imported_conversation_unique"
            )
        ]
        indexes = [
            models.Index(fields=["conversation_set", "-id"], name="imported_conversations"),
            models.Index(
                fields=["conversation_set", "happened_at"], name="imported_conversations_by_day"
            ),
            # Samples go by the digest.
            models.Index(
                fields=["conversation_set", "digest"], name="imported_conversations_sample"
            ),
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def topic_list(self) -> list[str]:
        return self.topics.split("\n")[1:-1]


def id_of_copy(key: int) -> str:
    """Return the id in a set of a conversation of ours, by the key of its execution."""
    return f"conversation-{key}"


def copies_of(keys: Iterable[int]) -> models.QuerySet[ImportedConversation]:
    """Return the copies in sets of real conversations of conversations of ours."""
    files = ConversationImport.objects.filter(kind=ConversationImport.OF_RUN)
    return ImportedConversation.objects.filter(
        conversation_set__in=files.values("conversation_set"),
        external_id__in=map(id_of_copy, keys),
        execution__run__in=files.values("run"),
    )


def as_topics(tags: Iterable[str]) -> str:
    """Return tags as a row has them."""
    lines = dict.fromkeys(" ".join(tag.split()) for tag in tags)
    lines.pop("", None)
    return "\n".join(["", *lines, ""]) if lines else ""


def added_up(counts: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of two counts by name; beyond MAX_TOPICS names the rest counts as `""`."""
    total = dict(counts)
    for name, count in more.items():
        key = name if name in total or len(total) < MAX_TOPICS else ""
        total[key] = total.get(key, 0) + count
    return total
