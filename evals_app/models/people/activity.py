"""Who did what on this site: one row for each act, beside the histories of objects.

An entry in the history of an object becomes an act by itself (`note_entry`); `note_act` is for the rest:
sign-ins, downloads, secrets that were shown, and acts that leave many entries, such as imports.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.admin.models import ADDITION, DELETION, LogEntry
from django.db import models
from django.utils import timezone
from django.utils.text import capfirst

# The username of what is done on the command line.
COMMAND_LINE = "command-line"
_MAX_NAME = 200


class ActivityManager(models.Manager["Activity"]):
    """Acts, found by what people ask for."""

    def about(self, words: str) -> "models.QuerySet[Activity]":
        """Return acts with the object of this number, or of exactly this name."""
        column = "object_id" if words.isdecimal() else "object_name"
        return self.filter(**{column: words})

    def since(self, at: datetime) -> models.Q:
        """Return the condition on keys of acts at this time or later: they stay in their order."""
        first = self.filter(at__gte=at).order_by("at", "pk").values_list("pk", flat=True).first()
        return models.Q(pk__gte=first) if first else models.Q(pk__in=())

    def before(self, at: datetime) -> models.Q:
        """Return the condition on keys of acts before this time."""
        last = self.filter(at__lt=at).order_by("-at", "-pk").values_list("pk", flat=True).first()
        return models.Q(pk__lte=last) if last else models.Q(pk__in=())


class Activity(models.Model):
    """One act: who, when, from where, what, and with which object; the names stay as they were."""

    class Kind(models.TextChoices):
        ADDED = "added", "Added"
        CHANGED = "changed", "Changed"
        DELETED = "deleted", "Deleted or removed"
        IMPORTED = "imported", "Imported"
        RUN = "run", "Started, stopped or kept a run"
        DECIDED = "decided", "Reviewed or decided"
        DOWNLOADED = "downloaded", "Downloaded"
        SECRET = "secret", "Saw a secret"
        SIGNED_IN = "signed_in", "Signed in"
        SIGN_IN_FAILED = "sign_in_failed", "Failed to sign in"
        SIGNED_OUT = "signed_out", "Signed out"

    class Origin(models.TextChoices):
        PAGE = "page", "Page"
        REST = "rest", "REST"
        MCP = "mcp", "MCP"
        COMMAND = "command", "Command"
        WORKER = "worker", "Worker"

    SIGN_INS = (Kind.SIGNED_IN, Kind.SIGN_IN_FAILED, Kind.SIGNED_OUT)

    at = models.DateTimeField(default=timezone.now)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, db_index=False, related_name="+"
    )
    by_name = models.CharField("person", max_length=150)
    kind = models.CharField(max_length=20, choices=Kind)
    origin = models.CharField("from", max_length=10, choices=Origin)
    token = models.CharField(max_length=200, blank=True)
    object_type = models.CharField(max_length=100, blank=True)
    object_id = models.CharField(max_length=100, blank=True)
    object_name = models.CharField(max_length=_MAX_NAME, blank=True)
    text = models.TextField()

    objects = ActivityManager()

    class Meta:
        verbose_name = "act"  # of people
        default_permissions = ("view",)
        # Read newest first: by the key, which grows with time.
        indexes = [
            models.Index(fields=["at", "id"], name="activity_by_time"),
            models.Index(fields=["by_name", "kind", "id"], name="activity_by_name_and_kind"),
            models.Index(fields=["kind", "id"], name="activity_by_kind"),
            models.Index(fields=["origin", "id"], name="activity_by_origin"),
            models.Index(fields=["object_type", "id"], name="activity_by_type"),
            models.Index(fields=["object_id", "id"], name="activity_by_object"),
            models.Index(fields=["object_name", "id"], name="activity_by_object_name"),
            models.Index(fields=["user"], name="activity_of_account"),
        ]

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """What was done, in one line."""
        return f"{self.object_name}: {self.text}" if self.object_name else self.text


@dataclass
class Source:
    """From where something is done: a page, REST with a token, ...; and how many acts it left."""

    origin: Activity.Origin
    token: str = ""
    acts: int = 0


_source: ContextVar[Source] = ContextVar("source_of_acts")


def source_of_acts() -> Source:
    """Return from where something is done now; outside of requests it is a command."""
    return _source.get(Source(Activity.Origin.COMMAND))


@contextmanager
def acts_from(origin: Activity.Origin, token: str = "") -> Iterator[Source]:
    """Note all acts within it as coming from there."""
    source = Source(origin, token)
    before = _source.set(source)
    try:
        yield source
    finally:
        _source.reset(before)


def note_act(kind: str, text: str, *, user: Any, row: Any = None, name: str = "") -> None:
    """Note an act of a user, or of a `name` without an account; `row` is what it was done with."""
    source = source_of_acts()
    source.acts += 1
    Activity.objects.create(
        user_id=getattr(user, "pk", None),
        by_name=(user.get_username() if user else name or COMMAND_LINE)[:150],
        kind=kind,
        origin=source.origin,
        token=source.token,
        text=text,
        **_object(row),
    )


def note_nothing() -> None:
    """Note no act: what was written was needed for a price only, and was removed."""
    source_of_acts().acts += 1


def _object(row: Any) -> dict[str, str]:
    if row is None:
        return {}
    kind = row._meta.model_name  # noqa: SLF001 - the documented API of models
    return {"object_type": kind, "object_id": str(row.pk), "object_name": str(row)[:_MAX_NAME]}


_KINDS = {ADDITION: Activity.Kind.ADDED, DELETION: Activity.Kind.DELETED}
_KINDS_OF_CHANGES = {
    "run": Activity.Kind.RUN,
    "settlement": Activity.Kind.RUN,
    "execution": Activity.Kind.DECIDED,
    "reviewtask": Activity.Kind.DECIDED,
}


def note_entry(*, instance: LogEntry, created: bool, **_: object) -> None:
    """Note the act of an entry in the history of an object; called after one is saved."""
    if not created:
        return
    source = source_of_acts()
    source.acts += 1
    model = instance.content_type.model if instance.content_type else ""
    kind = getattr(instance, "kind_of_act", "") or _KINDS.get(instance.action_flag)
    Activity.objects.create(
        at=instance.action_time,
        user_id=instance.user_id,
        by_name=instance.user.get_username()[:150],
        kind=kind or _KINDS_OF_CHANGES.get(model, Activity.Kind.CHANGED),
        origin=source.origin,
        token=source.token,
        object_type=model,
        object_id=instance.object_id or "",
        object_name=instance.object_repr,
        text=capfirst(instance.get_change_message() or _words(instance)),
    )


def _words(entry: LogEntry) -> str:
    return {ADDITION: "Added.", DELETION: "Deleted."}.get(entry.action_flag, "Changed.")


# Signing in, whichever way


def note_sign_in(*, user: Any, **_: object) -> None:
    """Note that someone signed in."""
    note_act(Activity.Kind.SIGNED_IN, "Signed in.", user=user)


def note_failed_sign_in(*, credentials: dict[str, Any], **_: object) -> None:
    """Note that someone failed to sign in, under the name that was typed."""
    name = str(credentials.get("username") or "")
    failed = Activity.Kind.SIGN_IN_FAILED
    note_act(failed, "Failed to sign in.", user=None, name=name or "without a name")


def note_sign_out(*, user: Any, **_: object) -> None:
    """Note that someone signed out."""
    if user is not None:
        note_act(Activity.Kind.SIGNED_OUT, "Signed out.", user=user)
