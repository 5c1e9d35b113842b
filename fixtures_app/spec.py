"""What a person writes about a fixture, and every way in which it may not hold together.

Bottom of this application: it knows neither Django nor worlds. The rules for JSON and for entity
data stand here because an authored entity and one that an agent creates must pass the same ones.
"""

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, Self, get_args

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError as Mismatch
from jsonschema.exceptions import best_match
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
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import ErrorType
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

Json = Any  # text, number, bool, None, list or dict of these
Loc = tuple[str | int, ...]

# Deeper data is a mistake, and a schema that follows it would exhaust the interpreter's stack.
MAX_DEPTH = 32
# Some 1,200 digits; Python refuses to write more than 4,300.
MAX_BITS = 4096
DIALECT = "https://json-schema.org/draft/2020-12/schema"

# difflib is slow; suggestions are not worth more.
_CANDIDATES = 1000
_MOST_HINTS = 20
_BUILT_IN = frozenset(get_args(ErrorType))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with what was written: where, what, and the offending value."""

    loc: Loc
    message: str
    value: Json


def suggestion(name: str, known: Iterable[str]) -> str:
    """Continue an error message with the nearest known name, else with a few known ones."""
    names = {each.casefold(): each for each in islice(known, _CANDIDATES)}
    if not names:
        return ""
    near = difflib.get_close_matches(name[:100].casefold(), names, n=1)
    if near:
        return f" Did you mean {names[near[0]]!r}?"
    listed = list(names.values())
    more = ", ..." if len(listed) > 8 else ""  # noqa: PLR2004 - as many as one reads
    return f" Known: {', '.join(listed[:8])}{more}."


def shown(value: Json) -> str:
    """Write a value for an error message, the middle of a long one left out."""
    return _shortened(repr(value))


def _shortened(text: str) -> str:
    return text if len(text) <= 240 else f"{text[:120]} ... {text[-100:]}"  # noqa: PLR2004


def json_problems(value: Json, loc: Loc = ()) -> Iterator[Problem]:
    """Find whatever cannot be stored as JSON, or is nested deeper than MAX_DEPTH."""
    if isinstance(value, str):
        if fault := _text_fault(value):
            yield Problem(loc, fault, value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield Problem(loc, f"JSON has no {value}; write a number or null.", value)
    elif isinstance(value, dict | list):
        if len(loc) >= MAX_DEPTH:
            yield Problem(loc, f"Nested deeper than {MAX_DEPTH} levels.", type(value).__name__)
            return
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, list) or isinstance(key, str):
                place = key
                if isinstance(key, str) and (fault := _text_fault(key)):
                    yield Problem(loc, f"Key {key!r}: {fault}", key)
            else:
                place = str(key)
                message = f"A key must be text: put {place} in quotes."
                yield Problem((*loc, place), message, shown(key))
            yield from json_problems(item, (*loc, place))
    elif isinstance(value, date):
        message = f"{value.isoformat()} was read as a date; write it in quotes to keep it as text."
        yield Problem(loc, message, value)
    elif isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            yield Problem(loc, "The number has too many digits.", None)
    elif value is not None:
        yield Problem(loc, f"A {type(value).__name__} is not JSON.", shown(value))


def _text_fault(text: str) -> str:
    """Name what PostgreSQL would refuse in a text; empty if there is nothing."""
    if "\0" in text:
        return "The text contains a NUL character."
    try:
        text.encode()
    except UnicodeEncodeError:
        return "The text contains half of a surrogate pair."
    return ""


def validator_for(schema: Mapping[str, Json]) -> Draft202012Validator:
    """Give the compiled validator of a JSON Schema; nothing is fetched.

    Formats date, date-time, time, email, ipv4, ipv6, regex and uuid are checked.
    """
    return _compiled(json.dumps(schema))


@lru_cache(maxsize=512)
def _compiled(schema: str) -> Draft202012Validator:
    return Draft202012Validator(
        json.loads(schema),
        registry=Registry(),  # the default one fetches what a `$ref` names
        format_checker=_FORMATS,
    )


# Which formats the library itself checks depends on what else is installed; these never do.
_FORMATS = FormatChecker(["date", "email", "ipv4", "ipv6", "regex", "uuid"])
_TIME = re.compile(
    r"([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})", re.IGNORECASE
)


@_FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    if not isinstance(value, str):
        return True  # a format speaks of text only
    day, mark, clock = value[:10], value[10:11], value[11:]
    # Python also reads days without hyphens, and weeks.
    return (
        "-" == day[4:5] == day[7:8]
        and bool(date.fromisoformat(day))
        and mark in "Tt"
        and _is_time(clock)
    )


@_FORMATS.checks("time", raises=ValueError)
def _is_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    # Source: RFC 3339, section 5.6. Fractions are cut: Python reads six digits at most.
    parts = _TIME.fullmatch(value)
    return parts is not None and bool(time.fromisoformat(parts[1] + parts[3].upper()))


def mismatches(data: Json, validator: Draft202012Validator) -> list[str]:
    """Say where data is off its schema, one sentence for each place; empty if it fits."""
    try:
        errors = [best_match([error]) or error for error in validator.iter_errors(data)]
    except RecursionError:
        return ["The schema refers to itself without end for this data."]
    except OverflowError:
        return ["A number is too large to be divided as the schema's multipleOf asks."]
    except Unresolvable as error:
        return [f"The schema refers to {error.ref!r}, which does not exist."]
    errors.sort(key=lambda error: (error.json_path, error.message))
    return [_sentence(error) for error in errors]


def _sentence(error: Mismatch) -> str:
    where = error.json_path.removeprefix("$").removeprefix(".")
    text = f"{where}: {_cause(error)}" if where else _cause(error)
    return f"{_shortened(text)}.{_near_miss(error)}"


def _cause(error: Mismatch) -> str:
    """Name the alternatives where several would do; the library only says that none did."""
    found = dict.fromkeys(each.message for each in error.context or ())
    return ", or ".join(found) or error.message


def _near_miss(error: Mismatch) -> str:
    """Suggest the key or value that was probably meant."""
    for each in error.context or ():
        if hint := _near_miss(each):
            return hint
    allowed: Json = error.validator_value
    given: Json = error.instance
    if error.validator == "enum" and isinstance(given, str):
        return suggestion(given, [each for each in allowed if isinstance(each, str)])
    if error.validator == "additionalProperties" and isinstance(error.schema, Mapping):
        known = error.schema.get("properties", {})
        unknown = next((key for key in given if key not in known), None)
        return "" if unknown is None else suggestion(unknown, known)
    return ""


def _located(title: str, problems: Iterable[Problem]) -> ValidationError:
    """Make one error of many problems; pydantic puts the place of the validated value before."""
    return ValidationError.from_exception_data(
        title,
        [
            InitErrorDetails(
                type=PydanticCustomError("fixture", _literal(problem.message)),
                loc=problem.loc,
                input=problem.value,
            )
            for problem in problems
        ],
    )


def _literal(message: str) -> Any:  # noqa: ANN401 - a LiteralString for pydantic
    # A template is filled in only when a context is given, so braces in a message stay as they are.
    return message


def _as_json(value: Json) -> Json:
    # Runs before pydantic's own check, which would put type names into the places it reports.
    if problems := list(json_problems(value)):
        raise _located("JSON", problems)
    return value


def _as_text(value: str) -> str:
    if fault := _text_fault(value):
        raise ValueError(fault)
    return value


def _as_slug(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", value):
        msg = "A slug has lower-case letters, digits and single hyphens, for example class-data."
        raise ValueError(msg)
    return value


def _as_type_slug(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*", value):
        msg = "An entity type has letters, digits and single hyphens, for example student."
        raise ValueError(msg)
    return value


def _as_schema(schema: dict[str, Json]) -> dict[str, Json]:
    if problems := list(_schema_problems(schema)):
        raise _located("JSON Schema", problems)
    return schema


def _schema_problems(schema: dict[str, Json]) -> Iterator[Problem]:
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.removesuffix("#") != DIALECT:
        message = f"Entity types are written in JSON Schema 2020-12: remove $schema, or {DIALECT}"
        yield Problem(("$schema",), message, dialect)
    found = False
    for error in sorted(_META.iter_errors(schema), key=lambda error: error.json_path):
        found = True
        cause = best_match([error]) or error
        message = f"Not a valid JSON Schema: {_shortened(_cause(cause))}.{_near_miss(cause)}"
        yield Problem(tuple(cause.absolute_path), message, cause.instance)
    if found:
        return  # only a well-formed schema can be walked
    refs = list(_ref_problems(schema))
    yield from refs
    if not refs and _is_endless(schema):
        yield Problem((), "The schema refers to itself without end.", shown(schema))


_META = Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=_FORMATS)


def _ref_problems(schema: dict[str, Json]) -> Iterator[Problem]:
    root = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    waiting: list[tuple[Any, Json]] = [(root, schema)]
    seen: set[int] = set()
    while waiting:
        resolver, part = waiting.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        for keyword in ("$ref", "$dynamicRef"):
            ref = part.get(keyword)
            if ref is None:
                continue
            if not ref.startswith("#"):
                message = f"{keyword} {ref!r} lies outside this schema; copy it under $defs."
                yield Problem((), f"{message} References begin with #, for example #/$defs/x.", ref)
                continue
            try:
                target = resolver.lookup(ref)
            except Unresolvable:
                yield Problem((), f"{keyword} {ref!r} points to nothing in this schema.", ref)
                continue
            # A target may stand where the dialect expects no schema, so it was not looked at yet.
            if _META.is_valid(target.contents):
                waiting.append((target.resolver, target.contents))
            else:
                yield Problem((), f"{keyword} {ref!r} points to what is no valid schema.", ref)
        for each in DRAFT202012.subresources_of(part):
            resource: Resource[Any] = DRAFT202012.create_resource(each)
            waiting.append((resolver.in_subresource(resource), each))


def _is_endless(schema: dict[str, Json]) -> bool:
    try:
        validator_for(schema).is_valid({})
    except RecursionError:
        return True
    return False


Text = Annotated[str, AfterValidator(_as_text)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_as_text)]
Slug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_as_slug)]
TypeSlug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_as_type_slug)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_as_json)]


class Spec(BaseModel):
    """Base of everything that people write about fixtures."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, serialize_by_alias=True)


class EntityTypeSpec(Spec):
    """A kind of entity; the whole site shares it.

    The key in files is `schema`; the attribute is `json_schema`, because pydantic owns the other.
    """

    slug: Annotated[TypeSlug, Field(description="How entities name it.")]
    json_schema: Annotated[
        JsonObject,
        AfterValidator(_as_schema),
        Field(alias="schema", description="JSON Schema (2020-12) of the data; {} allows anything."),
    ]


class EntitySpec(Spec):
    """A thing that exists in the world, under a name of this file (`ref`)."""

    ref: Annotated[Name, Field(description="Its name in this file, and its id for agents.")]
    type: Annotated[Name, Field(description="Slug of an entity type.")]
    data: Annotated[JsonObject, Field(description="Must fit the JSON Schema of its type.")]
    status: Annotated[Name, Field(description="A word of your own, for example archived.")] = (
        "active"
    )


class RelationSpec(Spec):
    """A directed, named link between two entities of this file."""

    from_: Annotated[Name, Field(alias="from", description="Ref of an entity.")]
    to: Annotated[Name, Field(description="Ref of an entity.")]
    type: Annotated[Name, Field(description="What the link means, for example teaches.")]
    metadata: JsonObject = Field(default_factory=dict, description="More about the link.")


class ChunkSpec(Spec):
    """A piece of knowledge that agents find by searching."""

    id: Annotated[Name, Field(description="What `chunks_fetched` names.")]
    text: Annotated[
        str, Field(min_length=1, description="What agents find and read."), AfterValidator(_as_text)
    ]
    source: Annotated[Text, Field(description="Where it comes from.")] = ""
    metadata: JsonObject = Field(default_factory=dict, description="More about the text.")


class FixtureSpec(Spec):
    """A data set: entities, their relations, and chunks of knowledge."""

    name: Annotated[Name, Field(description="Name shown to people.")]
    slug: Annotated[Slug, Field(description="How suites name it.")]
    description: Annotated[Text, Field(description="For people.")] = ""
    entities: Annotated[list[EntitySpec], Field(description="What exists; may be empty.")]
    relations: list[RelationSpec] = Field(
        default_factory=list, description="Links between entities of this file."
    )
    chunks: list[ChunkSpec] = Field(
        default_factory=list, description="What `knowledge.search` can find."
    )
    entity_types: list[EntityTypeSpec] = Field(
        default_factory=list, description="Types declared here; the whole site shares them."
    )

    @model_validator(mode="wrap")
    @classmethod
    def _holds_together(cls, written: Json, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Report what is wrong between the parts beside what is wrong in each, in one error."""
        try:
            fixture = handler(written)
        except ValidationError as error:
            details = [_detail(each) for each in error.errors(include_url=False)]
            # Faulty parts are passed over here: their own errors are in `details`.
            found = _cross_problems(written) if isinstance(written, Mapping) else []
            if found:
                details += [_detail(each) for each in _located(cls.__name__, found).errors()]
            raise ValidationError.from_exception_data(cls.__name__, details) from None
        if found := _cross_problems(fixture.model_dump()):
            raise _located(cls.__name__, found)
        return fixture


def check_entities(
    fixture: FixtureSpec, schemas: Mapping[str, Mapping[str, Json]]
) -> list[Problem]:
    """Find entities of unknown type, or with data off their type's schema.

    `schemas` are the JSON Schemas of the site's entity types by slug; those that the fixture
    declares itself are known anyway.
    """
    declared = {each.slug: each.json_schema for each in fixture.entity_types}
    known = {**schemas, **declared}
    return [
        problem
        for position, entity in enumerate(fixture.entities)
        for problem in _entity_problems(position, entity.type, entity.data, known)
    ]


def _entity_problems(
    position: int, kind: str, data: Json, schemas: Mapping[str, Mapping[str, Json]]
) -> Iterator[Problem]:
    if kind not in schemas:
        message = f"Unknown entity type {shown(kind)}.{suggestion(kind, schemas)}"
        yield Problem(("entities", position, "type"), message, kind)
        return
    for mismatch in mismatches(data, validator_for(schemas[kind])):
        message = f"The data does not fit entity type {kind!r}: {mismatch}"
        yield Problem(("entities", position, "data"), message, data)


def _detail(error: Any) -> InitErrorDetails:  # noqa: ANN401 - ErrorDetails of pydantic
    """Make an error that was raised ready to be raised again beside others."""
    kind: str | PydanticCustomError = error["type"]
    if kind not in _BUILT_IN:
        kind = PydanticCustomError(error["type"], _literal(error["msg"]))
    return InitErrorDetails(
        type=kind, loc=error["loc"], input=error["input"], ctx=error.get("ctx", {})
    )


def _cross_problems(fixture: Mapping[str, Json]) -> list[Problem]:
    """Compare the parts of a fixture with each other; unreadable parts are passed over."""
    entities = _rows(fixture, "entities")
    problems = [
        *_repeated("entities", "ref", entities),
        *_repeated("chunks", "id", _rows(fixture, "chunks")),
        *_repeated("entity_types", "slug", _rows(fixture, "entity_types")),
    ]
    if isinstance(fixture.get("entities"), list):  # without the list, every ref would be unknown
        refs = dict.fromkeys(ref for _, row in entities if isinstance(ref := row.get("ref"), str))
        problems += _dangling(_rows(fixture, "relations"), refs)
    schemas = {
        row["slug"]: row["schema"]
        for _, row in _rows(fixture, "entity_types")
        if isinstance(row.get("slug"), str) and _is_sound(row.get("schema"))
    }
    for position, row in entities:
        kind, data = row.get("type"), row.get("data")
        if not isinstance(kind, str) or kind not in schemas:
            continue  # a type of the whole site; check_entities sees to it
        if isinstance(data, dict) and not any(json_problems(data)):
            problems += _entity_problems(position, kind, data, schemas)
    return problems


def _dangling(
    relations: Iterable[tuple[int, Mapping[str, Json]]], refs: Mapping[str, object]
) -> Iterator[Problem]:
    hints = 0
    for position, row in relations:
        for end in ("from", "to"):
            ref = row.get(end)
            if isinstance(ref, str) and ref not in refs:
                hint = suggestion(ref, refs) if hints < _MOST_HINTS else ""
                hints += 1
                yield Problem(
                    ("relations", position, end), f"No entity has the ref {shown(ref)}.{hint}", ref
                )


def _rows(fixture: Mapping[str, Json], key: str) -> Sequence[tuple[int, Mapping[str, Json]]]:
    """Give the readable entries of a list, with their positions."""
    value = fixture.get(key)
    rows = enumerate(value) if isinstance(value, list) else ()
    plain = (
        (position, row.model_dump() if isinstance(row, Spec) else row) for position, row in rows
    )
    return [(position, row) for position, row in plain if isinstance(row, Mapping)]


def _repeated(
    key: str, name: str, rows: Iterable[tuple[int, Mapping[str, Json]]]
) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for position, row in rows:
        value = row.get(name)
        if not isinstance(value, str):
            continue
        if value in first:
            message = f"{name} {shown(value)} is already used by {key}[{first[value]}]."
            yield Problem((key, position, name), message, value)
        else:
            first[value] = position


def _is_sound(schema: Json) -> bool:
    return (
        isinstance(schema, dict)
        and not any(json_problems(schema))
        and not any(_schema_problems(schema))
    )
