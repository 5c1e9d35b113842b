"""Attachments: the content of files that users show to agents, each stored once."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.db import models
from django.utils import timezone

from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.specs.files import sha256_of

GRACE = timedelta(days=1)  # that an unused content is kept: a form may be open


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    """Contents by their SHA-256."""

    def store(self, contents: Iterable[bytes]) -> None:
        """Store contents; those already stored are marked as wanted again."""
        self.bulk_create(
            [
                Attachment(sha256=sha256_of(content), size_bytes=len(content), content=content)
                for content in contents
            ],
            batch_size=5,
            update_conflicts=True,
            unique_fields=["sha256"],
            update_fields=["wanted_at"],
        )

    def keep(self, sha256s: Iterable[str]) -> dict[str, int]:
        """Keep contents that are about to be named; return the sizes of those that are stored."""
        wanted = set(sha256s)
        now = timezone.now()
        # Most were kept a moment ago, and without a write nothing waits for a lock.
        self.filter(pk__in=wanted, wanted_at__lt=now - GRACE / 2).update(wanted_at=now)
        return dict(self.filter(pk__in=wanted).values_list("pk", "size_bytes"))

    def only_unused(self) -> "AttachmentQuerySet":
        """Return the contents that may be deleted unless something refers to them."""
        return self.filter(wanted_at__lt=timezone.now() - GRACE)

    def read(self, sha256: str) -> bytes:
        """Return a content, or raise ConfigurationError if it is not stored."""
        content = self.filter(pk=sha256).values_list("content", flat=True).first()
        if content is None:
            raise ConfigurationError(f"The file {sha256[:12]} is not stored.")
        return bytes(content)

    def by_name(self, sha256s: Mapping[str, str]) -> dict[str, bytes]:
        """Return contents by the names of their SHA-256s; missing ones are left out."""
        stored = dict(self.filter(pk__in=set(sha256s.values())).values_list("pk", "content"))
        return {name: bytes(stored[key]) for name, key in sha256s.items() if key in stored}


class Attachment(models.Model):
    """A content by its SHA-256, which never changes; only `wanted_at`, its last use, does."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    size_bytes = models.PositiveIntegerField()
    content = models.BinaryField()
    wanted_at = models.DateTimeField(auto_now_add=True)

    objects = AttachmentQuerySet.as_manager()

    def __str__(self) -> str:
        return self.sha256[:12]
