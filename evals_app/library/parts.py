"""The arguments of tools and the fields of entities, as their schemas list them."""

from collections.abc import Iterable, Mapping
from typing import Any

from fixtures_app.tools import TOOLS

# Names of parts, each with the type of its value in JSON, or with what the value names; "" if it may
# have several.
Parts = Mapping[str, str]

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


def arguments_of(tools: Iterable[Any]) -> dict[str, Parts]:
    """Return the arguments of stored tools, by tool; those of MCP servers are unknown."""
    schemas: dict[str, Any] = {}
    for tool in tools:
        if isinstance(tool, dict) and "mcp" not in tool:
            schemas[tool["name"]] = tool.get("parameters")
        elif isinstance(tool, str) and tool in TOOLS:
            schemas[tool] = TOOLS[tool].parameters
    known = {name: parts for name, schema in schemas.items() if (parts := parts_of(schema))}
    return {name: {**parts, **_NAMING.get(name, {})} for name, parts in known.items()}


def parts_of(schema: Any) -> Parts:
    """Return the properties that a JSON Schema lists, and those of an object by dotted path."""
    parts: dict[str, str] = {}
    for name, described in _properties(schema).items():
        parts[name] = _type_of(described)
        inner = _properties(described).items()
        parts |= {f"{name}.{key}": _type_of(value) for key, value in inner}
    return parts


def _properties(schema: Any) -> Mapping[str, Any]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _type_of(schema: Any) -> str:
    written = schema.get("type", "") if isinstance(schema, Mapping) else ""
    types = [
        kind for kind in (written if isinstance(written, list) else [written]) if kind != "null"
    ]
    return types[0] if len(types) == 1 and isinstance(types[0], str) else ""
