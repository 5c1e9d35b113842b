"""Workbooks whose first sheet fills a grid. Who may send them: tests/test_permissions.py."""

import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from openpyxl import Workbook

pytestmark = pytest.mark.django_db

ADDRESS = "/admin/evals_app/suite/import/first-sheet/"


def workbook(*rows: list[Any]) -> bytes:
    book = Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.create_sheet("Second").append(["not read"])
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def send(client: Client, content: bytes) -> Any:
    return client.post(ADDRESS, {"file": SimpleUploadedFile("a.xlsx", content)})


def test_the_rows_of_the_first_sheet_are_returned_as_a_person_sees_them(
    admin_client: Client,
) -> None:
    answer = send(admin_client, workbook(["ref", "total", "paid"], [], ["one", 12.5, True]))

    assert answer.json() == {"rows": [["ref", "total", "paid"], ["one", "12.5", "TRUE"]]}


@pytest.mark.parametrize(
    ("content", "word"),
    [
        pytest.param(b"ref,total", "workbook", id="no workbook"),
        pytest.param(workbook(["ref"], ["=1/0"]), "A2", id="formula without a value"),
    ],
)
def test_what_is_wrong_with_a_file_is_explained(
    admin_client: Client, content: bytes, word: str
) -> None:
    assert word in send(admin_client, content).json()["problem"]


def test_a_request_without_a_file_is_refused(admin_client: Client) -> None:
    assert admin_client.post(ADDRESS).status_code == 400


def test_workbooks_count_as_uploads(settings: Any, admin_client: Client) -> None:
    rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] | {"uploads": "1/hour"}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}

    first, second = (send(admin_client, workbook(["ref"])) for _ in range(2))

    assert (first.status_code, second.status_code) == (200, 429)
    assert "Try again in" in second.json()["problem"]
    assert int(second.headers["Retry-After"]) > 0
