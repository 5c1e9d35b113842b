"""The arguments of tools and the fields of entities, as their schemas list them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fixtures_app.tools import TOOLS

# Names of parts, each with the type of its value in JSON, or with what the value names; "" if it may
# have several.
Parts = Mapping[str, str]
# Names of parts that have a few possible values, each with the texts of these values.
Values = Mapping[str, Sequence[str]]

_PLAIN = {str, int, float}
_ENTITY = {"id": "entity"}
_ENDS = {"from": "entity", "to": "entity"}
_TYPE = {"type": "entity type"}
# What arguments of the tools of worlds name.
_NAMING: Mapping[str, Parts] = {
    "entity.query": _TYPE,
    "entity.create": _TYPE,
    "entity.get": _ENTITY,
    "entity.update": _ENTITY,
    "entity.delete": _ENTITY,
    "relation.list": _ENDS,
    "relation.create": _ENDS,
}


def arguments_of(tools: Iterable[object]) -> dict[str, Parts]:
    """Return the arguments of stored tools, by tool; those of MCP servers are unknown."""
    schemas = schemas_of(tools).items()
    known = {name: parts for name, schema in schemas if (parts := parts_of(schema))}
    return {name: {**parts, **_NAMING.get(name, {})} for name, parts in known.items()}


def schemas_of(tools: Iterable[object]) -> dict[str, object]:
    """Return the schemas of the arguments of stored tools, as far as they are known, by tool."""
    schemas: dict[str, object] = {}
    for tool in tools:
        if isinstance(tool, dict) and "mcp" not in tool:
            schemas[tool["name"]] = tool.get("parameters")
        elif isinstance(tool, str) and tool in TOOLS:
            schemas[tool] = TOOLS[tool].parameters
    return schemas


def parts_of(schema: object) -> Parts:
    """Return the properties that a JSON Schema lists, and those of an object by dotted path."""
    return {name: _type_of(described) for name, described in _property_paths(schema)}


def values_of(schema: object) -> Values:
    """Return the texts of the values that a JSON Schema lists, by property."""
    listed = {name: _possible_values(described) for name, described in _property_paths(schema)}
    return {
        name: [value if isinstance(value, str) else json.dumps(value) for value in values]
        for name, values in listed.items()
        if values
    }


def _property_paths(schema: object) -> Iterator[tuple[str, object]]:
    for name, described in _properties(schema).items():
        yield name, described
        for key, inner in _properties(described).items():
            yield f"{name}.{key}", inner


def _possible_values(schema: object) -> list[object]:
    """Return the texts and numbers that alone are possible; none if there are others."""
    values = schema.get("enum") if isinstance(schema, Mapping) else None
    return values if isinstance(values, list) and set(map(type, values)) <= _PLAIN else []


def _properties(schema: object) -> Mapping[str, object]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _type_of(schema: object) -> str:
    written = schema.get("type", "") if isinstance(schema, Mapping) else ""
    if not written and set(map(type, _possible_values(schema))) == {str}:
        return "string"
    types = [
        kind for kind in (written if isinstance(written, list) else [written]) if kind != "null"
    ]
    return types[0] if len(types) == 1 and isinstance(types[0], str) else ""
