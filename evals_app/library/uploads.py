"""What people send to be imported: files, and archives (zip) that are unpacked in memory."""

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from evals_app.formats import (
    EXPECTED,
    FormatError,
    Problem,
    SourceFile,
    eval_files,
    fitting,
    is_shown,
    is_table,
)

MAX_UNPACKED_BYTES = 50 * 1024 * 1024  # of everything that is sent together
MAX_ENTRIES = 10_000  # of an archive

# Begins what an archive says of each of its files.
_ENTRY = b"PK\x01\x02"
_IS_ENCRYPTED, _IS_UTF8 = 0x1, 0x800
# Of others zipfile unpacks more at once than was asked for.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_TWICE = "Two files that are sent together have this path; send only one of them."
_PASSED_OVER = (
    "This table is not imported: beside eval files a table may be anything. If it holds cases, send "
    "it by itself, or let its name end in .suite.csv, .suite.xlsx or .suite.jsonl."
)
_DRIVE = re.compile("[A-Za-z]:")
# What zipfile raises for archives that are cut off or made up; fuzzed in the tests.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError)


@dataclass(frozen=True, slots=True)
class Upload:
    """Files to import, and what stands beside them for them to name, by its path."""

    files: list[SourceFile]
    beside: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    _named: set[str] = field(default_factory=set, repr=False)

    def find(self, path: str) -> bytes | None:
        """Give what stands beside the files at this path; None: nothing does."""
        self._named.add(path)
        return self.beside.get(path)

    def find_paths(self, pattern: str) -> list[str]:
        """Give the paths of what stands beside the files and fits a pattern."""
        return fitting(pattern, self.beside)

    def passed_over(self) -> list[Problem]:
        """Warn of tables beside the files that none of them has named by now: cases, perhaps."""
        tables = sorted(filter(is_table, self.beside.keys() - self._named))
        return [replace(_problem(each, _PASSED_OVER), level="warning") for each in tables]


def unpack(sent: Iterable[SourceFile]) -> Upload:
    """Unpack archives, and tell files to import from those that are only there to be named.

    A file that was sent by itself is meant to be imported. Of an archive that holds for eval files
    alone: a folder of somebody's work has other files too. If it has tables and no eval files, the
    tables are meant. Hidden ones are left out.

    Raises:
        FormatError: two files have one path, or an archive cannot be read, leads out of itself,
            holds links, is encrypted or too large, or nothing in it is an eval file.
    """
    files: dict[str, SourceFile] = {}
    found: dict[str, bytes] = {}
    archives: list[str] = []
    problems: list[Problem] = []
    room = MAX_UNPACKED_BYTES
    for each in sent:
        path = printable(each.path)
        if not path.lower().endswith(".zip"):
            if path in files:
                problems.append(_problem(path, _TWICE))
            files[path] = SourceFile(path, each.content)
            continue
        archives.append(path)
        try:
            for name, content in _contents(path, each.content, room):
                if name in found:
                    problems.append(_problem(f"{path}/{name}", _TWICE))
                found[name] = content
                room -= len(content)
        except FormatError as error:
            problems += error.problems
    visible = [name for name in found if not is_shown(name)]
    evals = eval_files(visible)
    problems += [_problem(name, _TWICE) for name in found.keys() & files.keys()]
    files |= {name: SourceFile(name, found.pop(name)) for name in evals}
    if archives and not (files or problems):
        message = f"There is no eval file in it. {EXPECTED}."
        problems = [_problem(path, message) for path in archives]
    if problems:
        raise FormatError(problems)
    return Upload([*files.values()], found)


def printable(path: str) -> str:
    """Keep control characters out of messages."""
    return "".join(char if char.isprintable() else "?" for char in path)


def _contents(path: str, packed: bytes, room: int) -> Iterator[tuple[str, bytes]]:
    # Counted first: zipfile makes an object of each.
    if packed.count(_ENTRY) > MAX_ENTRIES:
        message = f"It has more than {MAX_ENTRIES:,} entries; send only what the evals need."
        raise FormatError([_problem(path, message)])
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            entries = list(_entries(path, archive))
            # zipfile unpacks no more of an entry than the archive says that it has.
            if sum(each.file_size for _, each in entries) > room:
                message = (
                    f"Unpacked, everything together is larger than {MAX_UNPACKED_BYTES // 1024**2} "
                    "MB; send only what the evals need, or in parts."
                )
                raise FormatError([_problem(path, message)])
            for name, entry in entries:
                yield name, archive.read(entry)
    except _BROKEN as error:
        message = "This is no zip archive, or it is damaged."
        raise FormatError([_problem(path, message, found=printable(str(error)))]) from error


def _entries(path: str, archive: zipfile.ZipFile) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """Give the files of an archive with their paths.

    Raises:
        FormatError: with everything that must not be in an archive.
    """
    refused = []
    for entry in archive.infolist():
        name = printable(_name(entry))
        is_outside = name.startswith("/") or _DRIVE.match(name) or ".." in name.split("/")
        inside = PurePosixPath(name)
        if not is_outside and (name.endswith("/") or _is_hidden(inside)):
            continue
        if problem := "leads out of the archive" if is_outside else _unreadable(entry):
            message = f"This {problem}; nothing was unpacked."
            refused.append(_problem(f"{path}/{name}", message))
        else:
            yield inside.as_posix(), entry
    if refused:
        raise FormatError(refused)


def _name(entry: zipfile.ZipInfo) -> str:
    """Give the path of an entry; many programs write UTF-8 and do not say so."""
    name = entry.filename
    if not entry.flag_bits & _IS_UTF8:
        with suppress(UnicodeDecodeError):
            name = name.encode("cp437").decode()
    return name.replace("\\", "/")


def _is_hidden(path: PurePosixPath) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def _unreadable(entry: zipfile.ZipInfo) -> str:
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a link, not a file"
    if entry.flag_bits & _IS_ENCRYPTED:
        return "is encrypted"
    if entry.compress_type not in _METHODS:
        return "is packed in a way that is not read here (only deflate is)"
    return ""


def _problem(path: str, message: str, *, found: str = "") -> Problem:
    return Problem(path, 0, 0, "", found, message)
