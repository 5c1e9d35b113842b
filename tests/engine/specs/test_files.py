import json
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.specs.files import MAX_FILE_BYTES, FileSpec, content_problem, sha256_of
from evals_app.engine.suites.suite_spec import TurnSpec

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


@pytest.mark.parametrize(
    "path", ["receipt.png", "photos/receipt.JPG", "a b.pdf", "notes.md", "table.xlsx"]
)
def test_a_path_alone_is_a_file(path: str) -> None:
    spec = FileSpec.model_validate(path)

    assert spec.path == path
    assert spec.model_dump_json() == json.dumps(path)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        pytest.param("../secret.png", "relative to the folder", id="above"),
        pytest.param("/etc/passwd.txt", "relative to the folder", id="absolute"),
        pytest.param("photos\\a.png", "relative to the folder", id="backslash"),
        pytest.param("a\n.png", "relative to the folder", id="control character"),
        pytest.param("movie.mp4", "cannot be shown to an agent", id="unknown kind"),
        pytest.param("photo.jpgg", r"Did you mean '\.jp", id="nearest kind"),
        pytest.param("photo", "cannot be shown", id="no ending"),
    ],
)
def test_a_path_that_leads_elsewhere_or_to_nothing_known_is_refused(path: str, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        FileSpec.model_validate(path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        pytest.param("a.png", PNG, None, id="picture"),
        pytest.param("a.pdf", b"%PDF-1.7", None, id="pdf"),
        pytest.param("a.txt", b"Hello", None, id="text"),
        pytest.param("a.png", b"GIF89a", "file extension", id="other picture"),
        pytest.param("a.csv", b"\xff\xfe", "cannot be read", id="no text"),
        pytest.param("a.txt", b"", "is empty", id="empty"),
        pytest.param("a.txt", b"x" * (MAX_FILE_BYTES + 1), "the limit is", id="too long"),
    ],
)
def test_a_content_is_what_its_name_says(name: str, content: bytes, says: str | None) -> None:
    problem = content_problem(name, content)

    assert (problem is None) if says is None else says in str(problem)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param(["a.png", "a.png"], "listed twice", id="double"),
        pytest.param([f"{n}.png" for n in range(11)], "at most 10 items", id="too many"),
        pytest.param([{"path": "a.png", "sha256": "abc"}], "should match pattern", id="no sha256"),
    ],
)
def test_a_turn_refuses_files(files: list[Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        TurnSpec.model_validate({"user": "Look", "files": files})


def test_a_known_content_is_written_along() -> None:
    spec = FileSpec.model_validate("a.png").known_as(sha256_of(PNG))

    assert spec.model_dump(mode="json") == {"path": "a.png", "sha256": sha256_of(PNG)}
