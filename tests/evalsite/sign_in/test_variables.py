"""What the environment says about signing in: half of it is refused, with what is missing."""

from ipaddress import ip_network

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsite.sign_in import variables

OIDC = {"ISSUER": "https://login.example.org/", "CLIENT_ID": "evalwell", "CLIENT_SECRET": "s3cret"}


def put(monkeypatch: pytest.MonkeyPatch, prefix: str, values: dict[str, str]) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"{prefix}_{name}", value)


def test_a_provider_needs_three_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert variables.identity_provider("A") is None
    put(monkeypatch, "A", OIDC)

    found = variables.identity_provider("A")

    assert found is not None
    assert found.issuer == "https://login.example.org"
    assert (found.scopes, found.groups) == ("openid profile email", "groups")


@pytest.mark.parametrize("missing", OIDC)
def test_half_of_a_provider_is_refused_with_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    put(monkeypatch, "A", OIDC | {missing: ""})

    with pytest.raises(ImproperlyConfigured, match=f"A_{missing} is not") as refused:
        variables.identity_provider("A")
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"ISSUER": "http://login.example.org"}, "https"),
        ({"ISSUER": "login.example.org"}, "https"),
        ({"ISSUER": "https:///x"}, "https"),
        ({"ISSUER": "https://a.example/.well-known/openid-configuration"}, "leave out"),
        ({"SCOPES": "profile"}, "openid"),
    ],
)
def test_a_provider_that_cannot_work_is_refused(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], word: str
) -> None:
    put(monkeypatch, "A", OIDC | values)

    with pytest.raises(ImproperlyConfigured, match=word):
        variables.identity_provider("A")


def test_a_provider_on_this_machine_may_do_without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "A", OIDC | {"ISSUER": "http://localhost:9000"})

    assert variables.identity_provider("A")


def test_headers_are_trusted_from_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert variables.trusted_headers("P") is None
    put(monkeypatch, "P", {"USER_HEADER": "X-User", "ADDRESSES": "127.0.0.1, 10.0.0.0/24"})

    found = variables.trusted_headers("P")

    assert found is not None
    assert found.proxies == (ip_network("127.0.0.1"), ip_network("10.0.0.0/24"))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"USER_HEADER": "X-User"}, "P_ADDRESSES is not"),
        ({"ADDRESSES": "127.0.0.1"}, "P_USER_HEADER is not"),
        ({"GROUPS_HEADER": "X-Groups"}, "P_USER_HEADER is not"),
        ({"USER_HEADER": "X-User", "ADDRESSES": "proxy.example.org"}, "IP addresses"),
        ({"USER_HEADER": "X-User", "ADDRESSES": "10.0.0.1/24"}, "IP addresses"),
    ],
)
def test_half_of_a_proxy_is_refused(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], word: str
) -> None:
    put(monkeypatch, "P", values)

    with pytest.raises(ImproperlyConfigured, match=word):
        variables.trusted_headers("P")


def test_a_group_has_one_role_or_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("R", '{"a": "Viewer", "b": ["Author", "Runner"]}')

    assert variables.roles_of_groups("R") == {"a": ("Viewer",), "b": ("Author", "Runner")}


@pytest.mark.parametrize(
    "text", ["a=Viewer", "[]", '{"a": 1}', '{"a": []}', '{"a": [1]}', '{"a": {}}']
)
def test_other_roles_are_refused_with_an_example(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("R", text)

    with pytest.raises(ImproperlyConfigured, match="evalwell-admins"):
        variables.roles_of_groups("R")
