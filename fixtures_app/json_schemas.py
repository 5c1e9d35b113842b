"""JSON Schema of entity types and of arguments: nothing is fetched, and nothing hangs.

The library searches patterns with `re`, compares each item with each other, and follows data into
every alternative. So patterns are RE2, and all keywords together may take a bounded number of
steps. The engine bounds replies in the same way; it exists twice because neither of the two may
know the other, and this one has plain numbers where the engine has exact ones.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from datetime import date, time
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

import re2
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError as Mismatch
from jsonschema.exceptions import best_match
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from fixtures_app.json_data import Json, Problem, shortened, shown, suggestion

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_MISMATCHES = 20

_MAX_STEPS = 100_000  # about a second
_ALTERNATIVES = 8
_LISTED = 8


def mismatches(data: Json, schema: Mapping[str, Json]) -> list[str]:
    """Say where data is off its schema, one sentence for each place; empty if it fits.

    Up to MAX_MISMATCHES are told. Formats date, date-time, time, email, ipv4, ipv6, regex and uuid
    are checked.
    """
    try:
        errors = _errors(data, schema)
    except RecursionError:
        return ["The schema refers to itself without end for this data."]
    except _TooMuchWorkError:
        return ["The schema takes too many steps for this data."]
    except re2.error:
        return ["The schema holds a pattern that RE2 does not know."]
    except Unresolvable as error:
        return [f"The schema refers to {shown(error.ref)}, which does not exist."]
    causes = [best_match([error]) or error for error in errors]
    causes.sort(key=lambda error: (error.json_path, error.message))
    return [_sentence(error) for error in causes]


def _errors(data: Json, schema: Mapping[str, Json]) -> list[Mismatch]:
    steps = _STEPS.set([_MAX_STEPS])
    try:
        found = _compiled(json.dumps(schema)).iter_errors(_shown_short(data))
        return list(islice(found, MAX_MISMATCHES))
    finally:
        _STEPS.reset(steps)


@lru_cache(maxsize=512)
def _compiled(text: str) -> Draft202012Validator:
    # Messages of the library show schemas, too.
    schema = _shown_short(json.loads(text))
    if _searches_with_re(schema):
        raise _TooMuchWorkError
    return _Validator(schema, registry=_registry(schema), format_checker=_FORMATS)


def _registry(schema: Mapping[str, Json]) -> Registry[Any]:
    """Give what references are looked up in.

    Raises:
        ValueError: an `$id` is no address.
    """
    resource = DRAFT202012.create_resource(schema)
    # The default registry fetches what a `$ref` names. One that was not crawled before looks for an
    # anchor in all of the schema, each time that it is named.
    registry: Registry[Any] = Registry().with_resource(resource.id() or "", resource)
    return registry.crawl()


def _searches_with_re(schema: Json) -> bool:
    """Whether the library would search for patterns itself; rather too often than too seldom."""
    keys = set(_keys(schema))
    return {"unevaluatedProperties", "patternProperties"} <= keys


def _keys(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _keys(each)


# Bounds


class _TooMuchWorkError(Exception):
    """Data for which a schema takes too many steps."""


_STEPS: ContextVar[list[int]] = ContextVar("steps")
_Keyword = Callable[[Any, Any, Any, Any], Iterable[Mismatch] | None]

_COMPARING = {"const", "dependentRequired", "enum"}  # the instance with all of their value
_WALKING = {"additionalProperties", "contains", "items", "patternProperties", "propertyNames"}
# Each part of the instance with others: so many pairs are a step.
_PAIRING = {"unevaluatedItems": 4, "unevaluatedProperties": 20}


def _spend(steps: int) -> None:
    left = _STEPS.get()
    left[0] -= steps
    if left[0] < 0:
        raise _TooMuchWorkError


def _bounded(name: str, keyword: _Keyword) -> _Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[Mismatch] | None:  # noqa: ANN401 - the library's
        _spend(_steps(name, value, instance))
        return keyword(validator, value, instance, schema)

    return check


def _steps(name: str, value: Json, instance: Json) -> int:
    """Count the steps of a keyword itself; the schemas that it applies count their own."""
    steps = 1
    if name in _COMPARING:
        steps += _size(value)
    elif isinstance(value, list | dict):
        steps += len(value)
    elif name == "$ref":
        steps += len(value) // 10
    if isinstance(instance, str):
        steps += len(instance) // 1000
    elif isinstance(instance, list | dict):
        steps += len(instance) // 4 if name in _WALKING else 0
        steps += len(instance) ** 2 // _PAIRING[name] if name in _PAIRING else 0
    return steps


def _size(value: Json) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, parts))


class _Object(dict[str, Json]):
    """An object that error messages show in a few words."""

    def __repr__(self) -> str:
        return f"{{{_listed(f'{shown(key)}: {_brief(each)}' for key, each in self.items())}}}"


class _List(list[Json]):
    """A list that error messages show in a few words."""

    def __repr__(self) -> str:
        return f"[{_listed(map(_brief, self))}]"


def _brief(value: Json) -> str:
    return "..." if value and isinstance(value, list | dict) else repr(value)


def _listed(parts: Iterable[str]) -> str:
    first = list(islice(parts, _LISTED + 1))
    return ", ".join([*first[:_LISTED], "..."] if len(first) > _LISTED else first)


class _Text(str):
    """A text that error messages show in a few words."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(shortened(str(self)))


def _shown_short(value: Json) -> Json:
    if isinstance(value, dict):
        return _Object({key: _shown_short(each) for key, each in value.items()})
    if isinstance(value, list):
        return _List(map(_shown_short, value))
    return _Text(value) if isinstance(value, str) else value


# Formats

# Which formats the library itself checks depends on what else is installed; these never do.
_FORMATS = FormatChecker(["date", "ipv4", "ipv6", "uuid"])
_EMAIL = re.compile(r'(?:"[^"]+"|[^\s@"]+)@[^\s@]+')
_TIME = re.compile(
    r"([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})", re.IGNORECASE
)


@_FORMATS.checks("regex", raises=(re2.error, ValueError))
def _is_regex(value: object) -> bool:
    return not isinstance(value, str) or bool(_pattern_of(value))


def _pattern_of(pattern: str) -> Any:  # noqa: ANN401 - the library has no types
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)  # RE2 keeps what it compiled


def _matches(pattern: str, text: str) -> bool:
    _spend(1 + len(text) // 1000)
    # RE2 reads UTF-8, which has no place for half a character.
    readable = text.encode("utf-8", "replace").decode()
    return _pattern_of(pattern).search(readable) is not None


@_FORMATS.checks("email")
def _is_email(value: object) -> bool:
    # The library is content with an @.
    return not isinstance(value, str) or _EMAIL.fullmatch(value) is not None


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


# RE2 instead of `re`: no pattern and no text can make it hang.


def _pattern(_: object, pattern: str, instance: Json, __: object) -> Iterator[Mismatch]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield Mismatch(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Draft202012Validator, patterns: Mapping[str, Json], instance: Json, _: object
) -> Iterator[Mismatch]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for key, value in instance.items():
            if _matches(pattern, key):
                yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(
    validator: Draft202012Validator, allowed: Json, instance: Json, schema: Mapping[str, Json]
) -> Iterable[Mismatch]:
    patterns = schema.get("patternProperties")
    if not patterns or not isinstance(instance, dict):
        library = Draft202012Validator.VALIDATORS["additionalProperties"]
        yield from library(validator, allowed, instance, schema)
        return
    named = schema.get("properties", {})
    for key, value in instance.items():
        if key in named or any(_matches(pattern, key) for pattern in patterns):
            continue
        if isinstance(allowed, dict):
            yield from validator.descend(value, allowed, path=key)
        elif not allowed:
            yield Mismatch(f"{key!r} is no property, and matches none of the patterns")


def _unique_items(_: object, is_asked: Json, instance: Json, __: object) -> Iterator[Mismatch]:
    if is_asked and isinstance(instance, list):
        seen = set()
        for each in instance:
            if (frozen := _frozen(each)) in seen:
                yield Mismatch(f"{each!r} occurs twice")
                return
            seen.add(frozen)


def _frozen(value: Json) -> object:
    """Give what can stand in a set and is equal where JSON is: 1 is 1.0, but not true."""
    _spend(1)
    if isinstance(value, dict):
        return dict, frozenset((key, _frozen(each)) for key, each in value.items())
    if isinstance(value, list):
        return list, tuple(map(_frozen, value))
    return isinstance(value, bool), value


def _multiple_of(_: object, factor: float, instance: Json, __: object) -> Iterator[Mismatch]:
    is_number = isinstance(instance, int | float) and not isinstance(instance, bool)
    if is_number and _exact(instance) % _exact(factor):
        yield Mismatch(f"{instance!r} is not a multiple of {factor!r}")


def _exact(number: float) -> Fraction:
    # repr of a float is the shortest text that means it: 19.99 is a multiple of 0.01.
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


_OWN: dict[str, _Keyword] = {
    "additionalProperties": _additional_properties,
    "multipleOf": _multiple_of,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "uniqueItems": _unique_items,
}
_Validator: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        name: _bounded(name, each)
        for name, each in {**Draft202012Validator.VALIDATORS, **_OWN}.items()
    },
)


# Words


def _sentence(error: Mismatch) -> str:
    where = error.json_path.removeprefix("$").removeprefix(".")
    text = f"{where}: {_cause(error)}" if where else _cause(error)
    return f"{shortened(text)}.{_near_miss(error)}"


def _cause(error: Mismatch) -> str:
    """Name the alternatives where several would do; the library only says that none did."""
    if error.validator == "format" and error.validator_value == "regex" and error.cause:
        why = error.cause.args[0] if error.cause.args else ""
        why = why.decode("utf-8", "replace") if isinstance(why, bytes) else why
        return f"{error.message}: RE2 does not know it ({why})"
    context = islice(error.context or (), _ALTERNATIVES)
    found = dict.fromkeys(each.message for each in context)
    return ", or ".join(found) or error.message


def _near_miss(error: Mismatch) -> str:
    """Suggest the key or value that was probably meant."""
    for each in islice(error.context or (), _ALTERNATIVES):
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


# What keeps a schema from being used


def schema_problems(schema: dict[str, Json]) -> Iterator[Problem]:
    """Find what keeps a schema from being used for entities."""
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.removesuffix("#") != DIALECT:
        message = f"Entity types are written in JSON Schema 2020-12: remove $schema, or {DIALECT}"
        yield Problem(("$schema",), message, dialect)
    found = False
    for error in sorted(_META.iter_errors(schema), key=lambda error: error.json_path):
        found = True
        cause = best_match([error]) or error
        message = f"Not a valid JSON Schema: {shortened(_cause(cause))}.{_near_miss(cause)}"
        yield Problem(tuple(cause.absolute_path), message, cause.instance)
    if found:
        return  # only a well-formed schema can be walked
    try:
        _registry(schema)
    except ValueError as exc:
        yield Problem((), f"An $id is no address ({exc}). Correct it, or leave $id out.", None)
        return
    problems = list(_ref_problems(schema))
    if _searches_with_re(schema):
        message = "unevaluatedProperties cannot stand in a schema with patternProperties;"
        problems.append(Problem((), f"{message} use additionalProperties.", shown(schema)))
    yield from problems
    if not problems and _is_endless(schema):
        message = "The schema refers to itself without end, or too often."
        yield Problem((), message, shown(schema))


# Of a path that goes on behind true, a number or a text, the library says that it cannot be indexed.
_NOWHERE = (Unresolvable, TypeError, ValueError)
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
                message = f"{keyword} {shown(ref)} lies outside this schema; copy it under $defs."
                yield Problem((), f"{message} References begin with #, for example #/$defs/x.", ref)
                continue
            try:
                target = resolver.lookup(ref)
            except _NOWHERE:
                yield Problem((), f"{keyword} {shown(ref)} points to nothing in this schema.", ref)
                continue
            # A target may stand where the dialect expects no schema, so it was not looked at yet.
            if _META.is_valid(target.contents):
                waiting.append((target.resolver, target.contents))
            else:
                yield Problem((), f"{keyword} {shown(ref)} points to what is no valid schema.", ref)
        for each in DRAFT202012.subresources_of(part):
            resource: Resource[Any] = DRAFT202012.create_resource(each)
            waiting.append((resolver.in_subresource(resource), each))


def _is_endless(schema: dict[str, Json]) -> bool:
    try:
        _errors({}, schema)
    except (RecursionError, _TooMuchWorkError):
        return True
    return False
