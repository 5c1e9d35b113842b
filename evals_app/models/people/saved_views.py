"""Searches and filters of lists that people keep under a name."""

from django.conf import settings
from django.db import models


class SavedView(models.Model):
    """A search and filters of a list, as the part of its address after `?`; for one person."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="views")
    list = models.CharField(max_length=100)  # the label of its rows' model
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000)

    class Meta:
        default_permissions = ()  # people who may see the list may keep views of it
        constraints = [
            models.UniqueConstraint(fields=["person", "list", "name"], name="view_by_name")
        ]

    def __str__(self) -> str:
        return self.name
