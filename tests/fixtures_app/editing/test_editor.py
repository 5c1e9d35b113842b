import pytest
from django import forms
from django.http import QueryDict

from fixtures_app.editing.editor import problems_of, with_plain_newlines
from fixtures_app.editing.rows import read_position


@pytest.mark.parametrize(
    ("posted", "position"),
    [
        (0, 0),
        ("7", 7),
        ("", 0),
        (None, 0),
        ("-1", 0),
        ("1.5", 0),
        ("x", 0),
        ("\u0661", 0),
        ("9" * 5000, 2**31 - 1),
    ],
)
def test_a_position_is_read_whatever_was_posted(posted: object, position: int) -> None:
    assert read_position(posted) == position


@pytest.mark.parametrize(
    ("label", "place"), [("Type", "Entity 1, type"), ("JSON Schema", "Entity 1, JSON Schema")]
)
def test_a_field_is_named_within_a_sentence(label: str, place: str) -> None:
    class Row(forms.Form):
        value = forms.CharField(label=label)

    (problem,) = problems_of(Row({}), "Entity 1", "top")

    assert problem.where == place


def test_lines_end_as_in_files() -> None:
    posted = QueryDict("a=1%0D%0A2&a=3%0D4&b=5%0A6")

    plain = with_plain_newlines(posted)

    assert plain.getlist("a") == ["1\n2", "3\r4"]
    assert plain["b"] == "5\n6"
