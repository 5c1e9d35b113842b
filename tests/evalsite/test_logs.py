"""Lines of the log, as people and as programs read them."""

import io
import json
import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import Client, RequestFactory
from django.utils.functional import SimpleLazyObject
from gunicorn.config import Config

from evals_app.engine.basics import at_work
from evalsite.logs import (
    CURRENT_REQUEST,
    ContextFilter,
    CurrentRequest,
    JsonFormatter,
    TextFormatter,
)
from evalsite.web_server import GunicornLog

log = logging.getLogger("tests.logs")


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """Return what is written to `log` as JSON."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(ContextFilter())
    log.addHandler(handler)
    yield stream
    log.removeHandler(handler)


@pytest.fixture(autouse=True)
def no_context() -> Iterator[None]:
    context = (CURRENT_REQUEST, at_work.RUN, at_work.EXECUTION)
    for variable in context:
        variable.set(None)
    yield
    for variable in context:
        variable.set(None)


def asked_by(user: Any) -> None:
    request = RequestFactory().get("/")
    request.user = user
    CURRENT_REQUEST.set(CurrentRequest(request, "a1"))


def test_a_line_is_one_json_object_with_what_it_was_written_for(written: io.StringIO) -> None:
    at_work.RUN.set(7)
    asked_by(User(username="ann"))

    log.warning("two\nlines of %s", "text", extra={"execution": 9})

    line = json.loads(written.getvalue())
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert line == {
        "level": "WARNING",
        "logger": "tests.logs",
        "message": "two\nlines of text",
        "run": 7,
        "execution": 9,
        "request_id": "a1",
        "user": "ann",
    }
    assert written.getvalue().count("\n") == 1


def test_a_traceback_is_text_in_its_line(written: io.StringIO) -> None:
    try:
        raise ValueError("wrong")  # noqa: TRY301
    except ValueError:
        log.exception("It failed.")

    (line,) = written.getvalue().splitlines()
    assert json.loads(line)["exception"].endswith("ValueError: wrong")


@pytest.mark.parametrize(
    "user",
    [
        pytest.param(AnonymousUser(), id="no one"),
        # Reading it would ask the database.
        pytest.param(SimpleLazyObject(lambda: pytest.fail("was asked")), id="not known yet"),
    ],
)
def test_the_log_asks_no_one_who_sent_a_request(written: io.StringIO, user: Any) -> None:
    asked_by(user)

    log.warning("Hello")

    assert "user" not in json.loads(written.getvalue())


def test_people_read_the_same_in_brackets() -> None:
    record = logging.LogRecord("a.b", logging.INFO, "", 0, "Hello", (), None)
    plain = TextFormatter().format(record)
    record.run, record.user = 7, "ann"

    assert plain.endswith(" INFO a.b: Hello")
    assert TextFormatter().format(record).endswith(" INFO a.b: Hello [run=7 user=ann]")


def test_gunicorn_writes_in_the_same_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALWELL_LOG_FORMAT", "json")

    (handler,) = GunicornLog(Config()).error_log.handlers

    assert isinstance(handler.formatter, JsonFormatter)


# Requests


def access(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [record for record in caplog.records if record.name == "evalsite.access_log"]


@pytest.mark.django_db
def test_a_request_is_a_line_without_its_query(
    admin_client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = admin_client.get("/admin/evals_app/run/?q=secret")

    (line,) = access(caplog)
    assert (line.method, line.path, line.status) == ("GET", "/admin/evals_app/run/", 200)
    assert line.bytes == len(answer.content)
    assert line.ms >= 0
    ContextFilter().filter(line)
    assert line.user == "admin"
    assert "secret" not in JsonFormatter().format(line)


@pytest.mark.parametrize(
    ("path", "shown", "level"),
    [
        pytest.param("/healthz", "/healthz", "DEBUG", id="probe"),
        pytest.param("/static/no.css", "/static/no.css", "DEBUG", id="file"),
        pytest.param("/api/runs/", "/api/runs/", "INFO", id="REST"),
        pytest.param("/a%0Ab", "/a%0Ab", "INFO", id="lines in a path"),
        ("/admin/invitation/MQ/abc-123def/", "/admin/invitation/MQ/***/", "INFO"),
        ("/admin/connect/1/abc-123def/", "/admin/connect/1/***/", "INFO"),
    ],
)
@pytest.mark.django_db
def test_paths_are_shown_without_secrets(
    client: Client, caplog: pytest.LogCaptureFixture, path: str, shown: str, level: str
) -> None:
    caplog.set_level(logging.DEBUG)
    client.get(path)

    (line,) = access(caplog)
    assert (line.path, line.levelname) == (shown, level)
