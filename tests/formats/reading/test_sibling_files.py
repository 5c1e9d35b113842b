from pathlib import Path

import pytest

from evals_app.engine.specs.files import sha256_of
from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.sibling_files import SiblingFiles
from evals_app.library.exporting.file_export import export_files
from evals_app.library.importing.file_import import import_files
from evals_app.models import Attachment, Suite
from tests.library.written import AGENT

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
SUITE = SourceFile(
    "receipts.suite.yaml",
    b"""suite: Receipts
slug: receipts
agent: shop
cases:
- name: Total
  turns:
  - user: What is the total?
    files: [photos/receipt.png, list.csv]
    context: [The shop is in Lyon.]
    retrieval_context: []
    config: {currency: EUR, rates: [1.5]}
    assertions:
    - type: contains
      value: '12'
""",
)
SHOWN = [SourceFile("photos/receipt.png", PNG), SourceFile("list.csv", b"item,price\nbook,12\n")]


@pytest.mark.django_db
def test_what_a_turn_shows_and_says_is_exported_and_imported_unchanged() -> None:
    import_files([AGENT, SUITE, *SHOWN])

    exported = export_files().files
    again = import_files([SourceFile(path, content) for path, content in exported.items()])

    assert exported["receipts.files/photos/receipt.png"] == PNG
    assert {change.what for change in again.changes} == {"unchanged"}
    assert export_files().files == exported
    turn = Suite.objects.get().to_spec().cases[0].turns[0]
    assert turn.context == ["The shop is in Lyon."]
    assert turn.retrieval_context == []
    assert turn.config == {"currency": "EUR", "rates": [1.5]}
    assert Attachment.objects.count() == 2


@pytest.mark.django_db
def test_another_content_under_the_same_name_is_a_change() -> None:
    import_files([AGENT, SUITE, *SHOWN])

    report = import_files([SUITE, SHOWN[0], SourceFile("list.csv", b"item,price\nbook,13\n")])

    assert [change.what for change in report.changes] == ["updated"]
    files = Suite.objects.get().to_spec().cases[0].turns[0].files
    assert files[1].sha256 == sha256_of(b"item,price\nbook,13\n")


@pytest.mark.django_db
def test_a_trial_of_an_import_stores_no_content() -> None:
    import_files([AGENT, SUITE, *SHOWN], dry_run=True)

    assert not Attachment.objects.exists()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "evals"
    (inside / "photos").mkdir(parents=True)
    (inside / "photos" / "a.png").write_bytes(PNG)
    (tmp_path / "secret.png").write_bytes(PNG)
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    return inside


@pytest.mark.parametrize(
    ("path", "content"),
    [
        pytest.param("evals/photos/a.png", PNG, id="below"),
        pytest.param("evals/b.png", None, id="missing"),
        pytest.param("evals/photos", None, id="folder"),
        pytest.param("secret.png", None, id="above"),
        pytest.param("evals/link.png", None, id="link that leads out"),
        pytest.param("evals/" + "a" * 5000, None, id="longer than names can be"),
        pytest.param("evals/a\0.png", None, id="no name of a file"),
    ],
)
def test_only_what_lies_beside_a_file_is_found(
    folder: Path, path: str, content: bytes | None
) -> None:
    find = SiblingFiles.of([folder / "x.suite.yaml"], root=folder.parent).find

    assert find(path) == content


def test_all_that_lies_in_a_folder_that_is_imported_is_found(folder: Path) -> None:
    deep = folder / "agents" / "a"
    deep.mkdir(parents=True)

    find = SiblingFiles.of([folder, deep / "agent.yaml"], root=folder.parent).find

    assert find("evals/agents/a/../../photos/a.png") == PNG
    assert find("evals/agents/../../secret.png") is None
    assert find("evals/link.png") is None


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("evals/photos/*.png", ["evals/photos/a.png"]),
        ("evals/**/*.png", ["evals/photos/a.png"]),
        ("*.png", []),
        ("evals/../*.png", []),
        ("/**/*.png", []),
        ("a\0*", []),
    ],
)
def test_patterns_lead_to_the_same_files(folder: Path, pattern: str, paths: list[str]) -> None:
    beside = SiblingFiles.of([folder / "x.suite.yaml"], root=folder.parent)

    assert beside.find_paths(pattern) == paths
