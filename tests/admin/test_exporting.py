import io
import zipfile
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.formats import SourceFile
from evals_app.library import import_files
from evals_app.library.uploads import unpack
from evals_app.models import Assertion, Suite
from fixtures_app.models import Fixture
from tests.authored import client_who_may
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
    assert file_of(response) == ("application/zip", 'attachment; filename="touchstone.zip"')
    upload = unpack([SourceFile("touchstone.zip", response.content)])
    report = import_files(upload.files, find=upload.find)
    assert {each.what for each in report.changes} == {"unchanged"}


def test_a_fixture_is_downloaded_from_its_page(admin_client: Client) -> None:
    url = reverse("admin:fixtures_app_fixture_change", args=[Fixture.objects.get().pk])

    response = admin_client.get(FIXTURE_URL)

    assert f'href="{FIXTURE_URL}"' in admin_client.get(url).content.decode()
    assert file_of(response) == (
        *("application/yaml", 'attachment; filename="orders.fixture.yaml"'),
    )
    assert b"order-1" in response.content


def test_a_suite_is_downloaded_as_a_project_of_struere(admin_client: Client) -> None:
    suite = Suite.objects.get()

    response = admin_client.get(f"/admin/evals_app/suite/{suite.pk}/export-struere/")

    names = zipfile.ZipFile(io.BytesIO(response.content)).namelist()
    assert "evals/refunds.eval.yaml" in names


def test_a_suite_is_downloaded_as_a_spreadsheet(admin_client: Client) -> None:
    suite = Suite.objects.get()

    response = admin_client.get(f"/admin/evals_app/suite/{suite.pk}/export-table/")

    assert 'filename="refunds.suite.xlsx"' in file_of(response)[1]


def test_why_it_cannot_be_downloaded_is_told_in_words(admin_client: Client) -> None:
    Assertion.objects.filter(type="contains").update(type="of an older version")

    page = admin_client.get(EVERYTHING_URL, follow=True)

    assert "It cannot be exported" in page.content.decode()


def test_a_fixture_that_does_not_exist_is_not_found(admin_client: Client) -> None:
    assert admin_client.get(FIXTURE_URL.replace("orders", "nothing")).status_code == 404


@pytest.mark.parametrize(
    ("url", "missing"), [*((EVERYTHING_URL, kind) for kind in KINDS), (FIXTURE_URL, "fixture")]
)
def test_what_somebody_may_not_see_is_not_downloaded(url: str, missing: str) -> None:
    client = client_who_may(*(f"view_{kind}" for kind in KINDS if kind != missing))

    assert client.get(url).status_code == 403


@pytest.mark.parametrize("what", ["export-all", "export-struere", "export-table"])
@pytest.mark.parametrize("missing", ["agent", "fixture", "provider"])
def test_who_may_see_suites_alone_does_not_get_what_they_need(what: str, missing: str) -> None:
    url = f"/admin/evals_app/suite/{Suite.objects.get().pk}/"
    client = client_who_may(*(f"view_{kind}" for kind in KINDS if kind != missing))

    page = client.get(f"{url}change/").content.decode()

    assert client.get(f"{url}{what}/").status_code == 403
    assert f"{url}{what}/" not in page
    assert f"{url}export/" in page
