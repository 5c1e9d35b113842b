"""How often something may be done: what pages and REST count alike.

Each process of the web server counts for itself, in its memory: a count in the database would make
every read a write. A limit keeps one caller from taking the site away from others; it is no quota.
"""

import math
from threading import Lock
from typing import Any

from django.core.cache import caches
from rest_framework.settings import api_settings
from rest_framework.throttling import SimpleRateThrottle

_LOCK = Lock()


class Rate(SimpleRateThrottle):
    """At most as often as the settings say under its `scope`; None there: no limit."""

    cache = caches["throttles"]
    scope: str

    def get_rate(self) -> Any:
        return api_settings.DEFAULT_THROTTLE_RATES[self.scope]

    def allow_request(self, request: Any, view: Any) -> bool:
        with _LOCK:  # it reads, and then writes
            return super().allow_request(request, view)

    @property
    def retry_after(self) -> str:
        """Say in how many seconds to try again, as the header of this name does."""
        return str(math.ceil(self.wait() or 1))

    def counted_as(self, ident: object) -> str:
        """Name what is counted."""
        return self.cache_format % {"scope": self.scope, "ident": ident}


class RateOfPerson(Rate):
    """What one person does, with whichever tokens and on whichever pages."""

    def get_cache_key(self, request: Any, view: Any) -> str | None:
        return self.counted_as(request.user.pk) if request.user.is_authenticated else None


class Uploads(RateOfPerson):
    """Uploads of a person."""

    scope = "uploads"


class CheckTrials(RateOfPerson):
    """Checks that a person tries in the editor: each is graded in the web server."""

    scope = "check_trials"


class SpansSent(RateOfPerson):
    """Requests with spans: many agents at once may use one person's tokens."""

    scope = "spans"


class AgentTests(RateOfPerson):
    """Requests of a person to agents that are not saved yet."""

    scope = "agent_tests"


def in_minutes(seconds: float) -> str:
    """Say how long to wait: "in 3 minutes"."""
    minutes = max(1, math.ceil(seconds / 60))
    return "in 1 minute" if minutes == 1 else f"in {minutes} minutes"
