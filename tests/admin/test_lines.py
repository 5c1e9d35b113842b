from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.http import QueryDict

from evals_app.admin.lines import (
    Column,
    LinesField,
    MatcherLines,
    RecordLines,
    TagsField,
    TextLines,
    ValueLines,
    read_value,
    write_value,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("order", "order"),
        (" two words ", "two words"),
        ("5", 5),
        ("5.0", 5.0),
        ('"5"', "5"),
        ("true", True),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ('{"a": 1}', {"a": 1}),
        ("007", "007"),
        ("1,000", "1,000"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("True", "True"),
        ("", ""),
    ],
)
def test_a_typed_value_is_json_where_it_reads_as_json(text: str, value: Any) -> None:
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)


@pytest.mark.parametrize("text", ["[1", '{"a": }', '"open', '"\\u0000"'])
def test_what_begins_like_json_and_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        read_value(text)


@pytest.mark.parametrize(
    "value",
    [
        "a",
        "5",
        "true",
        "null",
        "",
        " ",
        " a ",
        "[a]",
        '"a"',
        "NaN",
        5,
        5.5,
        True,
        None,
        [1],
        {"a": "b"},
    ],
)
def test_a_value_is_written_so_that_it_reads_back(value: Any) -> None:
    assert read_value(write_value(value)) == value


def posted(field: LinesField, **columns: list[str]) -> Any:
    data = QueryDict(mutable=True)
    for key, values in columns.items():
        data.setlist(f"f-{key}" if key != "_" else "f", values)
    return field.clean(field.widget.value_from_datadict(data, {}, "f"))


def test_texts_are_listed_as_they_are_and_blank_lines_left_out() -> None:
    assert posted(TextLines(), _=["a ", "", "  ", "b"]) == ["a ", "  ", "b"]


def test_values_by_name_are_read() -> None:
    field = ValueLines(key_label="Name", value_label="Value")

    assert posted(field, key=["a", "b", ""], value=["1", '"1"', ""]) == {"a": 1, "b": "1"}


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        (["a", "a"], ["1", "2"], "Line 2: a appears twice."),
        (["", "b"], ["1", "2"], "Line 1: name is missing."),
        (["a", "b"], ["1", "[2"], "Line 2: This is not valid JSON"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(
    keys: list[str], values: list[str], message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        posted(ValueLines(key_label="Name", value_label="Value"), key=keys, value=values)

    assert caught.value.messages[0].startswith(message)


@pytest.mark.parametrize(
    ("must", "text", "matcher"),
    [
        ("equals", "order", "order"),
        ("equals", "5", 5),
        ("equals", '{"a": [1]}', {"a": [1]}),
        ("fuzzy", "1,000", {"fuzzy": "1,000"}),
        ("contains", "x", {"contains": "x"}),
        ("regex", "[a-z]+", {"regex": "[a-z]+"}),
        ("regex", "5", {"regex": "5"}),
        ("any_of", "a, 5, true", {"any_of": ["a", 5, True]}),
        ("any_of", '["a, b", null]', {"any_of": ["a, b", None]}),
        ("any_of", "", {"any_of": []}),
        ("present", "", {"present": True}),
        ("absent", "ignored", {"present": False}),
    ],
)
def test_matchers_are_read(must: str, text: str, matcher: Any) -> None:
    assert posted(MatcherLines(), key=["a"], must=[must], value=[text]) == {"a": matcher}


def test_a_comparison_without_a_value_is_refused() -> None:
    with pytest.raises(ValidationError, match='Line 1: "contains" needs a value'):
        posted(MatcherLines(), key=["a"], must=["contains"], value=[""])


@pytest.mark.parametrize(
    "matcher",
    [
        "order",
        5,
        None,
        "",
        {"fuzzy": 5},
        {"regex": '"x"'},
        {"regex": " spaced "},
        {"regex": ' "x"'},
        {"regex": "two\nlines"},
        "two\nlines",
        {"any_of": ["a", 1]},
        {"any_of": ["a,b"]},
        {"any_of": [{"regex": "x"}]},
        {"any_of": []},
        {"contains": {"a": 1}},
        {"present": False},
        {"deep": {"regex": "x"}},
    ],
)
def test_matchers_are_written_so_that_they_read_back(matcher: Any) -> None:
    field = MatcherLines()

    (line,) = field.written({"a": matcher})

    assert posted(field, **{key: [value] for key, value in line.items()}) == {"a": matcher}


def test_records_are_read_and_one_key_alone_is_bare() -> None:
    columns = [Column("name", "Tool"), Column("args", "Arguments")]
    field = RecordLines(columns, json_keys=frozenset({"args"}), bare_key="name")

    read = posted(field, name=["a", "b"], args=["", '{"x": 1}'])

    assert read == ["a", {"name": "b", "args": {"x": 1}}]
    assert list(field.written(read)) == [{"name": "a"}, {"name": "b", "args": '{"x": 1}'}]


def test_columns_of_different_length_lose_nothing() -> None:
    field = ValueLines(key_label="Name", value_label="Value")

    assert posted(field, key=["a", "b"], value=["1"]) == {"a": 1, "b": ""}


@pytest.mark.parametrize(
    ("text", "tags"),
    [("", []), ("a", ["a"]), (" b , a,, b", ["b", "a"]), (",", [])],
)
def test_tags_are_separated_by_commas(text: str, tags: list[str]) -> None:
    assert TagsField().clean(text) == tags


def test_a_text_of_several_lines_gets_an_input_of_several() -> None:
    html = TextLines().widget.render("f", [{"": "one"}, {"": "two\nlines"}])

    assert html.count('<input type="text" name="f" value="one"') == 1
    assert "<textarea" in html
    assert "\ntwo\nlines</textarea>" in html


@pytest.mark.parametrize("field", [TextLines(), MatcherLines(), RecordLines([Column("a", "A")])])
@pytest.mark.parametrize("value", [5, True, [5, None], ["a"], {"a": "b"}, "text"])
def test_a_value_of_another_shape_breaks_nothing(field: LinesField, value: Any) -> None:
    assert "ts-line" in field.widget.render("f", field.prepare_value(value))


def test_what_was_typed_is_shown_again_as_it_was() -> None:
    field = ValueLines(key_label="Name", value_label="Value")
    data = QueryDict("f-key=a&f-value=%5B1&f-key=&f-value=2")

    html = field.widget.render("f", field.widget.value_from_datadict(data, {}, "f"))

    assert 'value="[1"' in html
    assert 'value="2"' in html
