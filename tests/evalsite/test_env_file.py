from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsite.env_file import read_env_file


def written(folder: Path, content: bytes) -> Path:
    (folder / ".env").write_bytes(content)
    return folder / ".env"


def test_variables_are_read_as_docker_and_shells_write_them(tmp_path: Path) -> None:
    path = written(tmp_path, b'# keys\nA=1\nexport B="two words"\n\nC=${A}\nEMPTY=\nA=2\n')

    assert read_env_file(path) == {"A": "2", "B": "two words", "C": "${A}", "EMPTY": ""}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        pytest.param(b"A=1\nsecret\n", ":2", id="no value"),
        pytest.param(b'A=1\n\nB="secret\n', ":3", id="an open quote"),
        pytest.param(b"A=\xff", "UTF-8", id="not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_line_and_not_repeated(
    tmp_path: Path, content: bytes, place: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=place) as caught:
        read_env_file(written(tmp_path, content))

    assert "secret" not in str(caught.value)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"nothing\.env"):
        read_env_file(tmp_path / "nothing.env")
