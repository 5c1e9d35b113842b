"""Which account of the company's identity provider belongs to which person."""

from django.conf import settings
from django.core import signing
from django.db import models

_CONNECT_WITHIN_S = 3600
_SALT = "connect-company-account"


class CompanyAccount(models.Model):
    """An account at an identity provider, by the only two claims that never change."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="company_accounts"
    )
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="company_account")
        ]

    def __str__(self) -> str:
        return f"{self.person} at {self.issuer}"


def connect_token(session_key: str | None) -> str:
    """Return what only the profile page in this session knows.

    Without it, a link on another site could connect someone's account with an account of its author.
    """
    return signing.dumps(session_key, salt=_SALT)


def is_connect_token(token: str, session_key: str | None) -> bool:
    """Whether this token was made for this session, not long ago."""
    try:
        made_for = signing.loads(token, salt=_SALT, max_age=_CONNECT_WITHIN_S)
    except signing.BadSignature:
        return False
    return made_for is not None and made_for == session_key
