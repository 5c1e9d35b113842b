"""Links with which a developer fills in an agent, without an account."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.utils import timezone

from evals_app.models.people.secret_links import SecretLink

LASTS = timedelta(days=14)


class DeveloperLink(SecretLink):
    """The one link of an agent that waits for its developer.

    It ends when it is answered, withdrawn or replaced, when a person fills in the agent, and when
    its maker may no longer add agents.
    """

    purpose = "developer link"
    agent = models.OneToOneField("Agent", models.CASCADE, related_name="developer_link")
    answered_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"Link for the developer of {self.agent}, made by {self.made_by}"

    @classmethod
    def make(cls, agent: models.Model, *, by: object) -> tuple[Self, str]:
        """Replace the link of an agent; return it and its token."""
        token = (made := cls(agent=agent)).new_token()
        columns = {"made_by": by, "digest": made.digest, "made_at": timezone.now()}
        link, _ = cls.objects.update_or_create(agent=agent, defaults=columns)
        return link, token

    @property
    def bound_to(self) -> tuple[str, ...]:
        return (str(self.agent.pk),)

    @property
    def ends_at(self) -> datetime:
        return self.made_at + LASTS

    @property
    def has_ended(self) -> bool:
        return timezone.now() >= self.ends_at

    @property
    def is_open(self) -> bool:
        """Whether a developer may answer now."""
        maker = self.made_by
        return (
            self.answered_at is None
            and not self.has_ended
            and self.agent.is_waiting
            and maker.is_active
            and maker.has_perm("evals_app.add_agent")
        )
