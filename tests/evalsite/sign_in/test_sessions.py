"""Sessions are listed, ended by their owner and by admins, and end by themselves."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from evals_app.models import ApiToken, SignedInSession
from evals_app.models.people.browsers import browser_in_words

pytestmark = pytest.mark.django_db

PASSWORD = "right-horse-1"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) AppleWebKit/605 Version/18.0 Safari/604.1"


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", password=PASSWORD, is_staff=True)


def sign_in(name: str = "ann", browser: str = FIREFOX, address: str = "192.0.2.1") -> Client:
    client = Client(headers={"User-Agent": browser})
    form = {"username": name, "password": PASSWORD}
    assert client.post("/admin/login/", form, REMOTE_ADDR=address).status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get("/admin/profile/").status_code == 200


def let_pass(**time: float) -> None:
    SignedInSession.objects.update(seen_at=timezone.now() - timedelta(**time))


def test_a_person_sees_where_they_are_signed_in(ann: User) -> None:
    here = sign_in()
    sign_in(browser=SAFARI, address="198.51.100.7")

    page = here.get("/admin/profile/sessions/")

    text = page.content.decode()
    assert "Firefox on Linux</strong> (this one)" in text
    assert "Safari on iPhone" in text
    assert "198.51.100.7" in text
    keys = SignedInSession.objects.values_list("session_key", flat=True)
    assert [key for key in keys if key in text] == []  # a key lets anyone in


def test_a_person_ends_one_session_or_all_others(ann: User) -> None:
    here, phone, tablet = sign_in(), sign_in(browser=SAFARI), sign_in()
    sessions = here.get("/admin/profile/sessions/").context["sessions"]
    mark = next(session.mark for session in sessions if "iPhone" in session.browser)

    here.post("/admin/profile/sessions/", {"session": mark})
    assert (is_in(here), is_in(phone), is_in(tablet)) == (True, False, True)

    here.post("/admin/profile/sessions/", {"all": ""})
    assert (is_in(here), is_in(tablet)) == (True, False)


@pytest.mark.parametrize("mark", ["made-up", "\0", "x" * 5000])
def test_a_mark_that_was_made_up_ends_nothing(ann: User, mark: str) -> None:
    here, phone = sign_in(), sign_in()

    here.post("/admin/profile/sessions/", {"session": mark})

    assert is_in(phone)


def test_nobody_ends_the_session_of_another_person(ann: User) -> None:
    User.objects.create_user("ben", password=PASSWORD, is_staff=True)
    theirs, other = sign_in("ben"), sign_in("ann")
    mark = theirs.get("/admin/profile/sessions/").context["sessions"][0].mark

    other.post("/admin/profile/sessions/", {"session": mark})
    other.post("/admin/profile/sessions/", {"all": ""})

    assert is_in(theirs)


def test_an_admin_signs_a_person_out_and_tokens_go_on(ann: User) -> None:
    boss = User.objects.create_user("boss", password=PASSWORD, is_staff=True)
    boss.groups.add(Group.objects.get(name="Admin"))
    ann.groups.add(Group.objects.get(name="Author"))
    _, token = ApiToken.issue(name="CI", user=ann, scope="read")
    theirs, admin = sign_in(), sign_in("boss")
    url = f"/admin/auth/user/{ann.pk}/sessions/"

    assert "Firefox on Linux" in admin.get(url).content.decode()
    admin.post(url, {"all": ""})

    assert (is_in(theirs), is_in(admin)) == (False, True)
    assert LogEntry.objects.filter(object_id=ann.pk).get().change_message == "1 session was ended."
    by_token = Client().get("/api/suites/", headers={"Authorization": f"Bearer {token}"})
    assert by_token.status_code == 200


def test_an_admin_signs_out_nobody_who_may_do_more(ann: User) -> None:
    boss = User.objects.create_user("boss", password=PASSWORD, is_staff=True)
    boss.groups.add(Group.objects.get(name="Admin"))
    User.objects.filter(pk=ann.pk).update(is_superuser=True)
    theirs, admin = sign_in(), sign_in("boss")

    assert admin.post(f"/admin/auth/user/{ann.pk}/sessions/", {"all": ""}).status_code == 403
    assert is_in(theirs)


def test_a_session_of_an_old_password_is_not_listed(ann: User) -> None:
    sign_in()
    ann.set_password(PASSWORD)
    ann.save()

    assert len(sign_in().get("/admin/profile/sessions/").context["sessions"]) == 1


def test_an_idle_session_ends_and_says_why(ann: User, settings: Any) -> None:
    settings.IDLE = timedelta(hours=1)
    client = sign_in()
    let_pass(minutes=59)
    assert is_in(client)
    let_pass(minutes=61)

    page = client.get("/admin/evals_app/suite/", follow=True)

    assert page.redirect_chain == [("/admin/login/?next=/admin/evals_app/suite/", 302)]
    assert "1 hour passed" in page.content.decode()
    assert client.get("/api/suites/").status_code == 401


def test_a_page_that_updates_itself_keeps_nobody_signed_in(ann: User) -> None:
    client = sign_in()
    let_pass(minutes=30)
    before = SignedInSession.objects.get(person=ann).seen_at

    client.get("/admin/", headers={"HX-Request": "true"})
    assert SignedInSession.objects.get(person=ann).seen_at == before
    client.get("/admin/")
    assert SignedInSession.objects.get(person=ann).seen_at > before


def test_a_session_in_use_ends_some_time_after_it_began_and_says_why(
    ann: User, settings: Any
) -> None:
    settings.SESSION_COOKIE_AGE = 8 * 3600
    client = sign_in()
    session: Any = client.session
    session["signed_in"] |= {"at": time.time() - 8 * 3600 + 60}
    session.save()
    assert is_in(client)
    session["signed_in"] |= {"at": time.time() - 8 * 3600 - 1}
    session.save()

    page = client.get("/admin/evals_app/suite/", follow=True)

    assert page.redirect_chain == [("/admin/login/?next=/admin/evals_app/suite/", 302)]
    assert "8 hours passed" in page.content.decode()


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/18 Safari/605", "Safari on Mac"),
        ("curl/8.5.0", "Unknown browser"),
        ("", "Unknown browser"),
    ],
)
def test_browsers_have_names(header: str, words: str) -> None:
    assert browser_in_words(header) == words
