"""Uploads to import: files, and archives (zip) that are unpacked in memory."""

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from evals_app.formats.detect import EXPECTED, eval_files, is_table
from evals_app.formats.foreign.attached import fitting, is_shown
from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.problems import FormatError, Problem

MAX_UNPACKED_BYTES = 50 * 1024 * 1024  # of one upload
MAX_ENTRIES = 10_000  # of an archive

# Begins the entry of each file in an archive.
_ENTRY = b"PK\x01\x02"
_IS_ENCRYPTED, _IS_UTF8 = 0x1, 0x800
# With other methods zipfile unpacks more at once than requested.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_TWICE = "Two uploaded files have this path. Upload only one of them."
_SKIPPED = (
    "This table was not imported, because tables next to eval files may contain anything. If it "
    "contains cases, upload it separately or rename it to end in .suite.csv, .suite.xlsx or "
    ".suite.jsonl."
)
_DRIVE = re.compile("[A-Za-z]:")
# What zipfile raises for truncated or forged archives; fuzzed in the tests.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError)


@dataclass(frozen=True, slots=True)
class Upload:
    """Files to import, and other files that they may name, by path."""

    files: list[SourceFile]
    beside: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    _named: set[str] = field(default_factory=set, repr=False)

    def find(self, path: str) -> bytes | None:
        self._named.add(path)
        return self.beside.get(path)

    def find_paths(self, pattern: str) -> list[str]:
        return fitting(pattern, self.beside)

    def passed_over(self) -> list[Problem]:
        """Warn of other tables that no file has named so far: they may contain cases."""
        tables = sorted(filter(is_table, self.beside.keys() - self._named))
        return [replace(_problem(table, _SKIPPED), level="warning") for table in tables]


def unpack(sent: Iterable[SourceFile]) -> Upload:
    """Unpack archives, and separate files to import from files that those may name.

    A file that was uploaded directly is imported. Of an archive only eval files are, because a
    folder has other files too; if it has tables and no eval files, the tables are. Hidden files
    are left out.

    Raises:
        FormatError: two files have one path, or an archive cannot be read, has paths outside
            itself or links, is encrypted or too large, or has no eval file.
    """
    files: dict[str, SourceFile] = {}
    unpacked: dict[str, bytes] = {}
    archives: list[str] = []
    problems: list[Problem] = []
    room = MAX_UNPACKED_BYTES
    for file in sent:
        path = printable(file.path)
        if not path.lower().endswith(".zip"):
            if path in files:
                problems.append(_problem(path, _TWICE))
            files[path] = SourceFile(path, file.content)
            continue
        archives.append(path)
        try:
            for name, content in _contents(path, file.content, room):
                if name in unpacked:
                    problems.append(_problem(f"{path}/{name}", _TWICE))
                unpacked[name] = content
                room -= len(content)
        except FormatError as error:
            problems += error.problems
    visible = [name for name in unpacked if not is_shown(name)]
    evals = eval_files(visible)
    problems += [_problem(name, _TWICE) for name in unpacked.keys() & files.keys()]
    files |= {name: SourceFile(name, unpacked.pop(name)) for name in evals}
    if archives and not (files or problems):
        message = f"This archive has no eval file. {EXPECTED}."
        problems = [_problem(path, message) for path in archives]
    if problems:
        raise FormatError(problems)
    return Upload([*files.values()], unpacked)


def printable(path: str) -> str:
    """Keep control characters out of messages."""
    return "".join(char if char.isprintable() else "?" for char in path)


def _contents(path: str, packed: bytes, room: int) -> Iterator[tuple[str, bytes]]:
    # Counted first: zipfile creates an object for each.
    if packed.count(_ENTRY) > MAX_ENTRIES:
        message = (
            f"This archive has more than {MAX_ENTRIES:,} entries. Upload only what the evals need."
        )
        raise FormatError([_problem(path, message)])
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            entries = list(_entries(path, archive))
            # zipfile unpacks no more of an entry than its stated size.
            if sum(entry.file_size for _, entry in entries) > room:
                message = (
                    f"Unpacked, the upload is larger than {MAX_UNPACKED_BYTES // 1024**2} MB. Upload "
                    "only what the evals need, or several parts."
                )
                raise FormatError([_problem(path, message)])
            for name, entry in entries:
                yield name, archive.read(entry)
    except _BROKEN as error:
        message = "This is not a valid zip archive, or it is damaged."
        raise FormatError([_problem(path, message, value=printable(str(error)))]) from error


def _entries(path: str, archive: zipfile.ZipFile) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """Return the files of an archive with their paths.

    Raises:
        FormatError: with every entry that is not allowed in an archive.
    """
    refused = []
    for entry in archive.infolist():
        name = printable(_name(entry))
        is_outside = name.startswith("/") or _DRIVE.match(name) or ".." in name.split("/")
        inside = PurePosixPath(name)
        is_hidden = any(part.startswith(".") or part == "__MACOSX" for part in inside.parts)
        if not is_outside and (name.endswith("/") or is_hidden):
            continue
        if problem := "has a path outside the archive" if is_outside else _unreadable(entry):
            message = f"This entry {problem}. Nothing was unpacked."
            refused.append(_problem(f"{path}/{name}", message))
        else:
            yield inside.as_posix(), entry
    if refused:
        raise FormatError(refused)


def _name(entry: zipfile.ZipInfo) -> str:
    """Return the path of an entry; many programs write UTF-8 without the flag for it."""
    name = entry.filename
    if not entry.flag_bits & _IS_UTF8:
        with suppress(UnicodeDecodeError):
            name = name.encode("cp437").decode()
    return name.replace("\\", "/")


def _unreadable(entry: zipfile.ZipInfo) -> str:
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a link, not a file"
    if entry.flag_bits & _IS_ENCRYPTED:
        return "is encrypted"
    if entry.compress_type not in _METHODS:
        return "uses a compression that is not supported (only deflate is)"
    return ""


def _problem(path: str, message: str, *, value: str = "") -> Problem:
    return Problem(path, 0, 0, "", value, message)
