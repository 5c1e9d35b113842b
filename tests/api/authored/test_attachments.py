import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from evals_app.engine.specs.files import sha256_of
from evals_app.models import Attachment, Suite
from tests.api.clients import make_client
from tests.library.written import AGENT

pytestmark = pytest.mark.django_db

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
OCTETS = "application/octet-stream"


def test_a_file_is_stored_named_by_a_suite_and_read_again() -> None:
    client = make_client()
    client.post(
        "/api/import/",
        {"files": [{"path": AGENT.path, "content": AGENT.content.decode()}]},
        format="json",
    )

    stored = client.post("/api/files/?name=receipt.png", PNG, content_type=OCTETS)
    turn = {
        "user": "What is the total?",
        "files": [{"path": "receipt.png", "sha256": stored.json()["sha256"]}],
        "assertions": [{"type": "contains", "value": "12"}],
    }
    suite = {"suite": "R", "slug": "r", "agent": "shop", "cases": [{"name": "a", "turns": [turn]}]}
    written = client.put("/api/suites/r/", suite, format="json")

    assert stored.status_code == 201, stored.json()
    assert stored.json() == {
        "path": "receipt.png",
        "sha256": sha256_of(PNG),
        "media_type": "image/png",
        "size_bytes": len(PNG),
    }
    assert written.status_code == 201, written.json()
    (file,) = Suite.objects.get(slug="r").to_spec().cases[0].turns[0].files
    assert file.sha256 == sha256_of(PNG)
    again = client.get(f"/api/files/{file.sha256}/")
    assert again.content == PNG
    assert again["Content-Type"] == OCTETS  # never shown as a page
    assert again["Content-Disposition"] == "attachment"
    assert again["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        pytest.param("movie.mp4", PNG, ".png", id="unknown kind"),
        pytest.param("", PNG, "name", id="no name"),
        pytest.param("../a.png", PNG, "path", id="leads elsewhere"),
        pytest.param("a.png", b"MZ", "a.png", id="something else"),
        pytest.param("a.png", b"", "is empty", id="empty"),
    ],
)
def test_what_no_agent_could_be_shown_is_refused(name: str, content: bytes, says: str) -> None:
    answer = make_client().post(f"/api/files/?name={name}", content, content_type=OCTETS)

    assert answer.status_code == 400
    assert says in answer.json()["detail"]
    assert not Attachment.objects.exists()


def test_a_form_is_not_taken_for_the_file_that_it_holds() -> None:
    upload = SimpleUploadedFile("a.txt", b"Hello")

    answer = make_client().post("/api/files/?name=a.txt", {"file": upload}, format="multipart")

    assert answer.status_code == 400
    assert "body" in answer.json()["detail"]
    assert not Attachment.objects.exists()


@pytest.mark.parametrize(
    ("scope", "permissions"),
    [
        pytest.param("run", None, id="scope"),
        pytest.param("author", ["evals_app.view_case"], id="permission"),
    ],
)
def test_storing_takes_the_right_to_change_cases(scope: str, permissions: list[str] | None) -> None:
    client = make_client(scope, permissions)

    answer = client.post("/api/files/?name=a.png", PNG, content_type=OCTETS)

    assert answer.status_code == 403


def test_a_file_that_is_not_there_is_not_found() -> None:
    assert make_client().get(f"/api/files/{'0' * 64}/").status_code == 404
