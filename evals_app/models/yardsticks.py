"""Yardsticks: by what judges grade, so that their grades can be compared with people's."""

from django.db import models


class Yardstick(models.Model):
    """A criterion in one wording, with the judge that applies it and the way it is asked.

    Whatever changes answers is part of it: another wording, scale, model or version of the prompt is
    another yardstick. `is_item`: it is one bullet of a rubric.
    """

    digest = models.CharField(max_length=32, unique=True)
    type = models.CharField(max_length=40)
    criterion = models.TextField()
    scale = models.CharField(max_length=20, blank=True)
    judge = models.TextField()  # see reports.judges
    prompt_version = models.PositiveSmallIntegerField()
    is_item = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()  # whoever sees executions sees them

    def __str__(self) -> str:
        return self.criterion
