"""Pydantic models in the schema of the API: the specs that people write, and the answers."""

from typing import Any

from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent
from pydantic import BaseModel

from evals_app.engine.graders import GRADERS
from evals_app.engine.spec import ModelSpec
from evals_app.engine.suite import COMMON_KEYS, AssertionSpec

Json = Any

_COMPONENT = "#/components/schemas/{model}"


class ModelSchemas(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Lets `extend_schema` take a model: it and its parts become components."""

    target_class = "pydantic.BaseModel"
    match_subclasses = True
    priority = 1  # before the one of drf-spectacular, which describes a spec after its validation

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        set_override(self.target, "suppress_collision_warning", value=True)
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Json]:
        whole, parts = model_schema(self.target)
        for name, schema in parts.items():
            component = ResolvedComponent(  # type: ignore[no-untyped-call]
                name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema
            )
            auto_schema.registry.register_on_missing(component)
        return whole


def model_schema(model: type[BaseModel]) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the schema of a model as JSON has it, and those of its parts by name."""
    whole = _schema(model)
    parts = whole.pop("$defs", {})
    # What people write differs from these classes.
    if AssertionSpec.__name__ in parts:
        parts |= {AssertionSpec.__name__: _assertion(parts)}
        parts.pop("Grader", None)
    if ModelSpec.__name__ in parts:
        name = {"type": "string", "description": "provider/model"}
        parts[ModelSpec.__name__] = {"anyOf": [name, parts[ModelSpec.__name__]]}
    return whole, parts


def _schema(model: type[BaseModel]) -> dict[str, Json]:
    return model.model_json_schema(mode="validation", ref_template=_COMPONENT)


def _assertion(parts: dict[str, Json]) -> dict[str, Json]:
    """Describe an assertion: the common keys, and with them the options of its type."""
    written = parts[AssertionSpec.__name__]["properties"]
    common = {key: written[key] for key in COMMON_KEYS if key != "type"}
    kinds = []
    for name, grader in GRADERS.items():
        own = _schema(grader)
        parts |= own.get("$defs", {})
        kinds.append(
            {
                "type": "object",
                "title": name,
                "description": own.get("description", ""),
                "properties": {"type": {"const": name}} | own.get("properties", {}) | common,
                "required": ["type", *own.get("required", ())],
                "additionalProperties": False,
            }
        )
    return {"oneOf": kinds}
