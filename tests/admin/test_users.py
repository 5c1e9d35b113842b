import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from tests.page_form import open_page

pytestmark = pytest.mark.django_db


def test_a_person_gets_rights_by_check_boxes(admin_client: Client) -> None:
    person = User.objects.create_user("ann", password="secret")
    group = Group.objects.create(name="Writers")
    right = Permission.objects.get(codename="view_suite")
    page = open_page(admin_client, f"/admin/auth/user/{person.pk}/change/")

    page.post(groups=[group.pk], user_permissions=[right.pk], is_staff="on")

    person.refresh_from_db()
    assert list(person.groups.all()) == [group]
    assert list(person.user_permissions.all()) == [right]
    assert person.check_password("secret")


def test_a_group_is_made_with_rights(admin_client: Client) -> None:
    right = Permission.objects.get(codename="view_suite")

    open_page(admin_client, "/admin/auth/group/add/").post(name="Readers", permissions=[right.pk])

    assert list(Group.objects.get().permissions.all()) == [right]


def test_a_person_is_added(admin_client: Client) -> None:
    page = open_page(admin_client, "/admin/auth/user/add/")

    page.post(
        username="ben", usable_password="true", password1="long-enough-1", password2="long-enough-1"
    )

    assert User.objects.get(username="ben").check_password("long-enough-1")
