"""Whom to tell of a vulnerability, and a secret key that replaces another."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils import timezone

from evalsite import environment

URL = "/.well-known/security.txt"


def test_anyone_may_read_whom_to_tell_of_a_vulnerability(client: Client, settings: Any) -> None:
    settings.SECURITY_CONTACT = "mailto:security@example.org"
    settings.SITE = "https://evals.example.org/"

    answer = client.get(URL)

    lines = dict(line.split(": ", 1) for line in answer.content.decode().splitlines())
    assert answer["Content-Type"].startswith("text/plain")
    assert lines["Contact"] == "mailto:security@example.org"
    assert lines["Canonical"] == f"https://evals.example.org{URL}"
    ends = datetime.fromisoformat(lines["Expires"])
    assert timedelta(days=1) < ends - timezone.now() < timedelta(days=365)


def test_without_a_contact_there_is_no_such_page(client: Client) -> None:
    assert client.get(URL).status_code == 404


def test_a_contact_is_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALWELL_SECURITY_CONTACT", "security@example.org")
    with pytest.raises(ImproperlyConfigured, match="expected mailto:"):
        environment.contact("EVALWELL_SECURITY_CONTACT")


@pytest.mark.django_db
def test_people_stay_signed_in_when_the_secret_key_is_replaced(
    client: Client, admin_user: User, settings: Any
) -> None:
    client.force_login(admin_user)
    old = settings.SECRET_KEY

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new" * 20, [old]
    assert client.get("/admin/").status_code == 200
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "other" * 20, []
    assert client.get("/admin/").status_code == 302
