"""What is wrong with a JSON Schema that somebody wrote, each problem with its place."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from evals_app.engine.json_data.documents import Json, NotJsonError, read_json
from evals_app.engine.json_data.formats import FORMATS
from evals_app.engine.json_data.schemas import TooMuchWorkError, mismatches
from evals_app.engine.patterns import pattern_problem, pattern_warnings
from evals_app.engine.quoting import listed, shortened

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Place = tuple[str | int, ...]
Problem = tuple[Place, str]

# Of a path that goes on behind true, a number or a text, the library says that it cannot be indexed.
_NOWHERE = (Unresolvable, TypeError, ValueError)
_META = Draft202012Validator(Draft202012Validator.META_SCHEMA)
_SCHEMA = (
    *("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"),
    *("contentSchema", "unevaluatedItems", "unevaluatedProperties"),
)
_SCHEMAS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED_SCHEMAS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


def schema_problems(schema: Mapping[str, Json]) -> list[Problem]:
    """Find what keeps a schema from being used."""
    try:
        read_json(json.dumps(schema, allow_nan=False))
    except NotJsonError as exc:
        return [((), f"The schema {exc}")]
    except (TypeError, ValueError, RecursionError) as exc:
        return [((), f"A schema holds only what JSON has; dates stand in quotes ({exc}).")]
    if problems := list(_outer_problems(schema)):
        return problems  # only a well-formed schema can be walked
    parts = list(_parts(schema))
    problems = [problem for place, part in parts for problem in _inner_problems(place, part)]
    problems += _unevaluated_problems(parts)
    problems += _reference_problems(schema, parts)
    if not problems and _is_endless(schema):
        return [((), "The schema refers to itself without end, or too often.")]
    return problems


def schema_warnings(schema: Mapping[str, Json]) -> list[str]:
    """Name what is written correctly but hardly meant."""
    warnings = []
    for _, part in _parts(schema):
        if isinstance(pattern := part.get("pattern"), str):
            warnings += pattern_warnings(pattern)
        if isinstance(name := part.get("format"), str) and name not in FORMATS.checkers:
            known = listed(sorted(FORMATS.checkers))
            warnings.append(f"The format {name!r} is not checked; {known} are.")
    return list(dict.fromkeys(warnings))


def _outer_problems(schema: Mapping[str, Json]) -> Iterator[Problem]:
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.removesuffix("#") != DIALECT:
        yield ("$schema",), f"Schemas are of draft 2020-12: remove $schema, or write {DIALECT}"
    for error in sorted(_META.iter_errors(schema), key=lambda each: each.json_path):
        cause = best_match([error]) or error
        yield tuple(cause.absolute_path), f"Not a valid JSON Schema: {shortened(cause.message)}."
    try:
        urlsplit(str(schema.get("$id")))  # as the library does with it
    except ValueError as exc:
        yield ("$id",), f"It is no address ({exc}). Correct it, or leave $id out."


def _parts(schema: Json, place: Place = ()) -> Iterator[tuple[Place, dict[str, Json]]]:
    """Yield the schema and every schema in it, with its place; true and false say nothing."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for key in _SCHEMA:
        yield from _parts(schema.get(key), (*place, key))
    for key in _SCHEMAS:
        for number, each in enumerate(schema.get(key, [])):
            yield from _parts(each, (*place, key, number))
    for key in _NAMED_SCHEMAS:
        for name, each in schema.get(key, {}).items():
            yield from _parts(each, (*place, key, name))


def _inner_problems(place: Place, part: dict[str, Any]) -> Iterator[Problem]:
    if "pattern" in part and (problem := pattern_problem(part["pattern"])):
        yield (*place, "pattern"), problem
    for pattern in part.get("patternProperties", {}):
        if problem := pattern_problem(pattern):
            yield (*place, "patternProperties", pattern), problem
    if place and "$id" in part:
        yield (*place, "$id"), "Leave $id out: parts of a schema are named under $defs."


def _unevaluated_problems(parts: list[tuple[Place, dict[str, Json]]]) -> Iterator[Problem]:
    # The library would search with `re`, which hangs, for patterns of any schema that it applies.
    if not any("patternProperties" in part for _, part in parts):
        return
    for place, part in parts:
        if "unevaluatedProperties" in part:
            message = (
                "It cannot stand in a schema with patternProperties; use additionalProperties."
            )
            yield (*place, "unevaluatedProperties"), message


def _reference_problems(
    schema: Mapping[str, Json], parts: list[tuple[Place, dict[str, Json]]]
) -> list[Problem]:
    root = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    known = {id(part) for _, part in parts}
    problems: list[Problem] = []
    for place, part in parts:
        for keyword in ("$ref", "$dynamicRef"):
            if (ref := part.get(keyword)) is None:
                continue
            there = (*place, keyword)
            if not ref.startswith("#"):
                message = "lies outside this schema; nothing is fetched. Copy it under $defs."
                problems.append((there, f"{shortened(ref)!r} {message}"))
                continue
            try:
                target = root.lookup(ref).contents
            except _NOWHERE:
                problems.append((there, f"{shortened(ref)!r} points to nothing in this schema."))
                continue
            if not isinstance(target, bool) and id(target) not in known:
                problems.append((there, f"{shortened(ref)!r} points to what is no schema."))
    return problems


def _is_endless(schema: Mapping[str, Json]) -> bool:
    for sample in map(read_json, ("{}", "[]", '""', "0")):
        try:
            mismatches(sample, schema)
        except TooMuchWorkError:
            return True
    return False
