"""The roles of every site: what they may do, and that they stay so."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command

from evals_app.models.people.roles import BUILT_IN, EVERYTHING, ROLES, Role

pytestmark = pytest.mark.django_db


def rights(name: str) -> set[str]:
    person = User.objects.create_user(f"with {name}")
    person.groups.add(Group.objects.get(name=name))
    return person.get_all_permissions()


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_a_role_names_permissions_that_exist(role: Role) -> None:
    rows = Permission.objects.values_list("content_type__app_label", "codename")
    known = {f"{app}.{codename}" for app, codename in rows}

    assert {name for name in role.permissions if not name.endswith(EVERYTHING)} <= known


def test_whoever_views_neither_changes_anything_nor_sees_secrets() -> None:
    viewing = rights("Viewer")

    assert {name.partition(".")[2].partition("_")[0] for name in viewing} == {"view"}
    assert not [name for name in viewing if re.search("provider|token|user|ceiling", name)]


def test_every_other_role_has_what_a_viewer_has() -> None:
    viewing = rights("Viewer")

    assert all(rights(name) >= viewing for name in BUILT_IN if name != "Viewer")


def test_only_admins_have_rights_to_providers_ceilings_and_people() -> None:
    guarded = re.compile("provider|price|ceiling|auth")
    having = [name for name in BUILT_IN if any(map(guarded.search, rights(name)))]

    assert having == ["Admin"]


def test_an_admin_has_every_permission_of_ours_and_invites() -> None:
    ours = {
        f"{app}.{codename}"
        for app, codename in Permission.objects.filter(
            content_type__app_label__in=["evals_app", "fixtures_app"]
        ).values_list("content_type__app_label", "codename")
    }

    assert rights("Admin") == ours | {
        *("auth.view_user", "auth.add_user", "auth.change_user", "auth.view_group")
    }


def test_a_migration_restores_the_roles_and_leaves_other_groups_alone() -> None:
    every: Any = Permission.objects.all()
    own = Group.objects.create(name="Own")
    own.permissions.set(every)
    Group.objects.get(name="Viewer").permissions.set(every)
    Group.objects.get(name="Author").delete()
    before = own.permissions.count()

    call_command("migrate", verbosity=0)

    assert Group.objects.get(name="Viewer").permissions.count() == len(
        BUILT_IN["Viewer"].permissions
    )
    assert Group.objects.filter(name="Author").exists()
    assert own.permissions.count() == before
