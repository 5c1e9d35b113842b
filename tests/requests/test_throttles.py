"""How often REST may be asked, and files be uploaded."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest
from django.test import Client
from rest_framework.test import APIClient

from evals_app.requests.throttles import Uploads
from tests.api.clients import make_client, make_user, send
from tests.library.written import AGENT

pytestmark = pytest.mark.django_db

WRONG = {"HTTP_AUTHORIZATION": "Bearer ew_wrong"}
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


def test_a_token_that_asks_too_often_is_shown_when_to_ask_again(limits: Any) -> None:
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


def test_each_answer_says_how_much_is_left(limits: Any) -> None:
    limits(callers="3/min")
    client = make_client("read")

    answers = [client.get("/api/suites/") for _ in range(3)]

    assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert {answer.headers["RateLimit-Limit"] for answer in answers} == {"3"}
    assert 0 < int(answers[-1].headers["RateLimit-Reset"]) <= 60
    limits(callers=None)
    assert "RateLimit-Limit" not in make_client("read").get("/api/suites/").headers


def test_refused_requests_count_too(limits: Any) -> None:
    client = make_client("read", [])
    limits(callers="3/min")

    assert statuses(client, 3) == [403, 403, 429]


@pytest.mark.parametrize(
    ("path", "headers", "answers"),
    [
        pytest.param("/api/runs/", {}, [401, 401, 429], id="no token"),
        pytest.param("/api/runs/", WRONG, [401, 401, 429], id="a wrong token"),
        ("/api/runs/", {"HTTP_AUTHORIZATION": "Bearer"}, [401, 401, 429]),
        ("/api/runs/", {"HTTP_X_FORWARDED_FOR": "{n}"}, [401, 401, 429]),
        pytest.param("/api/runs/", {"REMOTE_ADDR": "192.0.2.{n}"}, [401] * 3, id="other addresses"),
        pytest.param("/api/nothing/", {}, [404, 404, 429], id="no such address"),
        pytest.param("/metrics", WRONG, [401, 401, 429], id="metrics"),
        pytest.param("/healthz", {}, [200] * 3, id="a probe"),
        pytest.param("/readyz", {}, [200] * 3, id="another probe"),
    ],
)
def test_an_address_without_a_right_token_is_refused_after_a_while(
    limits: Any, settings: Any, path: str, headers: dict[str, str], answers: list[int]
) -> None:
    settings.METRICS = True
    limits(strangers="2/min", callers="1/min")

    for number, status in enumerate(answers):
        sent: Any = {name: text.format(n=number) for name, text in headers.items()}
        assert APIClient().get(path, **sent).status_code == status


def test_wrong_tokens_do_not_hold_up_right_ones_from_the_same_address(limits: Any) -> None:
    client = make_client("read")
    limits(strangers="1/min")

    assert statuses(APIClient(), 2, **WRONG) == [401, 429]
    assert statuses(client, 1) == [200]


def test_a_person_who_is_signed_in_is_counted_as_well(limits: Any) -> None:
    client = APIClient()
    client.force_login(make_user())
    limits(callers="2/min")

    assert statuses(client, 3) == [200, 200, 429]


def test_no_limit_is_a_setting_too(limits: Any) -> None:
    limits(callers=None, strangers=None)

    assert set(statuses(make_client("read"), 20)) == {200}
    assert set(statuses(APIClient(), 20)) == {401}


# Uploads


def test_a_person_uploads_so_often_in_an_hour_whatever_the_token(limits: Any) -> None:
    client = make_client()
    limits(uploads="2/hour")

    imported = client.post("/api/import/", FILES, format="json")
    stored = send(client, "POST", "/api/files/?name=a.txt", b"text", "text/plain")
    refused = client.post("/api/import/?dry_run=true", FILES, format="json")

    assert [answer.status_code for answer in (imported, stored, refused)] == [200, 201, 429]
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

    assert [answer.status_code for answer in (first, second, third)] == [200, 200, 429]
    assert "Try again in" in third.content.decode()
    assert int(third.headers["Retry-After"]) > 0
    assert pages.get(page).status_code == 200


def test_a_file_that_a_case_shows_is_an_upload(limits: Any, admin_client: Client) -> None:
    limits(uploads="1/hour")
    page = "/admin/evals_app/case/add/"
    answers = [
        admin_client.post(page, {"turns-0-files": SimpleUploadedFile("a.txt", b"text")}).status_code
        for _ in range(2)
    ]

    assert answers == [200, 429]
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
