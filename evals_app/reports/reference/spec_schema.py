"""JSON Schema of what people write: of parts of the REST API, and of native files for editors."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from evals_app.engine.graders import ALIASES, GRADERS, GROUPS
from evals_app.engine.graders.tools import ExpectedCall
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.base_spec import ModelSpec, ProviderSpec
from evals_app.engine.specs.files import FileSpec
from evals_app.engine.suites.suite_spec import COMMON_KEYS, AssertionSpec, CaseSpec, SuiteSpec
from evals_app.reports.answers.run_answers import Json, schema_name
from fixtures_app.spec import FixtureSpec

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DEFINED = "#/$defs/{model}"
# Specs for which a text is enough, and what it is.
_TEXTS: dict[type[BaseModel], str] = {
    ModelSpec: "provider/model",
    ExpectedCall: "The name of a tool.",
    FileSpec: "Relative to the folder of the suite's file.",
}
_FILES: dict[str, type[BaseModel]] = {
    "suite": SuiteSpec,
    "agent": AgentSpec,
    "fixture": FixtureSpec,
    "provider": ProviderSpec,
}


def file_schema(kind: str) -> Json:
    """Return the schema of a native file: a suite, agent, fixture or provider."""
    whole, parts = model_schema(_FILES[kind], reference=_DEFINED, with_aliases=True)
    title = {"$schema": _DIALECT, "title": f"{kind.capitalize()} of Evalwell"}
    return whole | title | {"$defs": dict(sorted(parts.items()))}


def file_schemas() -> dict[str, Json]:
    """Return the schemas of all native files by the names that they are written under."""
    return {f"{kind}.schema.json": file_schema(kind) for kind in _FILES}


def model_schema(
    model: type[BaseModel], *, reference: str, with_aliases: bool = False
) -> tuple[Json, Json]:
    """Return the schema of a model as JSON has it, and those of its parts by name.

    `reference` says how parts are referred to, for example `#/$defs/{model}`. `with_aliases` also
    allows the other names of checks.
    """
    whole = _schema(model, reference)
    parts = whole.pop("$defs", {})
    # What people write differs from these classes.
    if AssertionSpec.__name__ in parts:
        kinds = list(_checks(parts, reference, with_aliases=with_aliases))
        by_type = {"oneOf": kinds} if with_aliases else _by_type(kinds, parts, reference)
        parts |= {AssertionSpec.__name__: by_type}
        parts.pop("Grader", None)
    for spec, text in _TEXTS.items():
        if (name := spec.__name__) in parts:
            in_short = {"type": "string", "minLength": 1, "description": text}
            parts[f"{name}InFull"] = parts[name]
            in_full = {"$ref": reference.format(model=f"{name}InFull")}
            parts[name] = {"anyOf": [in_short, in_full]}
    if CaseSpec.__name__ in parts:
        parts[CaseSpec.__name__]["required"].remove("name")  # else it is numbered
    return whole, parts


class ClientSchema(GenerateJsonSchema):
    """Names the parts of a schema as clients see them."""

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(schema_name(name))


class _Enumerated(ClientSchema):
    """Describes a single word as an enumeration, which clients distinguish from alternatives."""

    def literal_schema(self, schema: Any) -> Json:
        described = super().literal_schema(schema)
        if "const" in described:
            described["enum"] = [described.pop("const")]
        return described


def _schema(model: type[BaseModel], reference: str) -> Json:
    return model.model_json_schema(
        mode="validation", ref_template=reference, schema_generator=_Enumerated
    )


def _by_type(kinds: Iterable[Json], parts: Json, reference: str) -> Json:
    """Make each type of check a part of its own: a client that is made of this has a class for it."""
    places = {}
    for kind in kinds:
        name = kind.pop("title")
        part = f"{GRADERS[name].__name__}Check"
        parts[part] = kind
        places[name] = reference.format(model=part)
    return {
        "oneOf": [{"$ref": place} for place in places.values()],
        "discriminator": {"propertyName": "type", "mapping": places},
    }


def _checks(parts: Json, reference: str, *, with_aliases: bool) -> Iterator[Json]:
    """Describe each type of check: the common keys, and with them its options."""
    written = parts[AssertionSpec.__name__]["properties"]
    common = {key: written[key] for key in COMMON_KEYS if key != "type"}
    for name, grader in GRADERS.items():
        own = _schema(grader, reference)
        parts |= own.get("$defs", {})
        options, required = own.get("properties", {}), own.get("required", ())
        for key in _keys(name, with_aliases=with_aliases):
            yield {
                "type": "object",
                "title": name,
                "description": own.get("description", ""),
                "properties": key | options | common,
                "required": [*key, *required],
                "additionalProperties": False,
            }


def _keys(name: str, *, with_aliases: bool) -> Iterator[Json]:
    """Return the keys that say which type of check is meant."""
    yield {"type": {"const": name}}
    if not with_aliases:
        return
    if names := [alias for alias, (kind, _) in ALIASES.items() if kind == name]:
        yield {"type": {"enum": names}}
    for group, (key, members) in GROUPS.items():
        if name in members:
            yield {"type": {"const": group}, key: {"const": name}}
