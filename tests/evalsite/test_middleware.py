from django.http import HttpRequest, HttpResponse

from evalsite.middleware import CONTENT_SECURITY_POLICY, ContentSecurityPolicy


def test_every_page_carries_the_policy() -> None:
    middleware = ContentSecurityPolicy(lambda _: HttpResponse())

    response = middleware(HttpRequest())

    assert response.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "default-src 'self'" in CONTENT_SECURITY_POLICY
    assert "http" not in CONTENT_SECURITY_POLICY


def test_a_stricter_policy_of_a_page_stays() -> None:
    strict = "default-src 'none'"
    middleware = ContentSecurityPolicy(
        lambda _: HttpResponse(headers={"Content-Security-Policy": strict})
    )

    response = middleware(HttpRequest())

    assert response.headers["Content-Security-Policy"] == strict
