"""Who comes in from outside: people whom the company or a proxy vouches for, and their roles."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.db import transaction

from evals_app.admin.people.invitations import unused_name
from evals_app.models import CompanyAccount
from evalsite.sign_in.variables import EVERYBODY

# Of sessions that no password began: it reads their people.
BACKEND = "evalsite.sign_in.page.WithProfiles"


class NotAdmittedError(Exception):
    """Someone may not come in; the message says why, to them."""


@dataclass(frozen=True)
class Visitor:
    """What is known of someone who comes in; everything but the groups may be empty."""

    username: str
    name: str
    email: str
    groups: tuple[str, ...]


def admit(issuer: str, subject: str, visitor: Visitor, known: Callable[[], User | None]) -> User:
    """Return who comes in, with the roles of their groups; a newcomer gets an account.

    Someone who came before is found by issuer and subject, others by `known`.

    Raises:
        NotAdmittedError: their account is switched off, or none of their groups has a role here.
    """
    key = {"issuer": issuer, "subject": subject}
    account = CompanyAccount.objects.filter(**key).select_related("person").first()
    if account is not None:
        return _let_in(account.person, visitor)
    with transaction.atomic():  # nothing is left of someone who is refused
        person = _let_in(known(), visitor)
        CompanyAccount.objects.create(person=person, **key)
    return person


def _let_in(person: User | None, visitor: Visitor) -> User:
    roles = _roles_of(visitor.groups)
    if person is None:
        if not roles:
            raise NotAdmittedError(
                "You have no account on this site, and none of your groups opens it. Ask an"
                " administrator to invite you."
            )
        person = _new_person(visitor)
    if not (person.is_active and person.is_staff):
        raise NotAdmittedError("Your account cannot open this site. Ask an administrator.")
    if settings.GROUP_ROLES:
        _give(person, roles)
        if not (person.is_superuser or person.groups.exists()):
            raise NotAdmittedError(
                "None of your groups opens this site any more. Ask an administrator."
            )
    return person


def _roles_of(groups: Iterable[str]) -> set[str]:
    """Return the roles of groups that this site has."""
    meant = {role for group in (EVERYBODY, *groups) for role in settings.GROUP_ROLES.get(group, ())}
    return set(Group.objects.filter(name__in=meant).values_list("name", flat=True))


def _new_person(visitor: Visitor) -> User:
    person = User(
        username=unused_name(visitor.username or visitor.email.partition("@")[0] or visitor.name),
        first_name=visitor.name[:150],
        email=visitor.email,
        is_staff=True,
    )
    person.set_unusable_password()
    person.save()
    return person


@transaction.atomic
def _give(person: User, roles: set[str]) -> None:
    """Give the roles of a person's groups, and take those that only other groups have.

    Roles that no group has are left alone: an admin gave them.
    """
    managed = {role for given in settings.GROUP_ROLES.values() for role in given}
    had = set(person.groups.filter(name__in=managed).values_list("name", flat=True))
    if had == roles:
        return
    person.groups.remove(*Group.objects.filter(name__in=had - roles))
    person.groups.add(*Group.objects.filter(name__in=roles - had))
    now, before = (", ".join(sorted(names)) or "none" for names in (roles, had))
    words = f"Roles of their groups: {now} (before: {before})."
    LogEntry.objects.log_actions(person.pk, [person], CHANGE, words, single_object=True)
