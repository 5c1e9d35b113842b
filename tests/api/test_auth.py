from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from evals_app.api.auth import note_use
from evals_app.models import ApiToken
from tests.api.clients import make_user

pytestmark = pytest.mark.django_db


def issue(**changes: Any) -> tuple[ApiToken, str]:
    columns: dict[str, Any] = {"name": "CI", "user": make_user(), "scope": "read"} | changes
    return ApiToken.issue(**columns)


def status(header: str | None) -> int:
    client = APIClient()
    if header is not None:
        client.credentials(HTTP_AUTHORIZATION=header)
    return int(client.get("/api/runs/").status_code)


@pytest.mark.parametrize("keyword", ["Bearer", "bearer", "BEARER"])
def test_a_token_lets_in(keyword: str) -> None:
    _, text = issue()

    assert status(f"{keyword} {text}") == 200


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(None, id="nothing"),
        pytest.param("", id="empty"),
        pytest.param("Bearer", id="no token"),
        pytest.param("Bearer a b", id="two words"),
        pytest.param("Bearer ts_unknown", id="unknown"),
        pytest.param("Bearer \xff\x00", id="bytes"),
        pytest.param("Basic YTpi", id="another scheme"),
        pytest.param("Token ts_unknown", id="another keyword"),
    ],
)
def test_nothing_else_lets_in(header: str | None) -> None:
    client = APIClient()
    if header is not None:
        client.credentials(HTTP_AUTHORIZATION=header)

    response = client.get("/api/runs/")

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert response.headers["Content-Type"] == "application/problem+json"


def test_an_expired_token_does_not_let_in() -> None:
    _, late = issue(expires_at=timezone.now() - timedelta(seconds=1))
    _, early = issue(expires_at=timezone.now() + timedelta(hours=1))

    assert (status(f"Bearer {late}"), status(f"Bearer {early}")) == (401, 200)


def test_the_token_of_an_inactive_user_does_not_let_in() -> None:
    token, text = issue()
    token.user.is_active = False
    token.user.save()

    assert status(f"Bearer {text}") == 401


def test_use_is_noted_once_a_minute() -> None:
    token, text = issue()
    status(f"Bearer {text}")
    token.refresh_from_db()
    first = token.last_used_at
    status(f"Bearer {text}")
    token.refresh_from_db()

    assert first is not None
    assert token.last_used_at == first


def test_use_is_noted_again_after_a_minute() -> None:
    token, _ = issue()
    old = timezone.now() - timedelta(minutes=2)
    ApiToken.objects.update(last_used_at=old)
    token.refresh_from_db()

    note_use(token)

    token.refresh_from_db()
    assert token.last_used_at is not None
    assert token.last_used_at > old


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


def test_the_schema_is_refused_in_json_although_it_is_yaml() -> None:
    response: Any = APIClient().get("/api/schema/", headers={"Authorization": "Bearer ts_unknown"})

    assert response.status_code == 401
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["status"] == 401
