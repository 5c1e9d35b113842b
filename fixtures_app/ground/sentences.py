"""Explains mismatches with a JSON Schema to people who do not program."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from jsonschema.exceptions import ValidationError as Mismatch

from fixtures_app.ground.json_paths import describe, path_text
from fixtures_app.ground.quoting import cut_middle, in_quotes, join_list, json_text
from fixtures_app.ground.words import nearest

_ALTERNATIVES = 4
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
    "oneOf": "fits several alternatives, but must fit exactly one",
    "not": "is what it must not be",
    "contains": "does not have the items that are asked for",
    "items": "has more items than are allowed",
    "uniqueItems": "has an item twice",
    "unevaluatedItems": "has items that the schema does not name",
    "unevaluatedProperties": "has keys that the schema does not name",
}


def sentence(error: Mismatch, *, whole: str) -> str:
    """Return a clause that says what is wrong at a place of a document; `whole` names it all."""
    path = list(error.absolute_path)
    value: Any = error.instance
    asked: Any = error.validator_value
    name = in_quotes(path_text(path)) if path else whole
    if "propertyNames" in error.absolute_schema_path:
        name = f"the key {in_quotes(str(value))}"
    keyword = str(error.validator)
    match keyword:
        case "type":
            return f"{name} should be {_kinds([error])} but is {describe(value)}"
        case "anyOf" | "oneOf" if error.context:
            if all(part.validator == "type" and not part.path for part in error.context):
                return f"{name} should be {_kinds(error.context)} but is {describe(value)}"
            first = islice(error.context, _ALTERNATIVES)
            reasons = dict.fromkeys(sentence(part, whole=whole) for part in first)
            return f"{name} fits none of the alternatives: {cut_middle(', or '.join(reasons), 400)}"
        case "required":
            return _missing([key for key in asked if key not in value], value, path, whole)
        case "dependentRequired":
            missing = [
                other
                for key, others in asked.items()
                if key in value
                for other in others
                if other not in value
            ]
            return _missing(missing, value, path, whole)
        case "enum":
            allowed = join_list([json_text(choice, SHOWN_CHARS) for choice in asked])
            hint = _hint(value, [choice for choice in asked if isinstance(choice, str)])
            return f"{name} should be one of {allowed} but is {describe(value)}{hint}"
        case "additionalProperties" if isinstance(error, UnknownKey):
            hint = _hint(error.key, error.known)
            return f"{in_quotes(path_text([*path, error.key]))} is not allowed{hint}"
    if keyword in _SHOULD_BE:
        shown = asked if keyword == "pattern" else json_text(asked, SHOWN_CHARS)
        should = _SHOULD_BE[keyword].format(asked=shown)
        should = should.removesuffix("s") if shown == "1" else should
        return f"{name} should {should} but is {describe(value)}"
    return f"{name} {_IS_OFF.get(keyword, 'is not allowed')}"


def _kinds(errors: Iterable[Mismatch]) -> str:
    asked: list[Any] = [error.validator_value for error in errors]
    names = (name for types in asked for name in ([types] if isinstance(types, str) else types))
    return " or ".join(dict.fromkeys(_KINDS[name] for name in names))


class UnknownKey(Mismatch):
    """A key that a schema does not allow; `known` are those that it names."""

    def __init__(self, key: str, known: Iterable[str]) -> None:
        super().__init__(key)
        self.key = key
        self.known = known


def _missing(keys: list[str], value: Iterable[str], path: list[str | int], whole: str) -> str:
    names = join_list([path_text([*path, key]) for key in keys], in_quotes)
    meant = nearest(keys[0], value)
    owner = "it" if path else whole
    hint = f" ({owner} has {in_quotes(meant)})" if meant else ""
    return f"{names} {'is' if len(keys) == 1 else 'are'} missing{hint}"


def _hint(name: object, known: Iterable[str]) -> str:
    meant = nearest(name, known) if isinstance(name, str) else ""
    return f" (is {in_quotes(meant)} meant?)" if meant else ""
