"""What people choose for themselves."""

from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.db import models


class Profile(models.Model):
    """The time zone in which a person reads times; without a row, that of the site."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="profile")
    time_zone = models.CharField(max_length=100)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.user}: {self.time_zone}"


@cache
def time_zones() -> tuple[str, ...]:
    """Return the names of time zones, as in Europe/Zurich."""
    places = (name for name in available_timezones() if "/" in name)
    return ("UTC", *sorted(name for name in places if not name.startswith(("Etc/", "SystemV/"))))


def zone_of(person: Any) -> ZoneInfo | None:
    """Return the time zone that a person has chosen; None: they have not, or it is unknown here."""
    profile = getattr(person, "profile", None)
    if profile is None or profile.time_zone not in time_zones():
        return None
    return ZoneInfo(profile.time_zone)
