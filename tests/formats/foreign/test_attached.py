from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pytest
import yaml

from evals_app.engine.specs.files import sha256_of
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.foreign import attached
from evals_app.formats.foreign.attached import files_of
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
OTHER = PNG + b"more"
KNOWN = ExistingObjects(agents={"echo": "scripted"})


def suite(*turns: list[object], slug: str = "receipts") -> SourceFile:
    """Write a suite of one case for each list of files."""
    cases = [
        {"name": f"case {n}", "turns": [{"user": "Look", "files": files}]}
        for n, files in enumerate(turns)
    ]
    data: dict[str, Any] = {"suite": "Receipts", "slug": slug, "agent": "echo", "cases": cases}
    data["assertions"] = [{"type": "contains", "value": "total"}]
    return SourceFile(f"evals/{slug}.suite.yaml", yaml.safe_dump(data).encode())


def read(*files: SourceFile, disk: Mapping[str, bytes] | None = None) -> Imported:
    return read_files(files, known=KNOWN, find=(disk or {}).get)


def messages(*files: SourceFile, disk: Mapping[str, bytes] | None = None) -> list[str]:
    with pytest.raises(FormatError) as caught:
        read(*files, disk=disk)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("evals/photos/a.png", id="beside the suite"),
        pytest.param("evals/receipts.files/photos/a.png", id="where exports put it"),
    ],
)
@pytest.mark.parametrize("is_given", [True, False], ids=["among the files", "on disk"])
def test_a_file_is_found_and_known_by_its_content(path: str, *, is_given: bool) -> None:
    files = [SourceFile(path, PNG)] if is_given else []

    imported = read(suite(["photos/a.png"]), *files, disk={} if is_given else {path: PNG})

    (file,) = imported.suites[0].spec.cases[0].turns[0].files
    assert (file.path, file.sha256) == ("photos/a.png", sha256_of(PNG))
    assert imported.contents == {sha256_of(PNG): PNG}


def test_a_stored_content_need_not_come_along() -> None:
    file = {"path": "a.png", "sha256": sha256_of(PNG)}
    known = ExistingObjects(agents=KNOWN.agents, size_of={sha256_of(PNG): len(PNG)}.get)

    imported = read_files([suite([file])], known=known)

    assert imported.contents == {}
    assert imported.suites[0].spec.cases[0].turns[0].files[0].sha256 == sha256_of(PNG)


@pytest.mark.parametrize(
    ("named", "others", "disk", "words"),
    [
        pytest.param("photos/a.png", [], {}, "photos/a.png", id="missing"),
        pytest.param("photo.png", ["evals/photos.png"], {}, "'evals/photos.png'", id="misspelt"),
        pytest.param("a.png", [], {"evals/a.png": b"MZ"}, "a.png", id="not what it says"),
        ({"path": "a.png", "sha256": sha256_of(OTHER)}, *([], {"evals/a.png": PNG}, "sha256")),
    ],
)
def test_a_file_that_cannot_be_shown_is_reported_where_it_is_named(
    named: object, others: list[str], disk: dict[str, bytes], words: str
) -> None:
    *_, message = messages(suite([named]), *(SourceFile(path, PNG) for path in others), disk=disk)

    assert message.startswith("evals/receipts.suite.yaml:9:")
    assert "cases[0].turns[0].files[0]" in message
    assert words in message


@pytest.mark.parametrize("path", ["evals/a.png", "evals/receipts.files/x.agent.yaml"])
def test_a_file_that_no_one_names_is_no_eval_file(path: str) -> None:
    message, _ = messages(suite(), SourceFile(path, PNG))

    assert message.startswith(f"{path}: This is not an eval file.")
    assert ".files" in message


def test_one_path_has_one_content_in_a_suite() -> None:
    known = ExistingObjects(agents=KNOWN.agents, size_of=lambda _: 1)
    files = [{"path": "a.png", "sha256": sha256_of(item)} for item in (PNG, OTHER)]

    with pytest.raises(FormatError, match=r"Another turn shows something else as a\.png"):
        read_files([suite([files[0]], [files[1]])], known=known)


def test_exports_put_files_into_a_folder_of_their_suite() -> None:
    spec = read(suite(["a.png"]), SourceFile("evals/a.png", PNG)).suites[0].spec

    assert files_of([spec]) == {"receipts.files/a.png": sha256_of(PNG)}


AGENT = b"agent: Made up\nslug: made-up\ndriver: scripted\nrules: [{reply: Hello}]\n"


@pytest.mark.parametrize("path", ["evals/x.agent.yaml", "evals/receipts.files/x.agent.yaml"])
def test_what_is_shown_is_never_imported_itself(path: str) -> None:
    imported = read(suite(["x.agent.yaml"]), SourceFile(path, AGENT))

    assert imported.agents == []
    assert list(imported.contents.values()) == [AGENT]


def test_a_file_next_to_that_no_one_shows_is_imported() -> None:
    imported = read(suite(), SourceFile("evals/x.agent.yaml", AGENT))

    assert [agent.spec.slug for agent in imported.agents] == ["made-up"]


def test_a_suite_may_show_itself() -> None:
    imported = read(suite(["receipts.suite.yaml"]))

    assert [item.spec.slug for item in imported.suites] == ["receipts"]


@pytest.mark.parametrize(
    ("size", "is_refused"),
    [
        pytest.param(15_000_000, False, id="just enough"),
        pytest.param(15_000_001, True, id="too much"),
    ],
)
def test_stored_contents_count_for_the_size_of_a_turn(size: int, *, is_refused: bool) -> None:
    known = ExistingObjects(agents=KNOWN.agents, size_of=lambda _: size)
    files = [{"path": f"{n}.png", "sha256": sha256_of(bytes([n]))} for n in range(2)]

    with pytest.raises(FormatError, match="30,000,002") if is_refused else nullcontext():
        read_files([suite([*files])], known=known)


def test_a_content_that_many_turns_show_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(attached, "content_problem", lambda name, _: asked.append(name))

    read(suite(["a.png"], ["a.png"]), disk={"evals/a.png": PNG})

    assert asked == ["a.png"]
