from typing import Any

import pytest
from django.http import QueryDict

from evals_app.admin.kit.lines import LineColumn, LinesField, RecordLines, TagsField, TextLines
from evals_app.admin.kit.value_lines import MatcherLines


def posted(field: LinesField, **columns: list[str]) -> Any:
    data = QueryDict(mutable=True)
    for key, values in columns.items():
        data.setlist(f"f-{key}" if key != "_" else "f", values)
    return field.clean(field.widget.value_from_datadict(data, {}, "f"))


def test_texts_are_listed_as_they_are_and_blank_lines_left_out() -> None:
    assert posted(TextLines(), _=["a ", "", "  ", "b"]) == ["a ", "  ", "b"]


def test_records_are_read_and_one_key_alone_is_bare() -> None:
    columns = [LineColumn("name", "Tool"), LineColumn("args", "Arguments")]
    field = RecordLines(columns, json_keys=frozenset({"args"}), bare_key="name")

    read = posted(field, name=["a", "b"], args=["", '{"x": 1}'])

    assert read == ["a", {"name": "b", "args": {"x": 1}}]
    assert list(field.to_lines(read)) == [{"name": "a"}, {"name": "b", "args": '{"x": 1}'}]


def test_columns_of_different_length_lose_nothing() -> None:
    field = RecordLines([LineColumn("a", "A"), LineColumn("b", "B")])

    assert posted(field, a=["1", "2"], b=["3"]) == [{"a": "1", "b": "3"}, {"a": "2"}]


@pytest.mark.parametrize(
    ("text", "tags"), [("", []), ("a", ["a"]), (" b , a,, b", ["b", "a"]), (",", [])]
)
def test_tags_are_separated_by_commas(text: str, tags: list[str]) -> None:
    assert TagsField().clean(text) == tags


def test_a_text_of_several_lines_gets_an_input_of_several() -> None:
    html = TextLines().widget.render("f", [{"": "one"}, {"": "two\nlines"}])

    assert html.count('<input type="text" name="f" value="one"') == 1
    assert "<textarea" in html
    assert "\ntwo\nlines</textarea>" in html


@pytest.mark.parametrize(
    "field", [TextLines(), MatcherLines(), RecordLines([LineColumn("a", "A")])]
)
@pytest.mark.parametrize("value", [5, True, [5, None], ["a"], {"a": "b"}, "text"])
def test_a_value_of_another_shape_breaks_nothing(field: LinesField, value: Any) -> None:
    assert "ew-line" in field.widget.render("f", field.prepare_value(value))


def test_what_was_typed_is_shown_again_as_it_was() -> None:
    field = RecordLines([LineColumn("a", "A"), LineColumn("b", "B")], json_keys=frozenset({"b"}))
    data = QueryDict("f-a=a&f-b=%5B1&f-a=&f-b=2")

    html = field.widget.render("f", field.widget.value_from_datadict(data, {}, "f"))

    assert 'value="[1"' in html
    assert 'value="2"' in html
