"""Turn what pydantic says about authored data into sentences that teach.

Unions are the reason for most of the work: pydantic reports every branch that did not match, under
places that no file has. Here each place gets one sentence.
"""

import math
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ValidationError

from evals_app.engine.graders import GRADERS, named_type
from evals_app.engine.specs.base_spec import fields_of
from evals_app.engine.suites.suite_spec import COMMON_KEYS, AssertionSpec
from evals_app.formats.reading.parsed_file import NOWHERE, ParsedFile
from evals_app.formats.reading.problems import Loc, Problem, holds, is_secret, value_at
from fixtures_app.ground.spec_errors import message_of
from fixtures_app.ground.words import near

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "is_instance_of": "a number",  # what strict pydantic says of money
    "date_type": "a day such as 2026-05-01",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "none_required": "nothing",
}


class MakeProblemAt(Protocol):
    """Makes a Problem for a place in what was validated, with a value that was found there."""

    def __call__(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem: ...


def explain(
    error: ValidationError,
    *,
    model: type[BaseModel],
    data: object,
    document: ParsedFile = NOWHERE,
    place: MakeProblemAt | None = None,
) -> list[Problem]:
    """Return one Problem for each place that is wrong.

    `place` translates where the data that was validated is not the data of the file.
    """
    put = place or document.problem
    by_place: dict[Loc, list[dict[str, object]]] = {}
    for item in error.errors(include_url=False, include_context=True):
        details: dict[str, object] = dict(item)
        by_place.setdefault(_real_place(details, data), []).append(details)
    above = {loc[:length] for loc in by_place for length in range(len(loc))}
    problems = []
    for loc, errors in by_place.items():
        if loc in above and _is_other_branch(errors):
            continue
        problems += [
            put(loc, message, at_key=at_key)
            for message, at_key in _sentences(loc, errors, model, data, document)
        ]
    return problems


def _real_place(error: Mapping[str, Any], data: Any) -> Loc:
    """Leave out what pydantic adds to a place: the names of union branches and wrappers."""
    loc: list[str | int] = []
    steps = error["loc"]
    for position, step in enumerate(steps):
        if holds(data, step):
            data = data[step]
        elif not (error["type"] == "missing" and position == len(steps) - 1):
            continue
        loc.append(step)
    return tuple(loc)


def _is_other_branch(errors: Sequence[Mapping[str, object]]) -> bool:
    """Whether errors above others only say that a branch did not match that was not meant."""
    return all(error["type"] in {*_EXPECTED, "literal_error"} for error in errors)


def _sentences(
    loc: Loc,
    errors: Sequence[Mapping[str, object]],
    model: type[BaseModel],
    data: object,
    document: ParsedFile,
) -> Iterator[tuple[str, bool]]:
    """Return each message, and whether it is about the key rather than the value."""
    kinds = {error["type"] for error in errors}
    if "extra_forbidden" in kinds:
        yield _unknown_key(loc, model, data), True
        return
    if "missing" in kinds:
        yield _missing_key(loc, model, data), False
        return
    expected = list(
        dict.fromkeys(_EXPECTED[k] for error in errors if (k := error["type"]) in _EXPECTED)
    )
    if "a number" in expected and "a whole number" in expected:
        expected.remove("a whole number")
    own = [error for error in errors if error["type"] not in {*_EXPECTED, "literal_error"}]
    if own:
        # A sentence of our own beats the complaint of a branch that was not meant.
        yield from dict.fromkeys((message_of(item), False) for item in own)
        return
    value = value_at(data, loc)
    choices = _choices(annotation_at(model, loc, data))
    if choices and (isinstance(value, str) or not expected):
        hint = near(value, choices) if isinstance(value, str) else ""
        also = f", or {' or '.join(expected)}" if expected else ""
        yield f"Unknown value.{hint} Write one of: {', '.join(choices)}{also}.", False
        return
    raw = None if is_secret(loc) else document.raw(loc)
    message = _wrong_type(expected, value, raw)
    if expected == ["a list"] and document.is_yaml:
        message = f"{message.removesuffix('.')}. Begin each entry with a dash."
    yield message, False


def _wrong_type(expected: Sequence[str], value: object, raw: str | None) -> str:
    wanted = f"{', '.join(expected[:-1])} or {expected[-1]}" if len(expected) > 1 else expected[0]
    message = f"Expected {wanted}, found {_kind(value)}"
    if "text" in expected and raw and isinstance(value, bool | int | float):
        is_word = raw.lower() in {"no", "off", "yes", "on"}
        because = " (YAML reads an unquoted no, off, yes or on as true or false)" if is_word else ""
        return f'{message}. Put it in quotes: "{raw}"{because}.'
    if isinstance(value, str) and expected[0].endswith("number") and _is_number(value):
        rewrite = f"YAML reads {raw} as text, so write {float(value):g}"
        return f"{message}; {'remove the quotes' if raw is None else rewrite}."
    if isinstance(value, str) and expected == ["true or false"]:
        return f"{message}. Write true or false without quotes."
    return f"{message}."


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    kinds = {bool: "true or false", int | float: "a number", str: "text", list: "a list"}
    return next(
        (noun for kind, noun in kinds.items() if isinstance(value, kind)), "keys with values"
    )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _missing_key(loc: Loc, model: type[BaseModel], data: object) -> str:
    field = _field(_owner(model, loc, data), loc[-1])
    meaning = f": {field.description}" if field is not None and field.description else ""
    return f"The key `{loc[-1]}` is missing{meaning.rstrip('.')}."


def _unknown_key(loc: Loc, model: type[BaseModel], data: object) -> str:
    owner = _owner(model, loc, data)
    key = str(loc[-1])
    if owner is None:
        return f"Unknown key `{key}`."
    known = _keys(owner, value_at(data, loc[:-1]))
    return f"Unknown key `{key}`.{_near_key(key, known)} Known keys: {', '.join(known)}."


def _near_key(key: str, known: Sequence[str]) -> str:
    # finalAssertions for final_assertions, and the other way round.
    same = [item for item in known if _letters(item) == _letters(key)]
    return f" Did you mean {same[0]!r}?" if same else near(key, known)


def _letters(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _keys(owner: type[BaseModel], value: object) -> list[str]:
    if owner is AssertionSpec:
        grader = _grader_of(value)
        return [*COMMON_KEYS, *(_keys(grader, value) if grader else ())]
    return [field.alias or name for name, field in fields_of(owner).items()]


def _grader_of(value: object) -> type[BaseModel] | None:
    kind = named_type(value) if isinstance(value, dict) else None
    return GRADERS.get(kind) if isinstance(kind, str) else None


def _owner(model: type[BaseModel], loc: Loc, data: object) -> type[BaseModel] | None:
    """Return the class that the last key of a place belongs to."""
    annotation = annotation_at(model, loc[:-1], data)
    value = value_at(data, loc[:-1])
    models = [m for m in _members(annotation) if isinstance(m, type) and issubclass(m, BaseModel)]
    written = value.keys() if isinstance(value, dict) else set()
    # Of several the one that most of what was written belongs to.
    for item in sorted(models, key=lambda model: -len(fields_of(model).keys() & written)):
        return item
    return None


def _field(owner: type[BaseModel] | None, key: str | int) -> Any:
    fields = fields_of(owner) if owner else {}
    return next((field for name, field in fields.items() if key == (field.alias or name)), None)


def annotation_at(model: object, loc: Loc, data: object) -> object:
    """Return the annotation of a place in authored data; Any where everything is allowed."""
    annotation = model
    for step in loc:
        annotation = _child(annotation, step, data)
        data = value_at(data, (step,))
    return Any if annotation is object else annotation


def _child(annotation: object, step: str | int, value: object) -> Any:
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            owner: type[BaseModel] | None = member
            if member is AssertionSpec and step not in COMMON_KEYS:
                owner = _grader_of(value)
            field = _field(owner, step)
            if field is not None:
                return field.annotation
        origin, args = typing.get_origin(member), typing.get_args(member)
        if origin is list and isinstance(step, int):
            return args[0]
        if origin is dict and isinstance(step, str):
            return args[1]
    return Any


def _members(annotation: object) -> Iterator[object]:
    """Return the branches of a union, each without what Annotated puts around it."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated or hasattr(annotation, "__metadata__"):
        yield from _members(typing.get_args(annotation)[0])
    elif origin in {typing.Union, types.UnionType}:
        for arg in typing.get_args(annotation):
            yield from _members(arg)
    else:
        yield annotation


def _choices(annotation: object) -> list[str]:
    return [
        str(choice)
        for member in _members(annotation)
        if typing.get_origin(member) is Literal
        for choice in typing.get_args(member)
    ]


def allows(annotation: object, kind: type) -> bool:
    """Whether an annotation names this very type, alone or in a union."""
    return any(member is kind for member in _members(annotation))
