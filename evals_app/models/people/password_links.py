"""Links with which people set a password: one for each person, made by someone who may manage them."""

from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from evals_app.models.people.roles import may_manage
from evals_app.models.people.secret_links import SecretLink

LASTS = timedelta(days=7)
LASTS_WITH_PASSWORD = timedelta(hours=24)  # it could take over an account that is in use


class PasswordLink(SecretLink):
    """The one link of a person that works.

    It ends when it is used or replaced, when the person signs in or changes their password or
    e-mail, and when its maker may no longer manage the person: links outlive neither rights nor
    makers.
    """

    purpose = "password link"
    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="password_link"
    )

    def __str__(self) -> str:
        return f"Link for {self.person}, made by {self.made_by}"

    @classmethod
    def make(cls, person: User, *, by: object) -> tuple[Self, str]:
        """Replace the link of a person; return it and its token."""
        token = (made := cls(person=person)).new_token()
        columns = {"made_by": by, "digest": made.digest, "made_at": timezone.now()}
        link, _ = cls.objects.update_or_create(person=person, defaults=columns)
        return link, token

    @property
    def bound_to(self) -> tuple[str, ...]:
        return (str(self.person.pk), self.person.password, self.person.email)

    @property
    def ends_at(self) -> datetime:
        person = self.person
        return self.made_at + (LASTS_WITH_PASSWORD if person.has_usable_password() else LASTS)

    def fits(self, token: str) -> bool:
        """Whether this is the token of the link, and the link still works."""
        person, maker = self.person, self.made_by
        return (
            self.has_token(token)
            and timezone.now() < self.ends_at
            and (person.last_login is None or person.last_login < self.made_at)
            and maker.is_active
            and maker.has_perm("auth.change_user")
            and may_manage(maker, person)
        )
