"""The OpenAI Evals dialect.

Evals, runs and results of the hosted product, saved as JSON; and the registry of the open-source
framework, in YAML, with its samples.

Sources: the types of the `openai` Python package; https://developers.openai.com/api/docs/guides/graders;
https://github.com/openai/evals
"""

from collections.abc import Iterator, Sequence

from evals_app.formats.foreign.draft import Draft, cut_texts
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.openai_evals.hosted import read_hosted
from evals_app.formats.openai_evals.parts import Missed
from evals_app.formats.openai_evals.registry import (
    is_registry,
    is_samples,
    read_registry,
    read_samples,
)
from evals_app.formats.reading.parsed_file import ParsedFile

__all__ = ["read"]


def read(documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
    """Read all files together: runs and items name the evals that they belong to."""
    readings = [ForeignFile(document, around, cut_texts(document)) for document in documents]
    missed: Missed = []
    are_read = False
    for draft in _drafts(readings, around, missed):
        are_read = are_read or draft.kind == "suite"
        yield draft
    for spot, message in missed:
        # A loss does not keep others from being imported.
        spot.say(message, level="loss" if are_read else "error", checks=1)
    for reading in readings:
        if reading.problems:
            yield reading.remarks("openai-evals")


def _drafts(
    readings: Sequence[ForeignFile], around: ReaderContext, missed: Missed
) -> Iterator[Draft]:
    objects = []
    for reading in readings:
        if is_registry(reading.document):
            yield from read_registry(reading, around, missed)
        elif is_samples(reading.document):
            yield from read_samples(reading, around, missed)
        else:
            objects.append(reading)
    yield from read_hosted(objects, around, missed)
