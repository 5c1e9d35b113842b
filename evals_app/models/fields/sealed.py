"""Texts that are secrets: the database has them encrypted, with a key made from the secret key of the site."""

import base64
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.utils.crypto import salted_hmac

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cryptography.fernet import Fernet, MultiFernet

_PURPOSE = "evals_app.sealed"


class LostText(str):
    """In place of a text that no secret key of the site opens: empty, and stored unchanged."""

    __slots__ = ("sealed",)
    sealed: str

    @classmethod
    def of(cls, sealed: str) -> "LostText":
        """Keep a stored text that cannot be opened."""
        lost = cls()
        lost.sealed = sealed
        return lost


class SealedText(models.TextField):  # type: ignore[type-arg]  # it takes none when it runs
    """A text that is encrypted in the database. Old secret keys open it, the newest seals it."""

    def get_prep_value(self, value: Any) -> Any:
        """Encrypt it; what could not be opened stays as it is."""
        if isinstance(value, LostText):
            return value.sealed
        return value if value is None else seal(str(value))

    def from_db_value(self, value: str | None, *_: object) -> str | None:
        """Decrypt it."""
        return value if value is None else unseal(value)


def seal(text: str) -> str:
    """Encrypt a text with the newest secret key."""
    return _keys().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Decrypt a text with whichever secret key it was encrypted."""
    from cryptography.fernet import InvalidToken  # noqa: PLC0415 - most processes never need it

    try:
        return _keys().decrypt(sealed).decode()
    except InvalidToken:
        return LostText.of(sealed)


def is_sealed_by_newest(sealed: str) -> bool:
    """Whether the newest secret key opens it."""
    from cryptography.fernet import InvalidToken  # noqa: PLC0415 - as above

    try:
        next(_each_key()).decrypt(sealed)
    except InvalidToken:
        return False
    return True


def _keys() -> "MultiFernet":
    from cryptography.fernet import MultiFernet  # noqa: PLC0415 - as above

    return MultiFernet(_each_key())


def _each_key() -> "Iterator[Fernet]":
    """Return a key for each secret key, the newest first."""
    from cryptography.fernet import Fernet  # noqa: PLC0415 - as above

    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        digest = salted_hmac(_PURPOSE, "", secret=secret, algorithm="sha256").digest()
        yield Fernet(base64.urlsafe_b64encode(digest))
