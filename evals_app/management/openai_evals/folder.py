"""The folder of a save: what is in it is whole, and of one account."""

import fcntl
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals_app.management import usage_error
from evals_app.management.openai_evals.api import read_json
from evals_app.management.whole_files import write_whole

MANIFEST = "manifest.json"
FORMAT = "openai-evals-save"
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")


@dataclass(slots=True)
class Folder:
    """Files by their names below `root`; every one is written whole or not at all."""

    root: Path
    # What an earlier start wrote about this folder.
    earlier: dict[str, Any]
    _written: set[str] = field(default_factory=set)

    def text(self, name: str) -> str:
        """Return what is in a file; empty if there is none."""
        try:
            return (self.root / name).read_text("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def read(self, name: str) -> Any:
        """Read JSON; None if there is none."""
        return read_json(self.text(name))

    def bytes_of(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def write(self, name: str, content: str) -> None:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        write_whole(path, content.encode("utf-8", "surrogatepass"))
        self._written.add(name)

    def write_json(self, name: str, data: object) -> None:
        text = json.dumps(data, indent=2, ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError:  # half a surrogate pair, which only an escape can express
            text = json.dumps(data, indent=2)
        self.write(name, f"{text}\n")

    @contextmanager
    def writing(self, name: str) -> Iterator[Callable[[], Callable[[bytes], object]]]:
        """Write a file part by part; each call of what is given begins again."""
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:

                def begin() -> Callable[[bytes], Any]:
                    file.seek(0)
                    file.truncate()
                    return file.write

                yield begin
            Path(temporary).replace(path)
            self._written.add(name)
        finally:
            Path(temporary).unlink(missing_ok=True)

    def copy(self, name: str, to: str) -> None:
        """Have a file in a second place, too."""
        there = self.root / to
        if there.is_file() and there.stat().st_size == (self.root / name).stat().st_size:
            return
        with self.writing(to) as begin, (self.root / name).open("rb") as source:
            write = begin()
            while part := source.read(1_000_000):
                write(part)

    def names(self, folder: str, stem: str = "") -> list[str]:
        """Return what is in a folder: all, or what is called so, whatever its suffix."""
        found = sorted((self.root / folder).glob("*")) if (self.root / folder).is_dir() else []
        return [
            f"{folder}/{path.name}"
            for path in found
            if path.is_file()
            and not path.name.startswith(".")
            and (not stem or path.name == stem or is_suffix(path.name.removeprefix(stem)))
        ]

    def size(self, name: str) -> int:
        return (self.root / name).stat().st_size

    def digests(self) -> tuple[dict[str, str], list[str]]:
        """Return the SHA-256 of each file, and the files that someone else has changed since."""
        before = self.earlier.get("files", {})
        digests, changed = {}, []
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if not path.is_file() or name == MANIFEST or path.name.startswith("."):
                continue
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if name not in self._written and before.get(name, digest) != digest:
                changed.append(name)
                digest = before[name]  # or the next start would find nothing wrong
            digests[name] = digest
        return digests, changed


def is_suffix(text: str) -> bool:
    """Whether a text is the suffix of a file, as in `.pdf`."""
    return _SUFFIX.fullmatch(text) is not None


@contextmanager
def open_folder(root: Path) -> Iterator[Folder]:
    """Open a new folder, or continue an earlier save; one process at a time.

    Raises:
        CommandError: it is neither new nor an earlier save, or another start is at work.
        OSError: it cannot be made or read.
    """
    if root.exists() and not root.is_dir():
        raise usage_error(f"{root} is a file. Name a folder.")
    root.mkdir(parents=True, exist_ok=True)
    earlier = _earlier(root)
    handle = os.open(root, os.O_RDONLY)
    try:
        _lock(handle, root)
        for left in (*root.glob(".*.tmp"), *root.glob("*/.*.tmp")):
            left.unlink()  # of a start that was killed
        yield Folder(root, earlier)
    finally:
        os.close(handle)


def _lock(handle: int, root: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise usage_error(f"Another save_openai_evals is running in {root}.") from None


def _earlier(root: Path) -> dict[str, object]:
    manifest = root / MANIFEST
    if not manifest.exists():
        if any(not path.name.startswith(".") for path in root.iterdir()):
            raise usage_error(
                f"{root} is not empty and has no {MANIFEST} of an earlier save. Nothing was "
                "written; name a new folder."
            )
        return {}
    data = read_json(manifest.read_text("utf-8", "replace"))
    if not isinstance(data, dict) or data.get("format") != FORMAT or not _is_sound(data):
        raise usage_error(
            f"{manifest} does not belong to a save of OpenAI Evals. Name a new folder."
        )
    return data


def _is_sound(manifest: Mapping[str, object]) -> bool:
    """Whether a manifest read from disk has the form in which it was written."""
    return all(isinstance(manifest.get(key, {}), dict) for key in ("account", "files"))
