"""A second step after the password: a code of an app, or a recovery code."""

import re
import time
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django_otp.oath import totp
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from evals_app.models.people import two_step
from evalsite.sign_in import limits

pytestmark = pytest.mark.django_db

PASSWORD = "right-horse-1"


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", password=PASSWORD, is_staff=True)


def code_of(person: User, *, later: int = 0) -> str:
    """Return what the app shows now, or some half minutes later."""
    device = TOTPDevice.objects.get(user=person)
    shown: int = totp(device.bin_key, t0=-30 * later)
    return f"{shown:06}"


@pytest.fixture
def codes(ann: User) -> list[str]:
    """Turn the second step on; return the recovery codes."""
    two_step.app_to_confirm(ann)
    return two_step.turn_on(ann, code_of(ann))


def begin(client: Client, *, wanted: str = "/admin/") -> Any:
    form = {"username": "ann", "password": PASSWORD, "next": wanted}
    return client.post("/admin/login/", form)


def finish(client: Client, code: str) -> Any:
    return client.post("/admin/login/code/", {"code": code})


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_a_person_turns_it_on_with_their_password_and_a_code(client: Client, ann: User) -> None:
    client.force_login(ann)
    page = client.get("/admin/profile/two-step/").content.decode()
    assert 'src="data:image/svg+xml' in page
    assert two_step.key_in_groups(TOTPDevice.objects.get()) in page

    wrong = client.post("/admin/profile/two-step/", {"password": "x", "code": code_of(ann)})
    assert wrong.context["form"].has_error("password")
    assert not two_step.has_two_steps(ann)

    shown = client.post("/admin/profile/two-step/", {"password": PASSWORD, "code": code_of(ann)})

    codes = re.findall(r"<li>(\w{5}-\w{5})</li>", shown.content.decode())
    assert len(codes) == 10
    assert "no-store" in shown["Cache-Control"]
    assert two_step.has_two_steps(ann)
    stored = set(StaticToken.objects.values_list("token", flat=True))
    assert not stored & {code.replace("-", "") for code in codes}
    assert LogEntry.objects.get().change_message == "Turned the second step on."


def test_the_password_alone_signs_nobody_in(client: Client, codes: list[str]) -> None:
    answer = begin(client, wanted="/admin/evals_app/suite/")

    assert answer["Location"] == "/admin/login/code/"
    assert not is_in(client)
    assert client.get("/admin/").status_code == 302
    assert client.get("/api/suites/").status_code == 401


def test_the_code_of_the_app_signs_in_and_works_once(
    client: Client, ann: User, codes: list[str]
) -> None:
    begin(client, wanted="/admin/evals_app/suite/")
    next_code = code_of(ann, later=1)

    assert finish(client, next_code)["Location"] == "/admin/evals_app/suite/"
    assert is_in(client)
    begin(other := Client())
    assert finish(other, next_code).context["form"].has_error("code")


def test_a_recovery_code_works_once_in_any_spelling(client: Client, codes: list[str]) -> None:
    begin(client)
    assert finish(client, f" {codes[3].upper().replace('-', ' ')} ").status_code == 302
    begin(other := Client())

    assert finish(other, codes[3]).context["form"].has_error("code")
    assert StaticToken.objects.count() == 9


@pytest.mark.parametrize("code", ["000000", "", "\0", "9" * 41, "aaaaa-aaaaa"])
def test_other_codes_are_refused(client: Client, codes: list[str], code: str) -> None:
    begin(client)

    assert finish(client, code).context["form"].errors
    assert not is_in(client)


def test_wrong_codes_are_limited_as_wrong_passwords_are(
    client: Client, ann: User, codes: list[str]
) -> None:
    begin(client)
    for _ in range(limits.OF_A_NAME_AT_AN_ADDRESS):
        last = finish(client, "000000")

    assert last.status_code == 429
    refused = finish(client, code_of(ann, later=1))
    assert refused.status_code == 429
    assert "Try again in 15 minutes" in refused.content.decode()
    assert not is_in(client)
    assert begin(Client()).status_code == 429
    assert "000000" not in str(list(AccessAttempt.objects.values()))


def test_a_right_code_forgets_earlier_failures(client: Client, ann: User, codes: list[str]) -> None:
    begin(client)
    finish(client, "000000")

    finish(client, code_of(ann, later=1))

    assert is_in(client)
    assert not AccessAttempt.objects.exists()


@pytest.mark.parametrize("change", ["late", "password", "inactive", "nobody"])
def test_the_second_step_needs_the_first_one(
    client: Client, ann: User, codes: list[str], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if change != "nobody":
        begin(client)
    if change == "late":
        now = time.time() + 601
        monkeypatch.setattr("evalsite.sign_in.second_step.time.time", lambda: now)
    if change == "password":
        ann.set_password("another-1")
        ann.save()
    if change == "inactive":
        User.objects.update(is_active=False)

    assert finish(client, codes[0])["Location"] == "/admin/login/"
    assert not is_in(client)


def test_a_person_turns_it_off_with_password_and_code(
    client: Client, ann: User, codes: list[str]
) -> None:
    client.force_login(ann)
    url = "/admin/profile/two-step/"

    client.post(url, {"password": PASSWORD, "code": "000000", "off": ""})
    assert two_step.has_two_steps(ann)
    client.post(url, {"password": PASSWORD, "code": codes[0], "off": ""})
    assert not two_step.has_two_steps(ann)
    assert not StaticToken.objects.exists()


def test_new_recovery_codes_replace_the_old(client: Client, ann: User, codes: list[str]) -> None:
    client.force_login(ann)

    form = {"password": PASSWORD, "code": codes[0], "codes": ""}
    page = client.post("/admin/profile/two-step/", form)

    new = re.findall(r"<li>(\w{5}-\w{5})</li>", page.content.decode())
    assert not two_step.is_right(ann, codes[1])
    assert two_step.is_right(ann, new[0])


def test_an_admin_turns_it_off_for_a_person_without_a_phone(
    client: Client, ann: User, codes: list[str]
) -> None:
    boss = User.objects.create_user("boss", is_staff=True)
    boss.groups.add(Group.objects.get(name="Admin"))
    client.force_login(boss)

    client.post(f"/admin/auth/user/{ann.pk}/sessions/", {"second_step": ""})

    assert not two_step.has_two_steps(ann)
    assert LogEntry.objects.get(object_id=ann.pk).user == boss


def test_a_new_password_by_a_link_still_asks_for_the_code(ann: User, codes: list[str]) -> None:
    ann.set_password(PASSWORD)
    ann.save()

    assert begin(Client())["Location"] == "/admin/login/code/"


@pytest.fixture
def required(settings: Any) -> None:
    settings.TWO_STEPS_REQUIRED = True


@pytest.mark.usefixtures("required")
def test_where_it_is_required_nothing_opens_before_it_is_set_up(client: Client, ann: User) -> None:
    begin(client)
    set_up = "/admin/profile/two-step/"

    assert client.get("/admin/")["Location"] == set_up
    assert client.get("/admin/profile/password/")["Location"] == set_up
    refused = client.get("/api/suites/")
    assert (refused.status_code, set_up in refused.json()["detail"]) == (403, True)
    assert "asks for a second step" in client.get(set_up).content.decode()
    client.post(set_up, {"password": PASSWORD, "code": code_of(ann)})
    assert client.get("/admin/").status_code == 200


@pytest.mark.usefixtures("required")
def test_where_it_is_required_people_may_not_turn_it_off(
    client: Client, ann: User, codes: list[str]
) -> None:
    begin(client)
    finish(client, codes[0])
    url = "/admin/profile/two-step/"

    assert 'name="off"' not in client.get(url).content.decode()
    answer = client.post(url, {"password": PASSWORD, "code": codes[1], "off": ""})
    assert answer.status_code == 403
    assert two_step.has_two_steps(ann)


@pytest.mark.usefixtures("required")
def test_people_without_a_password_need_no_second_step_of_this_site(
    client: Client, ann: User
) -> None:
    ann.set_unusable_password()
    ann.save()
    client.force_login(ann)

    assert client.get("/admin/").status_code == 200
