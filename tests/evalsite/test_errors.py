import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.management import call_command
from django.db import OperationalError, connection
from django.test import Client

from evals_app.models import Agent
from evals_app.requests.auth import TokenAuthentication
from evalsite.logs import OneLine
from tests.authored import write_suite
from tests.faults.databases import default_database
from tests.library.written import AGENT

IMPORT = json.dumps({"files": [{"path": AGENT.path, "content": AGENT.content.decode()}]})
NOT_FOR_US = {"Host": "elsewhere.example"}


@pytest.fixture
def site() -> Client:
    """Return a client that gets the answer which the site would give, not the exception."""
    return Client(raise_request_exception=False)


def is_problem(response: Any, status: int) -> bool:
    body = response.json()
    return bool(
        response.headers["Content-Type"] == "application/problem+json"
        and response.status_code == body["status"] == status
        and body["detail"]
    )


@pytest.fixture
def no_database(settings: Any) -> Iterator[None]:
    """Let the database be a server that does not answer."""
    settings.METRICS = True
    gone = settings.DATABASES["default"] | {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "nothing",
        "USER": "nobody",
        "PASSWORD": "",
        "HOST": "127.0.0.1",
        "PORT": "9",
        "OPTIONS": {},
    }
    with default_database(gone):
        yield


@pytest.mark.usefixtures("no_database")
@pytest.mark.django_db
def test_without_the_database_rest_answers_a_problem(site: Client) -> None:
    response = site.get("/api/runs/", HTTP_AUTHORIZATION="Bearer ew_x")

    assert is_problem(response, 503)
    assert int(response.headers["Retry-After"]) > 0


@pytest.mark.usefixtures("no_database")
@pytest.mark.django_db
def test_without_the_database_metrics_answer_a_word(site: Client) -> None:
    response = site.get("/metrics", HTTP_AUTHORIZATION="Bearer ew_x")

    assert (response.status_code, response.headers["Content-Type"][:10]) == (503, "text/plain")
    assert "Retry-After" in response.headers


@pytest.mark.usefixtures("no_database")
@pytest.mark.django_db
def test_without_the_database_people_read_a_page(site: Client) -> None:
    site.cookies["sessionid"] = "x" * 32

    response = site.get("/admin/")

    assert response.status_code == 503
    assert "does not answer" in response.content.decode()


@pytest.mark.slow
@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite locks all of itself")
@pytest.mark.django_db(transaction=True)
def test_who_saves_while_the_database_is_locked_is_shown_that_nothing_was_saved(
    site: Client, tmp_path: Path, settings: Any
) -> None:
    file = tmp_path / "locked.sqlite3"
    own = settings.DATABASES["default"] | {"NAME": str(file)}
    own["OPTIONS"] = own["OPTIONS"] | {"timeout": 0.2}
    with default_database(own):
        call_command("migrate", verbosity=0)
        site.force_login(User.objects.create_superuser("ada"))
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            page = site.post("/admin/evals_app/agent/add/", {"name": "Shop"})
            answer = site.post("/api/import/", IMPORT, content_type="application/json")
            other.execute("ROLLBACK")

    assert page.status_code == 503
    assert "not saved" in page.content.decode()
    assert page.headers["Retry-After"] == answer.headers["Retry-After"]
    assert is_problem(answer, 503)


@pytest.mark.django_db
def test_below_api_every_refusal_is_a_problem(site: Client) -> None:
    assert is_problem(site.get("/api/nothing/"), 404)
    assert is_problem(site.get("/api/runs/", headers=NOT_FOR_US), 400)
    assert site.get("/nothing/").headers["Content-Type"].startswith("text/html")
    assert site.get("/admin/", headers=NOT_FOR_US).headers["Content-Type"].startswith("text/html")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path", "status", "right"),
    [
        ("get", "/admin/evals_app/suite/add/", 403, "add suites"),
        ("get", "/admin/evals_app/agent/1/change/", 403, "view agents"),
        ("post", "/admin/evals_app/agent/1/change/", 403, "change agents"),
        ("get", "/admin/evals_app/suite/import/", 403, "do this"),
        ("get", "/admin/help/nothing/", 404, ""),
    ],
)
def test_a_refusal_is_a_page_of_the_site_that_says_what_to_ask_for(
    site: Client, method: str, path: str, status: int, right: str
) -> None:
    write_suite()
    site.force_login(User.objects.create_user("ada", is_staff=True))
    path = path.replace("1", str(Agent.objects.values_list("pk", flat=True)[0]))
    from_here = {"Referer": "http://testserver/admin/"}

    page = getattr(site, method)(path, headers=from_here)

    text = page.content.decode()
    assert page.status_code == status
    assert right in text
    assert 'id="nav-sidebar' in text  # the frame of the site
    assert 'href="http://testserver/admin/"' in text


@pytest.mark.django_db
def test_strangers_see_nothing_of_the_site_on_a_page_that_is_missing(site: Client) -> None:
    text = site.get("/nothing/", headers={"Referer": "https://elsewhere.example/"}).content.decode()

    assert 'href="/"' in text
    assert "nav-sidebar" not in text
    assert "elsewhere.example" not in text


@pytest.mark.django_db
def test_a_form_of_another_session_is_refused_with_what_to_do() -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("ada"))

    page = strict.post("/admin/evals_app/suite/add/", {"name": "x", "_draft": "1"})

    assert page.status_code == 403
    assert "load the page again" in page.content.decode()
    assert "kept" in page.content.decode()


@pytest.mark.django_db
def test_a_fault_of_ours_is_a_page_without_its_reason(
    site: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(admin.site, "each_context", break_down)
    site.force_login(User.objects.create_superuser("ada"))

    page = site.get("/admin/")

    assert page.status_code == 500
    assert "administrator" in page.content.decode()
    assert "secret" not in page.content.decode()


@pytest.mark.django_db
def test_a_mistake_of_ours_is_a_problem_without_its_reason(
    site: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(TokenAuthentication, "authenticate", break_down)

    response = site.get("/api/runs/")

    assert is_problem(response, 500)
    assert "secret" not in response.content.decode()


@pytest.mark.parametrize(
    ("error", "is_short"),
    [
        (OperationalError("database is locked"), True),
        (OperationalError("failed\nat 10.0.0.1"), True),
        (OperationalError("no such table: x"), False),
        (PermissionDenied(), True),
        (SuspiciousOperation("a cookie\nthat is odd"), True),
        (ValueError("of our own"), False),
    ],
    ids=str,
)
def test_the_log_has_one_line_for_what_is_no_fault_of_the_code(
    error: Exception,
    is_short: bool,  # noqa: FBT001 - of a table
) -> None:
    caught = (type(error), error, None)
    record = logging.LogRecord("x", logging.ERROR, "", 0, "Failed: %s", ("/",), caught)

    OneLine().filter(record)

    text = logging.Formatter().format(record)
    assert ("\n" not in text) == is_short
    assert str(error).partition("\n")[0] in text
