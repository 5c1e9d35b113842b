"""Invitations: who is invited, and what their link does."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from evals_app.admin.people.invitations import LinkTokens
from evals_app.models import PasswordLink
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

PASSWORD = {"new_password1": "long-enough-1", "new_password2": "long-enough-1"}
LINK = re.compile(r"http://testserver(/admin/invitation/[^\"]+)")


def role(name: str) -> int:
    return Group.objects.get(name=name).pk


def invite(client: Client, **fields: Any) -> PageForm:
    page = open_page(client, "/admin/auth/user/add/")
    return page.post(**{"name": "Ann Smith", "groups": [role("Viewer")]} | fields)


def new_link(client: Client, person: User) -> str:
    page = client.post(f"/admin/auth/user/{person.pk}/link/").content.decode()
    (link,) = LINK.findall(page)
    return str(link)


def try_link(link: str) -> str:
    """Open a link and choose a password; return where that leads, "" if nowhere."""
    client = Client()
    form = client.get(link)
    if form.status_code != 302:
        return ""
    response = client.post(form.headers["Location"], PASSWORD)
    return response.headers.get("Location", "")


def test_an_invited_person_sets_a_password_with_the_link_and_signs_in(admin_client: Client) -> None:
    page = invite(admin_client, email="ann@example.org")

    person = User.objects.get(username="ann-smith")
    assert (person.get_full_name(), person.email) == ("Ann Smith", "ann@example.org")
    assert [group.name for group in person.groups.all()] == ["Viewer"]
    assert (person.is_staff, person.is_superuser) == (True, False)
    assert not person.has_usable_password()
    assert "no-store" in page.response.headers["Cache-Control"]
    (link,) = LINK.findall(page.html)
    assert try_link(link) == "/admin/login/"
    assert signs_in("ann-smith", "long-enough-1")


def test_a_link_works_once(admin_client: Client) -> None:
    (link,) = LINK.findall(invite(admin_client).html)
    try_link(link)

    assert try_link(link) == ""


def test_a_weak_password_is_explained_and_the_link_still_works(admin_client: Client) -> None:
    (link,) = LINK.findall(invite(admin_client).html)
    client = Client()
    address = client.get(link).headers["Location"]

    weak: Any = client.post(address, {"new_password1": "123", "new_password2": "123"})

    assert weak.context["form"].errors
    assert client.post(address, PASSWORD).status_code == 302


def test_a_newer_link_replaces_one_that_was_not_used(admin_client: Client) -> None:
    (old,) = LINK.findall(invite(admin_client).html)
    new = new_link(admin_client, User.objects.get(username="ann-smith"))

    assert (try_link(old), try_link(new)) == ("", "/admin/login/")


def signs_in(name: str, password: str) -> bool:
    answer = Client().post("/admin/login/?next=/admin/", {"username": name, "password": password})
    return answer.status_code == 302


@pytest.mark.parametrize(
    ("password", "hours", "leads_to"),
    [
        (None, 6 * 24, "/admin/login/"),
        (None, 8 * 24, ""),
        ("secret", 23, "/admin/login/"),
        ("secret", 25, ""),
    ],
)
def test_a_link_works_for_a_week_and_for_a_day_beside_a_password(
    admin_client: Client, password: str | None, hours: int, leads_to: str
) -> None:
    person = User.objects.create_user("ann", password=password, is_staff=True)
    link = new_link(admin_client, person)
    PasswordLink.objects.update(made_at=timezone.now() - timedelta(hours=hours))

    assert try_link(link) == leads_to


def promote(person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_superuser=True)


def deactivate_maker(_: User) -> None:
    User.objects.filter(username="manager").update(is_active=False)


def take_rights_of_maker(_: User) -> None:
    User.objects.get(username="manager").groups.clear()


def change_password(person: User) -> None:
    person.set_password("another-one-1")
    person.save()


def do_nothing(_: User) -> None:
    pass


@pytest.mark.parametrize(
    ("happens", "leads_to"),
    [
        pytest.param(do_nothing, "/admin/login/", id="nothing"),
        pytest.param(promote, "", id="the person becomes a superuser"),
        pytest.param(deactivate_maker, "", id="whoever made it is deactivated"),
        pytest.param(take_rights_of_maker, "", id="whoever made it loses their role"),
        pytest.param(change_password, "", id="the person changes the password"),
    ],
)
@pytest.mark.parametrize("password", [None, "secret"])
def test_a_link_ends_with_what_it_was_allowed_for(
    client: Client, happens: Callable[[User], None], leads_to: str, password: str | None
) -> None:
    manager = User.objects.create_user("manager", is_staff=True)
    manager.groups.add(role("Admin"))
    client.force_login(manager)
    person = User.objects.create_user("ann", password=password, is_staff=True)
    person.groups.add(role("Viewer"))
    link = new_link(client, person)

    happens(person)

    assert try_link(link) == leads_to


def test_a_newer_link_replaces_the_earlier_one_of_someone_with_a_password(
    admin_client: Client,
) -> None:
    person = User.objects.create_user("ben", password="secret", is_staff=True)
    links = [new_link(admin_client, person) for _ in range(2)]

    assert [try_link(link) for link in links] == ["", "/admin/login/"]


def test_a_link_that_is_replaced_while_the_form_is_sent_sets_no_password(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = User.objects.create_user("ben", password="secret", is_staff=True)
    link = new_link(admin_client, person)

    def replace_after_the_check(_: object, who: User, __: str) -> bool:
        PasswordLink.make(who, by=User.objects.get(username="admin"))
        return True

    monkeypatch.setattr(LinkTokens, "check_token", replace_after_the_check)
    try_link(link)

    assert signs_in("ben", "secret")
    assert not signs_in("ben", "long-enough-1")


def test_the_history_of_a_person_names_the_link_and_its_use(admin_client: Client) -> None:
    (link,) = LINK.findall(invite(admin_client).html)
    try_link(link)

    person = User.objects.get(username="ann-smith")
    entries = LogEntry.objects.filter(object_id=person.pk).order_by("pk")
    assert [entry.user.get_username() for entry in entries] == ["admin", "ann-smith"]
    assert "admin" in entries[1].get_change_message()


def test_who_is_deactivated_cannot_use_a_link_and_gets_none(admin_client: Client) -> None:
    (link,) = LINK.findall(invite(admin_client).html)
    person = User.objects.get(username="ann-smith")
    User.objects.filter(pk=person.pk).update(is_active=False)

    assert try_link(link) == ""
    assert admin_client.post(f"/admin/auth/user/{person.pk}/link/").status_code == 403


def test_who_has_a_password_keeps_it_until_the_link_is_used(admin_client: Client) -> None:
    person = User.objects.create_user("ben", password="secret", is_staff=True)

    link = new_link(admin_client, person)

    assert signs_in("ben", "secret")
    assert try_link(link) == ""  # who remembers the password after all needs no link
    try_link(new_link(admin_client, person))
    assert signs_in("ben", "long-enough-1")


@pytest.mark.parametrize(
    ("taken", "name", "made"),
    [
        ([], "Ann Smith", "ann-smith"),
        (["ann-smith"], "Ann Smith", "ann-smith-2"),
        (["ann-smith", "ann-smith-2"], "Ann Smith", "ann-smith-3"),
        ([], "Jürgen Weiß", "jurgen-weiss"),
        ([], "安", "person"),
    ],
)
def test_a_user_name_is_made_from_the_name(
    admin_client: Client, taken: list[str], name: str, made: str
) -> None:
    for username in taken:
        User.objects.create_user(username)

    invite(admin_client, name=name, username="")

    assert User.objects.filter(username=made, first_name=name).exists()


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"name": ""}, "name"),
        ({"groups": []}, "groups"),
        ({"email": "no"}, "email"),
        ({"username": "admin"}, "username"),
        ({"groups": [987654]}, "groups"),
    ],
)
def test_what_is_missing_or_wrong_is_named_and_no_one_is_invited(
    admin_client: Client, fields: dict[str, Any], key: str
) -> None:
    response: Any = invite(admin_client, **fields).response

    assert key in response.context["adminform"].form.errors
    assert User.objects.count() == 1


def test_an_admin_who_is_no_superuser_invites_with_any_role(client: Client) -> None:
    boss = User.objects.create_user("boss", is_staff=True)
    boss.groups.set([role("Admin")])
    client.force_login(boss)

    invite(client, groups=[role("Admin")])

    assert User.objects.get(username="ann-smith").groups.get().name == "Admin"
