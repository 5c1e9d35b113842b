"""Checks JSON against JSON Schema 2020-12: numbers are exact, nothing is fetched, nothing hangs.

The library searches patterns with `re`, compares each item with each other, and follows a document
into every alternative; an agent's reply could keep it busy for hours. So patterns are RE2, some
keywords are our own, and all of them together may take a bounded number of steps.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError as Mismatch
from jsonschema.exceptions import best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from fixtures_app.ground.json_data import DataProblem, Loc
from fixtures_app.ground.json_formats import FORMATS
from fixtures_app.ground.json_paths import describe
from fixtures_app.ground.json_text import Number, read_json
from fixtures_app.ground.patterns import search
from fixtures_app.ground.sentences import UnknownKey, sentence

MAX_MISMATCHES = 20

_MAX_STEPS = 100_000  # about a second


class UncheckableError(Exception):
    """A document that a schema cannot be checked against, or not within the bounds."""


def mismatches(document: object, schema: Mapping[str, object], *, whole: str = "it") -> list[str]:
    """Return where a document does not fit a schema, one clause for each of MAX_MISMATCHES places.

    `whole` names the document. Its numbers are exact if `read_json` read them, else as Python
    writes them. The schema is one in which `schema_problems` finds nothing.

    Raises:
        UncheckableError: the check is not possible, or takes too long.
    """
    return list(dict.fromkeys(clause for _, clause in _locate(document, schema, whole)))


def _locate(document: object, schema: Mapping[str, object], whole: str) -> list[tuple[Loc, str]]:
    steps = _STEPS.set([_MAX_STEPS])
    try:
        all_errors = _compile(json.dumps(schema)).iter_errors(_prepare(document))
        errors = list(islice(all_errors, MAX_MISMATCHES))
    except RecursionError:
        raise UncheckableError("the schema goes too deep into it") from None
    except (Unresolvable, re2.error):
        raise UncheckableError("the schema itself cannot be used") from None
    finally:
        _STEPS.reset(steps)
    return [
        (_place(error), sentence(best_match([error]) or error, whole=whole)) for error in errors
    ]


def _place(error: Mismatch) -> Loc:
    place = tuple(error.absolute_path)
    return (*place, error.key) if isinstance(error, UnknownKey) else place


def located_misfits(
    document: object, schema: Mapping[str, object], *, whole: str = "it"
) -> list[DataProblem]:
    """Return the mismatches as whole sentences with their places in the document."""
    try:
        located = dict.fromkeys(_locate(document, schema, whole))
    except UncheckableError as exc:
        return [DataProblem((), f"{_capitalize(whole)} cannot be checked: {exc}.", None)]
    return [DataProblem(loc, f"{_capitalize(clause)}.", None) for loc, clause in located]


def schema_misfits(
    document: object, schema: Mapping[str, object], *, whole: str = "it"
) -> list[str]:
    """Return the mismatches as whole sentences, or one about why the check is not possible."""
    misfits = located_misfits(document, schema, whole=whole)
    return list(dict.fromkeys(problem.message for problem in misfits))


def _capitalize(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


@lru_cache(maxsize=512)
def _compile(text: str) -> Draft202012Validator:
    # Messages of the library also show schemas.
    schema = _prepare(read_json(text))
    resource = DRAFT202012.create_resource(schema)
    # The default registry fetches what a `$ref` names. Without a crawl, a registry searches the
    # whole schema for an anchor at each use.
    registry = Registry().with_resource(resource.id() or "", resource).crawl()
    return _Validator(schema, registry=registry, format_checker=FORMATS)


# Bounds

_STEPS: ContextVar[list[int]] = ContextVar("steps")


def _spend(steps: int) -> None:
    left = _STEPS.get()
    left[0] -= steps
    if left[0] < 0:
        raise UncheckableError("the schema takes too many steps for it")


_Keyword = Callable[[Any, Any, Any, Any], Iterable[Mismatch] | None]

_COMPARING = {"const", "dependentRequired", "enum"}  # compare the instance with all of their value
_WALKING = {"additionalProperties", "contains", "items", "patternProperties", "propertyNames"}
# Each part of the instance is compared with others: this many pairs are one step.
_PAIRING = {"unevaluatedItems": 4, "unevaluatedProperties": 20}


def _bound_keyword(name: str, keyword: _Keyword) -> _Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[Mismatch] | None:
        _spend(_steps(name, value, instance))
        return keyword(validator, value, instance, schema)

    return check


def _steps(name: str, value: object, instance: object) -> int:
    """Return the steps of a keyword itself; the schemas that it applies count their own."""
    steps = 1
    if name in _COMPARING:
        steps += _size(value)
    elif isinstance(value, list | dict):
        steps += len(value)
    elif name == "$ref" and isinstance(value, str):
        steps += len(value) // 10
    if isinstance(instance, str):
        steps += len(instance) // 1000
    elif isinstance(instance, list | dict):
        steps += len(instance) // 4 if name in _WALKING else 0
        steps += len(instance) ** 2 // _PAIRING[name] if name in _PAIRING else 0
    return steps


def _size(value: object) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, parts))


class _Short:
    """Shown in a few words: the library puts values into messages that are never shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return describe(self)


class _Object(_Short, dict[str, object]):
    """An object."""


class _List(_Short, list[object]):
    """A list."""


class _Text(_Short, str):
    """A text."""

    __slots__ = ()


def _prepare(value: object) -> Any:
    """Return a copy whose values are shown short, and whose numbers are exact."""
    if isinstance(value, str):
        return _Text(value)
    if isinstance(value, dict):
        return _Object({key: _prepare(part) for key, part in value.items()})
    if isinstance(value, list):
        return _List(map(_prepare, value))
    if value is None or isinstance(value, bool | Number):
        return value
    return Number(repr(value))


# Keywords of our own


def _test(fits: Callable[[Any, object], bool]) -> _Keyword:
    """Make a keyword of a test of its value and the instance."""

    def check(_validator: object, value: Any, instance: object, _schema: object) -> list[Mismatch]:
        return [] if fits(value, instance) else [Mismatch("")]

    return check


def _matches(pattern: str, text: str) -> bool:
    _spend(1 + len(text) // 1000)
    return search(pattern, text, case_sensitive=True) is not None


def _pattern_properties(
    validator: Draft202012Validator, patterns: Mapping[str, Any], instance: object, _schema: object
) -> Iterator[Mismatch]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for key, value in instance.items():
            if _matches(pattern, key):
                yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(
    validator: Draft202012Validator, allowed: object, instance: object, schema: Mapping[str, Any]
) -> Iterator[Mismatch]:
    if not isinstance(instance, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for key, value in instance.items():
        if key in named or any(_matches(pattern, key) for pattern in patterns):
            continue
        if isinstance(allowed, dict):
            yield from validator.descend(value, allowed, path=key)
        elif not allowed:
            yield UnknownKey(key, named)


def _has_unique_items(is_asked: object, instance: object) -> bool:
    seen: set[object] = set()
    for item in instance if is_asked and isinstance(instance, list) else ():
        if (frozen := _freeze(item)) in seen:
            return False
        seen.add(frozen)
    return True


def _freeze(value: object) -> object:
    """Return a hashable value that is equal if the JSON is: 1 equals 1.0, but not true."""
    _spend(1)
    if isinstance(value, dict):
        return dict, frozenset((key, _freeze(part)) for key, part in value.items())
    if isinstance(value, list):
        return list, tuple(map(_freeze, value))
    return type(value), value


def _is_multiple(factor: Decimal, number: object) -> bool:
    """Whether a division is exact, also for exponents of many digits."""
    if not isinstance(number, Decimal):
        return True
    (whole, exponent), (factor_whole, factor_exponent) = map(_parts, (number, factor))
    shift = exponent - factor_exponent
    if shift >= 0:
        return whole * pow(10, shift, factor_whole) % factor_whole == 0
    # With more decimal places than digits, only 0 is a multiple.
    is_small = -shift > len(number.as_tuple().digits)
    return whole == 0 if is_small else whole % (factor_whole * 10**-shift) == 0


def _parts(number: Decimal) -> tuple[int, int]:
    _, digits, exponent = number.as_tuple()
    _spend(len(digits) ** 2 // 1000)
    return int(Decimal((0, digits, 0))), int(exponent)


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, Decimal) and bool(value == value.to_integral_value())


_OWN: dict[str, _Keyword] = {
    "additionalProperties": _additional_properties,
    "multipleOf": _test(_is_multiple),
    "pattern": _test(lambda pattern, text: not isinstance(text, str) or _matches(pattern, text)),
    "patternProperties": _pattern_properties,
    "uniqueItems": _test(_has_unique_items),
}
_Validator: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        name: _bound_keyword(name, keyword)
        for name, keyword in {**Draft202012Validator.VALIDATORS, **_OWN}.items()
    },
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"number": lambda _, value: isinstance(value, Decimal), "integer": _is_integer}
    ),
)
