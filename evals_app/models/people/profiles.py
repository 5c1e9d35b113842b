"""What people choose for themselves."""

from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import models

from evals_app.engine.specs.rhythm import time_zones


class Profile(models.Model):
    """The time zone in which a person reads times; without a row, that of the site."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="profile")
    time_zone = models.CharField(max_length=100)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.user}: {self.time_zone}"


def zone_of(person: object) -> ZoneInfo | None:
    """Return the time zone that a person has chosen; None: they have not, or it is unknown here."""
    profile = getattr(person, "profile", None)
    if profile is None or profile.time_zone not in time_zones():
        return None
    return ZoneInfo(profile.time_zone)
