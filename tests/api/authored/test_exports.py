import pytest
from rest_framework.test import APIClient

from evals_app.formats.importing import SourceFile
from evals_app.library.exporting.file_export import FORMS
from evals_app.library.importing.file_import import import_files
from evals_app.library.importing.uploads import unpack
from tests.api.clients import make_client
from tests.library.written import EVERYTHING

pytestmark = pytest.mark.django_db

ALL = ("suite", "agent", "provider", "fixture", "entitytype")


@pytest.fixture
def client() -> APIClient:
    import_files(EVERYTHING)
    return make_client("read")


@pytest.mark.parametrize("accept", ["application/zip", "application/json", "*/*"])
def test_everything_is_exported_and_imported_unchanged(client: APIClient, accept: str) -> None:
    response = client.get("/api/export/", headers={"Accept": accept})

    assert response.headers["Content-Type"] == "application/zip"
    assert 'filename="evalwell.zip"' in response.headers["Content-Disposition"]
    upload = unpack([SourceFile("evalwell.zip", response.content)])
    report = import_files(upload.files, find=upload.find)
    assert {change.what for change in report.changes} == {"unchanged"}
    assert len(report.changes) > len(EVERYTHING)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", ["export/", "suites/refunds/export/"])
def test_every_format_is_offered(client: APIClient, path: str, form: str) -> None:
    response = client.get(f"/api/{path}?as={form}")

    assert response.status_code == 200
    assert "refunds" in response.headers["Content-Disposition"] or path == "export/"
    assert response.content


@pytest.mark.parametrize("path", ["export/", "suites/refunds/export/"])
def test_an_unknown_format_is_refused_and_a_near_one_named(client: APIClient, path: str) -> None:
    response = client.get(f"/api/{path}?as=strure")

    assert response.status_code == 400
    assert "Did you mean 'struere'?" in response.content.decode()


@pytest.mark.parametrize("path", ["export/", "suites/refunds/export/?as=struere"])
@pytest.mark.parametrize("missing", [kind for kind in ALL if kind != "provider"])
def test_what_somebody_may_not_see_is_not_exported(
    client: APIClient, path: str, missing: str
) -> None:
    apps = {"fixture": "fixtures_app", "entitytype": "fixtures_app"}
    seen = [f"{apps.get(kind, 'evals_app')}.view_{kind}" for kind in ALL if kind != missing]

    response = make_client("read", permissions=seen).get(f"/api/{path}")

    assert response.status_code == 403


@pytest.mark.parametrize("path", ["export/", "suites/refunds/export/?as=struere"])
def test_an_export_has_no_providers_for_those_who_may_not_see_them(
    client: APIClient, path: str
) -> None:
    kinds = ("suite", "agent", "fixture", "entitytype")
    apps = {"fixture": "fixtures_app", "entitytype": "fixtures_app"}
    seen = [f"{apps.get(kind, 'evals_app')}.view_{kind}" for kind in kinds]

    response = make_client("read", permissions=seen).get(f"/api/{path}")

    assert response.status_code == 200
    assert b"provider" not in response.content
    assert b"provider" in client.get("/api/export/").content
