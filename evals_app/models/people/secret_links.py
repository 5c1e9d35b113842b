"""Links whose secret token opens a page without signing in."""

import secrets
from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.crypto import constant_time_compare, salted_hmac


class SecretLink(models.Model):
    """A link that someone made. Its token is stored as a digest only, so it is shown once."""

    purpose: str  # of its digests: a token of one kind is none of another
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)
    made_at = models.DateTimeField()

    class Meta:
        abstract = True
        default_permissions = ()

    @property
    def bound_to(self) -> tuple[str, ...]:
        """Return what ends the link when it changes."""
        raise NotImplementedError

    @property
    def ends_at(self) -> datetime:
        """Return until when it works."""
        raise NotImplementedError

    def has_token(self, token: str) -> bool:
        """Whether this is its token, which may have ended."""
        return constant_time_compare(self.digest, self._digest(token))

    def new_token(self) -> str:
        """Replace its token; the earlier one stops working when it is saved."""
        token = secrets.token_urlsafe(32)
        self.digest = self._digest(token)
        return token

    def _digest(self, token: str) -> str:
        parts = "\n".join([token, *self.bound_to])
        return salted_hmac(self.purpose, parts, algorithm="sha256").hexdigest()
