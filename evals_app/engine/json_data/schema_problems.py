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
from evals_app.engine.json_data.keywords import Place, parts
from evals_app.engine.json_data.schemas import TooMuchWorkError, mismatches
from evals_app.engine.json_data.sentences import sentence
from evals_app.engine.patterns import pattern_problem, pattern_warnings
from evals_app.engine.quoting import json_text, listed, shortened

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Problem = tuple[Place, str]

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
# Of a path that goes on behind true, a number or a text, the library says that it cannot be indexed.
_NOWHERE = (Unresolvable, TypeError, ValueError)
_META = Draft202012Validator(Draft202012Validator.META_SCHEMA)


def schema_problems(schema: Mapping[str, Json]) -> list[Problem]:
    """Find what keeps a schema from being used."""
    try:
        read_json(json.dumps(schema, allow_nan=False))
    except NotJsonError as exc:
        return [((), f"The schema {exc}")]
    except (TypeError, ValueError, RecursionError):
        return [((), "A schema has only what JSON has; put dates in quotes.")]
    if problems := list(_outer_problems(schema)):
        return problems  # only a well-formed schema can be walked
    inner = list(parts(schema))
    problems = [problem for place, part in inner for problem in _inner_problems(place, part)]
    problems += _unevaluated_problems(inner)
    problems += _reference_problems(schema, inner)
    if not problems and _is_endless(schema):
        return [((), "The schema refers to itself without end, or too often.")]
    return problems


def schema_warnings(schema: Mapping[str, Json]) -> list[str]:
    """Name what is written correctly but hardly meant."""
    warnings = []
    if isinstance(schema.get("properties"), dict) and schema["properties"]:
        if "required" not in schema:
            missing = "A reply without any of these keys fits as well: name them under required."
            warnings.append(missing)
        elif "type" not in schema:
            warnings.append(
                "A reply that is a text, a number or a list fits as well: add type: object."
            )
    for _, part in parts(schema):
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
        place = tuple(cause.absolute_path)
        text = sentence(cause, whole="the schema")
        if cause.validator == "anyOf" and place[-1:] == ("type",):
            text = f"a type is one of {listed(_TYPES)}, but not {json_text(cause.instance, 60)}"
        yield place, f"Not a valid JSON Schema: {text}."
    try:
        urlsplit(str(schema.get("$id")))  # as the library does with it
    except ValueError:
        yield ("$id",), "It is not a valid address. Correct it, or leave $id out."


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
