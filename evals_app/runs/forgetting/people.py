"""Remove the personal data of a colleague: what they did and decided stays, by a former person."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import CASCADE, ForeignKey, Model, Q
from django.db.models.functions import Now

from evals_app.models import Activity, Delivery
from evals_app.models.people.activity import COMMAND_LINE
from evals_app.models.people.names import shown_name
from evals_app.models.people.roles import may_manage
from evals_app.runs.forgetting.conversations import CannotForgetError
from evals_app.runs.forgetting.overwriting import overwriting


def forget_person(person: User, *, by: User) -> User:
    """Make an account anonymous, and remove whatever else is known about the person.

    Raises:
        CannotForgetError: it is oneself, has more rights, or is not a person.
    """
    _refuse(person, by)
    with overwriting(), transaction.atomic():
        person = User.objects.select_for_update().get(pk=person.pk)
        names = {person.get_username(), shown_name(person), person.email} - {""}
        former = f"Former person {person.pk}"
        _sign_out(person, names)
        for model, column in _of_people(CASCADE):
            if model is not LogEntry:  # the history stays, under the new name
                model._base_manager.filter(**{column: person}).delete()  # noqa: SLF001 - documented
        # Messages about their runs have their name.
        ended = Delivery.objects.exclude(state=Delivery.State.WAITING)
        ended.filter(run__created_by=person).delete()
        _rename(person, names, former)
        _empty(person)
        LogEntry.objects.log_actions(
            by.pk, [person], CHANGE, "Personal data removed.", single_object=True
        )
    return person


def _refuse(person: User, by: User) -> None:
    if person.pk == by.pk:
        raise CannotForgetError("You cannot remove your own data. Ask another administrator.")
    if person.get_username() == COMMAND_LINE:
        raise CannotForgetError("This account is the command line, not a person.")
    if not may_manage(by, person):
        raise CannotForgetError("This person has more rights than you. Ask a superuser.")


def _empty(person: User) -> None:
    person.username = f"former-person-{person.pk}"
    person.first_name, person.last_name, person.email = f"Former person {person.pk}", "", ""
    person.is_active = person.is_staff = person.is_superuser = False
    person.last_login = None
    person.set_unusable_password()
    person.save()
    person.groups.clear()
    person.user_permissions.clear()


def _sign_out(person: User, names: set[str]) -> None:
    """Remove the sessions and sign-ins of a person."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    for session in Session.objects.filter(expire_date__gt=Now()).iterator():
        if store().decode(session.session_data).get(SESSION_KEY) == str(person.pk):
            session.delete()
    for records in (AccessLog, AccessAttempt, AccessFailureLog):
        records.objects.filter(username__in=names).delete()
    acts = Activity.objects.filter(kind__in=Activity.SIGN_INS)
    acts.filter(Q(user=person) | Q(by_name__in=names)).delete()


def _rename(person: User, names: set[str], former: str) -> None:
    """Write the new name wherever the old one was kept beside what the person did."""
    for model, column in _of_people():
        if column == "by" and any(field.name == "by_name" for field in model._meta.fields):  # noqa: SLF001
            model._base_manager.filter(by=person).update(by_name=former)  # noqa: SLF001 - documented
    Activity.objects.filter(user=person).update(by_name=former)
    kind = ContentType.objects.get_for_model(User)
    own = {"object_id": str(person.pk)}
    LogEntry.objects.filter(content_type=kind, **own).update(object_repr=former)
    Activity.objects.filter(object_type="user", **own).update(object_name=former)
    # Sentences name people after such words only; a username may be an everyday word.
    written = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    named = re.compile(rf"\b(by|of|for|that|from|to) ({written})(?!\w)")
    for rows, column in ((LogEntry.objects, "change_message"), (Activity.objects, "text")):
        some = Q()
        for name in names:
            some |= Q(**{f"{column}__contains": name})
        for row in rows.filter(some).only(column).iterator():
            old = getattr(row, column)
            if (new := named.sub(rf"\1 {former}", old)) != old:
                rows.filter(pk=row.pk).update(**{column: new})


def _of_people(on_delete: Any = None) -> Iterator[tuple[type[Model], str]]:
    """Yield the columns that refer to people, of all tables or of those that go with a person."""
    for model in apps.get_models():
        for field in model._meta.fields:  # noqa: SLF001 - the documented API of models
            relation: Any = field.remote_field
            is_of_people = isinstance(field, ForeignKey) and field.related_model is User
            if is_of_people and on_delete in {None, relation.on_delete}:
                yield model, field.name
