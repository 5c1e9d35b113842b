"""The registry of the open-source framework: YAML that names classes and samples."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from evals_app.formats.foreign.chats import chat_of, own_prompt
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.shapes import ReaderContext, slug_of
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.foreign.suites import agent_problem
from evals_app.formats.openai_evals.classes import INCLUDES, Grading, grading_of
from evals_app.formats.openai_evals.parts import LostPartError, Missed, read_sibling
from evals_app.formats.openai_evals.shapes import Alias, RegistryEntry
from evals_app.formats.openai_evals.suites import (
    SampleCase,
    SampleSuite,
    suite_draft,
)
from evals_app.formats.reading.json_lines import read_json_lines
from evals_app.formats.reading.parsed_file import ParsedFile
from fixtures_app.ground.words import near

T = TypeVar("T")

_DATA = ("../data/{}", "data/{}", "{}")  # where samples are, from the file that names them
_NAME_CHARS = 200
_POINTER = b"version https://git-lfs"


def read_registry(reading: ForeignFile, around: ReaderContext, missed: Missed) -> Iterator[Draft]:
    """Read the evals of a file: each name of one becomes a suite."""
    root = Spot(reading)
    entries = {name: root.at(name) for name in reading.document.data}
    evals = {name: spot for name, spot in entries.items() if _is_eval(spot.value)}
    named = {}
    for name, spot in entries.items():
        alias = None if name in evals else spot.part(Alias)
        if alias is not None and alias.id in evals:
            named[alias.id] = (name, alias)
        elif alias is not None:
            message = f"There is no {alias.id!r} in this file.{near(alias.id, evals)}"
            missed.append((spot.at("id"), message))
    for key, spot in evals.items():
        name, alias = named.get(key, (key, None))
        entry = spot.part(RegistryEntry)
        if entry is not None:
            description = entry.description or (alias.description if alias else "")
            yield from _suite(spot, entry, _new_suite(name, around, description), missed)


def read_samples(reading: ForeignFile, around: ReaderContext, missed: Missed) -> Iterator[Draft]:
    """Read samples by themselves; nothing says how replies are compared, so it is usual here."""
    rows = Spot(reading)
    rows.say(
        "Samples do not say how replies are compared, so each reply must contain its ideal "
        "answer. Import the registry's YAML file instead if you have it.",
        level="warning",
    )
    stem = reading.document.path.rpartition("/")[2].partition(".")[0]
    if stem == "samples":
        stem = around.folder(reading.document) or stem
    try:
        yield _suite_draft(rows, rows, INCLUDES, _new_suite(stem, around))
    except LostPartError as lost:
        missed.append((rows, str(lost)))


def _new_suite(name: str, around: ReaderContext, description: str = "") -> SampleSuite:
    agent = around.agent or ""
    return SampleSuite(name[:_NAME_CHARS], slug_of(name), agent, description=description)


def _suite(spot: Spot, entry: RegistryEntry, named: SampleSuite, missed: Missed) -> Iterator[Draft]:
    before = len(missed)
    grading = _read_or_leave_out(lambda: grading_of(spot, entry), spot, named, missed)
    if grading is None and missed[before:] and missed[-1][0] is spot:
        return  # it has no equal here, so its samples are not needed
    rows = _read_or_leave_out(
        lambda: _samples(spot.at("args", "samples_jsonl")), spot, named, missed
    )
    if grading is not None and rows is not None:
        draft = _read_or_leave_out(
            lambda: _suite_draft(rows, spot, grading, named), spot, named, missed
        )
        if draft is not None:
            yield draft


def _read_or_leave_out(
    read: Callable[[], T], spot: Spot, named: SampleSuite, missed: Missed
) -> T | None:
    """Read a part of an eval, or return None and note that the eval is left out."""
    try:
        return read()
    except LostPartError as lost:
        missed.append((lost.spot or spot, f"The eval {named.name} is left out. {lost}"))
        return None


def _samples(spot: Spot) -> Spot | None:
    """Read the samples that an eval names.

    Report a problem and return None if there is something wrong in them.

    Raises:
        LostPartError: they are not here.
    """
    written = spot.value
    if not isinstance(written, str) or not written:
        raise LostPartError(
            "It needs the path of its samples here, for example my-eval/samples.jsonl.", spot
        )

    def read(path: str, content: bytes) -> ParsedFile:
        if content.startswith(_POINTER):
            raise LostPartError(
                f"{path} is only a pointer of Git LFS. Fetch the file itself: git lfs pull.", spot
            )
        return read_json_lines(path, content)

    samples = read_sibling(spot, (place.format(written) for place in _DATA), read)
    if samples is None:
        raise LostPartError(
            f"There is no file {written} in the folder data next to the folder of this file. "
            "Name it too, import the folder that contains both (registry), or upload both in one "
            "zip.",
            spot,
        )
    return None if samples.value is None else samples


def _suite_draft(rows: Spot, spot: Spot, grading: Grading, named: SampleSuite) -> Draft:
    """Make the suite of some samples.

    Raises:
        LostPartError: nothing is asked in them.
    """
    cases = [case for row in rows.entries() if (case := _case(row, grading))]
    if not cases:
        raise LostPartError("None of its samples can be asked.")
    if not named.agent:
        spot.reading.problems.append(agent_problem(spot.document, spot.loc))
    elif any(case.chat.system for case in cases):
        spot.lose(own_prompt(named.agent))
    return suite_draft(replace(named, cases=cases), spot)


def _case(row: Spot, grading: Grading) -> SampleCase | None:
    data: Any = row.value
    if not isinstance(data, dict):
        row.say('A sample is written {"input": ..., "ideal": ...}.')
        return None
    chat = chat_of(data.get(grading.input))
    if chat is None:
        row.lose(
            f"The key `{grading.input}` of this sample has no question. The sample is left out.",
            checks=1,
        )
        return None
    checks = []
    try:
        check, expects = grading.make(data)
        checks.append((check, grading.spot or row, expects))
    except LostPartError as lost:
        row.lose(f"The check of this sample is left out. {lost}", checks=1)
    name = data.get("id")
    return SampleCase(
        row, name if isinstance(name, str) else "", chat, row.at(grading.input), checks
    )


def is_registry(document: ParsedFile) -> bool:
    """Whether a file is one of the registry, and no object of the API."""
    data = document.data
    return isinstance(data, dict) and any(map(_is_eval, data.values()))


def _is_eval(entry: object) -> bool:
    return isinstance(entry, dict) and "class" in entry


def is_samples(document: ParsedFile) -> bool:
    """Whether a file has samples: rows of what is asked, and the ideal answer."""
    rows = document.data
    first = rows[0] if isinstance(rows, list) and rows else None
    return isinstance(first, dict) and {"input", "ideal"} <= first.keys()
