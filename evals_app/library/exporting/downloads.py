"""One file for download: a native file, or an archive (zip) of several."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from evals_app.engine.specs.files import media_type
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.native import file_name, write_native
from evals_app.formats.reading.problems import Problem
from evals_app.library.exporting.file_export import Form, export_files
from evals_app.models import Suite
from fixtures_app.library import fixture_specs
from fixtures_app.spec import FixtureSpec

# In an archive of files that cannot contain everything; imports skip it.
LOST = "what-is-lost.txt"

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the same archive each time
_READABLE = 0o644 << 16


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download."""

    name: str
    media_type: str
    content: bytes = field(repr=False)


def download(
    name: str, suites: Sequence[str] = (), *, form: Form = "native", has_providers: bool = True
) -> Download:
    """Write some suites with all that they need, or everything; `name` is the file's.

    What the format does not support is listed in a file of its own.

    Raises:
        LookupError: there is no such suite.
        pydantic.ValidationError: a row contains what no longer validates.
    """
    export = export_files(suites, form=form, has_providers=has_providers)
    files = dict(export.files)
    remarks = [*export.losses, *export.warnings]
    if suites and len(files) == 1 and not any(map(_is_within, remarks)):
        remarks = []  # a table never has the agent, so that needs no remark
    if remarks:
        files[LOST] = "".join(f"{remark}\n" for remark in remarks).encode()
    if len(files) == 1:
        ((path, content),) = files.items()
        only = name + "".join(PurePosixPath(path).suffixes)
        return Download(only, media_type(only), content)
    return Download(f"{name}.zip", "application/zip", _pack(files))


def _is_within(remark: Problem) -> bool:
    """Whether it is about part of a written file, not about a whole object that is left out."""
    return remark.level != "loss" or remark.keys != ""


def download_suite(slug: str) -> Download:
    """Write a suite as its native file, without what it needs.

    Raises:
        LookupError: there is no such suite.
        pydantic.ValidationError: a row contains what no longer validates.
    """
    suite = Suite.objects.with_everything().filter(slug=slug).first()
    return _native(suite.to_spec() if suite else None, f"There is no suite {slug!r}.")


def download_fixture(slug: str) -> Download:
    """Write a fixture with the entity types of the site.

    Raises:
        LookupError: there is no such fixture.
        pydantic.ValidationError: it contains what no longer validates.
    """
    return _native(
        next(iter(fixture_specs([slug])), None), f"There is no set of test data called {slug!r}."
    )


def _native(spec: SuiteSpec | FixtureSpec | None, missing: str) -> Download:
    if spec is None:
        raise LookupError(missing)
    name = file_name(spec)
    return Download(name, media_type(name), write_native(spec))


def _pack(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _FIRST_DAY)
            entry.external_attr = _READABLE
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
