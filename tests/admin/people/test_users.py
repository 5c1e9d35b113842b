from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client, RequestFactory

from evals_app.admin.people.roles import rights_with_pages
from evals_app.models.people.roles import BUILT_IN
from tests.page_form import open_page

pytestmark = pytest.mark.django_db


def test_a_superuser_gives_roles_and_keeps_what_the_page_does_not_show(
    admin_client: Client,
) -> None:
    person = User.objects.create_user("ann", password="secret")
    right = Permission.objects.get(codename="view_suite")
    person.user_permissions.set([right])
    group = Group.objects.create(name="Writers")
    page = open_page(admin_client, f"/admin/auth/user/{person.pk}/change/")

    page.post(groups=[group.pk], is_staff="on")

    person.refresh_from_db()
    assert list(person.groups.all()) == [group]
    assert list(person.user_permissions.all()) == [right]
    assert person.is_staff
    assert person.check_password("secret")


def test_a_role_of_the_site_is_made_with_rights(admin_client: Client) -> None:
    right = Permission.objects.get(codename="view_suite")

    open_page(admin_client, "/admin/auth/group/add/").post(name="Readers", permissions=[right.pk])

    role = Group.objects.get(name="Readers")
    assert list(role.permissions.all()) == [right]
    assert "See suites" in open_page(admin_client, f"/admin/auth/group/{role.pk}/change/").html


def test_a_role_has_only_rights_that_make_a_difference(
    rf: RequestFactory, admin_user: User
) -> None:
    request = rf.get("/")
    request.user = admin_user

    offered = {right.codename for right in rights_with_pages(request)}

    assert {"view_suite", "delete_case", "add_run", "change_provider", "view_group"} <= offered
    assert not {"add_turn", "delete_user", "add_group", "add_execution", "add_lease"} & offered


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_roles_are_fixed(admin_client: Client, name: str) -> None:
    role = Group.objects.get(name=name)
    address = f"/admin/auth/group/{role.pk}"

    assert admin_client.post(f"{address}/change/", {"name": "Mine"}).status_code == 403
    assert admin_client.post(f"{address}/delete/", {"post": "yes"}).status_code == 403


def test_no_one_locks_themselves_out(admin_client: Client, admin_user: User) -> None:
    admin_client.post(page_of(admin_user), {"username": "admin", "is_active": "", "is_staff": ""})

    admin_user.refresh_from_db()
    assert (admin_user.is_active, admin_user.is_staff) == (True, True)


# Who has no right to give


ALL_OF_AUTH = [
    *(f"{action}_user" for action in ("view", "add", "change", "delete")),
    *(f"{action}_group" for action in ("view", "add", "change", "delete")),
]


@pytest.fixture
def manager() -> User:
    """May do with people and groups what Django has a permission for, and is no superuser."""
    person = User.objects.create_user("manager", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=ALL_OF_AUTH))
    return person


@pytest.fixture
def as_manager(manager: User) -> Client:
    client = Client()
    client.force_login(manager)
    return client


def may_add_providers(name: str, **fields: Any) -> User:
    person = User.objects.create_user(name, password="secret", **fields)
    person.user_permissions.set([Permission.objects.get(codename="add_provider")])
    return person


def page_of(person: User) -> str:
    return f"/admin/auth/user/{person.pk}/change/"


def crafted(person: User) -> dict[str, Any]:
    """What a page might post for a person, and every right along with it."""
    everything = Permission.objects.values_list("pk", flat=True)
    return {
        "username": person.username,
        "email": "new@example.org",
        "is_active": "on",
        "is_staff": "on",
        "is_superuser": "on",
        "groups": [group.pk for group in Group.objects.all()],
        "user_permissions": list(everything),
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }


def test_people_who_change_people_give_no_rights_not_even_to_themselves(
    as_manager: Client, manager: User
) -> None:
    Group.objects.create(name="Everything").permissions.set(Permission.objects.all())
    before = manager.get_all_permissions()

    refused = as_manager.post(page_of(manager), crafted(manager))
    saved = as_manager.post(page_of(manager), crafted(manager) | {"groups": []})

    assert (refused.status_code, saved.status_code) == (200, 302)
    assert "groups" in refused.context["adminform"].form.errors
    manager = User.objects.get(pk=manager.pk)
    assert manager.email == "new@example.org"
    assert not manager.is_superuser
    assert manager.get_all_permissions() == before


def test_people_who_change_people_give_roles_within_their_own_rights(
    as_manager: Client, manager: User
) -> None:
    manager.groups.add(Group.objects.get(name="Runner"))
    person = User.objects.create_user("ben")
    page = open_page(as_manager, page_of(person))

    response: Any = page.response
    offered = response.context["adminform"].form.fields["groups"].queryset
    page.post(groups=[group.pk for group in offered])

    names = {group.name for group in person.groups.all()}
    assert names == {"Viewer", "Runner"}


@pytest.mark.parametrize("is_active", [True, False], ids=["active", "inactive"])
@pytest.mark.parametrize("kind", ["superuser", "more rights", "more rights by a group"])
def test_people_who_may_do_more_are_changed_by_superusers_alone(
    as_manager: Client, kind: str, *, is_active: bool
) -> None:
    if kind == "superuser":
        person = User.objects.create_superuser("root", password="secret")
    elif kind == "more rights":
        person = may_add_providers("author")
    else:
        person = User.objects.create_user("author", password="secret")
        group = Group.objects.create(name="Authors")
        group.permissions.set([Permission.objects.get(codename="add_provider")])
        person.groups.add(group)
    User.objects.filter(pk=person.pk).update(is_active=is_active)
    address = f"/admin/auth/user/{person.pk}"

    answers = [
        as_manager.post(f"{address}/change/", crafted(person)),
        as_manager.post(f"{address}/link/"),
        as_manager.post(f"{address}/delete/", {"post": "yes"}),
        as_manager.post(
            "/admin/auth/user/",
            {"action": "delete_selected", "_selected_action": [person.pk], "post": "yes"},
        ),
    ]

    assert [answer.status_code for answer in answers[:3]] == [403, 403, 403]
    unchanged = User.objects.get(pk=person.pk)
    assert (unchanged.email, unchanged.is_active) == ("", is_active)
    assert unchanged.check_password("secret")


def test_people_who_may_do_no_more_are_managed_without_a_superuser(as_manager: Client) -> None:
    person = User.objects.create_user("ben", password="secret")

    page = open_page(as_manager, page_of(person)).post(email="ben@example.org", is_active=None)

    assert "user_permissions" not in page.html
    person.refresh_from_db()
    assert (person.email, person.is_active) == ("ben@example.org", False)


def test_a_page_that_may_only_be_read_does_not_show_the_hash(as_manager: Client) -> None:
    root = User.objects.create_superuser("root", password="secret")

    page = as_manager.get(page_of(root)).content.decode()

    assert "root" in page
    assert root.password.rpartition("$")[2] not in page
