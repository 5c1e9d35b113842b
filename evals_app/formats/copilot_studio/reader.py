"""The Copilot Studio dialect: each sheet of a test set, and each evaluation document, is a suite."""

from collections.abc import Iterator, Sequence

from evals_app.formats.copilot_studio.documents import read_document
from evals_app.formats.copilot_studio.test_sets import read_test_set
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.reading.parsed_file import ParsedFile
from evals_app.formats.tables import is_spreadsheet

__all__ = ["read"]


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read test sets and evaluation documents."""
    for document in documents:
        is_table = is_spreadsheet(document.path)
        read_one = read_test_set if is_table else read_document
        yield from read_one(ForeignFile(document, around))
