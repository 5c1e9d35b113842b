"""Signing in through the company, against a provider that answers over HTTP."""

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from authlib.integrations.django_client import DjangoOAuth2App
from axes.models import AccessAttempt, AccessLog
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from joserfc.jwk import RSAKey

from evals_app.models import CompanyAccount
from evalsite.sign_in import limits
from evalsite.sign_in.variables import IdentityProvider
from tests.company_server import ANN, Company, company_server, provider

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the provider, about Authlib
]


@pytest.fixture
def company(settings: Any) -> Iterator[Company]:
    settings.GROUP_ROLES = {"quality": ("Author", "Runner"), "bosses": ("Admin",)}
    with company_server(settings) as server:
        server.hire("a-1", **ANN)
        yield server


def roles(person: User) -> set[str]:
    return set(person.groups.values_list("name", flat=True))


def said(page: Any) -> str:
    """Return the reason on the page to sign in on."""
    assert "_auth_user_id" not in page.wsgi_request.session
    return str(page.context["refused"])


def test_a_person_of_the_company_comes_in_with_the_roles_of_their_groups(
    client: Client, company: Company
) -> None:
    last = company.sign_in(client, "a-1", start="?next=/admin/evals_app/suite/")

    ann = User.objects.get()
    assert (last.status_code, last["Location"]) == (302, "/admin/evals_app/suite/")
    assert client.get("/admin/").status_code == 200
    assert (ann.username, ann.get_full_name(), ann.email) == ("ann", "Ann Smith", ANN["email"])
    assert roles(ann) == {"Author", "Runner"}
    assert not ann.has_usable_password()
    assert "Author, Runner" in LogEntry.objects.get().change_message
    assert AccessLog.objects.get().username == "ann"


def test_the_button_is_on_the_page_and_keeps_the_page_that_was_asked_for(
    client: Client, company: Company
) -> None:
    page = client.get("/admin/login/?next=/admin/evals_app/run/").content.decode()

    assert "Sign in with Acme" in page
    assert 'href="/admin/login/company/?next=%2Fadmin%2Fevals_app%2Frun%2F"' in page


def test_another_site_is_no_next_page(client: Client, company: Company) -> None:
    last = company.sign_in(client, "a-1", start="?next=https://evil.example/")

    assert last["Location"] == "/admin/"


def test_the_same_person_comes_back_under_another_name(company: Company) -> None:
    company.sign_in(Client(), "a-1")
    company.hire("a-1", **ANN | {"email": "new@example.org", "preferred_username": "other"})

    company.sign_in(Client(), "a-1")

    assert User.objects.get().username == "ann"


def test_roles_follow_the_groups_at_the_next_sign_in_and_others_stay(company: Company) -> None:
    company.sign_in(Client(), "a-1")
    ann = User.objects.get()
    ann.groups.add(Group.objects.get(name="Reviewer"))  # an admin did that
    company.hire("a-1", **ANN | {"groups": ["bosses"]})

    company.sign_in(Client(), "a-1")

    assert roles(ann) == {"Admin", "Reviewer"}


def test_whoever_left_all_groups_is_refused_and_has_no_role_left(company: Company) -> None:
    company.sign_in(Client(), "a-1")
    company.hire("a-1", **ANN | {"groups": []})

    page = company.sign_in(Client(), "a-1")

    assert page.status_code == 403
    assert "None of your groups" in said(page)
    assert roles(User.objects.get()) == set()


def test_a_stranger_of_the_company_is_refused_and_leaves_no_account(
    client: Client, company: Company
) -> None:
    company.hire("m-1", name="Mallory", email="m@example.org", groups=["sales"])

    page = company.sign_in(client, "m-1")

    assert page.status_code == 403
    assert "administrator" in said(page)
    assert not User.objects.exists()
    assert not CompanyAccount.objects.exists()


def test_everybody_may_have_a_role(client: Client, company: Company, settings: Any) -> None:
    settings.GROUP_ROLES = {"*": ("Viewer",)}
    company.hire("m-1", name="Mia")

    company.sign_in(client, "m-1")

    assert roles(User.objects.get(username="mia")) == {"Viewer"}


def test_an_account_that_is_switched_off_stays_out(company: Company) -> None:
    company.sign_in(Client(), "a-1")
    User.objects.update(is_active=False)

    assert company.sign_in(Client(), "a-1").status_code == 403


def test_an_invited_colleague_gets_the_account_that_waits(
    client: Client, company: Company, settings: Any
) -> None:
    settings.GROUP_ROLES = {}
    waiting = User.objects.create_user("asmith", email="ANN@example.org", is_staff=True)
    waiting.groups.add(Group.objects.get(name="Reviewer"))

    company.sign_in(client, "a-1")

    assert CompanyAccount.objects.get().person == User.objects.get() == waiting
    assert CompanyAccount.objects.get().subject == "a-1"
    assert roles(waiting) == {"Reviewer"}


@pytest.mark.parametrize(
    ("claims", "account"),
    [
        pytest.param({"email_verified": False}, {}, id="an e-mail that no one verified"),
        pytest.param({"email_verified": "true"}, {}, id="not a yes"),
        pytest.param({}, {"password": "x"}, id="an account with a password"),
        pytest.param({"email": ""}, {"email": ""}, id="no e-mail"),
    ],
)
def test_nobody_takes_over_an_account_by_its_e_mail(
    client: Client, company: Company, claims: dict[str, Any], account: dict[str, Any]
) -> None:
    """People choose the e-mail of their account: it could be that of their boss."""
    other = User.objects.create_user("other", is_staff=True, **{"email": ANN["email"], **account})
    company.hire("a-1", **ANN | claims | {"groups": ["bosses"]})

    company.sign_in(client, "a-1")

    assert roles(other) == set()
    assert not CompanyAccount.objects.filter(person=other).exists()


def test_a_sign_in_that_began_elsewhere_is_refused(client: Client, company: Company) -> None:
    there = Client().get("/admin/login/company/")
    back = company.send_back(there["Location"], "a-1")
    page = client.get(back)

    assert page.status_code == 400
    assert "did not begin in this browser" in said(page)
    assert not AccessAttempt.objects.exists()  # a link on any page could do it


@pytest.mark.parametrize("query", ["", "?state=x", "?code=x&state=y", "?error=odd&state=%00"])
def test_an_address_that_was_made_up_is_refused(
    client: Client, company: Company, query: str
) -> None:
    assert said(client.get(f"/admin/login/company/back/{query}"))


def test_an_answer_is_accepted_once(client: Client, company: Company) -> None:
    there = client.get("/admin/login/company/")
    back = company.send_back(there["Location"], "a-1")
    assert client.get(back).status_code == 302
    client.post("/admin/logout/")

    assert client.get(back).status_code == 400


def test_another_nonce_is_refused(client: Client, company: Company) -> None:
    there = client.get("/admin/login/company/")
    session = client.session
    key = next(name for name in list(session.keys()) if name.startswith("_state_"))
    session[key]["data"]["nonce"] = "another"
    session.save()

    page = client.get(company.send_back(there["Location"], "a-1"))

    assert page.status_code == 403
    assert "cannot be trusted" in said(page)
    assert AccessAttempt.objects.count() == 1


def other_key(_: object) -> Any:
    return RSAKey.generate_key(2048).as_dict(private=True)


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param({"key": other_key}, id="signature"),
        pytest.param({"iss": "https://evil.example"}, id="issuer"),
        pytest.param({"claims": {"aud": "another-site"}}, id="audience"),
        pytest.param({"claims": {"aud": ["a", "evalwell"], "azp": "a"}}, id="for another site"),
        pytest.param({"exp": -600}, id="too old"),
        pytest.param(
            {"alg": "HS256", "key": {"kty": "oct", "k": "c2VjcmV0" * 8}},
            id="the client's secret as key",
        ),
    ],
)
def test_a_forged_token_is_refused(
    client: Client, company: Company, monkeypatch: pytest.MonkeyPatch, forged: dict[str, Any]
) -> None:
    written = provider.OpenIDCode.get_jwt_config

    def forge(self: Any, grant: Any, client: Any = None) -> dict[str, Any]:
        config: dict[str, Any] = written(self, grant, client)
        return config | {
            name: value(config) if callable(value) else value for name, value in forged.items()
        }

    monkeypatch.setattr(provider.OpenIDCode, "get_jwt_config", forge)
    company.hire("a-1", **ANN, **forged.get("claims", {}))

    page = company.sign_in(client, "a-1")

    assert page.status_code == 403
    assert "cannot be trusted" in said(page)
    assert not User.objects.exists()
    assert AccessAttempt.objects.get().username is None


def test_user_info_about_someone_else_is_refused(
    client: Client, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DjangoOAuth2App, "userinfo", lambda *_, **__: {"sub": "boss"})
    there = client.get("/admin/login/company/")

    assert said(client.get(company.send_back(there["Location"], "a-1")))
    assert not User.objects.exists()


def test_whoever_refuses_at_the_company_is_told_so(client: Client, company: Company) -> None:
    there = client.get("/admin/login/company/")
    state = re.findall(r"[?&]state=(\w+)", there["Location"])[0]

    page = client.get(f"/admin/login/company/back/?error=access_denied&state={state}")

    assert page.status_code == 400
    assert "did not sign in at Acme" in said(page)


def test_a_provider_that_does_not_answer_is_no_error_of_ours(
    client: Client, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.IDENTITY_PROVIDER = IdentityProvider(
        "http://127.0.0.1:9", "evalwell", "s3cret", "Acme", "openid", "groups"
    )

    page = client.get("/admin/login/company/")

    assert page.status_code == 503
    assert "does not answer" in said(page)
    assert "s3cret" not in caplog.text


def test_an_address_that_failed_too_often_may_not_begin(
    client: Client, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "AT_AN_ADDRESS", 2)
    for name in ("ann", "ben"):
        client.post("/admin/login/", {"username": name, "password": "x"})

    page = client.get("/admin/login/company/")

    assert page.status_code == 429
    assert "Try again in 15 minutes" in said(page)


@pytest.mark.parametrize("claim", ["groups", "realm_access.roles", "https://acme.example/groups"])
def test_groups_may_be_in_any_claim(
    client: Client, settings: Any, company: Company, claim: str
) -> None:
    settings.IDENTITY_PROVIDER = settings.IDENTITY_PROVIDER._replace(groups=claim)
    del (claims := dict(ANN))["groups"]
    inner: dict[str, Any] = {"realm_access": {"roles": ["quality"]}}
    company.hire("a-1", **claims, **inner if claim.startswith("realm") else {claim: ["quality"]})

    company.sign_in(client, "a-1")

    assert roles(User.objects.get()) == {"Author", "Runner"}


@pytest.mark.parametrize("path", ["", "back/"])
def test_without_a_provider_there_is_no_such_page(client: Client, path: str) -> None:
    assert client.get(f"/admin/login/company/{path}").status_code == 404


def test_passwords_can_be_switched_off(client: Client, company: Company, settings: Any) -> None:
    User.objects.create_superuser("root", password="right-horse-1")
    settings.PASSWORDS = False

    page = client.get("/admin/login/").content.decode()
    answer = client.post("/admin/login/", {"username": "root", "password": "right-horse-1"})

    assert "Sign in with Acme" in page
    assert 'type="password"' not in page
    assert answer.status_code == 200
    assert "_auth_user_id" not in client.session


def connect_link(client: Client) -> str:
    page = client.get("/admin/profile/").content.decode()
    return html.unescape(re.findall(r'href="(/admin/login/company/[^"]+)"', page)[0])


def test_a_person_connects_the_account_that_they_have(client: Client, company: Company) -> None:
    old = User.objects.create_user("old", is_staff=True)
    client.force_login(old)
    start = connect_link(client).removeprefix("/admin/login/company/")

    last = company.sign_in(client, "a-1", start=start)

    assert last["Location"] == "/admin/profile/"
    assert User.objects.get() == old
    company.sign_in(another := Client(), "a-1")
    assert another.session["_auth_user_id"] == str(old.pk)
    assert "You can sign in with Acme" in client.get("/admin/profile/").content.decode()


def test_only_the_profile_page_connects_accounts(client: Client, company: Company) -> None:
    """A link elsewhere could lead to an account at the company that is its author's."""
    old = User.objects.create_user("old", is_staff=True)
    client.force_login(old)
    (elsewhere := Client()).force_login(old)
    foreign = connect_link(elsewhere).removeprefix("/admin/login/company/")

    for start in ("?connect=1", foreign):
        company.sign_in(client, "a-1", start=start)
        assert not CompanyAccount.objects.filter(person=old).exists()


def test_an_account_at_the_company_belongs_to_one_person(client: Client, company: Company) -> None:
    company.sign_in(Client(), "a-1")
    client.force_login(User.objects.create_user("old", is_staff=True))
    there = client.get(connect_link(client))

    page = client.get(company.send_back(there["Location"], "a-1"))

    assert page.status_code == 403
    assert "someone else" in page.context["refused"]


def test_without_passwords_nobody_gets_a_link_to_set_one(
    admin_client: Client, company: Company, settings: Any
) -> None:
    settings.PASSWORDS = False
    ben = User.objects.create_user("ben", is_staff=True)
    role = Group.objects.get(name="Viewer").pk

    link = admin_client.get(f"/admin/auth/user/{ben.pk}/link/")
    invited = admin_client.post("/admin/auth/user/add/", {"name": "Cem", "groups": role})

    assert link.status_code == 403
    assert invited["Location"] == "/admin/auth/user/"
    assert User.objects.get(username="cem").is_staff
    assert "any more" in Client().get("/admin/invitation/MQ/made-up/").content.decode()
