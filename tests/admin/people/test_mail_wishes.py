"""E-mails that people ask for: about the runs they start, and about a suite."""

from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.test import Client

from evals_app.models import MailWish
from tests.authored import write_suite

pytestmark = pytest.mark.django_db

OWN = "/admin/profile/email/"


def test_a_person_asks_for_emails_and_stops_them(admin_client: Client, admin_user: User) -> None:
    admin_client.post(OWN, {"on_failure": "on"})
    wish = MailWish.objects.get()
    assert (wish.person, wish.suite, wish.on_end, wish.on_failure, wish.on_worse) == (
        *(admin_user, None, False, True, False),
    )

    admin_client.post(OWN, {"on_end": "on"})
    assert MailWish.objects.get().on_end

    admin_client.post(OWN, {"on_end": "on"})
    admin_client.post(OWN, {})
    assert not MailWish.objects.exists()
    flags = LogEntry.objects.order_by("pk").values_list("action_flag", flat=True)
    assert list(flags) == [ADDITION, CHANGE, DELETION]


def test_a_suite_is_asked_about_on_its_own_and_listed_on_the_profile(admin_client: Client) -> None:
    suite = write_suite()
    url = f"/admin/evals_app/suite/{suite.pk}/email/"

    admin_client.post(url, {"on_worse": "on"})

    assert MailWish.objects.get().suite == suite
    assert url in admin_client.get("/admin/profile/").content.decode()
    assert url in admin_client.get(f"/admin/evals_app/suite/{suite.pk}/cases/").content.decode()


@pytest.mark.parametrize(
    ("has_server", "email", "word"),
    [
        (False, "ann@example.org", "EVALWELL_EMAIL_URL"),
        (True, "", "no e-mail address"),
        (True, "ann@example.org", "go to ann@example.org"),
    ],
)
def test_the_form_says_whether_anything_would_be_sent(
    admin_client: Client, settings: Any, *, has_server: bool, email: str, word: str
) -> None:
    settings.HAS_MAIL_SERVER = has_server
    User.objects.update(email=email)

    assert word in admin_client.get(OWN).content.decode()


def test_only_who_can_set_a_variable_reads_its_name(client: Client, settings: Any) -> None:
    settings.HAS_MAIL_SERVER = False
    client.force_login(User.objects.create_user("ann", is_staff=True))

    text = client.get(OWN).content.decode()

    assert "EVALWELL_EMAIL_URL" not in text
    assert "Ask your administrator" in text
