"""Schemas that any JSON fits."""

import pytest

from fixtures_app.ground.json_keywords import accepts_everything
from fixtures_app.ground.strict_json import Json

ALL_TYPES = ["array", "boolean", "null", "number", "object", "string"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, True),
        (False, False),
        ({"title": "Anything", "type": ALL_TYPES}, True),
        ({"type": "object"}, False),
        ({"uniqueItems": False}, True),
        ({"uniqueItems": True}, False),
        ({"minLength": 0, "maxLength": 3}, False),
        ({"allOf": [{}, {"required": []}]}, True),
        ({"allOf": [{}, {"required": ["a"]}]}, False),
        ({"anyOf": [{"type": "null"}, {}]}, True),
        ({"anyOf": [{"type": "null"}]}, False),
        ({"oneOf": [{}]}, True),
        ({"oneOf": [{}, {}]}, False),
        ({"properties": {"a": {}}}, True),
        ({"properties": {"a": {"const": 1}}}, False),
        ({"not": {}}, False),
        ({"if": {"type": "null"}, "minContains": 2}, True),
        ({"if": {}, "then": {"type": "null"}}, False),
    ],
)
def test_a_schema_accepts_everything_or_not(schema: Json, *, expected: bool) -> None:
    assert accepts_everything(schema) is expected
