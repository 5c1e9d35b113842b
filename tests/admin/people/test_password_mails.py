"""Links to set a password, by e-mail: from an admin, and for people who forgot theirs."""

import re
from smtplib import SMTPException
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.core import mail
from django.core.cache import caches
from django.test import Client

from evals_app.admin.people import password_mails

pytestmark = pytest.mark.django_db

ANN = "ann@example.org"
NEW = {"new_password1": "quite-long-1", "new_password2": "quite-long-1"}


class AtOnce:
    """A thread that works where it was made."""

    def __init__(self, target: Any, args: Any, *, daemon: bool) -> None:
        self._target, self._args = target, args

    def start(self) -> None:
        self._target(*self._args)


@pytest.fixture(autouse=True)
def mailing(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.HAS_MAIL_SERVER = True
    settings.SITE = "https://evals.example.org"
    monkeypatch.setattr(password_mails, "Thread", AtOnce)
    caches["throttles"].clear()


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", email=ANN, password="old-horse-1", is_staff=True)


def sent_path() -> str:
    found = re.search(
        r"https://evals\.example\.org(/admin/invitation/\S+)", str(mail.outbox[-1].body)
    )
    assert found is not None
    return found[1]


def choose_password(path: str) -> Any:
    client = Client()
    page = client.get(path, follow=True)
    return client.post(page.redirect_chain[-1][0] if page.redirect_chain else path, NEW)


def ask(name: str, **where: Any) -> Any:
    return Client().post("/admin/login/forgotten/", {"name": name}, **where)


@pytest.mark.parametrize("name", ["ann", ANN, "ANN@example.org"])
def test_who_forgot_their_password_gets_a_link_that_works_once(ann: User, name: str) -> None:
    page = ask(name, headers={"Host": "localhost"})

    assert "on its way" in page.content.decode()
    assert mail.outbox[0].to == [ANN]
    assert choose_password(path := sent_path())["Location"] == "/admin/login/"
    ann.refresh_from_db()
    assert ann.check_password("quite-long-1")
    assert "asked for by e-mail" in LogEntry.objects.get().change_message
    assert "does not work" in Client().get(path, follow=True).content.decode()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"username": "ben"}, id="no such person"),
        pytest.param({"is_active": False}, id="not active"),
        pytest.param({"is_staff": False}, id="may not sign in"),
        pytest.param({"email": ""}, id="no address"),
        pytest.param({"password": "!"}, id="no password yet"),
    ],
)
def test_the_answer_tells_nobody_who_has_an_account(ann: User, changes: dict[str, Any]) -> None:
    known = ask("ann").content.decode()
    mail.outbox.clear()
    User.objects.update(**changes)

    unknown = ask("ann").content.decode()

    token = r'name="csrfmiddlewaretoken" value="\w+"'
    assert re.sub(token, "", known) == re.sub(token, "", unknown)
    assert mail.outbox == []


def test_a_link_ends_with_the_password_and_after_an_hour(
    ann: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("ann")
    path = sent_path()
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "does not work" in Client().get(path, follow=True).content.decode()
    settings.PASSWORD_RESET_TIMEOUT = 3600
    ann.set_password("another-1")
    ann.save()

    assert "does not work" in Client().get(path, follow=True).content.decode()


def test_nobody_fills_a_mailbox(ann: User, settings: Any) -> None:
    limit = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["password_mails"]
    for _ in range(int(limit.partition("/")[0])):
        ask("ann")

    refused = ask("ann")

    assert refused.status_code == 429
    assert refused.context["form"].has_error("name")
    assert ask("ann", REMOTE_ADDR="192.0.2.9").status_code == 200


def test_the_page_is_there_where_mail_works(settings: Any) -> None:
    assert "Forgot your password?" in Client().get("/admin/login/").content.decode()
    settings.HAS_MAIL_SERVER = False

    assert "Ask an administrator" in Client().get("/admin/login/").content.decode()
    assert Client().get("/admin/login/forgotten/").status_code == 404


def test_an_admin_e_mails_an_invitation(admin_client: Client) -> None:
    form = {
        "name": "Cem",
        "email": "cem@example.org",
        "groups": Group.objects.get(name="Viewer").pk,
    }
    page = admin_client.post("/admin/auth/user/add/", form).content.decode()
    cem = User.objects.get(username="cem")
    assert "E-mail a link to cem@example.org" in page

    admin_client.post(f"/admin/auth/user/{cem.pk}/link/", {"mail": ""})

    assert mail.outbox[0].to == ["cem@example.org"]
    assert "your username is cem" in " ".join(mail.outbox[0].body.split())
    assert choose_password(sent_path())["Location"] == "/admin/login/"
    cem.refresh_from_db()
    assert cem.check_password("quite-long-1")
    assert LogEntry.objects.filter(change_message__contains="cem@example.org").exists()


def test_a_mail_server_that_refuses_is_told_to_the_admin(
    admin_client: Client, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise SMTPException("No.")

    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)

    page = admin_client.post(f"/admin/auth/user/{ann.pk}/link/", {"mail": ""}, follow=True)

    assert "did not accept it" in page.content.decode()
    assert "on its way" in ask("ann").content.decode()


def test_without_an_address_there_is_a_link_to_copy(admin_client: Client) -> None:
    ben = User.objects.create_user("ben", is_staff=True)

    page = admin_client.post(f"/admin/auth/user/{ben.pk}/link/", {"mail": ""})

    assert "copy the link" in page.content.decode()
    assert mail.outbox == []
