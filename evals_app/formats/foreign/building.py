"""Suites of foreign files, built of parts that know where they were written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evals_app.formats.foreign.draft import Draft, Kind, make_draft
from evals_app.formats.foreign.shapes import SourcePlaces, distinct_names
from evals_app.formats.foreign.spots import Spot
from evals_app.formats.reading.problems import Json, Loc


@dataclass(frozen=True, slots=True)
class Placed:
    """A part of an object in our words, and where it was written."""

    part: Any
    spot: Spot


def placed_draft(kind: Kind, dialect: str, root: Spot, data: Json) -> Draft:
    """Return the draft of an object whose parts may be placed."""
    places = SourcePlaces(root.document, root.loc)
    plain = _without_places(data, (), places)
    return make_draft(kind, dialect, root.document, plain, place=places)


def suite_drafts(
    dialect: str,
    root: Spot,
    name: str | Placed,
    cases: Sequence[Placed],
    *,
    slug: str = "",
    **settings: object,
) -> Iterator[Draft]:
    """Return the draft of a suite, and one with everything that was found wrong in its files.

    Names of cases that repeat get numbers. The slug is made of the name, unless it is given.
    """
    yield suite_draft(dialect, root, name, cases, slug=slug, **settings)
    yield root.reading.remarks(dialect)


def suite_draft(
    dialect: str,
    root: Spot,
    name: str | Placed,
    cases: Sequence[Placed],
    *,
    slug: str = "",
    **settings: object,
) -> Draft:
    """Return the draft of one suite of a file that may have several."""
    reading = root.reading
    title, at = (name.part, name.spot) if isinstance(name, Placed) else (name, root)
    data = {
        "suite": name,
        "slug": Placed(slug or reading.slug(title), at),
        "agent": reading.agent(),
        **settings,
        "cases": with_distinct_names(cases, [case.part["name"] for case in cases]),
    }
    draft = placed_draft("suite", dialect, root, data)
    draft = draft if reading.is_valid else draft.without_spec()
    return draft if reading.around.agent else draft.without_agent()


def with_distinct_names(cases: Sequence[Placed], names: Sequence[str]) -> list[Placed]:
    """Return the cases with their names; one that repeats gets a number."""
    return [
        Placed({**case.part, "name": name}, case.spot)
        for case, name in zip(cases, distinct_names(names), strict=True)
    ]


def _without_places(part: object, loc: Loc, places: SourcePlaces) -> object:
    if isinstance(part, Placed):
        places.note(loc, part.spot.document, part.spot.loc)
        part = part.part
    if isinstance(part, dict):
        return {key: _without_places(item, (*loc, key), places) for key, item in part.items()}
    if isinstance(part, list):
        return [_without_places(item, (*loc, n), places) for n, item in enumerate(part)]
    return part
