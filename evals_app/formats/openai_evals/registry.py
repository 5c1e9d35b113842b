"""The registry of the open-source framework: YAML that names classes and samples."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from evals_app.engine.suite import near
from evals_app.formats.chats import is_chat, own_prompt, read_chat
from evals_app.formats.document import Document
from evals_app.formats.draft import Draft
from evals_app.formats.foreign import Around, slug_of
from evals_app.formats.json_lines import read_json_lines
from evals_app.formats.openai_evals.classes import INCLUDES, Grading, grading_of
from evals_app.formats.openai_evals.lost import LostError
from evals_app.formats.openai_evals.shapes import Alias, Entry
from evals_app.formats.openai_evals.spots import Spot
from evals_app.formats.openai_evals.suites import Case, Written, agent_problem, suite_draft
from evals_app.formats.problems import FormatError, Loc
from evals_app.formats.reading import Reading

_DATA = ("../data/{}", "data/{}", "{}")  # where samples are, from the file that names them
_NAME_CHARS = 200
_POINTER = b"version https://git-lfs"


def read_registry(reading: Reading, around: Around) -> Iterator[Draft]:
    """Read the evals of a file: each name of one becomes a suite."""
    root = Spot(reading)
    entries = {name: root.at(name) for name in reading.document.data}
    evals = {name: spot for name, spot in entries.items() if "class" in _keys(spot)}
    named = {}
    for name, spot in entries.items():
        if name in evals:
            continue
        alias = spot.read(Alias)
        if alias is None:
            continue
        if alias.id not in evals:
            spot.at("id").say(f"There is no {alias.id!r} in this file.{near(alias.id, evals)}")
            continue
        named[alias.id] = (name, alias)
    before = len(reading.problems)
    count = 0
    for key, spot in evals.items():
        name, alias = named.get(key, (key, None))
        entry = spot.read(Entry)
        if entry is not None:
            description = entry.description or (alias.description if alias else "")
            for draft in _suite(spot, entry, _named(name, around, description)):
                count += 1
                yield draft
    if not count and reading.is_sound:
        reasons = [each.message for each in reading.problems[before:][:3]]
        root.say(" ".join(["There is no eval in this file that can be imported.", *reasons]))


def read_samples(reading: Reading, around: Around) -> Iterator[Draft]:
    """Read samples by themselves; nothing says how replies are compared, so it is usual here."""
    rows = Spot(reading)
    rows.say(
        "Samples do not say how replies are compared: each is to contain its ideal answer. Import "
        "the registry's YAML file instead if you have it.",
        level="warning",
    )
    stem = reading.document.path.rpartition("/")[2].partition(".")[0]
    if stem == "samples":
        stem = around.folder(reading.document) or stem
    yield from _drafted(rows, Spot(reading), INCLUDES, _named(stem, around))


def _named(name: str, around: Around, description: str = "") -> Written:
    agent = around.agent or ""
    return Written(name[:_NAME_CHARS], slug_of(name), agent, description=description)


def _keys(spot: Spot) -> set[str]:
    return set(spot.value) if isinstance(spot.value, dict) else set()


def _suite(spot: Spot, entry: Entry, named: Written) -> Iterator[Draft]:
    try:
        grading = grading_of(spot, entry)
    except LostError as lost:
        spot.lose(f"The eval {named.name} is left out. {lost}")
        return
    rows = _samples(spot.at("args", "samples_jsonl"))
    if grading is not None and rows is not None:
        yield from _drafted(rows, spot, grading, named)


def _samples(spot: Spot) -> Spot | None:
    """Read the samples that an eval names; None, and reported: they cannot be read."""
    written = spot.value
    if not isinstance(written, str) or not written:
        spot.say("An eval needs the path of its samples here, for example my-eval/samples.jsonl.")
        return None
    reading = spot.reading
    found = content_of(reading, _DATA, written)
    if found is None:
        spot.say(
            f"There is no file {written} in the folder data beside the folder of this file. Name it "
            "too, import the folder that holds both (registry), or send both in one zip."
        )
        return None
    path, content = found
    if content.startswith(_POINTER):
        spot.say(f"{path} is only a pointer of Git LFS. Fetch the file itself: git lfs pull.")
        return None
    try:
        document = read_json_lines(path, content)
    except FormatError as error:
        reading.problems += error.problems
        return None
    return Spot(Reading(document, reading.around, reading.problems))


def content_of(reading: Reading, places: Sequence[str], name: str) -> tuple[str, bytes] | None:
    """Find a file by its name in one of several places; give its path and content."""
    for place in places:
        path = place.format(name)
        content = reading.around.content(reading.document, path)
        if content is not None:
            return reading.path(path), content
    return None


def _drafted(rows: Spot, spot: Spot, grading: Grading, named: Written) -> Iterator[Draft]:
    cases = [case for row in rows.each() if (case := _case(row, grading))]
    if not cases:
        spot.say("None of its samples can be asked, so there is no suite.")
        return
    if not named.agent:
        spot.reading.problems.append(agent_problem(spot))
    elif any(case.chat.system for case in cases):
        spot.lose(own_prompt(named.agent))
    yield suite_draft(replace(named, cases=cases), spot)


def _case(row: Spot, grading: Grading) -> Case | None:
    data: Any = row.value
    if not isinstance(data, dict):
        row.say('A sample is written {"input": ..., "ideal": ...}.')
        return None
    asked = data.get(grading.input)
    if isinstance(asked, str) and asked.strip():
        asked = [{"role": "user", "content": asked}]
    chat = read_chat(asked) if isinstance(asked, list) and is_chat(asked) else None
    if chat is None:
        row.lose(f"Nothing is asked in the key `{grading.input}` of this sample. It is left out.")
        return None
    checks = []
    try:
        checks = [(check, grading.spot or row, expects) for check, expects in grading.make(data)]
    except LostError as lost:
        row.lose(f"The check of this sample is left out. {lost}")
    name = data.get("id")
    return Case(row, name if isinstance(name, str) else "", chat, row.at(grading.input), checks)


def is_registry(document: Document) -> bool:
    """Whether a file is one of the registry, and no object of the API."""
    data = document.data
    return isinstance(data, dict) and any(
        isinstance(each, dict) and "class" in each for each in data.values()
    )


def is_samples(document: Document, loc: Loc = ()) -> bool:
    """Whether a file has samples: rows of what is asked, and the ideal answer."""
    rows = document.value(loc)
    first = rows[0] if isinstance(rows, list) and rows else None
    return isinstance(first, dict) and {"input", "ideal"} <= first.keys()
