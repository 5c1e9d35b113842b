import io
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from openpyxl import Workbook
from rest_framework.test import APIClient

from evals_app.api import parsers
from evals_app.models import Agent, Provider, Suite
from fixtures_app.models import Fixture
from tests.api.clients import make_client, make_user, send
from tests.library.written import AGENT, EVERYTHING, SUITE

pytestmark = pytest.mark.django_db

IN_JSON = {"files": [{"path": file.path, "content": file.content.decode()} for file in EVERYTHING]}


@pytest.fixture
def client() -> APIClient:
    return make_client()


def post(client: APIClient, body: object, query: str = "") -> Any:
    return client.post(f"/api/import/{query}", body, format="json")


def test_files_are_imported_from_json(client: APIClient) -> None:
    response = post(client, IN_JSON)

    assert response.status_code == 200, response.json()
    assert response.json()["dry_run"] is False
    assert len(response.json()["changes"]) == 7
    created: object = {
        "kind": "suite",
        "slug": "refunds",
        "what": "created",
        "edited": None,
        "came_from": None,
        "differences": [],
    }
    assert created in response.json()["changes"]
    assert response.json()["losses"] == []
    assert Suite.objects.get().slug == "refunds"


def test_files_are_uploaded(client: APIClient) -> None:
    uploads = [SimpleUploadedFile(file.path, file.content) for file in EVERYTHING]

    response = client.post("/api/import/", {"files": uploads}, format="multipart")

    assert response.status_code == 200, response.json()
    assert Suite.objects.get().slug == "refunds"


def test_the_name_of_a_part_is_its_path(client: APIClient) -> None:
    project = {
        "shop.agent.yaml": AGENT.content,
        "school/evals/hello.eval.yaml": b"suite: H\nslug: hello\nagent: shop\ncases:\n"
        b"  - {name: a, turns: [{user: Hi, assertions: [{type: contains, value: x}]}]}\n",
        "school/fixtures/pupils.fixture.yaml": b"name: P\nslug: pupils\nentities: []\n",
        "zoo/fixtures/animals.fixture.yaml": b"name: A\nslug: animals\nentities: []\n",
    }
    uploads = {
        path: SimpleUploadedFile(path.rpartition("/")[2], content)
        for path, content in project.items()
    }

    response = client.post("/api/import/", uploads, format="multipart")

    assert response.status_code == 200, response.json()
    assert Fixture.objects.count() == 2
    assert [each.slug for each in Suite.objects.get().fixtures.all()] == ["pupils"]


def test_an_archive_is_unpacked_and_what_it_names_is_found_in_it(client: APIClient) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in EVERYTHING:
            archive.writestr(f"project/{file.path}", file.content)
        archive.writestr("project/README.md", "About")
        archive.writestr("project/left.csv", "question,answer\n")
    upload = SimpleUploadedFile("project.zip", packed.getvalue())

    response = client.post("/api/import/", {"files": [upload]}, format="multipart")

    assert response.status_code == 200, response.json()
    assert Suite.objects.get().slug == "refunds"
    assert [each["path"] for each in response.json()["warnings"]] == ["project/left.csv"]


def test_an_archive_that_cannot_be_read_is_refused_in_words(client: APIClient) -> None:
    upload = SimpleUploadedFile("project.zip", b"no archive")

    response = client.post("/api/import/", {"files": [upload]}, format="multipart")

    assert response.status_code == 400
    assert response.json()["errors"][0]["path"] == "project.zip"
    assert "no zip archive" in response.json()["detail"]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_table_is_imported_for_the_agent_that_the_query_names(
    client: APIClient, ending: str
) -> None:
    post(client, {"files": [IN_JSON["files"][0]]})
    rows = [["case", "user", "contains"], ["Greets", "Hi", "Hello"]]
    content = "\n".join(map(",".join, rows)).encode()
    if ending == "xlsx":
        book, packed = Workbook(write_only=True), io.BytesIO()
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
        book.save(packed)
        content = packed.getvalue()
    upload = SimpleUploadedFile(f"greetings.{ending}", content)

    response = client.post("/api/import/?agent=shop", {"files": [upload]}, format="multipart")

    assert response.status_code == 200, response.json()
    assert Suite.objects.get().agent.slug == "shop"


def test_an_agent_that_does_not_exist_is_refused(client: APIClient) -> None:
    response = post(client, IN_JSON, "?agent=shup")

    assert response.status_code == 400
    assert "Did you mean 'shop'?" in response.json()["detail"]


def test_a_dry_run_tells_what_would_be_different(client: APIClient) -> None:
    post(client, IN_JSON)
    changed = SUITE.content.decode().replace("trials: 2", "trials: 4")
    files = [*IN_JSON["files"][:-1], {"path": SUITE.path, "content": changed}]

    response = post(client, {"files": files}, "?dry_run=true")

    suite = next(each for each in response.json()["changes"] if each["kind"] == "suite")
    assert suite["differences"] == [{"keys": "trials", "before": "2", "after": "4"}]


def test_what_is_lost_is_answered_with_its_reason(client: APIClient) -> None:
    post(client, {"files": [IN_JSON["files"][0]]})
    lobu = (
        "name: ping\ndescription: x\nturns:\n- content: Hi\n  assert:\n"
        "  - {type: regex, value: hi, options: {case_insensitive: true}}\n"
    )

    response = post(client, {"files": [{"path": "agents/shop/evals/ping.yaml", "content": lobu}]})

    (loss,) = response.json()["losses"]
    assert (loss["path"], loss["line"]) == ("agents/shop/evals/ping.yaml", 6)
    assert loss["message"]


@pytest.mark.parametrize("content_type", ["application/yaml", "application/x-yaml", "text/yaml"])
def test_one_file_is_imported_as_it_is(client: APIClient, content_type: str) -> None:
    response = send(
        client, "POST", "/api/import/?path=shop.agent.yaml", AGENT.content, content_type
    )

    assert response.status_code == 200, response.json()
    assert Agent.objects.get().slug == "shop"


def test_a_dry_run_tells_and_writes_nothing(client: APIClient) -> None:
    response = post(client, IN_JSON, "?dry_run=true")

    assert response.json()["dry_run"] is True
    assert len(response.json()["changes"]) == 7
    assert not Agent.objects.exists()


def test_errors_tell_file_line_column_and_keys(client: APIClient) -> None:
    content = SUITE.content.decode().replace("trials: 2", "trails: 2")
    files = [*IN_JSON["files"][:4], {"path": "evals/refunds.suite.yaml", "content": content}]

    response = post(client, {"files": files})

    assert response.status_code == 400
    assert response.json()["type"] == "urn:touchstone:invalid-files"
    (error,) = response.json()["errors"]
    assert (error["path"], error["line"], error["column"], error["keys"]) == (
        *("evals/refunds.suite.yaml", 9, 1, "trails"),
    )
    assert "Did you mean 'trials'?" in error["message"]
    assert not Agent.objects.exists()


def test_warnings_are_answered(client: APIClient) -> None:
    quiet = "suite: Q\nslug: q\nagent: shop\ncases:\n  - {name: a, turns: [{user: Hi}]}\n"

    response = post(
        client, {"files": [*IN_JSON["files"], {"path": "q.suite.yaml", "content": quiet}]}
    )

    (warning,) = response.json()["warnings"]
    assert (warning["path"], warning["line"]) == ("q.suite.yaml", 5)


@pytest.mark.parametrize(
    ("body", "query", "expected"),
    [
        pytest.param({}, "", "The key `files` is missing", id="nothing"),
        pytest.param({"files": []}, "", "files: At least one entry is needed", id="no file"),
        pytest.param({"files": ["a"]}, "", "Expected keys with values", id="text for a file"),
        pytest.param({"files": [{"path": "a.yaml"}]}, "", "files[0].content", id="no content"),
        pytest.param({"file": []}, "", "Did you mean 'files'?", id="unknown key"),
        pytest.param(
            {"files": [{"path": "a", "content": "", "name": ""}]}, "", "files[0].name", id="inner"
        ),
        pytest.param({"files": [{"path": "a.pdf", "content": ""}]}, "", "an eval file", id="text"),
        pytest.param(IN_JSON, "?dry_run=yes", "dry_run is true or false", id="dry_run"),
        pytest.param(IN_JSON, "?dryrun=true", "Did you mean 'dry_run'?", id="unknown parameter"),
        pytest.param(IN_JSON, "?dialect=struer", "Did you mean 'struere'?", id="dialect"),
        pytest.param(IN_JSON, "?path=a.yaml", "each file has its own", id="a path too many"),
    ],
)
def test_an_import_that_makes_no_sense_is_refused(
    client: APIClient, body: object, query: str, expected: str
) -> None:
    response = post(client, body, query)

    assert response.status_code == 400
    assert expected in str(response.json()), response.json()
    assert not Agent.objects.exists()


def test_a_file_without_a_name_is_refused(client: APIClient) -> None:
    response = send(client, "POST", "/api/import/", AGENT.content, "application/yaml")

    assert response.status_code == 400
    assert "?path=" in response.json()["detail"]


def test_an_upload_of_nothing_is_refused(client: APIClient) -> None:
    nothing = client.post("/api/import/", {}, format="multipart")
    text = client.post("/api/import/", {"files": "text"}, format="multipart")

    assert (nothing.status_code, text.status_code) == (400, 400)
    assert nothing.json()["detail"] == "There is no file in this upload."
    assert "is no file" in text.json()["detail"]


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b'form-data; name="files"; filename="K\xe4se.agent.yaml"', id="file name"),
        pytest.param(b'form-data; name="K\xe4se.agent.yaml"; filename="x"', id="name"),
        pytest.param(b'form-data; filename="x.agent.yaml"', id="no name"),
    ],
)
def test_a_part_that_cannot_be_read_is_not_passed_over(client: APIClient, head: bytes) -> None:
    parts = [
        (b'form-data; name="files"; filename="shop.agent.yaml"', AGENT.content),
        (head, AGENT.content.replace(b"slug: shop", b"slug: other")),
    ]
    body = b"".join(b"--x\r\nContent-Disposition: %s\r\n\r\n%s\r\n" % part for part in parts)

    response = send(
        client, "POST", "/api/import/", body + b"--x--\r\n", "multipart/form-data; boundary=x"
    )

    assert response.status_code == 400
    assert "write both in UTF-8" in response.json()["detail"]
    assert not Agent.objects.exists()


def test_an_option_among_the_files_is_refused(client: APIClient) -> None:
    upload = SimpleUploadedFile(AGENT.path, AGENT.content)

    response = client.post(
        "/api/import/", {"files": [upload], "dry_run": "true"}, format="multipart"
    )

    assert response.status_code == 400
    assert response.json()["errors"][0]["keys"] == "dry_run"
    assert not Agent.objects.exists()


@pytest.mark.parametrize("has_session", [False, True])
def test_files_that_are_too_large_together_are_refused(
    client: APIClient, monkeypatch: pytest.MonkeyPatch, *, has_session: bool
) -> None:
    if has_session:
        client = APIClient(enforce_csrf_checks=True)
        client.force_login(make_user())
        client.get("/admin/")
        token = client.cookies["csrftoken"].value
        client.credentials(HTTP_X_CSRFTOKEN=token)
    monkeypatch.setattr(parsers, "MAX_BODY", 100)  # the true one would take seconds
    uploads = [SimpleUploadedFile(f"{n}.agent.yaml", b"x" * 60) for n in range(2)]

    response = client.post("/api/import/", {"files": uploads}, format="multipart")

    assert response.status_code == 413


@pytest.mark.parametrize("shown", ["api_key_env: sk-ant-1", "api_key: sk-ant-1"])
def test_a_key_in_the_wrong_place_is_not_repeated(client: APIClient, shown: str) -> None:
    provider = f"provider: P\nslug: p\nkind: anthropic\n{shown}\n"

    response = post(client, {"files": [{"path": "p.provider.yaml", "content": provider}]})

    assert response.status_code == 400
    assert response.json()["errors"][0]["value"] == "***"
    assert "sk-ant" not in response.content.decode()


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("api_key_env: DATABASE_URL", "api_key_env"),
        ("api_key_env: sk_ant_1", "api_key_env"),
        ("base_url: http://169.254.169.254/v1", "base_url"),
        ("base_url: https://elsewhere.example/v1", "base_url"),
    ],
)
def test_neither_any_secret_nor_any_address_is_imported(
    client: APIClient, written: str, keys: str
) -> None:
    provider = f"provider: P\nslug: p\nkind: anthropic\n{written}\n"

    response = post(client, {"files": [{"path": "p.provider.yaml", "content": provider}]})

    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert (error["keys"], error["line"]) == (keys, 4)
    assert "EVALS_" in error["message"]
    assert "sk_ant" not in response.content.decode()
    assert not Provider.objects.filter(slug="p").exists()


def test_too_many_files_are_refused(client: APIClient) -> None:
    uploads = {f"{n}.agent.yaml": SimpleUploadedFile("x", b"x") for n in range(101)}

    response = client.post("/api/import/", uploads, format="multipart")

    assert response.status_code == 413
    assert response.headers["Content-Type"] == "application/problem+json"


def test_a_broken_upload_is_refused(client: APIClient) -> None:
    response = send(
        client, "POST", "/api/import/", b"--x\r\nbroken", "multipart/form-data; boundary=x"
    )

    assert response.status_code == 400


def test_what_somebody_edited_is_replaced_when_the_query_says_so(client: APIClient) -> None:
    post(client, IN_JSON)
    Suite.objects.update(description="Mine")

    tried = post(client, IN_JSON, "?dry_run=true").json()
    refused = post(client, IN_JSON)
    replaced = post(client, IN_JSON, "?replace=true")

    (edited,) = [each for each in tried["changes"] if each["edited"]]
    assert (edited["slug"], edited["edited"]) == ("refunds", {"by": None, "at": None})
    assert [refused.status_code, replaced.status_code] == [409, 200]
    assert refused.json()["type"] == "urn:touchstone:edited"
    assert refused.json()["errors"][0]["keys"] == "refunds"


def test_another_file_takes_a_suite_over_when_the_query_says_so(client: APIClient) -> None:
    post(client, IN_JSON)
    changed = SUITE.content.decode().replace("trials: 2", "trials: 4")
    other = {"files": [{"path": "elsewhere/other.suite.yaml", "content": changed}]}

    tried = post(client, other, "?dry_run=true").json()
    refused = post(client, other)
    replaced = post(client, other, "?replace=true")

    assert [each["came_from"] for each in tried["changes"]] == [SUITE.path]
    assert [refused.status_code, replaced.status_code] == [409, 200]
    assert refused.json()["type"] == "urn:touchstone:edited"
