"""Tokens for the REST API."""

import hashlib
import secrets
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class ApiToken(models.Model):
    """A key to the REST API. Only its SHA-256 is stored, so it is shown once."""

    class Scope(models.TextChoices):
        SPANS = "spans", "Send spans"
        CONNECT = "connect", "Connect a computer to an agent"
        READ = "read", "Read"
        RUN = "run", "Read and run"
        AUTHOR = "author", "Read, run and write"

    name = models.CharField(max_length=200, help_text="What it is used for, for example CI.")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    scope = models.CharField(max_length=10, choices=Scope, default=Scope.READ)
    requires_if_match = models.BooleanField(
        "requires If-Match",
        default=False,
        help_text="Refuse changes without the header If-Match, so that no edit is overwritten unnoticed.",
    )
    prefix = models.CharField(max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @classmethod
    def issue(
        cls,
        *,
        name: str,
        user: models.Model,
        scope: str,
        expires_at: datetime | None = None,
        requires_if_match: bool = False,
    ) -> tuple["ApiToken", str]:
        """Create a token; the returned text is not stored."""
        text = f"ew_{secrets.token_urlsafe(32)}"
        token = cls.objects.create(
            name=name,
            user=user,
            scope=scope,
            prefix=text[:8],
            digest=cls.digest_of(text),
            expires_at=expires_at,
            requires_if_match=requires_if_match,
        )
        return token, text

    @classmethod
    def digest_of(cls, text: str) -> str:
        # The token is 256 random bits, so a plain hash is enough: there is nothing to guess.
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def valid(cls, text: str) -> "ApiToken | None":
        """Find the token if it exists and has not expired."""
        live = Q(expires_at__isnull=True) | Q(expires_at__gt=Now())
        return cls.objects.filter(live, digest=cls.digest_of(text)).select_related("user").first()
