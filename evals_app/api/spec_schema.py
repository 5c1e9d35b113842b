"""Specs in the words of OpenAPI 3.0, which knows an older JSON Schema than pydantic writes."""

from typing import Any

from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent
from pydantic import BaseModel

from evals_app.engine.graders import GRADERS
from evals_app.engine.spec import ModelSpec
from evals_app.engine.suite import COMMON_KEYS, AssertionSpec

Json = Any

# Keywords of pydantic's JSON Schema, and of our forms, that OpenAPI 3.0 does not have.
_FOREIGN = frozenset({"$defs", "default", "examples", "rows", "mono", "offers"})


class SpecSchemas(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Lets a Spec stand in `extend_schema`: it and its parts become components."""

    target_class = "pydantic.BaseModel"
    match_subclasses = True
    priority = 1  # before the one of drf-spectacular, which writes OpenAPI 3.1

    def get_name(self, auto_schema: Any, direction: Any) -> str:  # noqa: ANN401
        set_override(self.target, "suppress_collision_warning", value=True)
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Json]:  # noqa: ANN401
        whole, parts = spec_schema(self.target)
        for name, schema in parts.items():
            component = ResolvedComponent(  # type: ignore[no-untyped-call]
                name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema
            )
            auto_schema.registry.register_on_missing(component)
        return whole


def spec_schema(model: type[BaseModel]) -> tuple[dict[str, Json], dict[str, Json]]:
    """Give the schema of a spec as people write it, and those of its parts by name."""
    schema = model.model_json_schema(mode="validation")
    parts = schema.get("$defs", {})
    # Where what people write has another shape than the class.
    if AssertionSpec.__name__ in parts:
        parts |= {AssertionSpec.__name__: _assertion(parts)}
        parts.pop("Grader", None)
    if ModelSpec.__name__ in parts:
        name = {"type": "string", "description": "provider/model"}
        parts[ModelSpec.__name__] = {"anyOf": [name, parts[ModelSpec.__name__]]}
    translated = {name: _translated(part) for name, part in parts.items()}
    return _translated(schema), translated


def _assertion(parts: dict[str, Json]) -> dict[str, Json]:
    """Describe an assertion: the common keys, and beside them the options of its type."""
    written = parts[AssertionSpec.__name__]["properties"]
    common = {key: written[key] for key in COMMON_KEYS if key != "type"}
    kinds = []
    for name, grader in GRADERS.items():
        own = grader.model_json_schema(mode="validation")
        parts |= own.get("$defs", {})
        kinds.append(
            {
                "type": "object",
                "title": name,
                "description": own.get("description", ""),
                "properties": {"type": {"enum": [name]}} | own.get("properties", {}) | common,
                "required": ["type", *own.get("required", ())],
                "additionalProperties": False,
            }
        )
    return {"oneOf": kinds}


def _translated(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_translated(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        reference = {"$ref": f"#/components/schemas/{schema['$ref'].rpartition('/')[2]}"}
        about = {key: value for key, value in schema.items() if key in {"title", "description"}}
        return {"allOf": [reference], **about} if about else reference
    found = {key: _translated(value) for key, value in schema.items() if key not in _FOREIGN}
    if "const" in found:
        found["enum"] = [found.pop("const")]
    if isinstance(found.get("enum"), list):
        # Inside allOf, or drf-spectacular makes a component of it and warns of equal names.
        found["allOf"] = [{"enum": found.pop("enum")}]
    for bound in ("minimum", "maximum"):
        exclusive = f"exclusive{bound.capitalize()}"
        if exclusive in found:
            found |= {bound: found[exclusive], exclusive: True}
    return _nullable(found)


def _nullable(schema: dict[str, Json]) -> dict[str, Json]:
    branches = schema.get("anyOf")
    if not isinstance(branches, list) or {"type": "null"} not in branches:
        return schema
    others = [each for each in branches if each != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(others) == 1 and "type" in others[0] and "allOf" not in others[0]:
        return {**others[0], **rest, "nullable": True}
    # `nullable` only helps beside a `type`.
    return {**rest, "anyOf": [*others, {"enum": [None]}]}
