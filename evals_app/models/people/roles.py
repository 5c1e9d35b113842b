"""The roles that every site has: groups whose permissions are fixed here.

A site may have more groups of its own. After each migration the groups of this table get exactly
their permissions, so that a role also covers what a new release adds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps as installed_apps
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.db.models import Q, QuerySet

from evals_app.models.people.names import shown_name

_APPS = ("evals_app", "fixtures_app", "auth")
EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Role:
    """What people with this role may do; `evals_app.*` is every permission of that application."""

    name: str
    sentence: str
    permissions: tuple[str, ...]

    def includes(self, app: str, codename: str) -> bool:
        """Whether the role has a permission."""
        return not {f"{app}.{codename}", f"{app}.{EVERYTHING}"}.isdisjoint(self.permissions)


def _rights(verbs: str, *models: str) -> tuple[str, ...]:
    """Return the permissions to do something with models: `_rights("add view", "evals_app.case")`."""
    named = (model.split(".") for model in models)
    return tuple(f"{app}.{verb}_{model}" for app, model in named for verb in verbs.split())


_WRITTEN = (
    *("evals_app.suite", "evals_app.case", "evals_app.agent"),
    *("fixtures_app.fixture", "fixtures_app.entitytype"),
)
_READ = (
    *("evals_app.run", "evals_app.execution", "evals_app.evaluationsteps"),
    *("evals_app.schedule", "evals_app.conversationset"),
)
_SEEING = _rights("view", *_WRITTEN, *_READ)
_OWN_TOKENS = _rights("view add change delete", "evals_app.apitoken")

ROLES = (
    Role(
        "Viewer",
        "Sees suites, cases, agents, test data, runs and results. Changes nothing.",
        _SEEING,
    ),
    Role(
        "Author",
        "Sees what a viewer sees. Writes and imports suites, cases, agents and test data.",
        (
            *_SEEING,
            *_rights("add change delete", *_WRITTEN, "evals_app.conversationset"),
            *_rights("change", "evals_app.evaluationsteps"),
            *_OWN_TOKENS,
        ),
    ),
    Role(
        "Runner",
        "Sees what a viewer sees. Starts and schedules runs, which may cost money, cancels and"
        " retests them. Decides what is shipped.",
        (
            *_SEEING,
            *_rights("add", "evals_app.run"),
            *_rights("add change delete", "evals_app.schedule"),
            "evals_app.decide_release",
            *_OWN_TOKENS,
        ),
    ),
    Role(
        "Reviewer",
        "Sees what a viewer sees. Reads conversations, says which grades are wrong, hands out"
        " grades to check, and decides what is shipped.",
        (*_SEEING, "evals_app.review_execution", "evals_app.decide_release"),
    ),
    Role(
        "Admin",
        "May do everything: also people, providers, prices, monthly ceilings and spending.",
        (
            *("evals_app.*", "fixtures_app.*"),
            *_rights("view add change", "auth.user"),
            *_rights("view", "auth.group"),
        ),
    ),
)
BUILT_IN = {role.name: role for role in ROLES}


def keep_roles(using: str, apps: Any = installed_apps, **_: object) -> None:
    """Make a group of each role, with exactly its permissions; called after each migration."""
    try:
        groups = apps.get_model("auth", "Group").objects.using(using)
        permissions = apps.get_model("auth", "Permission").objects.using(using)
    except LookupError:  # only part of the site is migrated
        return
    columns = ("pk", "content_type__app_label", "codename")
    rows = list(permissions.filter(content_type__app_label__in=_APPS).values_list(*columns))
    for role in ROLES:
        group, _is_new = groups.get_or_create(name=role.name)
        group.permissions.set([pk for pk, app, codename in rows if role.includes(app, codename)])


def rights_of(person: User) -> set[str]:
    """Return the permissions of a person, active or not, without superuser status."""
    return _names(Permission.objects.filter(Q(user=person) | Q(group__user=person)))


def people_with(right: str) -> list[str]:
    """Return the names of the active people who have a permission, the longest here first."""
    people = User.objects.with_perm(right, backend="django.contrib.auth.backends.ModelBackend")
    return [shown_name(person) for person in people.order_by("pk")]


def may_manage(manager: User | AnonymousUser, person: User) -> bool:
    """Whether someone has all rights of a person."""
    if manager.is_superuser:
        return True
    return not person.is_superuser and manager.has_perms(rights_of(person))


def roles_to_give(giver: User | AnonymousUser) -> QuerySet[Group]:
    """Return the groups whose rights the giver has, too."""
    groups = Group.objects.order_by("pk")
    if giver.is_superuser:
        return groups
    within = [
        group.pk
        for group in groups.prefetch_related("permissions__content_type")
        if giver.has_perms(_of(group))
    ]
    return groups.filter(pk__in=within)


def _of(group: Group) -> Iterator[str]:
    for permission in group.permissions.all():
        yield f"{permission.content_type.app_label}.{permission.codename}"


def _names(permissions: QuerySet[Permission]) -> set[str]:
    rows = permissions.values_list("content_type__app_label", "codename")
    return {f"{app}.{codename}" for app, codename in rows}
