"""Which keys of a JSON Schema mean something, and whether a schema asks for anything at all."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evals_app.engine.json_data.documents import Json

Place = tuple[str | int, ...]

_ONE = (
    *("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"),
    *("contentSchema", "unevaluatedItems", "unevaluatedProperties"),
)
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")

# What says something to readers, or names a schema, and lets everything pass.
_REMARKS = frozenset(
    {
        *("$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary", "$comment", "$defs"),
        *("definitions", "title", "description", "default", "examples", "deprecated", "readOnly"),
        *("writeOnly", "contentEncoding", "contentMediaType", "contentSchema"),
    }
)
_BOUNDS = frozenset(
    {
        *("type", "enum", "const", "required", "dependentRequired", "format", "pattern"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
        *("minProperties", "maxProperties", "minContains", "maxContains", "$ref", "$dynamicRef"),
    }
)
KEYWORDS = frozenset({*_ONE, *_SEVERAL, *_NAMED, *_REMARKS, *_BOUNDS})
# Of older drafts and of OpenAPI: read by nobody here, and what says the same.
_INSTEAD = {
    "additionalItems": "items beside prefixItems",
    "dependencies": "dependentRequired or dependentSchemas",
    "id": "$id",
    "nullable": "type: [..., 'null']",
    "example": "examples",
    "optional": "required, which names the others",
}
_KINDS = frozenset({"array", "boolean", "null", "number", "object", "string"})


def parts(schema: Json, place: Place = ()) -> Iterator[tuple[Place, dict[str, Json]]]:
    """Yield the schema and every schema in it, with its place; true and false say nothing."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for key in _ONE:
        yield from parts(schema.get(key), (*place, key))
    for key in _SEVERAL:
        for number, each in enumerate(schema.get(key, [])):
            yield from parts(each, (*place, key, number))
    for key in _NAMED:
        for name, each in schema.get(key, {}).items():
            yield from parts(each, (*place, key, name))


def unknown_keywords(schema: Mapping[str, Json]) -> list[tuple[Place, str]]:
    """Return the keys that mean nothing, each with what is probably meant.

    Keys that begin with `x-` are remarks of other programs.
    """
    return [
        ((*place, key), _meant(key))
        for place, part in parts(dict(schema))
        for key in part
        if key not in KEYWORDS and not key.startswith("x-")
    ]


def _meant(key: str) -> str:
    if key in _INSTEAD:
        return f"write {_INSTEAD[key]}"
    near = difflib.get_close_matches(key[:100], KEYWORDS, n=1)
    return f"did you mean {near[0]!r}?" if near else "it checks nothing"


def accepts_everything(schema: Json) -> bool:
    """Say whether any JSON fits a schema, as far as that shows without trying."""
    if not isinstance(schema, dict):
        return schema is True
    return all(_asks_nothing(key, value) for key, value in schema.items())


def _asks_nothing(key: str, value: Any) -> bool:  # noqa: ANN401 - JSON
    match key:
        case "type":
            kinds: Iterable[str] = [value] if isinstance(value, str) else value
            return set(kinds) >= _KINDS
        case "required" | "dependentRequired":
            return not value
        case "uniqueItems":
            return not value
        case "minLength" | "minItems" | "minProperties":
            return bool(value == 0)
        case "allOf" | "prefixItems":
            return all(map(accepts_everything, value))
        case "anyOf":
            return any(map(accepts_everything, value))
        case "oneOf":
            return len(value) == 1 and accepts_everything(value[0])
        case "properties" | "patternProperties" | "dependentSchemas":
            return all(map(accepts_everything, value.values()))
        case "not" | "contains":
            return False
        case "if" | "minContains" | "maxContains":
            return True  # then and else ask; contains does
    if key in _ONE:
        return accepts_everything(value)
    return key not in _BOUNDS
