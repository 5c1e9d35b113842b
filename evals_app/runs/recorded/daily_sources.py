"""Where files come from every day: a folder that the operator permits, or an address."""

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote, urlsplit

from asgiref.sync import async_to_sync
from django.conf import settings
from pydantic import TypeAdapter, ValidationError

from evals_app.engine.agents.headers import secrets_of, sent_headers
from evals_app.engine.basics.errors import CannotError, ConfigurationError, WebError
from evals_app.engine.basics.permits import FROZEN, permits
from evals_app.engine.network.addresses import is_named, read_url, url_problem
from evals_app.engine.network.key_places import header_problem
from evals_app.engine.network.web import ArrivingAnswer, Web
from evals_app.engine.specs.tool_spec import FromEnvironment, Headers, HeaderValue
from evals_app.runs.recorded.waiting_imports import store_upload
from fixtures_app.ground.spec_errors import messages_of

MAX_BYTES = 500 * 1024 * 1024  # as that of a file that people send
MAX_FILES = 100  # of one time; the rest comes the next time
QUIET_S = 60  # a file that was changed since may still be written
FETCH_S = 300.0
SUFFIXES = (
    *(".csv", ".tsv", ".xlsx", ".json", ".jsonl", ".ndjson", ".txt"),
    *(".pb", ".binpb", ".otlp"),
)
_PIECE = 1024 * 1024
_SUFFIX_OF = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/jsonl": ".jsonl",
    "application/x-protobuf": ".pb",
    "text/plain": ".txt",
}
_HEADERS: TypeAdapter[Mapping[str, HeaderValue]] = TypeAdapter(Headers)


class CannotFetchError(CannotError):
    """A file, or all of them, cannot be read."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a folder; `stamp` is another one as soon as it is changed."""

    name: str
    path: Path
    stamp: str


@dataclass(frozen=True, slots=True)
class StoredCopy:
    """A copy of a file that waits to be imported, with the digest of its content."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """The answer of an address; `validators` ask it next time whether anything is new."""

    name: str
    copy: StoredCopy
    validators: Mapping[str, str]


def permitted_folders() -> list[str]:
    """Return the folders from which, and from below which, files may be imported."""
    return list(settings.IMPORT_FOLDERS)


def folder_problem(folder: str) -> str:
    """Return why files of a folder may not be imported; empty if they may."""
    known = permitted_folders()
    if not known:
        return "Your administrator permits no folder. It takes EVALWELL_IMPORT_FOLDERS."
    path = Path(folder)
    if path.is_absolute() and any(_is_below(path, Path(root)) for root in known):
        return ""
    return (
        f"{folder} is not in a folder that your administrator permits (EVALWELL_IMPORT_FOLDERS):"
        f" {', '.join(known)}."
    )


def _is_below(path: Path, root: Path) -> bool:
    try:  # links are followed: one may lead out of the folder
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return False


def address_problem(url: str) -> str:
    """Return why an address cannot be asked, as far as that is known; empty if it can."""
    if problem := url_problem(url, permitted=permits().hosts):
        return problem
    target = read_url(url)
    if target.scheme == "https" or is_named(target, permits().hosts):
        return ""
    return (
        "Conversations are fetched only over https://, unless your administrator lists the host in"
        " EVALS_PRIVATE_HOSTS."
    )


def read_headers(written: object, url: str) -> dict[str, object]:
    """Return headers as they are stored.

    Raises:
        CannotFetchError: one is not valid, or may not be sent to this address.
    """
    try:
        headers = _HEADERS.validate_python(written)
    except ValidationError as error:
        raise CannotFetchError(*messages_of(error)) from None
    named = {
        name: value.env for name, value in headers.items() if isinstance(value, FromEnvironment)
    }
    places = [] if address_problem(url) else [header_problem(name, url) for name in named.values()]
    if problems := list(filter(None, places)):
        raise CannotFetchError(*problems)
    return {
        name: {"env": value.env} if isinstance(value, FromEnvironment) else value
        for name, value in headers.items()
    }


def files_in(folder: str) -> Iterator[FoundFile]:
    """Return the files of a folder that are not being written, the oldest first.

    Raises:
        CannotFetchError: the folder is not there, or may not be read.
    """
    if problem := folder_problem(folder):
        raise CannotFetchError(problem)
    try:
        paths = [path for path in Path(folder).iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise CannotFetchError(f"{folder} cannot be read: {error.strerror}.") from None
    quiet = time.time() - QUIET_S
    found: list[tuple[int, FoundFile]] = []
    for path in paths:
        if not path.name.lower().endswith(SUFFIXES) or folder_problem(str(path)):
            continue
        with suppress(OSError):  # it was removed meanwhile
            status = path.stat()
            if stat.S_ISREG(status.st_mode) and status.st_mtime <= quiet:
                found.append((status.st_mtime_ns, FoundFile(path.name, path, _stamp(status))))
    yield from (file for _, file in sorted(found, key=lambda pair: (pair[0], pair[1].name)))


def _stamp(found: os.stat_result) -> str:
    return f"{found.st_size} {found.st_mtime_ns}"


def copy_file(file: FoundFile) -> StoredCopy | None:
    """Copy a file for an import; None if it is changed meanwhile.

    Raises:
        CannotFetchError: it cannot be read, or is too large.
    """
    try:
        with file.path.open("rb") as source:
            copy = _store(iter(lambda: source.read(_PIECE), b""), file.name)
            if _stamp(os.fstat(source.fileno())) == _stamp(file.path.stat()) == file.stamp:
                return copy
    except OSError as error:
        raise CannotFetchError(f"{file.name} cannot be read: {error.strerror}.") from None
    copy.path.unlink(missing_ok=True)
    return None


def _store(pieces: Iterable[bytes], name: str) -> StoredCopy:
    digest, size = hashlib.sha256(), 0

    def count_pieces() -> Iterator[bytes]:
        nonlocal size
        for piece in pieces:
            size += len(piece)
            if size > MAX_BYTES:
                raise CannotFetchError(f"{name} is larger than {MAX_BYTES // 1024**2} MB.")
            digest.update(piece)
            yield piece

    path = store_upload(count_pieces())
    return StoredCopy(path, digest.hexdigest())


def fetch_file(
    url: str, headers: Mapping[str, object], validators: Mapping[str, str]
) -> FetchedFile | None:
    """Get the file that an address answers with; None if it says that nothing is new.

    Raises:
        CannotFetchError: there is no file, or the address may not be asked.
    """
    try:
        return async_to_sync(_fetch)(url, headers, validators)
    except (WebError, ConfigurationError) as error:
        raise CannotFetchError(str(error)) from None
    except TimeoutError:
        raise CannotFetchError(f"The file did not arrive within {FETCH_S:.0f} seconds.") from None


async def _fetch(
    url: str, headers: Mapping[str, object], validators: Mapping[str, str]
) -> FetchedFile | None:
    if problem := address_problem(url):
        raise CannotFetchError(problem)
    written = _HEADERS.validate_python(headers, context=FROZEN)
    sent = sent_headers(written, urls=[url])
    asks = {"etag": "if-none-match", "last-modified": "if-modified-since"}
    sent |= {asks[name]: value for name, value in validators.items() if name in asks}
    async with (
        asyncio.timeout(FETCH_S),
        Web(secrets=secrets_of([written])) as web,
        web.sending("GET", url, headers=sent, most_bytes=MAX_BYTES) as answer,
    ):
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return None
        if not answer.is_ok:
            raise WebError(f"It answered: {(await answer.whole()).problem}")
        copy = await _store_answer(answer)
        known = {key: answer.headers[key] for key in asks if answer.headers.get(key)}
        return FetchedFile(_name_of(url, answer.media_type), copy, known)


async def _store_answer(answer: ArrivingAnswer) -> StoredCopy:
    path, digest = store_upload([]), hashlib.sha256()
    try:
        with path.open("ab") as stored:
            async for piece in answer.parts():
                digest.update(piece)
                stored.write(piece)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return StoredCopy(path, digest.hexdigest())


def _name_of(url: str, media_type: str) -> str:
    name = unquote(urlsplit(url).path.rpartition("/")[2])[-200:] or "export"
    return name if name.lower().endswith(SUFFIXES) else name + _SUFFIX_OF.get(media_type, "")


def source_problems(
    *, folder: str, url: str, headers: Mapping[str, object], is_sent: bool
) -> Sequence[tuple[str, str]]:
    """Return what is wrong with where files come from, each with the name of the input.

    They may come from nowhere if `is_sent`: agents send conversations to the set.
    """
    if folder and url:
        return [("folder", "Write a folder or an address, and only one of them.")]
    if not folder and not url and not is_sent:
        return [
            (
                "folder",
                "Write a folder or an address. Only a set that takes what agents send needs neither.",
            )
        ]
    if not url:
        more = [("headers", "Headers are sent to an address. Leave them out.")] if headers else []
        problem = folder_problem(folder) if folder else ""
        return [*([("folder", problem)] if problem else []), *more]
    if problem := address_problem(url):
        return [("url", problem)]
    try:
        read_headers(headers, url)
    except CannotFetchError as error:
        return [("headers", problem) for problem in error.problems]
    return []
