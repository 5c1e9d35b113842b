"""Signing in by a header: from the proxies that the operator names, and from no one else."""

from ipaddress import ip_network
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from evals_app.models import ApiToken
from evalsite.sign_in.variables import TrustedHeaders

pytestmark = pytest.mark.django_db

PROXY = "10.0.0.5"


@pytest.fixture(autouse=True)
def proxied(settings: Any) -> None:
    networks = (ip_network("10.0.0.5"), ip_network("2001:db8::/64"))
    settings.PROXY_SIGN_IN = TrustedHeaders("X-Forwarded-User", "X-Forwarded-Groups", networks)
    settings.GROUP_ROLES = {"quality": ("Author",), "bosses": ("Admin",)}


def ask(
    client: Client,
    name: str | None = "ann@example.org",
    groups: str = "quality,other",
    *,
    path: str = "/admin/",
    address: str = PROXY,
    **meta: str,
) -> Any:
    if name is not None:
        meta |= {"HTTP_X_FORWARDED_USER": name, "HTTP_X_FORWARDED_GROUPS": groups}
    return client.get(path, REMOTE_ADDR=address, **meta)  # type: ignore[arg-type]


def roles(person: User) -> set[str]:
    return set(person.groups.values_list("name", flat=True))


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.parametrize("address", [PROXY, f"::ffff:{PROXY}", "2001:db8::7"])
def test_a_person_whom_the_proxy_names_is_signed_in(client: Client, address: str) -> None:
    assert ask(client, address=address).status_code == 200

    ann = User.objects.get()
    assert ann.email == "ann@example.org"
    assert roles(ann) == {"Author"}


def test_the_same_person_keeps_one_account_and_its_roles_follow(client: Client) -> None:
    ask(client)
    ask(client)
    ask(Client(), groups="bosses")

    assert roles(User.objects.get()) == {"Admin"}


def test_the_account_with_that_username_is_theirs(client: Client) -> None:
    ann = User.objects.create_user("ann", is_staff=True)

    ask(client, "ann")

    assert User.objects.get() == ann
    assert roles(ann) == {"Author"}


@pytest.mark.parametrize("address", ["10.0.0.6", "192.0.2.1", "", "unix:", "10.0.0.5, 1.2.3.4"])
@pytest.mark.parametrize("forwarded", [PROXY, f"{PROXY}, 192.0.2.9", "127.0.0.1"])
def test_nobody_else_can_send_the_header(client: Client, address: str, forwarded: str) -> None:
    answer = ask(
        client,
        address=address,
        HTTP_X_FORWARDED_FOR=forwarded,
        HTTP_X_REAL_IP=PROXY,
        HTTP_FORWARDED=f"for={PROXY}",
    )

    assert answer.status_code == 302
    assert not is_in(client)
    assert not User.objects.exists()


def test_the_header_is_ignored_without_the_setting(client: Client, settings: Any) -> None:
    settings.PROXY_SIGN_IN = None

    assert ask(client).status_code == 302


def test_a_header_that_came_twice_names_nobody(client: Client) -> None:
    page = ask(client, "mallory,ann@example.org")

    assert page.status_code == 403
    assert "two people" in page.context["refused"]


def test_an_unknown_person_without_a_group_is_refused(client: Client) -> None:
    page = ask(client, groups="sales")

    assert page.status_code == 403
    assert "administrator" in page.context["refused"]
    assert not User.objects.exists()


def test_whom_the_proxy_names_no_longer_is_signed_out(client: Client) -> None:
    ask(client)
    answer = ask(client, None)

    assert answer.status_code == 302
    assert not is_in(client)


def test_another_person_in_the_same_browser_gets_their_own_session(client: Client) -> None:
    ask(client)
    ask(client, "ben@example.org", "bosses")

    assert client.session["_auth_user_id"] == str(User.objects.get(email="ben@example.org").pk)


def test_tokens_work_without_the_proxy_and_the_header_opens_no_rest(client: Client) -> None:
    ask(Client())
    ann = User.objects.get()
    ann.groups.add(Group.objects.get(name="Author"))
    _, token = ApiToken.issue(name="CI", user=ann, scope="read")

    by_token = client.get("/api/suites/", headers={"Authorization": f"Bearer {token}"})
    by_header = ask(client, path="/api/suites/")

    assert (by_token.status_code, by_header.status_code) == (200, 401)
