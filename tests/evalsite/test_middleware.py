import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client

from evalsite.middleware import CONTENT_SECURITY_POLICY, ContentSecurityPolicy


def test_every_page_carries_the_policy() -> None:
    middleware = ContentSecurityPolicy(lambda _: HttpResponse())

    response = middleware(HttpRequest())

    assert response.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "default-src 'self'" in CONTENT_SECURITY_POLICY
    assert "http" not in CONTENT_SECURITY_POLICY
    assert "unsafe-eval" not in CONTENT_SECURITY_POLICY


def test_a_stricter_policy_of_a_page_stays() -> None:
    strict = "default-src 'none'"
    middleware = ContentSecurityPolicy(
        lambda _: HttpResponse(headers={"Content-Security-Policy": strict})
    )

    response = middleware(HttpRequest())

    assert response.headers["Content-Security-Policy"] == strict


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "status"), [("/api/runs/", 200), ("/api/runs/1/", 404), ("/api/nothing/", 404)]
)
def test_nothing_keeps_answers_of_the_api(admin_client: Client, path: str, status: int) -> None:
    response = admin_client.get(path)

    assert response.status_code == status
    assert response.headers["Cache-Control"] == "private, no-store"
