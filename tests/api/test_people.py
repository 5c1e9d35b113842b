"""Who asks, their own tokens, and everyone for admins."""

import pytest
from django.contrib.auth.models import Group, User
from rest_framework.test import APIClient

from evals_app.models import ApiToken
from tests.api.clients import make_client, make_user

pytestmark = pytest.mark.django_db


def test_a_program_learns_who_it_acts_for_and_what_its_token_may() -> None:
    user = make_user(["evals_app.view_run", "evals_app.view_apitoken"])
    user.groups.add(Group.objects.create(name="Readers"))
    _, text = ApiToken.issue(name="CI", user=user, scope="read")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")

    me = client.get("/api/me/").json()

    assert (me["username"], me["roles"]) == (user.username, ["Readers"])
    assert me["permissions"] == ["evals_app.view_apitoken", "evals_app.view_run"]
    assert (me["token"]["name"], me["token"]["scope"]) == ("CI", "read")
    assert text not in str(me)


def test_people_list_and_revoke_tokens_of_their_own_alone() -> None:
    client = make_client()
    own = client.get("/api/tokens/").json()["results"]
    other, _ = ApiToken.issue(name="Theirs", user=make_user(), scope="read")

    assert [token["name"] for token in own] == ["test"]
    refused = client.delete(f"/api/tokens/{other.pk}/")
    assert (refused.status_code, refused.json()["detail"]) == (
        404,
        f"There is no API token {other.pk}.",
    )
    assert client.delete(f"/api/tokens/{own[0]['id']}/").status_code == 204
    assert client.get("/api/tokens/").status_code == 401
    assert list(ApiToken.objects.all()) == [other]


def test_admins_list_everyone_by_name() -> None:
    User.objects.create_user("grace", first_name="Grace", last_name="Hopper")
    client = make_client()

    rows = client.get("/api/people/", {"ordering": "username", "count": "true"}).json()

    assert rows["count"] == User.objects.count()
    assert rows["results"][0]["name"] == "Grace Hopper"
    assert "password" not in rows["results"][0]
