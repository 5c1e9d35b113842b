"""Sessions: Django's, in a table that knows whose each one is and when it was last used."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac

from evals_app.models.people.browsers import browser_in_words

_SIGN_IN = "signed_in"  # in a session: when, from where and with which browser it began
NOTED_EVERY = timedelta(minutes=1)  # otherwise each request would write


class SignedInSession(AbstractBaseSession):
    """A session; of no one before they sign in."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="sessions"
    )
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta(AbstractBaseSession.Meta):
        default_permissions = ()

    @classmethod
    def get_session_store_class(cls) -> type[DatabaseStore]:
        return SessionStore


class SessionStore(DatabaseStore):
    """Django's store, which writes down whose a session is: settings.SESSION_ENGINE."""

    seen_at: datetime | None = None

    @classmethod
    def get_model_class(cls) -> type[AbstractBaseSession]:
        return SignedInSession

    def create_model_instance(self, data: dict[str, Any]) -> SignedInSession:
        row = super().create_model_instance(data)
        assert isinstance(row, SignedInSession)  # noqa: S101 - by get_model_class
        row.person_id = data.get(SESSION_KEY)
        return row

    def load(self) -> dict[str, Any]:
        found = SignedInSession.objects.filter(session_key=self.session_key)
        row = found.filter(expire_date__gt=timezone.now()).first()
        if row is None:
            self._session_key = None  # as Django does: a key that was made up is never used
        self.seen_at = row.seen_at if row else None
        return self.decode(row.session_data) if row else {}

    def note_sign_in(self, *, address: str | None, browser: str) -> None:
        """Write down when and how a person signed in."""
        self[_SIGN_IN] = {"at": time.time(), "address": address or "", "browser": browser[:300]}

    def note_use(self) -> None:
        """Write down that the person is here, at most once a minute."""
        now = timezone.now()
        if self.seen_at is None or now - self.seen_at < NOTED_EVERY:
            return
        # Only this column: two requests may change what is in the session at the same time.
        SignedInSession.objects.filter(session_key=self.session_key).update(seen_at=now)

    @property
    def ended_after(self) -> timedelta | None:
        """The time that ended it: without its person, or since they signed in; None while it lasts."""
        return _ended_after(self.seen_at, self.get(_SIGN_IN))


def _ended_after(seen_at: datetime | None, sign_in: dict[str, Any] | None) -> timedelta | None:
    now, longest = timezone.now(), timedelta(seconds=settings.SESSION_COOKIE_AGE)
    if sign_in and now - _time(sign_in["at"]) > longest:
        return longest
    return settings.IDLE if seen_at and now - seen_at > settings.IDLE else None


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@dataclass(frozen=True, slots=True)
class OpenSession:
    """What a page shows of a session. `mark` replaces its key, which would let anyone in."""

    mark: str
    key: str
    browser: str
    address: str
    began_at: datetime | None
    seen_at: datetime


def open_sessions(person: User) -> list[OpenSession]:
    """Return the sessions in which a person is signed in, the last used first."""
    rows = SignedInSession.objects.filter(person=person, expire_date__gt=timezone.now())
    found = []
    for row in rows.order_by("-seen_at"):
        data = row.get_decoded()
        sign_in = data.get(_SIGN_IN)
        if not _is_valid(person, data) or _ended_after(row.seen_at, sign_in):
            continue
        told = sign_in or {"at": None, "address": "", "browser": ""}
        found.append(
            OpenSession(
                mark=_mark(row.session_key),
                key=row.session_key,
                browser=browser_in_words(told["browser"]),
                address=told["address"],
                began_at=_time(told["at"]) if told["at"] else None,
                seen_at=row.seen_at,
            )
        )
    return found


def _is_valid(person: User, data: dict[str, Any]) -> bool:
    """Whether the password is still the one that it began with."""
    known = [person.get_session_auth_hash(), *person.get_session_auth_fallback_hash()]
    return data.get("_auth_user_hash") in known


def _mark(key: str) -> str:
    return salted_hmac("session", key).hexdigest()[:20]


def end_sessions(person: User, *, mark: str = "", but: str | None = None) -> int:
    """End the sessions of a person: the one with a mark, or all but that with a key."""
    keys = [
        session.key
        for session in open_sessions(person)
        if session.key != but and mark in {"", session.mark}
    ]
    SignedInSession.objects.filter(session_key__in=keys).delete()
    return len(keys)
