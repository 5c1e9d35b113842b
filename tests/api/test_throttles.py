"""How often REST may be asked, and files be uploaded."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest
from django.test import Client
from rest_framework.test import APIClient

from evals_app.throttles import Uploads
from tests.api.clients import make_client, make_user, send
from tests.library.written import AGENT

pytestmark = pytest.mark.django_db

FILES = {"files": [{"path": AGENT.path, "content": AGENT.content.decode()}]}


@pytest.fixture
def limits(settings: Any) -> Any:
    """Set limits: `limits(callers="3/min")`."""

    def limit(**rates: str | None) -> None:
        known = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]
        settings.REST_FRAMEWORK = {
            **settings.REST_FRAMEWORK,
            "DEFAULT_THROTTLE_RATES": known | rates,
        }

    return limit


def statuses(client: APIClient, number: int, path: str = "/api/runs/", **more: Any) -> list[int]:
    return [client.get(path, **more).status_code for _ in range(number)]


def test_a_token_that_asks_too_often_is_told_when_to_ask_again(limits: Any) -> None:
    busy, other = make_client("read"), make_client("read")
    limits(callers="3/min")
    first = statuses(busy, 2)  # the third: make_client itself

    refused = busy.get("/api/runs/")

    assert first == [200, 200]
    assert refused.status_code == 429
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert refused.json()["status"] == 429
    assert "Try again in" in refused.json()["detail"]
    assert statuses(other, 1) == [200]


def test_refused_requests_count_too(limits: Any) -> None:
    client = make_client("read", [])
    limits(callers="3/min")

    assert statuses(client, 3) == [403, 403, 429]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no token"),
        pytest.param({"HTTP_AUTHORIZATION": "Bearer ts_wrong"}, id="a wrong token"),
        pytest.param({"HTTP_AUTHORIZATION": "Bearer"}, id="a malformed header"),
    ],
)
def test_an_address_without_a_right_token_is_refused_after_a_while(
    limits: Any, headers: dict[str, str]
) -> None:
    limits(strangers="3/min")

    assert statuses(APIClient(), 4, **headers) == [401, 401, 401, 429]
    elsewhere = statuses(APIClient(), 1, REMOTE_ADDR="192.0.2.7", **headers)
    assert elsewhere == [401]


def test_wrong_tokens_do_not_hold_up_right_ones_from_the_same_address(limits: Any) -> None:
    client = make_client("read")
    limits(strangers="1/min")

    assert statuses(APIClient(), 2, HTTP_AUTHORIZATION="Bearer ts_wrong") == [401, 429]
    assert statuses(client, 1) == [200]


def test_a_forged_address_is_no_new_address(limits: Any) -> None:
    limits(strangers="2/min")
    found = [
        statuses(APIClient(), 1, HTTP_X_FORWARDED_FOR=f"192.0.2.{number}")[0] for number in range(3)
    ]

    assert found == [401, 401, 429]


def test_a_person_who_is_signed_in_is_counted_as_well(limits: Any) -> None:
    client = APIClient()
    client.force_login(make_user())
    limits(callers="2/min")

    assert statuses(client, 3) == [200, 200, 429]


def test_an_address_that_does_not_exist_counts(limits: Any) -> None:
    limits(strangers="1/min")

    assert statuses(APIClient(), 2, "/api/nothing/") == [404, 429]


def test_no_limit_is_a_setting_too(limits: Any) -> None:
    limits(callers=None, strangers=None)

    assert set(statuses(make_client("read"), 20)) == {200}
    assert set(statuses(APIClient(), 20)) == {401}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_whoever_watches_the_site_is_never_refused(limits: Any, path: str) -> None:
    limits(callers="1/min", strangers="1/min")

    assert set(statuses(APIClient(), 5, path)) == {200}


def test_metrics_are_limited_as_rest_is(limits: Any, settings: Any) -> None:
    settings.METRICS = True
    limits(strangers="1/min")

    assert statuses(APIClient(), 2, "/metrics", HTTP_AUTHORIZATION="Bearer x") == [401, 429]


# Uploads


def test_a_person_uploads_so_often_in_an_hour_whatever_the_token(limits: Any) -> None:
    client = make_client()
    limits(uploads="2/hour")

    imported = client.post("/api/import/", FILES, format="json")
    stored = send(client, "POST", "/api/files/?name=a.txt", b"text", "text/plain")
    refused = client.post("/api/import/?dry_run=true", FILES, format="json")

    assert [each.status_code for each in (imported, stored, refused)] == [200, 201, 429]
    assert 60 < int(refused.headers["Retry-After"]) <= 3600
    assert statuses(client, 1) == [200]


def test_pages_and_rest_count_uploads_together(limits: Any, admin_user: User) -> None:
    rest, pages = APIClient(), Client()
    for client in (rest, pages):
        client.force_login(admin_user)
    limits(uploads="2/hour")
    form = {"files": SimpleUploadedFile("a.agent.yaml", AGENT.content)}
    page = "/admin/evals_app/suite/import/"

    first = rest.post("/api/import/", FILES, format="json")
    second, third = (pages.post(page, {**form, "agent": "", "pasted": ""}) for _ in range(2))

    assert [each.status_code for each in (first, second, third)] == [200, 200, 429]
    assert "Try again in" in third.content.decode()
    assert int(third.headers["Retry-After"]) > 0
    assert pages.get(page).status_code == 200


def test_a_file_that_a_case_shows_is_an_upload(limits: Any, admin_client: Client) -> None:
    limits(uploads="1/hour")
    page = "/admin/evals_app/case/add/"
    found = [
        admin_client.post(page, {"turns-0-files": SimpleUploadedFile("a.txt", b"text")}).status_code
        for _ in range(2)
    ]

    assert found == [200, 429]
    assert admin_client.post(page, {"name": ""}).status_code == 200


def test_requests_at_the_same_moment_are_all_counted(limits: Any) -> None:
    limits(uploads="20/hour")
    user = make_user([])

    def ask(_: int) -> bool:
        request: Any = HttpRequest()
        request.user = user
        return Uploads().allow_request(request, None)

    with ThreadPoolExecutor(8) as pool:
        allowed = list(pool.map(ask, range(200)))

    assert sum(allowed) == 20
