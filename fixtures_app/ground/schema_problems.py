"""Finds what is wrong with a JSON Schema that a person wrote, each problem with its place."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from fixtures_app.ground.json_data import DataProblem
from fixtures_app.ground.json_formats import FORMATS
from fixtures_app.ground.json_keywords import Place, parts
from fixtures_app.ground.json_text import NotJsonError, read_json
from fixtures_app.ground.patterns import pattern_problem, pattern_warnings
from fixtures_app.ground.quoting import cut_middle, join_list, json_text
from fixtures_app.ground.schemas import UncheckableError, mismatches
from fixtures_app.ground.sentences import sentence
from fixtures_app.ground.strict_json import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
# For a path through true, a number or a text, the library raises TypeError or ValueError.
_NOWHERE = (Unresolvable, TypeError, ValueError)
_META = Draft202012Validator(Draft202012Validator.META_SCHEMA)


def schema_problems(schema: Mapping[str, object]) -> list[DataProblem]:
    """Return what prevents a schema from being used."""
    try:
        read_json(json.dumps(schema, allow_nan=False))
    except NotJsonError as exc:
        return [DataProblem((), f"The schema {exc}", None)]
    except (TypeError, ValueError, RecursionError):
        message = "A schema may contain only what JSON allows. Put dates in quotes."
        return [DataProblem((), message, None)]
    if problems := list(_outer_problems(schema)):
        return problems  # only a well-formed schema can be walked
    inner = list(parts(schema))
    problems = [problem for place, part in inner for problem in _inner_problems(place, part)]
    problems += _unevaluated_problems(inner)
    problems += _reference_problems(schema, inner)
    if not problems and _is_endless(schema):
        return [DataProblem((), "The schema refers to itself endlessly, or too often.", None)]
    return problems


def schema_warnings(schema: Mapping[str, object]) -> list[str]:
    """Return warnings about what is valid but probably not meant."""
    warnings = []
    if isinstance(schema.get("properties"), dict) and schema["properties"]:
        if "required" not in schema:
            missing = "A reply without any of these keys also fits. List them under required."
            warnings.append(missing)
        elif "type" not in schema:
            warnings.append(
                "A reply that is a text, a number or a list also fits. Add type: object."
            )
    for _, part in parts(schema):
        if isinstance(pattern := part.get("pattern"), str):
            warnings += pattern_warnings(pattern)
        if isinstance(name := part.get("format"), str) and name not in FORMATS.checkers:
            known = join_list(sorted(FORMATS.checkers))
            warnings.append(f"The format {name!r} is not checked. Checked are: {known}.")
    return list(dict.fromkeys(warnings))


def _outer_problems(schema: Mapping[str, object]) -> Iterator[DataProblem]:
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.removesuffix("#") != DIALECT:
        message = f"Schemas use JSON Schema 2020-12. Remove $schema, or write {DIALECT}"
        yield DataProblem(("$schema",), message, dialect)
    for error in sorted(_META.iter_errors(schema), key=lambda error: error.json_path):
        cause = best_match([error]) or error
        place = tuple(cause.absolute_path)
        text = sentence(cause, whole="the schema")
        if cause.validator == "anyOf" and place[-1:] == ("type",):
            text = f"type must be one of {join_list(_TYPES)}, not {json_text(cause.instance, 60)}"
        yield DataProblem(place, f"This is not a valid JSON Schema: {text}.", cause.instance)
    try:
        urlsplit(str(schema.get("$id")))  # as the library does with it
    except ValueError:
        message = "This is not a valid address. Correct it, or leave out $id."
        yield DataProblem(("$id",), message, schema["$id"])


def _inner_problems(place: Place, part: dict[str, Any]) -> Iterator[DataProblem]:
    if "pattern" in part and (problem := pattern_problem(part["pattern"])):
        yield DataProblem((*place, "pattern"), problem, part["pattern"])
    for pattern in part.get("patternProperties", {}):
        if problem := pattern_problem(pattern):
            yield DataProblem((*place, "patternProperties", pattern), problem, pattern)
    if place and "$id" in part:
        message = "Leave out $id: parts of a schema are named under $defs."
        yield DataProblem((*place, "$id"), message, part["$id"])


def _unevaluated_problems(parts: list[tuple[Place, dict[str, Json]]]) -> Iterator[DataProblem]:
    # The library would search for patterns with `re`, which can hang.
    if not any("patternProperties" in part for _, part in parts):
        return
    for place, part in parts:
        if "unevaluatedProperties" in part:
            message = "A schema with patternProperties cannot have this. Use additionalProperties."
            value = part["unevaluatedProperties"]
            yield DataProblem((*place, "unevaluatedProperties"), message, value)


def _reference_problems(
    schema: Mapping[str, object], parts: list[tuple[Place, dict[str, Json]]]
) -> list[DataProblem]:
    root = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    known = {id(part) for _, part in parts}

    def fault(ref: str) -> str:
        if not ref.startswith("#"):
            return "is outside this schema. Copy it under $defs."
        try:
            target = root.lookup(ref).contents
        except _NOWHERE:
            return "points to nothing in this schema."
        is_schema = isinstance(target, bool) or id(target) in known
        return "" if is_schema else "points to something that is not a schema."

    return [
        DataProblem((*place, keyword), f"{cut_middle(ref)!r} {wrong}", ref)
        for place, part in parts
        for keyword in ("$ref", "$dynamicRef")
        if isinstance(ref := part.get(keyword), str) and (wrong := fault(ref))
    ]


def _is_endless(schema: Mapping[str, object]) -> bool:
    for sample in map(read_json, ("{}", "[]", '""', "0")):
        try:
            mismatches(sample, schema)
        except UncheckableError:
            return True
    return False
