import shutil
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from evals_app.models import Worker


def no_database(*_: object) -> Any:
    message = "could not connect to server db.example.org as admin"
    raise OperationalError(message)


def test_the_process_answers_without_a_database(client: Client) -> None:
    # No database mark: a query would fail the test.
    response = client.get("/healthz")

    assert response.status_code == HTTPStatus.OK
    assert response.content == b"ok\n"


@pytest.mark.django_db
def test_with_database_migrations_and_a_worker_all_is_well(client: Client) -> None:
    Worker.objects.create(host="worker-1", pid=7, version="1", processes=3)

    response = client.get("/readyz")

    assert response.status_code == HTTPStatus.OK
    assert response.json() == {"ready": True, "problems": [], "warnings": []}
    assert "no-store" in response.headers["Cache-Control"]


@pytest.mark.django_db
def test_missing_workers_are_named_and_stop_nobody(client: Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == HTTPStatus.OK
    assert response.json()["ready"] is True
    assert "python manage.py worker" in response.json()["warnings"][0]


@pytest.mark.django_db
def test_a_migration_that_is_not_applied_is_named_with_what_to_do(client: Client) -> None:
    ((app, last),) = MigrationLoader(connection).graph.leaf_nodes("evals_app")
    MigrationRecorder(connection).record_unapplied(app, last)

    response = client.get("/readyz")

    assert response.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    (problem,) = response.json()["problems"]
    assert problem.startswith(f"1 migration is not applied, first evals_app.{last}.")
    assert "python manage.py migrate" in problem


@pytest.mark.django_db
def test_a_database_that_does_not_answer_is_shown_without_its_address(client: Client) -> None:
    with connection.execute_wrapper(no_database):
        response = client.get("/readyz")

    assert response.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert response.json()["problems"] == ["The database does not answer."]
    assert b"example.org" not in response.content


@pytest.mark.django_db
@pytest.mark.parametrize(("free", "is_ready"), [(49_999_999, False), (50_000_000, True)])
def test_a_full_disk_is_named_without_its_path(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch, *, free: int, is_ready: bool
) -> None:
    def usage(folder: Path) -> SimpleNamespace:
        return SimpleNamespace(free=free if folder == settings.DATA_DIR else 10**12)

    monkeypatch.setattr(shutil, "disk_usage", usage)

    response = client.get("/readyz")

    assert response.json()["ready"] is is_ready
    assert (response.status_code == HTTPStatus.OK) is is_ready
    words = "The disk of the data directory is full: less than 50 MB are free. Make room."
    assert response.json()["problems"] == ([] if is_ready else [words])


@pytest.mark.django_db
def test_sqlite_on_another_disk_is_looked_at_too(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def usage(folder: Path) -> SimpleNamespace:
        return SimpleNamespace(free=10**12 if folder == settings.DATA_DIR else 0)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    settings.IS_SQLITE = True
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", "/elsewhere/evalwell.sqlite3")

    (problem,) = client.get("/readyz").json()["problems"]

    assert problem.startswith("The disk of the database is full")


@pytest.mark.django_db
def test_a_disk_that_does_not_answer_is_not_ready(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_disk(folder: Path) -> None:
        raise FileNotFoundError(2, "No such file or directory", str(folder))

    monkeypatch.setattr(shutil, "disk_usage", no_disk)

    response = client.get("/readyz")

    assert response.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert "The disk of the data directory does not answer." in response.json()["problems"]
    assert str(settings.DATA_DIR).encode() not in response.content


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_nothing_is_written_there(client: Client, path: str) -> None:
    assert client.post(path).status_code == HTTPStatus.METHOD_NOT_ALLOWED


@pytest.mark.django_db
def test_being_asked_often_costs_little(
    client: Client, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    with django_assert_max_num_queries(4):  # tables and migrations, workers
        client.get("/readyz")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_are_answered_whatever_name_they_use_and_without_tls(
    client: Client, settings: Any, path: str
) -> None:
    settings.ALLOWED_HOSTS = ["evals.example.org"]
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = ["^healthz$", "^readyz$", "^metrics$"]

    assert client.get(path, headers={"host": "10.0.0.7:8000"}).status_code == HTTPStatus.OK
    assert client.get("/", headers={"host": "10.0.0.7:8000"}).status_code == HTTPStatus.BAD_REQUEST
    elsewhere = client.get("/", headers={"host": "evals.example.org"})
    assert elsewhere.headers["Location"] == "https://evals.example.org/"
