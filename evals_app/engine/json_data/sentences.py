"""What is off a JSON Schema, in words for people who do not program."""

import difflib
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from jsonschema.exceptions import ValidationError as Mismatch

from evals_app.engine.json_data.documents import Json
from evals_app.engine.json_data.paths import described, path_text
from evals_app.engine.quoting import json_text, listed, quoted

_CANDIDATES = 200
SHOWN_CHARS = 120
_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a text",
}
# What a value should be, by the keyword that says so; {asked} is the keyword's value.
_SHOULD_BE = {
    "minimum": "be at least {asked}",
    "maximum": "be at most {asked}",
    "exclusiveMinimum": "be more than {asked}",
    "exclusiveMaximum": "be less than {asked}",
    "multipleOf": "be a multiple of {asked}",
    "minLength": "have at least {asked} characters",
    "maxLength": "have at most {asked} characters",
    "minItems": "have at least {asked} items",
    "maxItems": "have at most {asked} items",
    "minProperties": "have at least {asked} keys",
    "maxProperties": "have at most {asked} keys",
    "pattern": "match the pattern {asked}",
    "format": "have the format {asked}",
    "const": "be {asked}",
}
# The same where there is nothing more to say than that it is off.
_IS_OFF = {
    "anyOf": "fits none of the alternatives",
    "oneOf": "must fit exactly one of the alternatives, and does not",
    "not": "is what it must not be",
    "contains": "does not have the items that are asked for",
    "items": "has more items than are allowed",
    "uniqueItems": "has an item twice",
    "unevaluatedItems": "has items that the schema does not name",
    "unevaluatedProperties": "has keys that the schema does not name",
}


def sentence(error: Mismatch, *, whole: str) -> str:
    """Say what is wrong at a place of a document; `whole` names the document itself.

    The sentence begins in the middle of another, and has no full stop.
    """
    path = list(error.absolute_path)
    value: Json = error.instance
    asked: Any = error.validator_value
    name = quoted(path_text(path)) if path else whole
    if "propertyNames" in error.absolute_schema_path:
        name = f"the key {quoted(str(value))}"
    keyword = str(error.validator)
    match keyword:
        case "type":
            kinds = [
                _KINDS.get(each, each) for each in ([asked] if isinstance(asked, str) else asked)
            ]
            return f"{name} should be {' or '.join(kinds)} but is {described(value)}"
        case "required":
            return _missing([key for key in asked if key not in value], value, path, whole)
        case "dependentRequired":
            missing = [
                each
                for key, others in asked.items()
                if key in value
                for each in others
                if each not in value
            ]
            return _missing(missing, value, path, whole)
        case "enum":
            allowed = listed([json_text(each, SHOWN_CHARS) for each in asked])
            hint = _hint(value, [each for each in asked if isinstance(each, str)])
            return f"{name} should be one of {allowed} but is {described(value)}{hint}"
        case "additionalProperties" if isinstance(error, UnknownKey):
            hint = _hint(error.key, error.known)
            return f"{quoted(path_text([*path, error.key]))} is not allowed{hint}"
    if keyword in _SHOULD_BE:
        shown = asked if keyword == "pattern" else json_text(asked, SHOWN_CHARS)
        should = _SHOULD_BE[keyword].format(asked=shown)
        return f"{name} should {should} but is {described(value)}"
    return f"{name} {_IS_OFF.get(keyword, 'is not allowed')}"


class UnknownKey(Mismatch):
    """A key that a schema does not allow; `known` are those that it names."""

    def __init__(self, key: str, known: Iterable[str]) -> None:
        super().__init__(key)
        self.key = key
        self.known = known


def _missing(keys: list[str], value: Mapping[str, Json], path: list[str | int], whole: str) -> str:
    names = listed([path_text([*path, key]) for key in keys], quoted)
    near = _near(keys[0], value)
    owner = "it" if path else whole
    hint = f" ({owner} has {quoted(near)})" if near else ""
    return f"{names} {'is' if len(keys) == 1 else 'are'} missing{hint}"


def _hint(name: object, known: Iterable[str]) -> str:
    near = _near(name, known)
    return f" (is {quoted(near)} meant?)" if near else ""


def _near(name: object, known: Iterable[str]) -> str:
    """Return the nearest of what is known; nothing for long texts, which nobody misspells."""
    names = [each for each in islice(known, _CANDIDATES) if len(each) <= SHOWN_CHARS]
    if not isinstance(name, str) or len(name) > SHOWN_CHARS:
        return ""
    return next(iter(difflib.get_close_matches(name, names, n=1)), "")
