"""The field for files that a user shows along with a message."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from evals_app.engine.files import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TURN_BYTES,
    MEDIA_TYPES,
    FileSpec,
    content_problem,
    sha256_of,
)
from evals_app.models import Attachment

_SHORT = 8  # of a SHA-256, in a path: tells files of one name apart


class Posted(list[Any]):
    """What a page sent: files to keep as texts, new ones as uploads."""


class FilesWidget(forms.Widget):
    """A check box for each file that is there, and an input for more."""

    needs_multipart_form = True

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Posted:  # noqa: ANN401 - Django's signature
        kept = data.getlist(f"{name}-keep") if hasattr(data, "getlist") else []
        added = files.getlist(name) if hasattr(files, "getlist") else []
        return Posted([*kept, *added])

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:  # noqa: ANN401 - Django's signature
        return False

    def render(
        self,
        name: str,
        value: Any,  # noqa: ANN401 - a list of files
        attrs: dict[str, Any] | None = None,
        renderer: Any = None,  # noqa: ANN401 - Django's signature
    ) -> SafeString:
        shown = [_spec(each) for each in value or () if not hasattr(each, "read")]
        context = {
            "name": name,
            "id": (attrs or {}).get("id", ""),
            "files": [
                {"name": each.name, "value": _text(each)} for each in shown if each is not None
            ],
            "accept": ",".join(MEDIA_TYPES),
        }
        return render_to_string("admin/evals_app/files.html", context)


class FilesField(forms.Field):
    """Files by name and content; new contents are stored at once, so none is chosen twice."""

    widget = FilesWidget

    def __init__(self, **kwargs: Any) -> None:
        help_text = (
            f"Pictures, PDFs, texts, tables, office documents: up to {MAX_FILES} files of "
            f"{MAX_FILE_BYTES // 1_000_000} MB."
        )
        super().__init__(**{"required": False, "label": "Files", "help_text": help_text, **kwargs})

    def to_python(self, value: Any) -> list[Any]:  # noqa: ANN401 - what was posted
        files: list[FileSpec] = []
        for each in value or ():
            spec = _stored(each) if hasattr(each, "read") else _spec(each)
            if spec is None:
                msg = "This file cannot be kept; choose it again."
                raise ValidationError(msg)
            if spec not in files:
                files.append(spec)
        if len(files) > MAX_FILES:
            msg = f"These are {len(files)} files; a turn may show {MAX_FILES}."
            raise ValidationError(msg)
        if (size := _size(files)) > MAX_TURN_BYTES:
            msg = f"These files have {size:,} bytes; those of a turn may have {MAX_TURN_BYTES:,}."
            raise ValidationError(msg)
        return [each.model_dump(mode="json") for each in files]

    def bound_data(self, data: Any, initial: Any) -> Any:  # noqa: ANN401 - Django's signature
        # Shown again after an error: what was just uploaded is stored, and need not be chosen anew.
        try:
            return self.to_python(data)
        except ValidationError:
            return [each for each in data or () if not hasattr(each, "read")]

    def has_changed(self, initial: Any, data: Any) -> bool:  # noqa: ANN401 - Django's signature
        try:
            return self.to_python(data) != [_dumped(each) for each in initial or ()]
        except ValidationError:
            return True


def _stored(upload: Any) -> FileSpec:  # noqa: ANN401 - an UploadedFile
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
    """Sum up what is stored; nothing is asked where there is nothing."""
    named = [(each.sha256, each.name) for each in files if each.sha256]
    sizes = Attachment.objects.keep(sha256 for sha256, _ in named) if named else {}
    if gone := [name for sha256, name in named if sha256 not in sizes]:
        msg = f"{gone[0]} is not stored any more; take it away, or choose it again."
        raise ValidationError(msg)
    return sum(sizes[sha256] for sha256, _ in named)


def _text(file: FileSpec) -> str:
    return f"{file.sha256 or ''} {file.path}"


def _spec(value: Any) -> FileSpec | None:  # noqa: ANN401 - as stored, or as posted
    """Read a file as it is stored, or as the page keeps it; None if it is neither."""
    sha256, space, path = value.partition(" ") if isinstance(value, str) else ("", "", "")
    is_kept = bool(space) and (not sha256 or len(sha256) == len(sha256_of(b"")))
    written = {"path": path, "sha256": sha256 or None} if is_kept else value
    try:
        return FileSpec.model_validate(written)
    except ValueError:
        return None


def _dumped(value: Any) -> Any:  # noqa: ANN401 - as stored
    spec = _spec(value)
    return value if spec is None else spec.model_dump(mode="json")


def names_of(files: Sequence[Any]) -> list[str]:
    """Give the names of stored files."""
    return [spec.name for each in files if (spec := _spec(each)) is not None]
