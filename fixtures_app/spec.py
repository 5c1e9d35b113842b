"""The specs of fixtures, and what can be wrong between their parts."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails

from fixtures_app.ground.json_data import DataProblem, json_problems, text_fault, value_text
from fixtures_app.ground.schema_problems import schema_problems
from fixtures_app.ground.schemas import schema_misfits
from fixtures_app.ground.spec_errors import error_at, taken_apart
from fixtures_app.ground.strict_json import JsonObject
from fixtures_app.ground.words import plain_name, suggestion

_MAX_HINTS = 20  # difflib is slow


def _details(problems: Iterable[DataProblem]) -> list[InitErrorDetails]:
    return [
        error_at("fixture", problem.message, problem.loc, problem.value) for problem in problems
    ]


def _as_json(value: object) -> object:
    # Runs before pydantic's own check, which would put type names into the places it reports.
    if problems := list(json_problems(value)):
        raise ValidationError.from_exception_data("JSON", _details(problems))
    return value


def _as_text(value: str) -> str:
    if fault := text_fault(value):
        raise ValueError(fault)
    return value


def _as_slug(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", value):
        raise ValueError(
            "A slug has lowercase letters, digits and single hyphens, for example class-data."
        )
    return value


def _as_type_slug(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*", value):
        plain = plain_name(value)
        meant = f" Did you mean {plain}?" if plain else ""
        raise ValueError(
            f"An entity type has letters, digits and single hyphens, for example student.{meant}"
        )
    return value


def _as_schema(schema: JsonObject) -> JsonObject:
    if problems := schema_problems(schema):
        raise ValidationError.from_exception_data("JSON Schema", _details(problems))
    return schema


Text = Annotated[str, AfterValidator(_as_text)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_as_text)]
Slug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_as_slug)]
TypeSlug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_as_type_slug)]
Data = Annotated[dict[str, Any], BeforeValidator(_as_json)]


class FixtureSpecBase(BaseModel):
    """Base of all specs of fixtures."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, serialize_by_alias=True, defer_build=True
    )


class EntityTypeSpec(FixtureSpecBase):
    """A type of entity, shared by the whole site.

    The key in files is `schema`; the attribute is `json_schema`, because pydantic owns the other.
    """

    slug: Annotated[TypeSlug, Field(description="The name that entities use.")]
    json_schema: Annotated[
        Data,
        AfterValidator(_as_schema),
        Field(alias="schema", description="JSON Schema (2020-12) of the data. {} allows anything."),
    ]


class EntitySpec(FixtureSpecBase):
    """A thing that exists in the world, under a name of this file (`ref`)."""

    ref: Annotated[Name, Field(description="Its name in this file, and its id for agents.")]
    type: Annotated[Name, Field(description="Slug of an entity type.")]
    data: Annotated[Data, Field(description="Must fit the JSON Schema of its type.")]
    status: Annotated[Name, Field(description="Any word, for example archived.")] = "active"


class RelationSpec(FixtureSpecBase):
    """A directed, named link between two entities of this file."""

    from_: Annotated[Name, Field(alias="from", description="Ref of an entity.")]
    to: Annotated[Name, Field(description="Ref of an entity.")]
    type: Annotated[Name, Field(description="What the link means, for example teaches.")]
    metadata: Data = Field(default_factory=dict, description="Notes about the link.")


class ChunkSpec(FixtureSpecBase):
    """A piece of knowledge that agents find by searching."""

    id: Annotated[Name, Field(description="The name that `chunks_fetched` uses.")]
    text: Annotated[
        str,
        Field(min_length=1, description="The text that agents find and read."),
        AfterValidator(_as_text),
    ]
    source: Annotated[Text, Field(description="Where it comes from.")] = ""
    metadata: Data = Field(default_factory=dict, description="Notes about the text.")


class FixtureSpec(FixtureSpecBase):
    """A data set: entities, their relations, and chunks of knowledge."""

    name: Annotated[Name, Field(description="Name shown to people.")]
    slug: Annotated[Slug, Field(description="The name that suites use.")]
    description: Annotated[Text, Field(description="For people.")] = ""
    entities: Annotated[list[EntitySpec], Field(description="What exists. May be empty.")]
    relations: list[RelationSpec] = Field(
        default_factory=list, description="Links between entities of this file."
    )
    chunks: list[ChunkSpec] = Field(
        default_factory=list, description="What `knowledge.search` can find."
    )
    entity_types: list[EntityTypeSpec] = Field(
        default_factory=list, description="Types declared here. The whole site shares them."
    )

    @model_validator(mode="wrap")
    @classmethod
    def _holds_together(cls, written: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Report errors between the parts together with errors inside them."""
        try:
            fixture = handler(written)
        except ValidationError as error:
            # Faulty parts are passed over here: their own errors are in `error`.
            problems = _cross_problems(written) if isinstance(written, Mapping) else []
            details = [*taken_apart(error), *_details(problems)]
            raise ValidationError.from_exception_data(cls.__name__, details) from None
        if problems := _cross_problems(fixture.model_dump()):
            raise ValidationError.from_exception_data(cls.__name__, _details(problems))
        return fixture


def check_entities(
    fixture: FixtureSpec,
    schemas: Mapping[str, Mapping[str, object]],
    *,
    hidden: Collection[str] = (),
) -> list[DataProblem]:
    """Return the entities of unknown type, or with data that does not fit their type.

    `schemas` are the JSON Schemas of the site's entity types by slug. Those that the fixture
    declares are added. No message names a `hidden` type or quotes its schema.
    """
    declared = {kind.slug: kind.json_schema for kind in fixture.entity_types}
    known = {**schemas, **declared}
    return [
        problem
        for position, entity in enumerate(fixture.entities)
        for problem in _entity_problems(position, entity.type, entity.data, known, hidden)
    ]


def _entity_problems(
    position: int,
    kind: str,
    data: object,
    schemas: Mapping[str, Mapping[str, object]],
    hidden: Collection[str] = (),
) -> Iterator[DataProblem]:
    if kind not in schemas:
        near = suggestion(kind, [slug for slug in schemas if slug not in hidden])
        message = f"Unknown entity type {value_text(kind)}.{near}"
        yield DataProblem(("entities", position, "type"), message, kind)
        return
    off = schema_misfits(data, schemas[kind], whole="the data")
    if kind in hidden:
        off = off[:1]
    for mismatch in off:
        reason = "." if kind in hidden else f": {mismatch}"
        message = f"The data does not fit entity type {kind!r}{reason}"
        yield DataProblem(("entities", position, "data"), message, data)


def _cross_problems(fixture: Mapping[str, object]) -> list[DataProblem]:
    """Compare the parts of a fixture with each other, without the unreadable ones."""
    entities = _rows(fixture, "entities")
    problems = [
        *_find_repeated("entities", "ref", entities),
        *_find_repeated("chunks", "id", _rows(fixture, "chunks")),
        *_find_repeated("entity_types", "slug", _rows(fixture, "entity_types")),
    ]
    if isinstance(fixture.get("entities"), list):  # without the list, every ref would be unknown
        refs = dict.fromkeys(ref for _, row in entities if isinstance(ref := row.get("ref"), str))
        problems += _dangling(_rows(fixture, "relations"), refs)
    schemas = {
        slug: schema
        for _, row in _rows(fixture, "entity_types")
        if isinstance(slug := row.get("slug"), str)
        and isinstance(schema := row.get("schema"), dict)
        and not any(json_problems(schema))
        and not schema_problems(schema)
    }
    for position, row in entities:
        kind, data = row.get("type"), row.get("data")
        if not isinstance(kind, str) or kind not in schemas:
            continue  # a type of the site: check_entities checks it
        if isinstance(data, dict) and not any(json_problems(data)):
            problems += _entity_problems(position, kind, data, schemas)
    return problems


def _dangling(
    relations: Iterable[tuple[int, Mapping[str, object]]], refs: Mapping[str, object]
) -> Iterator[DataProblem]:
    hints = 0
    for position, row in relations:
        for end in ("from", "to"):
            ref = row.get(end)
            if isinstance(ref, str) and ref not in refs:
                hint = suggestion(ref, refs) if hints < _MAX_HINTS else ""
                hints += 1
                yield DataProblem(
                    ("relations", position, end),
                    f"No entity has the ref {value_text(ref)}.{hint}",
                    ref,
                )


def _rows(fixture: Mapping[str, object], key: str) -> Sequence[tuple[int, Mapping[str, object]]]:
    """Return the readable entries of a list with their positions."""
    value = fixture.get(key)
    rows = enumerate(value) if isinstance(value, list) else ()
    plain = (
        (position, row.model_dump() if isinstance(row, FixtureSpecBase) else row)
        for position, row in rows
    )
    return [(position, row) for position, row in plain if isinstance(row, Mapping)]


def _find_repeated(
    key: str, name: str, rows: Iterable[tuple[int, Mapping[str, object]]]
) -> Iterator[DataProblem]:
    first: dict[str, int] = {}
    for position, row in rows:
        value = row.get(name)
        if not isinstance(value, str):
            continue
        if value in first:
            message = f"{name} {value_text(value)} is already used by {key}[{first[value]}]."
            yield DataProblem((key, position, name), message, value)
        else:
            first[value] = position
