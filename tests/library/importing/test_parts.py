"""The arguments of tools and the fields of entities that forms suggest."""

from typing import Any

import pytest

from evals_app.library.importing.parts import arguments_of, parts_of, values_of
from fixtures_app.tools import TOOLS

ORDER = {
    "type": "object",
    "properties": {
        "total": {"type": "number"},
        "note": {"type": ["string", "null"]},
        "either": {"type": ["string", "number"]},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
        "any": True,
    },
}


def test_the_properties_of_a_schema_have_their_types() -> None:
    assert parts_of(ORDER) == {
        "total": "number",
        "note": "string",
        "either": "",
        "address": "object",
        "address.city": "string",
        "any": "",
    }


def test_the_values_that_a_schema_lists_are_texts() -> None:
    schema = {
        "properties": {
            "state": {"enum": ["open", "paid"]},
            "level": {"type": "integer", "enum": [1, 2]},
            "either": {"enum": ["a", None]},
            "address": {"properties": {"country": {"type": "string", "enum": ["DE"]}}},
            "odd": {"enum": "x"},
            "note": {"type": "string"},
        }
    }

    assert values_of(schema) == {
        "state": ["open", "paid"],
        "level": ["1", "2"],
        "address.country": ["DE"],
    }
    assert parts_of(schema)["state"] == "string"
    assert parts_of(schema)["either"] == ""


@pytest.mark.parametrize("schema", [None, True, {}, {"properties": []}, {"properties": None}])
def test_a_schema_that_lists_nothing_has_no_parts(schema: Any) -> None:
    assert parts_of(schema) == {}


def test_what_tools_of_worlds_name_is_an_argument_of_theirs() -> None:
    for name, tool in TOOLS.items():
        assert arguments_of([name])[name].keys() == parts_of(tool.parameters).keys()


def test_tools_have_arguments_where_they_are_known() -> None:
    own = {"name": "find", "parameters": ORDER, "rules": []}
    bare = {"name": "ping", "rules": []}
    served = {"mcp": "books", "tools": ["search"], "url": "https://a.example/"}

    known = arguments_of(["entity.get", "gone.tool", own, bare, served])

    assert known == {"entity.get": {"id": "entity"}, "find": parts_of(ORDER)}
