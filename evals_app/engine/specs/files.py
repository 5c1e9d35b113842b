"""Files that a user shows to the agent along with a message: their names, kinds and content.

A turn names them; the content is stored separately, by its SHA-256.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_serializer, model_validator

from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.basics.office_text import DocumentError, text_of
from evals_app.engine.record.trial import ShownFile, Trial
from evals_app.engine.specs.base_spec import Spec
from fixtures_app.ground.strict_json import Json
from fixtures_app.ground.words import near

MAX_FILES = 10  # of one turn
MAX_FILE_BYTES = 10_000_000
MAX_TURN_BYTES = 30_000_000

# By extension; anything other than an image or PDF is treated as text.
MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".html": "text/html",
    ".xml": "application/xml",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
_SHOWN_AS_IT_IS = ("image/", "application/pdf")
_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}

# Returns the content of a file by its SHA-256.
ReadFile = Callable[[str], Awaitable[bytes]]


async def no_file(sha256: str) -> bytes:
    """Read from an empty store.

    Raises:
        ConfigurationError: always.
    """
    raise ConfigurationError(f"No file with the hash {sha256[:12]} is stored.")


def media_type(name: str) -> str:
    """Return the media type of a file, by its name.

    Raises:
        ValueError: the kind is unknown; the message names the nearest.
    """
    ending = PurePosixPath(name).suffix.lower()
    if ending in MEDIA_TYPES:
        return MEDIA_TYPES[ending]
    hint = near(ending, MEDIA_TYPES)
    raise ValueError(
        f"Files of this kind cannot be shown to an agent.{hint} Known: {', '.join(MEDIA_TYPES)}."
    )


def is_shown_as_it_is(kind: str) -> bool:
    """Return whether models get the file itself; of other files they get the text."""
    return kind.startswith(_SHOWN_AS_IT_IS)


def text_shown(name: str, kind: str, content: bytes) -> str:
    """Return the text of a document as agents and judges get it, or why it cannot be read."""
    try:
        return text_of(kind, content)
    except DocumentError as error:
        return f"[File {name} cannot be read: {error}]"


def content_problem(name: str, content: bytes) -> str | None:
    """Explain why the content does not match the name, or cannot be stored."""
    if len(content) > MAX_FILE_BYTES:
        return f"{name} has {len(content):,} bytes; the limit is {MAX_FILE_BYTES:,}."
    if not content:
        return f"{name} is empty."
    kind = media_type(name)
    if is_shown_as_it_is(kind):
        if content.startswith(_SIGNATURES[kind]):
            return None
        return f"The content of {name} does not match its file extension."
    try:
        text_of(kind, content)
    except DocumentError as error:
        return f"{name} cannot be read: {error}"
    return None


def sha256_of(content: bytes) -> str:
    """Return the name under which a content is stored."""
    return hashlib.sha256(content).hexdigest()


def _path(value: str) -> str:
    path = PurePosixPath(value)
    is_inside = not path.is_absolute() and ".." not in path.parts
    if not is_inside or "\\" in value or not value.isprintable() or path.name in {"", "."}:
        raise ValueError(
            "Write a path relative to the folder of this file, for example photos/receipt.jpg."
        )
    media_type(value)
    return path.as_posix()


async def with_contents(
    trial: Trial, given: Sequence[Sequence["FileSpec"]], read_file: ReadFile
) -> Trial:
    """Return a trial with what the agent was shown of its files, which judges are shown, too.

    `given` are the files of the case's turns: transcripts of earlier versions name no content. What
    is no longer stored stays unknown.
    """
    turns = []
    for number, turn in enumerate(trial.turns):
        files = given[number] if number < len(given) else ()
        known = {file.name: file.sha256 or "" for file in files}
        shown = [
            await _with_content(file, known.get(file.name, ""), read_file) for file in turn.files
        ]
        turns.append(replace(turn, files=tuple(shown)))
    return trial.but(turns=tuple(turns))


async def _with_content(file: ShownFile, known: str, read_file: ReadFile) -> ShownFile:
    try:
        content = await read_file(file.sha256 or known)
    except ConfigurationError:
        return file
    if not content or is_shown_as_it_is(file.media_type):
        return replace(file, data=content)
    return replace(file, text=text_shown(file.name, file.media_type, content))


class FileSpec(Spec):
    """A file; written as its path alone until its content has been read."""

    path: Annotated[
        str,
        Field(
            min_length=1,
            max_length=300,
            description="Relative to the folder of the suite's file; the file extension gives the kind.",
        ),
        AfterValidator(_path),
    ]
    sha256: str | None = Field(
        default=None,
        pattern="^[0-9a-f]{64}$",
        description="Hash of content that is already stored; set on import.",
    )

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, data: Json) -> object:
        return {"path": data} if isinstance(data, str) else data

    @model_serializer(mode="wrap")
    def _to_path(self, handler: Any) -> object:
        return handler(self) if self.sha256 else self.path

    def known_as(self, sha256: str) -> Self:
        """Return a copy with the hash of its content."""
        return self.model_copy(update={"sha256": sha256})


def distinct(files: list[FileSpec]) -> list[FileSpec]:
    """Refuse two files with the same path."""
    paths = [file.path for file in files]
    if double := next((path for path in paths if paths.count(path) > 1), None):
        raise ValueError(f"{double} is listed twice.")
    return files
