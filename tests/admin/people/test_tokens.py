import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from evals_app.models import ApiToken
from tests.authored import client_who_may
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/apitoken/"
RIGHTS = ("add_apitoken", "view_apitoken", "change_apitoken", "delete_apitoken")


def test_a_new_token_is_shown_once_and_works(admin_client: Client, admin_user: User) -> None:
    page = open_page(admin_client, f"{LIST}add/").post(name="CI", scope="run")

    (text,) = re.findall(r"ew_[\w-]{20,}", page.html)
    token = ApiToken.valid(text)
    assert token is not None
    assert (token.name, token.user, token.scope) == ("CI", admin_user, "run")
    assert "no-store" in page.response.headers["Cache-Control"]
    assert text not in admin_client.get(LIST).content.decode()
    assert text not in admin_client.get(f"{LIST}{token.pk}/change/").content.decode()
    assert text not in LogEntry.objects.get().change_message
    assert ApiToken.objects.count() == 1


def test_a_token_may_expire(admin_client: Client) -> None:
    later = timezone.now() + timedelta(days=2)
    page = open_page(admin_client, f"{LIST}add/")

    page.post(
        name="CI", scope="read", expires_at_0=f"{later:%Y-%m-%d}", expires_at_1=f"{later:%H:%M:%S}"
    )

    assert ApiToken.objects.get().expires_at == later.replace(microsecond=0)


def test_a_token_cannot_have_expired_before_it_begins(admin_client: Client) -> None:
    page = open_page(admin_client, f"{LIST}add/")

    page.post(name="CI", scope="read", expires_at_0="2020-01-01", expires_at_1="00:00")

    assert not ApiToken.objects.exists()


def test_scope_and_owner_of_a_token_stay(admin_client: Client, admin_user: User) -> None:
    token, _ = ApiToken.issue(name="CI", user=admin_user, scope="read")
    page = open_page(admin_client, f"{LIST}{token.pk}/change/")

    page.post(name="Other", scope="author")

    token.refresh_from_db()
    assert (token.name, token.scope) == ("Other", "read")


def test_a_person_makes_tokens_for_themselves_alone(admin_user: User) -> None:
    client = client_who_may(*RIGHTS)
    page = open_page(client, f"{LIST}add/")

    page.post(name="Mine", scope="author", user=admin_user.pk)

    assert ApiToken.objects.get().user.username == "writer"


def test_a_person_sees_no_tokens_of_others(admin_user: User) -> None:
    token, _ = ApiToken.issue(name="Theirs", user=admin_user, scope="read")
    client = client_who_may(*RIGHTS)

    assert "Theirs" not in client.get(LIST).content.decode()
    assert client.get(f"{LIST}{token.pk}/change/").status_code == 302
