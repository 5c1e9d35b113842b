"""What a site masks in real conversations beside what everyone does."""

from django.db import models
from django.db.models.functions import Now

MAX_NAME = 40


class MaskingPattern(models.Model):
    """A pattern of RE2, and the word in its masks: `[contract 1]`."""

    name = models.CharField(max_length=MAX_NAME, unique=True)
    pattern = models.CharField(max_length=1000)
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "masking pattern"

    def __str__(self) -> str:
        return self.name
