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
from evals_app.engine.suite import COMMON_KEYS, AssertionSpec, near
from evals_app.formats.document import Document
from evals_app.formats.problems import Loc, Problem, holds, is_secret

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


class Place(Protocol):
    """Makes a Problem for a place in what was validated, with a value already found there."""

    def __call__(self, loc: Loc, message: str, *, at_key: bool = False) -> Problem: ...


def explain(
    error: ValidationError,
    *,
    model: type[BaseModel],
    data: Any,  # noqa: ANN401 - what was validated
    document: Document,
    place: Place | None = None,
) -> list[Problem]:
    """Give one Problem for each place that is wrong.

    `place` translates where the data that was validated is not the data of the file.
    """
    put = place or document.problem
    found: dict[Loc, list[dict[str, Any]]] = {}
    for each in error.errors(include_url=False, include_context=True):
        details: dict[str, Any] = dict(each)
        found.setdefault(_real_place(details, data), []).append(details)
    above = {loc[:length] for loc in found for length in range(len(loc))}
    problems = []
    for loc, errors in found.items():
        if loc in above and _is_other_branch(errors):
            continue
        problems += [
            put(loc, message, at_key=at_key)
            for message, at_key in _sentences(loc, errors, model, data, document)
        ]
    return problems


def _real_place(error: Mapping[str, Any], data: Any) -> Loc:  # noqa: ANN401 - JSON
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


def _is_other_branch(errors: Sequence[Mapping[str, Any]]) -> bool:
    """Whether errors above others only say that a branch did not match which nobody meant."""
    return all(each["type"] in {*_EXPECTED, "literal_error"} for each in errors)


def _sentences(
    loc: Loc,
    errors: Sequence[Mapping[str, Any]],
    model: type[BaseModel],
    data: Any,  # noqa: ANN401 - JSON
    document: Document,
) -> Iterator[tuple[str, bool]]:
    """Give each message, and whether it is about the key rather than the value."""
    kinds = {each["type"] for each in errors}
    if "extra_forbidden" in kinds:
        yield _unknown_key(loc, model, data), True
        return
    if "missing" in kinds:
        yield _missing_key(loc, model, data), False
        return
    expected = list(
        dict.fromkeys(_EXPECTED[k] for each in errors if (k := each["type"]) in _EXPECTED)
    )
    if "a number" in expected and "a whole number" in expected:
        expected.remove("a whole number")
    said = [each for each in errors if each["type"] not in {*_EXPECTED, "literal_error"}]
    if said:
        # A sentence of our own beats the complaint of a branch that was not meant.
        yield from dict.fromkeys((_said(each), False) for each in said)
        return
    value = _at(data, loc)
    choices = _choices(annotation_at(model, loc, data))
    if choices and (isinstance(value, str) or not expected):
        hint = near(value, choices) if isinstance(value, str) else ""
        also = f", or {' or '.join(expected)}" if expected else ""
        yield f"Unknown value.{hint} Write one of: {', '.join(choices)}{also}.", False
        return
    raw = None if is_secret(loc) else document.raw(loc)
    message = _wrong_type(expected, value, raw)
    if expected == ["a list"] and document.is_yaml:
        message = f"{message.removesuffix('.')}; begin each entry with a dash."
    yield message, False


def _said(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "too_short":
        return "At least one entry is needed; this list is empty."
    if kind == "too_long":
        return (
            f"At most {context['max_length']} entries are possible; this list has "
            f"{context['actual_length'] or 'more'}."
        )
    if kind == "string_too_short":
        return "This text must not be empty."
    if kind == "string_too_long":
        return (
            f"This text is too long; at most {context.get('max_length', 'that many')} characters."
        )
    message = str(error["msg"]).removeprefix("Value error, ")
    for begin, instead in (
        ("Input should be ", "The value must be "),
        ("String should ", "It should "),
        ("Decimal input should ", "The number should "),
    ):
        if message.startswith(begin):
            message = instead + message.removeprefix(begin)
    return message if message.endswith((".", "?", "!")) else f"{message}."


def _wrong_type(expected: Sequence[str], value: Any, raw: str | None) -> str:  # noqa: ANN401
    wanted = f"{', '.join(expected[:-1])} or {expected[-1]}" if len(expected) > 1 else expected[0]
    message = f"Expected {wanted}, found {_kind(value)}"
    if "text" in expected and raw and isinstance(value, bool | int | float):
        word = "reads an unquoted no, off, yes or on as true or false" if _is_word(raw) else ""
        because = f" (YAML {word})" if word else ""
        return f'{message}; quote it: "{raw}"{because}.'
    if isinstance(value, str) and expected[0].endswith("number") and _is_number(value):
        mend = (
            "remove the quotes" if raw is None else f"to YAML {raw} is text; write {float(value):g}"
        )
        return f"{message}; {mend}."
    if isinstance(value, str) and expected == ["true or false"]:
        return f"{message}; write true or false without quotes."
    return f"{message}."


def _kind(value: Any) -> str:  # noqa: ANN401 - JSON
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "keys with values"


def _is_word(raw: str) -> bool:
    return raw.lower() in {"no", "off", "yes", "on"}


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _missing_key(loc: Loc, model: type[BaseModel], data: Any) -> str:  # noqa: ANN401 - JSON
    field = _field(_owner(model, loc, data), loc[-1])
    meaning = f": {field.description}" if field is not None and field.description else ""
    return f"The key `{loc[-1]}` is missing{meaning.rstrip('.')}."


def _unknown_key(loc: Loc, model: type[BaseModel], data: Any) -> str:  # noqa: ANN401 - JSON
    owner = _owner(model, loc, data)
    key = str(loc[-1])
    if owner is None:
        return f"Unknown key `{key}`."
    if key in getattr(owner, "not_yet", ()):
        return f"`{key}` is not available in this version."
    known = _keys(owner, _at(data, loc[:-1]))
    return f"Unknown key `{key}`.{_near_key(key, known)} Known keys: {', '.join(known)}."


def _near_key(key: str, known: Sequence[str]) -> str:
    # finalAssertions for final_assertions, and the other way round.
    same = [each for each in known if _letters(each) == _letters(key)]
    return f" Did you mean {same[0]!r}?" if same else near(key, known)


def _letters(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _keys(owner: type[BaseModel], value: Any) -> list[str]:  # noqa: ANN401 - JSON
    if owner is AssertionSpec:
        grader = _grader_of(value)
        return [*COMMON_KEYS, *(_keys(grader, value) if grader else ())]
    return [field.alias or name for name, field in owner.model_fields.items()]


def _grader_of(value: Any) -> type[BaseModel] | None:  # noqa: ANN401 - JSON
    kind = named_type(value) if isinstance(value, dict) else None
    return GRADERS.get(kind) if isinstance(kind, str) else None


def _owner(model: type[BaseModel], loc: Loc, data: Any) -> type[BaseModel] | None:  # noqa: ANN401
    """Give the class that the last key of a place belongs to."""
    annotation = annotation_at(model, loc[:-1], data)
    value = _at(data, loc[:-1])
    models = [m for m in _members(annotation) if isinstance(m, type) and issubclass(m, BaseModel)]
    # Of several the one that most of what was written belongs to.
    for each in sorted(models, key=lambda model: -_shared_keys(model, value)):
        if each is AssertionSpec and loc[-1] not in COMMON_KEYS:
            grader = _grader_of(value)
            if grader and loc[-1] in getattr(grader, "not_yet", ()):
                return grader
        return each
    return None


def _shared_keys(model: type[BaseModel], value: Any) -> int:  # noqa: ANN401 - JSON
    return len(model.model_fields.keys() & value.keys()) if isinstance(value, dict) else 0


def _field(owner: type[BaseModel] | None, key: str | int) -> Any:  # noqa: ANN401 - FieldInfo
    if owner is None:
        return None
    for name, field in owner.model_fields.items():
        if key == (field.alias or name):
            return field
    return None


def annotation_at(model: Any, loc: Loc, data: Any) -> Any:  # noqa: ANN401 - a type; JSON
    """Give the annotation of a place in authored data; Any where everything is allowed."""
    annotation = model
    for step in loc:
        annotation = _child(annotation, step, data)
        data = _at(data, (step,))
    return annotation


def _child(annotation: Any, step: str | int, value: Any) -> Any:  # noqa: ANN401 - a type; JSON
    for each in _members(annotation):
        if isinstance(each, type) and issubclass(each, BaseModel):
            owner: type[BaseModel] | None = each
            if each is AssertionSpec and step not in COMMON_KEYS:
                owner = _grader_of(value)
            field = _field(owner, step)
            if field is not None:
                return field.annotation
        origin, args = typing.get_origin(each), typing.get_args(each)
        if origin is list and isinstance(step, int):
            return args[0]
        if origin is dict and isinstance(step, str):
            return args[1]
    return Any


def _members(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - a type
    """Give the branches of a union, each without what Annotated puts around it."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated or hasattr(annotation, "__metadata__"):
        yield from _members(typing.get_args(annotation)[0])
    elif origin in {typing.Union, types.UnionType}:
        for each in typing.get_args(annotation):
            yield from _members(each)
    else:
        yield annotation


def _choices(annotation: Any) -> list[str]:  # noqa: ANN401 - a type
    return [
        str(choice)
        for each in _members(annotation)
        if typing.get_origin(each) is Literal
        for choice in typing.get_args(each)
    ]


def allows(annotation: Any, kind: type) -> bool:  # noqa: ANN401 - a type
    """Whether an annotation names this very type, alone or in a union."""
    return any(each is kind for each in _members(annotation))


def _at(data: Any, loc: Loc) -> Any:  # noqa: ANN401 - JSON
    for step in loc:
        if not holds(data, step):
            return None
        data = data[step]
    return data
