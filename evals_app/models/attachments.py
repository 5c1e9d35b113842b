"""Attachments: the content of files that users show to agents, each stored once."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.db import models
from django.utils import timezone

from evals_app.engine.errors import ConfigurationError
from evals_app.engine.files import sha256_of

GRACE = timedelta(days=1)  # that a content stays though nothing names it: a form may be open


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    """Contents by their SHA-256."""

    def store(self, contents: Iterable[bytes]) -> None:
        """Store contents; what is stored already only counts as wanted again."""
        rows = [
            Attachment(sha256=sha256_of(each), size_bytes=len(each), content=each)
            for each in contents
        ]
        self.bulk_create(
            rows,
            batch_size=5,
            update_conflicts=True,
            unique_fields=["sha256"],
            update_fields=["wanted_at"],
        )

    def keep(self, sha256s: Iterable[str]) -> dict[str, int]:
        """Keep contents that somebody is about to name; give how many bytes those stored have."""
        wanted = set(sha256s)
        now = timezone.now()
        # Most were kept a moment ago; who writes nothing waits for nobody.
        self.filter(pk__in=wanted, wanted_at__lt=now - GRACE / 2).update(wanted_at=now)
        return dict(self.filter(pk__in=wanted).values_list("pk", "size_bytes"))

    def forgotten(self) -> "AttachmentQuerySet":
        """Give the contents that may go, unless something names them."""
        return self.filter(wanted_at__lt=timezone.now() - GRACE)

    def read(self, sha256: str) -> bytes:
        """Give a content.

        Raises:
            ConfigurationError: it is not stored.
        """
        content = self.filter(pk=sha256).values_list("content", flat=True).first()
        if content is None:
            message = f"The file {sha256[:12]} is not stored."
            raise ConfigurationError(message)
        return bytes(content)

    def by_name(self, sha256s: Mapping[str, str]) -> dict[str, bytes]:
        """Give contents by the names of their SHA-256s; what is not stored is left out."""
        stored = dict(self.filter(pk__in=set(sha256s.values())).values_list("pk", "content"))
        return {name: bytes(stored[key]) for name, key in sha256s.items() if key in stored}


class Attachment(models.Model):
    """A content, known by its SHA-256; turns and snapshots name it, so it is never changed.

    Only `wanted_at` is: when somebody last stored it, or was about to name it.
    """

    sha256 = models.CharField(max_length=64, primary_key=True)
    size_bytes = models.PositiveIntegerField()
    content = models.BinaryField()
    wanted_at = models.DateTimeField(auto_now_add=True)

    objects = AttachmentQuerySet.as_manager()

    def __str__(self) -> str:
        return self.sha256[:12]
