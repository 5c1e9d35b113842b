"""The field for files that a user attaches to a message."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evals_app.engine.specs.files import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TURN_BYTES,
    MEDIA_TYPES,
    FileSpec,
    content_problem,
    sha256_of,
)
from evals_app.models import Attachment
from fixtures_app.editing.markup import TemplateContext

_SHORT = 8  # characters of a SHA-256 in a path: distinguishes files of the same name


class PostedFiles(list[Any]):
    """Posted files: those to keep as texts, new ones as uploads."""


class FilesWidget(forms.Widget):
    """A check box for each attached file, and an input for more."""

    template_name = "admin/evals_app/kit/files.html"
    needs_multipart_form = True

    def value_from_datadict(self, data: object, files: object, name: str) -> PostedFiles:
        kept = data.getlist(f"{name}-keep") if hasattr(data, "getlist") else []
        added = files.getlist(name) if hasattr(files, "getlist") else []
        return PostedFiles([*kept, *added])

    def value_omitted_from_data(self, data: object, files: object, name: str) -> bool:
        return False

    def get_context(
        self, name: str, value: Any, attrs: dict[str, object] | None
    ) -> TemplateContext:
        context = super().get_context(name, None, attrs)
        specs = [_spec(file) for file in value or () if not hasattr(file, "read")]
        context["widget"] |= {
            "files": [{"name": spec.name, "value": _text(spec)} for spec in specs if spec],
            "accept": ",".join(MEDIA_TYPES),
        }
        return context


class FilesField(forms.Field):
    """Files by name and content; uploads are stored at once and survive a form with errors."""

    widget = FilesWidget

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"required": False, **kwargs})

    def to_python(self, value: Any) -> list[object]:
        files: list[FileSpec] = []
        for file in value or ():
            spec = _store_upload(file) if hasattr(file, "read") else _spec(file)
            if spec is None:
                raise ValidationError("This file is no longer available. Choose it again.")
            if spec not in files:
                files.append(spec)
        if len(files) > MAX_FILES:
            raise ValidationError(
                f"There are {len(files)} files. A turn may have at most {MAX_FILES}."
            )
        if (size := _size(files)) > MAX_TURN_BYTES:
            raise ValidationError(
                f"These files have {size:,} bytes in total. At most {MAX_TURN_BYTES:,} are allowed."
            )
        return [file.model_dump(mode="json") for file in files]

    def bound_data(self, data: Any, initial: object) -> object:
        # Shown again after an error: uploads are already stored.
        try:
            return self.to_python(data)
        except ValidationError:
            return [file for file in data or () if not hasattr(file, "read")]

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return self.to_python(data) != [_dump_spec(file) for file in initial or ()]
        except ValidationError:
            return True


def _store_upload(upload: Any) -> FileSpec:
    upload.seek(0)
    content: bytes = upload.read(MAX_FILE_BYTES + 1)
    try:
        problem = content_problem(upload.name, content)
    except ValueError as error:
        problem = f"{upload.name}: {error}"
    if problem:
        raise ValidationError(problem)
    Attachment.objects.store([content])
    sha256 = sha256_of(content)
    return FileSpec(path=f"{sha256[:_SHORT]}/{upload.name}", sha256=sha256)


def _size(files: Sequence[FileSpec]) -> int:
    """Return the total size; without files there is no query."""
    named = [(file.sha256, file.name) for file in files if file.sha256]
    sizes = Attachment.objects.keep(sha256 for sha256, _ in named) if named else {}
    if gone := [name for sha256, name in named if sha256 not in sizes]:
        raise ValidationError(f"{gone[0]} is no longer stored. Remove it, or choose it again.")
    return sum(sizes[sha256] for sha256, _ in named)


def _text(file: FileSpec) -> str:
    return f"{file.sha256 or ''} {file.path}"


def _spec(value: object) -> FileSpec | None:
    """Read a file as stored or as posted, or return None."""
    sha256, space, path = value.partition(" ") if isinstance(value, str) else ("", "", "")
    is_kept = bool(space) and (not sha256 or len(sha256) == len(sha256_of(b"")))
    written = {"path": path, "sha256": sha256 or None} if is_kept else value
    try:
        return FileSpec.model_validate(written)
    except ValueError:
        return None


def _dump_spec(value: object) -> object:
    spec = _spec(value)
    return value if spec is None else spec.model_dump(mode="json")


def names_of(files: Sequence[object]) -> list[str]:
    """Return the names of stored files."""
    return [spec.name for file in files if (spec := _spec(file)) is not None]
