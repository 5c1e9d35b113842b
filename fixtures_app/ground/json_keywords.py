"""Which keys of a JSON Schema have a meaning, and whether a schema requires anything."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fixtures_app.ground.strict_json import Json
from fixtures_app.ground.words import nearest

Place = tuple[str | int, ...]

_ONE = (
    *("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"),
    *("contentSchema", "unevaluatedItems", "unevaluatedProperties"),
)
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")

# Notes for readers and names of schemas, which allow everything.
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
# Keys of older drafts and of OpenAPI, which are ignored here, and the key to use instead.
_INSTEAD = {
    "additionalItems": "items next to prefixItems",
    "dependencies": "dependentRequired or dependentSchemas",
    "id": "$id",
    "nullable": "type: [..., 'null']",
    "example": "examples",
    "optional": "required, with the other keys",
}
_KINDS = frozenset({"array", "boolean", "null", "number", "object", "string"})


def parts(schema: object, place: Place = ()) -> Iterator[tuple[Place, dict[str, Json]]]:
    """Yield the schema and every schema in it, with its place, except true and false."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for key in _ONE:
        yield from parts(schema.get(key), (*place, key))
    for key in _SEVERAL:
        for number, part in enumerate(schema.get(key, [])):
            yield from parts(part, (*place, key, number))
    for key in _NAMED:
        for name, part in schema.get(key, {}).items():
            yield from parts(part, (*place, key, name))


def unknown_keywords(schema: Mapping[str, Json]) -> list[tuple[Place, str]]:
    """Return the keys without a meaning, each with what is probably meant.

    Keys that begin with `x-` are notes of other programs.
    """
    return [
        ((*place, key), _suggestion(key))
        for place, part in parts(dict(schema))
        for key in part
        if key not in KEYWORDS and not key.startswith("x-")
    ]


def _suggestion(key: str) -> str:
    if key in _INSTEAD:
        return f"write {_INSTEAD[key]}"
    meant = nearest(key, KEYWORDS)
    return f"did you mean {meant!r}?" if meant else "it checks nothing"


def accepts_everything(schema: object) -> bool:
    """Whether any JSON fits a schema, as far as the schema itself shows."""
    if not isinstance(schema, dict):
        return schema is True
    return all(_requires_nothing(key, value) for key, value in schema.items())


def _requires_nothing(key: str, value: Any) -> bool:
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
            return True  # then, else and contains decide
    if key in _ONE:
        return accepts_everything(value)
    return key not in _BOUNDS
