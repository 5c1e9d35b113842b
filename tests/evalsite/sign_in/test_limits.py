"""Signing in: failures are counted, refused before they cost anything, and logged."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from evalsite.sign_in import limits

pytestmark = pytest.mark.django_db

PASSWORD = "right-horse-1"
WRONG = "wrong-horse-1"


@pytest.fixture(autouse=True)
def people() -> None:
    for name in ("ann", "ben"):
        User.objects.create_user(name, password=PASSWORD, is_staff=True)


def attempt(
    name: str,
    password: str = WRONG,
    *,
    address: str = "192.0.2.1",
    client: Client | None = None,
    **meta: Any,
) -> Any:
    body = {"username": name, "password": password, "next": "/admin/"}
    return (client or Client()).post("/admin/login/", body, REMOTE_ADDR=address, **meta)


def fail(number: int, name: str, **where: Any) -> None:
    for _ in range(number):
        attempt(name, **where)


def is_in(response: HttpResponse) -> bool:
    return response.status_code == 302


def let_pass(**time: float) -> None:
    for row in AccessAttempt.objects.all():
        past = row.attempt_time - timedelta(**time)
        AccessAttempt.objects.filter(pk=row.pk).update(attempt_time=past)


def test_guessing_at_a_name_is_refused_even_with_the_right_password() -> None:
    fail(limits.OF_A_NAME_AT_AN_ADDRESS - 1, "ann")
    last = attempt("ann")
    right = attempt("ann", PASSWORD)

    assert (last.status_code, right.status_code) == (429, 429)
    assert 800 < int(right.headers["Retry-After"]) <= 900
    page = right.content.decode()
    assert "Try again in 15 minutes" in page
    assert 'name="password"' in page


def test_a_few_mistakes_are_forgiven() -> None:
    fail(limits.OF_A_NAME_AT_AN_ADDRESS - 1, "ann")

    assert is_in(attempt("ann", PASSWORD))
    fail(limits.OF_A_NAME_AT_AN_ADDRESS - 1, "ann")
    assert is_in(attempt("ann", PASSWORD))


def test_who_may_not_open_the_site_yet_learns_so_with_the_right_password_alone() -> None:
    User.objects.create_user("eve", password=PASSWORD)

    right, wrong = attempt("eve", PASSWORD), attempt("eve")

    assert right.context["form"].has_error("__all__", "not_yet")
    assert wrong.context["form"].has_error("__all__", "invalid_login")


def test_nobody_else_is_refused_because_of_one_name() -> None:
    fail(limits.OF_A_NAME_AT_AN_ADDRESS, "ann")

    assert is_in(attempt("ben", PASSWORD))
    assert is_in(attempt("ann", PASSWORD, address="192.0.2.2"))


def test_a_refused_attempt_hashes_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    fail(limits.OF_A_NAME_AT_AN_ADDRESS, "ann")
    hashed: list[str] = []
    monkeypatch.setattr(User, "check_password", lambda self, _: hashed.append(self.username))

    assert attempt("ann", PASSWORD).status_code == 429
    assert hashed == []


def test_attempts_while_refused_make_it_no_longer() -> None:
    fail(limits.OF_A_NAME_AT_AN_ADDRESS, "ann")
    let_pass(minutes=10)
    fail(10, "ann")

    assert "Try again in 5 minutes" in attempt("ann").content.decode()
    let_pass(minutes=5)
    assert is_in(attempt("ann", PASSWORD))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits: that many attempts would take seconds."""
    monkeypatch.setattr(limits, "AT_AN_ADDRESS", 7)
    monkeypatch.setattr(limits, "OF_A_NAME", 8)


@pytest.mark.usefixtures("few")
def test_an_address_that_tries_many_names_is_refused() -> None:
    for number in range(limits.AT_AN_ADDRESS):
        attempt(f"guess{number}", HTTP_USER_AGENT=f"browser {number}")

    assert attempt("ann", PASSWORD).status_code == 429
    assert is_in(attempt("ann", PASSWORD, address="192.0.2.2"))


def test_an_account_of_ones_own_does_not_let_one_guess_for_ever() -> None:
    fail(limits.OF_A_NAME_AT_AN_ADDRESS - 1, "ann")
    assert is_in(attempt("ben", PASSWORD))

    assert attempt("ann").status_code == 429


@pytest.mark.usefixtures("few")
def test_a_name_that_many_addresses_try_is_refused_but_not_where_its_owner_signs_in() -> None:
    home = "198.51.100.7"
    assert is_in(attempt("ann", PASSWORD, address=home))
    for number in range(limits.OF_A_NAME):
        attempt("ann", address=f"192.0.2.{number + 1}")

    assert attempt("ann", PASSWORD, address="203.0.113.5").status_code == 429
    assert is_in(attempt("ann", PASSWORD, address=home))
    assert is_in(attempt("ben", PASSWORD, address="203.0.113.5"))


@pytest.mark.usefixtures("few")
def test_people_who_signed_in_at_an_address_are_not_refused_for_what_others_fail_there() -> None:
    assert is_in(attempt("ann", PASSWORD))
    for number in range(limits.AT_AN_ADDRESS):
        attempt(f"guess{number}")

    assert is_in(attempt("ann", PASSWORD))
    assert attempt("ben", PASSWORD).status_code == 429


def test_no_one_can_lock_a_browser_out_that_its_owner_signed_in_with() -> None:
    browser = Client()
    known: dict[str, Any] = {"client": browser, "address": "192.0.2.1"}
    assert is_in(attempt("ann", PASSWORD, **known))
    browser.post("/admin/logout/")
    fail(2 * limits.OF_A_NAME_AT_AN_ADDRESS, "ann")

    assert attempt("ann", PASSWORD).status_code == 429  # another browser at this address
    assert is_in(attempt("ann", PASSWORD, **known))
    assert attempt("ben", WRONG, **known).status_code == 200


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", ["Иван", "Jürgen", "田中", "a;b=c@example.org"])
def test_a_browser_is_known_by_any_name(name: str) -> None:
    """A header with other characters than these would end the answer of the web server."""
    User.objects.create_user(name, password=PASSWORD, is_staff=True)
    browser = Client()

    first = attempt(name, PASSWORD, client=browser)
    for cookie in first.cookies.values():
        cookie.output(header="").encode("latin-1")
    fail(limits.OF_A_NAME_AT_AN_ADDRESS, name)

    assert is_in(first)
    assert is_in(attempt(name, PASSWORD, client=browser))


def test_guessing_in_a_known_browser_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IN_A_KNOWN_BROWSER", 8)
    browser = Client()
    attempt("ann", PASSWORD, client=browser)
    for _ in range(limits.IN_A_KNOWN_BROWSER):
        attempt("ann", client=browser)

    assert attempt("ann", PASSWORD, client=browser).status_code == 429


@pytest.mark.parametrize("value", ["ann", "ann:1:x", ""])
def test_a_cookie_that_was_made_up_makes_no_browser_known(value: str) -> None:
    browser = Client()
    browser.cookies[limits.KNOWN_BROWSER] = value
    fail(limits.OF_A_NAME_AT_AN_ADDRESS, "ann")

    assert attempt("ann", PASSWORD, client=browser).status_code == 429


def test_an_ipv6_network_counts_as_one_address() -> None:
    for number in range(limits.OF_A_NAME_AT_AN_ADDRESS):
        attempt("ann", address=f"2001:db8:0:1::{number + 1}")

    assert attempt("ann", PASSWORD, address="2001:db8:0:1:ffff::1").status_code == 429
    assert is_in(attempt("ann", PASSWORD, address="2001:db8:0:2::1"))


def test_a_header_of_the_client_makes_no_new_address() -> None:
    for number in range(limits.OF_A_NAME_AT_AN_ADDRESS):
        attempt("ann", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}")

    assert attempt("ann", PASSWORD, HTTP_X_FORWARDED_FOR="203.0.113.99").status_code == 429


def test_behind_a_proxy_only_what_the_proxy_wrote_counts(settings: Any) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    proxy = "10.0.0.1"
    for number in range(limits.OF_A_NAME_AT_AN_ADDRESS):
        forwarded = f"203.0.113.{number}, 192.0.2.1"
        attempt("ann", address=proxy, HTTP_X_FORWARDED_FOR=forwarded)

    same = attempt("ann", PASSWORD, address=proxy, HTTP_X_FORWARDED_FOR="192.0.2.1")
    other = attempt("ann", PASSWORD, address=proxy, HTTP_X_FORWARDED_FOR="192.0.2.2")
    assert (same.status_code, is_in(other)) == (429, True)


@pytest.mark.parametrize("address", ["", "unix:", "not an address"])
def test_an_address_that_cannot_be_read_is_counted_too(address: str) -> None:
    fail(limits.OF_A_NAME_AT_AN_ADDRESS, "ann", address=address)

    assert attempt("ann", PASSWORD, address=address).status_code == 429


def test_failures_are_logged_on_one_line_and_without_the_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    attempt("ann\nWARNING forged", "secret-typed-here")

    lines = [record.getMessage() for record in caplog.records if record.name.startswith("axes")]
    assert any("192.0.2.1" in line and r"ann\nWARNING forged" in line for line in lines)
    assert "secret-typed-here" not in caplog.text
    stored = str(list(AccessAttempt.objects.values()))
    assert "secret-typed-here" not in stored


def test_the_operator_lets_somebody_in_again() -> None:
    fail(limits.OF_A_NAME_AT_AN_ADDRESS, "ann")

    call_command("axes_reset_username", "ann", verbosity=0)

    assert is_in(attempt("ann", PASSWORD))


def test_old_failures_are_not_kept() -> None:
    fail(3, "ann")
    let_pass(hours=1)

    attempt("ben")

    assert {row.username for row in AccessAttempt.objects.all()} == {"ben"}
    assert AccessAttempt.objects.get().attempt_time > timezone.now() - timedelta(minutes=5)
