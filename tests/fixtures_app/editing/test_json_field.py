import pytest
from django.core.exceptions import ValidationError

from fixtures_app.editing.json_field import JsonTextField, read_json, write_json


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{'a': 1}", "line 1, column 2: texts need double quotes"),
        ("{\"a\": 'b'}", "line 1, column 7: texts need double quotes"),
        ('{"a": 1', "line 1, column 8: something is missing here"),
        ('{"a": 1,\n}', "line 2, column 1: something is missing here"),
        ('{"a" 1}', "a colon"),
        ('{"a": 1 "b": 2}', "a comma"),
        ('{"a": True}', "write true, false or null in lower case."),
        ('{"a": oops}', "a value is missing"),
        ("{} {}", "something follows"),
        ("{a: 1}", "a key in double quotes"),
        ('{"a": NaN}', "JSON has no NaN."),
        ('{"b": {"a": 1, "a": 2}}', "The key 'a' appears twice"),
        ('{"a": "\\u0000"}', "a: The text contains a NUL character."),
        ("1" * 5000, "at most 1,000 digits"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused_with_place_and_advice(text: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read_json(text)

    assert message in caught.value.messages[0]


@pytest.mark.parametrize("value", [{}, [], None, 1, 1.5, "ä", {"a": [True, None, {"b": "c"}]}])
def test_json_is_written_so_that_it_reads_back(value: object) -> None:
    assert read_json(write_json(value)) == value


@pytest.mark.parametrize(
    ("initial", "typed", "has_changed"),
    [
        ({}, "", False),
        (None, "{}", False),
        ({"a": 1}, '{"a":1}', False),
        ({"a": 1}, '{"a":2}', True),
        ({"a": 1}, '{"a":true}', True),
        ({"a": [0]}, '{"a":[false]}', True),
        ({"a": 1}, "", True),
        ({"a": 1}, "{", True),
    ],
)
def test_blank_stands_for_an_empty_object(initial: object, typed: str, has_changed: bool) -> None:  # noqa: FBT001 - a table
    field = JsonTextField(kind=dict, required=False)

    assert field.has_changed(initial, typed) is has_changed


def test_what_was_typed_is_shown_as_it_was() -> None:
    assert JsonTextField().prepare_value("{a") == "{a"
