"""The contents of an import: objects of the API, files that they name, and losses."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from evals_app.formats.foreign.foreign_file import ForeignFile
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.parsed_file import Node, ParsedFile
from evals_app.formats.reading.problems import FormatError

_UNKNOWN = (
    "This is not an object of OpenAI Evals. Expected an eval (with testing_criteria), a run (with "
    'data_source), output items (with datasource_item) or items ({"item": ...}).'
)
_CUT_OFF = (
    "The API has more than this page. Save all pages with the command save_openai_evals; or fetch the "
    "next one with &after= and its last_id, save it next to this one, and import them together."
)
# Under these a file may contain several kinds at once.
_NESTED = ("eval", "run", "runs", "output_items")


class LostPartError(Exception):
    """Something that is left out; the message says what to do instead, `spot` where it is named."""

    def __init__(self, message: str, spot: Spot | None = None) -> None:
        super().__init__(message)
        self.spot = spot


# What keeps an eval from being imported, each with its place.
Missed = list[tuple[Spot, str]]


def read_sibling(
    here: Spot, paths: Iterable[str], read: Callable[[str, bytes], ParsedFile]
) -> Spot | None:
    """Read the first of some files that exists; None if none does.

    A file that cannot be read is reported, and the result is empty.
    """
    reading = here.reading
    for path in paths:
        content = reading.around.content(reading.document, path)
        if content is None:
            continue
        try:
            document = read(reading.path(path), content)
        except FormatError as error:
            reading.problems += error.problems
            document = ParsedFile(path, None, Node(1, 1))
        return Spot(ForeignFile(document, reading.around, reading.problems))
    return None


@dataclass(slots=True)
class Parts:
    """What was found, each with its place."""

    evals: list[Spot] = field(default_factory=list)
    runs: list[Spot] = field(default_factory=list)
    outputs: list[Spot] = field(default_factory=list)
    items: list[Spot] = field(default_factory=list)


def parts_of(readings: Sequence[ForeignFile]) -> Parts:
    """Find the objects in files; anything else is reported."""
    parts = Parts()
    for reading in readings:
        for spot in _objects(Spot(reading)):
            _sort(spot, parts)
    _tell_cut_off(readings)
    return parts


def _tell_cut_off(readings: Sequence[ForeignFile]) -> None:
    """Report lists of the API whose last page is not here."""
    last: dict[tuple[object, ...], tuple[Spot, bool]] = {}
    for reading in readings:
        page = reading.document.data
        if not isinstance(page, dict) or not isinstance(page.get("has_more"), bool):
            continue
        first = next((item.value for item in _objects(Spot(reading))), None)
        about = first if isinstance(first, dict) else {}
        key = tuple(str(about.get(item)) for item in ("object", "eval_id", "run_id"))
        _, is_cut = last.get(key, (None, True))
        last[key] = (Spot(reading), is_cut and page["has_more"])
    for spot, is_cut in last.values():
        if is_cut:
            spot.at("has_more").lose(_CUT_OFF, checks=1)


def _objects(spot: Spot) -> Iterator[Spot]:
    """Return each object of a file: alone, in a list, or in a page of a list."""
    value = spot.value
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        spot = spot.at("data")
    yield from spot.entries() if isinstance(spot.value, list) else [spot]


def _sort(spot: Spot, parts: Parts) -> None:
    value: Any = spot.value
    keys = set(value) if isinstance(value, dict) else set()
    nested = [key for key in _NESTED if key in keys and isinstance(value[key], dict | list)]
    if {"testing_criteria", "data_source_config"} & keys:
        parts.evals.append(spot)
    elif "data_source" in keys:
        parts.runs.append(spot)
    elif "datasource_item" in keys:
        parts.outputs.append(spot)
    elif isinstance(value, dict) and isinstance(value.get("item"), dict):
        parts.items.append(spot)
    elif not nested:
        spot.say(_UNKNOWN)
    for key in nested:
        for item in _objects(spot.at(key)):
            _sort(item, parts)
