from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from evals_app.models import ApiToken
from tests.api.clients import make_user

pytestmark = pytest.mark.django_db


def issue(**changes: Any) -> tuple[ApiToken, str]:
    columns: dict[str, Any] = {"name": "CI", "user": make_user(), "scope": "read"} | changes
    return ApiToken.issue(**columns)


def ask(header: str | None, path: str = "/api/runs/") -> Any:
    client = APIClient()
    if header is not None:
        client.credentials(HTTP_AUTHORIZATION=header)
    return client.get(path)


@pytest.mark.parametrize("keyword", ["Bearer", "bearer", "BEARER"])
def test_a_token_lets_in_and_its_use_is_noted_once_a_minute(keyword: str) -> None:
    token, text = issue()

    for before, is_noted in [(None, True), (0.5, False), (2, True)]:  # minutes
        earlier = None if before is None else timezone.now() - timedelta(minutes=before)
        ApiToken.objects.update(last_used_at=earlier)
        assert ask(f"{keyword} {text}").status_code == 200
        token.refresh_from_db()
        assert (token.last_used_at != earlier) is is_noted


@pytest.mark.parametrize("path", ["/api/runs/", "/api/schema/"])
@pytest.mark.parametrize(
    "header",
    [
        pytest.param(None, id="nothing"),
        pytest.param("", id="empty"),
        pytest.param("Bearer", id="no token"),
        pytest.param("Bearer a b", id="two words"),
        pytest.param("Bearer ew_unknown", id="unknown"),
        pytest.param("Bearer \xff\x00", id="bytes"),
        pytest.param("Basic YTpi", id="another scheme"),
        pytest.param("Token ew_unknown", id="another keyword"),
    ],
)
def test_nothing_else_lets_in(header: str | None, path: str) -> None:
    response = ask(header, path)

    assert response.status_code == response.json()["status"] == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert response.headers["Content-Type"] == "application/problem+json"


def test_neither_an_expired_token_lets_in_nor_one_of_an_inactive_user() -> None:
    _, late = issue(expires_at=timezone.now() - timedelta(seconds=1))
    token, early = issue(expires_at=timezone.now() + timedelta(hours=1))

    assert [ask(f"Bearer {text}").status_code for text in (late, early)] == [401, 200]
    User.objects.filter(pk=token.user.pk).update(is_active=False)
    assert ask(f"Bearer {early}").status_code == 401


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        ("/api/runs/", "text/html", 406),
        ("/api/runs/?format=xml", "*/*", 404),
        ("/api/schema/", "image/png", 406),
    ],
)
def test_what_cannot_be_answered_as_it_is_wanted_is_a_problem(
    path: str, accept: str, status: int
) -> None:
    _, text = issue()

    response: Any = APIClient().get(
        path, headers={"Accept": accept, "Authorization": f"Bearer {text}"}
    )

    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
