from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.forms import Form
from django.http import QueryDict
from django.test import Client
from django.utils.datastructures import MultiValueDict

from evals_app.admin.conversation.file_field import FilesField
from evals_app.engine.specs.files import MAX_FILES, MAX_TURN_BYTES, sha256_of
from evals_app.models import Attachment, Turn
from tests.authored import write_case
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
STORED = {"path": "receipt.png", "sha256": sha256_of(PNG)}
KEPT = f"{STORED['sha256']} receipt.png"


@pytest.fixture(autouse=True)
def _stored() -> None:
    Attachment.objects.store([PNG])


class Shown(Form):
    files = FilesField()  # type: ignore[assignment]  # see TurnForm


def form_of(*kept: str, initial: Any = None, **uploads: bytes) -> Shown:
    data = QueryDict(mutable=True)
    data.setlist("files-keep", list(kept))
    given: list[UploadedFile[Any]] = [
        SimpleUploadedFile(name.replace("_", "."), content) for name, content in uploads.items()
    ]
    return Shown(data, MultiValueDict({"files": given}), initial={"files": initial or []})


def test_what_is_kept_and_what_is_new_come_together() -> None:
    form = form_of(KEPT, note_txt=b"Hello")

    assert form.is_valid(), form.errors
    hello = sha256_of(b"Hello")
    assert form.cleaned_data["files"] == [
        STORED,
        {"path": f"{hello[:8]}/note.txt", "sha256": hello},
    ]
    assert Attachment.objects.read(hello) == b"Hello"


def test_a_file_that_is_not_kept_goes() -> None:
    form = form_of(initial=[STORED])

    assert form.is_valid()
    assert form.cleaned_data["files"] == []
    assert form.has_changed()


def test_a_page_saved_as_it_is_changes_nothing() -> None:
    assert not form_of(KEPT, initial=[STORED]).has_changed()
    assert not form_of(" receipt.png", initial=["receipt.png"]).has_changed()


def test_two_files_of_one_name_are_distinguished() -> None:
    first, second = form_of(note_txt=b"Hello"), form_of(note_txt=b"Bye")

    assert first.is_valid()
    assert second.is_valid()
    (one,), (other,) = first.cleaned_data["files"], second.cleaned_data["files"]
    assert one["path"] != other["path"]


@pytest.mark.parametrize(
    ("uploads", "kept", "says"),
    [
        pytest.param({"movie_mp4": PNG}, [], "cannot be shown to an agent", id="unknown kind"),
        pytest.param({"a_png": b"MZ"}, [], "does not match its file extension", id="other content"),
        pytest.param({"a_txt": b""}, [], "empty", id="empty"),
        ({}, [f"{sha256_of(PNG)} {n}.png" for n in range(MAX_FILES + 1)], "at most 10"),
        pytest.param({}, [f"{'0' * 64} a.png"], "no longer stored", id="removed since"),
        pytest.param({}, ["../../etc/passwd"], "Choose it again", id="made up"),
        pytest.param({}, [f"{sha256_of(PNG)} ../a.png"], "Choose it again", id="leads elsewhere"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_words(
    uploads: dict[str, bytes], kept: list[str], says: str
) -> None:
    form = form_of(*kept, **uploads)

    assert not form.is_valid()
    assert says in str(form.errors["files"])


@pytest.mark.parametrize(
    ("size", "is_valid"),
    [
        pytest.param(MAX_TURN_BYTES - 5, True, id="just enough"),
        pytest.param(MAX_TURN_BYTES - 4, False, id="too much"),
    ],
)
def test_files_that_are_kept_count_for_the_size_of_a_turn(size: int, *, is_valid: bool) -> None:
    Attachment.objects.filter(pk=STORED["sha256"]).update(size_bytes=size)

    form = form_of(KEPT, note_txt=b"Hello")

    assert form.is_valid() is is_valid
    assert is_valid or "30,000,001 bytes" in str(form.errors["files"])


def test_after_an_error_elsewhere_no_file_must_be_chosen_again() -> None:
    html = str(form_of(KEPT, note_txt=b"Hello")["files"])

    assert html.count("checked") == 2
    assert f"{sha256_of(b'Hello')} {sha256_of(b'Hello')[:8]}/note.txt" in html


def test_a_name_is_escaped() -> None:
    name = '"><script>.png'

    html = str(Shown(initial={"files": [{"path": name, "sha256": sha256_of(PNG)}]})["files"])

    assert "<script>" not in html


def test_the_case_editor_keeps_files_facts_and_data(admin_client: Client) -> None:
    Attachment.objects.store([PNG])
    turn = {
        "user": "Total?",
        "files": [STORED],
        "context": ["Lyon.\nFrance."],
        "retrieval_context": [],
        "config": {"currency": "EUR"},
        "assertions": [{"type": "contains", "value": "12"}],
    }
    case = write_case(turns=[turn])
    page = open_page(admin_client, f"/admin/evals_app/case/{case.pk}/change/")

    page.post(**{"turns-0-user": "The total?", "turns-0-files": SimpleUploadedFile("a.png", PNG)})

    saved = Turn.objects.get(case=case).to_mapping()
    assert saved["user"] == "The total?"
    assert [file["path"] for file in saved["files"]] == [
        "receipt.png",
        f"{sha256_of(PNG)[:8]}/a.png",
    ]
    assert saved["context"] == turn["context"]
    assert saved["retrieval_context"] == []
    assert saved["config"] == {"currency": "EUR"}
