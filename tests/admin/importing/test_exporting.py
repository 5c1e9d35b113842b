from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.uploads import unpack
from evals_app.models import Assertion, Suite
from fixtures_app.models import Fixture
from tests.library.written import EVERYTHING

pytestmark = pytest.mark.django_db

EVERYTHING_URL = "/admin/evals_app/suite/export/"
FIXTURE_URL = "/admin/evals_app/suite/export/fixture/orders/"
KINDS = ("suite", "case", "agent", "provider", "fixture", "entitytype")


@pytest.fixture(autouse=True)
def everything() -> None:
    import_files(EVERYTHING)


def file_of(response: Any) -> tuple[str, str]:
    return response.headers["Content-Type"], response.headers["Content-Disposition"]


def test_everything_is_downloaded_from_the_import_page(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:evals_app_suite_import")).content.decode()

    response = admin_client.get(EVERYTHING_URL)

    assert f'href="{EVERYTHING_URL}"' in page
    assert file_of(response) == ("application/zip", 'attachment; filename="evalwell.zip"')
    upload = unpack([SourceFile("evalwell.zip", response.content)])
    report = import_files(upload.files, find=upload.find)
    assert {change.what for change in report.changes} == {"unchanged"}


def test_a_fixture_is_downloaded_from_its_page(admin_client: Client) -> None:
    url = reverse("admin:fixtures_app_fixture_change", args=[Fixture.objects.get().pk])

    response = admin_client.get(FIXTURE_URL)

    assert f'href="{FIXTURE_URL}"' in admin_client.get(url).content.decode()
    assert file_of(response) == (
        *("application/yaml", 'attachment; filename="orders.fixture.yaml"'),
    )
    assert b"order-1" in response.content


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("export", "refunds.suite.yaml"),
        ("export-all", "refunds.zip"),
        ("export-struere", "refunds.zip"),
        ("export-table", "refunds.suite.xlsx"),
    ],
)
def test_a_suite_is_downloaded_in_every_form(admin_client: Client, form: str, name: str) -> None:
    response = admin_client.get(f"/admin/evals_app/suite/{Suite.objects.get().pk}/{form}/")

    assert f'filename="{name}"' in file_of(response)[1]
    is_project = b"evals/refunds.eval.yaml" in response.content
    assert is_project is (form == "export-struere")


def test_why_it_cannot_be_downloaded_is_explained(admin_client: Client) -> None:
    Assertion.objects.filter(type="contains").update(type="of an older version")

    page = admin_client.get(EVERYTHING_URL, follow=True)

    assert "cannot be exported" in page.content.decode()


def test_a_fixture_that_does_not_exist_is_not_found(admin_client: Client) -> None:
    assert admin_client.get(FIXTURE_URL.replace("orders", "nothing")).status_code == 404
