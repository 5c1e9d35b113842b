"""The Lobu dialect: `agents/<id>/evals/*.yaml`, `*.rubric.md` next to them, and `lobu.toml`.

Source: the Lobu documentation, pages Evaluations and lobu.toml Reference.
"""

from collections.abc import Iterator, Sequence

from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.lobu.agents import folder_of, read_project, tested_by
from evals_app.formats.lobu.evals import read_eval
from evals_app.formats.reading.parsed_file import ParsedFile

__all__ = ["read"]


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read eval files, and the lobu.toml files above them."""
    tables = [item for item in documents if item.path.endswith(".toml")]
    folders = {folder_of(item.path, around) for item in documents}
    projects = [read_project(table, around, folders) for table in tables]
    for project in projects:
        yield from project.drafts
    for document in documents:
        if document not in tables:
            yield from read_eval(document, around, tested_by(document.path, projects, around))
