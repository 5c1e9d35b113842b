"""Who is notified when runs end, and what was sent to them."""

import secrets
import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast, Coalesce
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.utils.crypto import salted_hmac

from evals_app.engine.basics.signature import secret_text
from evals_app.engine.network.addresses import read_url
from evals_app.models.authored.suites import Suite
from evals_app.models.fields.sealed import SealedText, is_sealed_by_newest
from evals_app.models.run_records.runs import Run


def new_nonce() -> str:
    """Return a text that no one can guess."""
    return secrets.token_hex(16)


class Wishes(models.Model):
    """Which ends of runs someone wants to be notified of."""

    on_end = models.BooleanField("a run ends", default=False)
    on_failure = models.BooleanField("a run does not pass", default=True)
    on_worse = models.BooleanField("a case is worse than in the released version", default=True)
    on_growth = models.BooleanField(
        "something goes wrong more often in real conversations", default=True
    )

    class Meta:
        abstract = True

    def event_of(self, *, has_failed: bool, is_worse: bool) -> str:
        """Return the strongest event of an ending that they want; empty if there is none."""
        if self.on_worse and is_worse:
            return "worse"
        if self.on_failure and has_failed:
            return "failed"
        return "ended" if self.on_end else ""


class Webhook(Wishes):
    """An address that gets messages. The address may be a secret: it is encrypted, and pages show only its host.

    The signing key is derived from the secret key of the site and `nonce`, so the database alone
    does not contain it.
    """

    class Format(models.TextChoices):
        JSON = "json", "JSON, signed (Standard Webhooks)"
        SLACK = "slack", "Message for Slack or a similar chat"

    name = models.CharField(max_length=200)
    url = SealedText()  # empty where its key is lost
    format = models.CharField(max_length=5, choices=Format, default=Format.JSON)
    suites = models.ManyToManyField(Suite, blank=True, related_name="+")
    is_enabled = models.BooleanField(default=True)
    nonce = models.CharField(max_length=32, default=new_nonce, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name

    @property
    def host(self) -> str:
        """Where messages go; empty if no secret key of the site opens the address."""
        return read_url(self.url).authority if self.url else ""

    @property
    def key(self) -> bytes:
        """The key that signs its messages."""
        return salted_hmac("evals_app.webhook", self.nonce, algorithm="sha256").digest()

    @property
    def secret(self) -> str:
        return secret_text(self.key)

    def renew_secret(self) -> None:
        """Replace the key."""
        self.nonce = new_nonce()


def seal_addresses_again() -> int:
    """Encrypt addresses with the newest secret key where an older one did; return how many.

    Those that no key opens stay as they are.
    """
    stored = Webhook.objects.annotate(stored=Cast("url", models.TextField()))
    old = [hook for hook in stored if hook.url and not is_sealed_by_newest(hook.stored)]
    for hook in old:
        hook.save(update_fields=["url"])
    return len(old)


@receiver(pre_delete, sender=Suite)
def _disable_webhooks_without_suites(
    instance: Suite, origin: Suite | models.QuerySet[Suite], **_: object
) -> None:
    """Disable webhooks about these suites alone: without suites they would be notified of all."""
    gone: Any = [origin.pk] if isinstance(origin, Suite) else origin.values("pk")
    about_others = Webhook.suites.through.objects.exclude(suite__in=gone).values("webhook")
    hooks = Webhook.objects.filter(suites=instance).exclude(pk__in=about_others)
    hooks.update(is_enabled=False)


class MailWish(Wishes):
    """Which e-mails a person asked for: about a suite, or without one about the runs they start."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    suite = models.ForeignKey(Suite, models.CASCADE, null=True, related_name="+")

    class Meta:
        default_permissions = ()  # people change their own
        constraints = [
            # In a unique constraint, NULL suites would differ from each other.
            models.UniqueConstraint("person", Coalesce("suite", 0), name="mail_wish_unique")
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.suite or 'runs they start'}"


class Delivery(models.Model):
    """A message to a webhook or a person, from the transaction that ended its run until it arrived or was given up.

    `body` is written by the first attempt, so that every attempt sends the same. While a process
    sends it, `next_at` is the time after which another one may.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Given up"
        DROPPED = "dropped", "Dropped"

    webhook = models.ForeignKey(Webhook, models.CASCADE, null=True, related_name="deliveries")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    run = models.ForeignKey(Run, models.CASCADE, null=True, related_name="deliveries")
    message_id = models.UUIDField(default=uuid.uuid4, editable=False)
    event = models.CharField(max_length=6, blank=True)  # blank until it is first sent
    subject = models.CharField(max_length=300, blank=True)  # of an e-mail
    body = models.TextField(blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True)
    status_code = models.PositiveSmallIntegerField(null=True)  # of the last attempt
    answer = models.TextField(blank=True)
    problem = models.TextField(blank=True)
    attempted_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "deliveries"
        default_permissions = ()  # people who see the webhook see this
        constraints = [
            models.CheckConstraint(
                name="delivery_has_one_receiver",
                condition=Q(webhook__isnull=True) ^ Q(person__isnull=True),
            )
        ]
        indexes = [
            models.Index(fields=["next_at"], name="delivery_due", condition=Q(state="waiting")),
            models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.event or 'message'} {self.message_id}"
